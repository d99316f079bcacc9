from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import saywhy
from saywhy.errors import LoadError, SayWhyError
from saywhy.models import BlackBox
from tests import zoo


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    zoo.classifier().save(path)
    return path


@pytest.fixture
def broken(folder: Path, tmp_path: Path) -> Path:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def fitted() -> Any:
    model = make_pipeline(TfidfVectorizer(), LogisticRegression())
    return model.fit(["good film", "bad film", "great acting", "bad acting"], ["pos", "neg", "pos", "neg"])


def test_load_is_idempotent() -> None:
    model = zoo.classifier()
    assert saywhy.load(model) is model
    box = saywhy.load(fitted())
    assert saywhy.load(box) is box


def test_options_make_a_new_model_that_keeps_the_rest() -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    model = saywhy.load((network, tokenizer), labels=zoo.LABELS)
    model.encoder.max_length = 17
    other = saywhy.load(model, labels=["a", "b", "c"], splitter="whitespace")
    assert (other.labels, other.splitter, other.encoder.max_length) == (("a", "b", "c"), "whitespace", 17)
    assert other.network is model.network
    assert model.labels == tuple(zoo.LABELS)
    assert saywhy.load(model, task="pair").task.name == "pair"
    box = saywhy.load(fitted())
    masked = saywhy.load(box, mask_token="_")
    assert isinstance(masked, BlackBox)
    assert masked.mask_token == "_"
    assert masked.labels == box.labels


def test_a_pipeline_and_the_model_in_it_agree() -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert", id2label=dict(enumerate(zoo.LABELS)))
    pipeline = transformers.pipeline("text-classification", model=network, tokenizer=tokenizer)
    expected = pipeline(zoo.TEXTS)
    model = saywhy.load(pipeline)
    assert model.labels == tuple(zoo.LABELS)
    for found, own in zip(model.predict(zoo.TEXTS), expected, strict=True):
        assert found.label == own["label"]
        assert found.probability == pytest.approx(own["score"], abs=1e-6)


def test_model_and_tokenizer_as_a_pair_or_side_by_side() -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    assert saywhy.load((network, tokenizer)).predict("film") == saywhy.load(network, tokenizer).predict("film")


def test_loading_leaves_the_callers_network_in_its_mode() -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    network.train()
    network.classifier.eval()
    saywhy.load((network, tokenizer))
    assert network.training
    assert not network.classifier.training


def test_scikit_learn_estimators_and_their_functions() -> None:
    estimator = fitted()
    by_itself, by_function = saywhy.load(estimator), saywhy.load(estimator.predict_proba)
    assert by_itself.labels == by_function.labels == ("neg", "pos")
    assert by_itself.predict("great film") == by_function.predict("great film")
    assert by_itself.predict("great film")[0].probability == pytest.approx(
        estimator.predict_proba(["great film"])[0].max()
    )
    assert by_itself.fingerprint == by_function.fingerprint


def test_a_function_in_a_file_or_a_module(tmp_path: Path) -> None:
    file = tmp_path / "shouting.py"
    file.write_text("def judge(texts):\n    return [[0.1, 0.9] for _ in texts]\njudge.labels = ['no', 'yes']\n")
    assert saywhy.load(f"{file}:judge").predict("hey")[0].label == "yes"
    assert saywhy.load(f"{file}:judge", labels=["a", "b"]).labels == ("a", "b")
    assert saywhy.load("tests.models.test_black_box:loud", labels=["loud", "quiet"]).predict("a!!")[0].label == "loud"


def test_a_folder_without_our_settings(broken: Path) -> None:
    (broken / "saywhy.json").unlink()
    model = saywhy.load(broken)
    assert model.labels == tuple(zoo.LABELS)
    assert model.task.name == "text"
    assert saywhy.load(broken, task="pair").task.name == "pair"


def _rewrite(path: Path, **changes: Any) -> None:
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **changes}))


def _no_config(path: Path) -> None:
    (path / "config.json").unlink()


def _no_weights(path: Path) -> None:
    (path / "model.safetensors").unlink()


def _cut_weights(path: Path) -> None:
    file = path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def _no_head(path: Path) -> None:
    weights = load_file(path / "model.safetensors")
    left = {k: v for k, v in weights.items() if "classifier" not in k}
    save_file(left, path / "model.safetensors", metadata={"format": "pt"})


def _no_tokenizer(path: Path) -> None:
    for file in path.glob("token*"):
        file.unlink()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_no_config, "no config.json"),
        (_no_weights, "cannot load the weights"),
        (_cut_weights, "cannot load the weights"),
        (_no_head, "2 are missing, such as classifier.bias"),
        (_no_tokenizer, "has no tokenizer"),
        (lambda path: (path / "config.json").write_text("{"), "not a valid JSON"),
        (lambda path: (path / "config.json").write_text("{}"), "Unrecognized model"),
        (lambda path: (path / "saywhy.json").write_text("{"), "saywhy.json"),
        (lambda path: _rewrite(path, hidden_size=64), "cannot load the weights"),
        (lambda path: _rewrite(path, architectures=["BertModel"]), "BertModel, which decides nothing"),
        (lambda path: _rewrite(path, architectures=None), "without a head"),
        (lambda path: _rewrite(path, problem_type="regression"), "predicts a number"),
        (lambda path: _rewrite(path, problem_type="multi_label_classification"), "yes or no to each label"),
    ],
)
def test_folders_that_cannot_be_loaded(damage: Callable[[Path], Any], message: str, broken: Path) -> None:
    damage(broken)
    with pytest.raises(LoadError, match=message) as caught:
        saywhy.load(broken)
    assert "\n" not in str(caught.value)


class Slow:
    is_fast = False
    model_max_length = 64


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ("nosuchmodel", {}, "no folder 'nosuchmodel'.*give a folder"),
        ("no/such/model", {}, "no folder"),
        ("", {}, "not a model folder"),
        (3, {}, "cannot load a int; give a folder"),
        (None, {}, "cannot load a NoneType"),
        ((1, 2, 3), {}, r"\(model, tokenizer\)"),
        ("nowhere.py:f", {}, "no file nowhere.py"),
        ("no_such_module:f", {}, "cannot import 'no_such_module'"),
        ("json:nothing", {}, "json has no 'nothing'"),
        (lambda: zoo.network_and_tokenizer("bert")[0], {}, "needs its tokenizer"),
        (lambda: (zoo.network_and_tokenizer("bert")[0], Slow()), {}, "not a fast tokenizer"),
        (lambda: zoo.network_and_tokenizer("bert", head="AutoModel"), {}, "no head that decides"),
        (lambda: zoo.network_and_tokenizer("bert", num_labels=1), {}, "predicts a number"),
        (lambda: zoo.network_and_tokenizer("bert"), {"labels": ["a"]}, "1 labels given, but the network has 3"),
        (lambda: zoo.network_and_tokenizer("bert"), {"labels": "abc"}, "list of names"),
        (lambda: zoo.network_and_tokenizer("bert"), {"task": "choices"}, "for task 'text', not 'choices'"),
        (lambda: zoo.network_and_tokenizer("bert"), {"task": "tagging"}, "unknown task 'tagging'; known: text"),
        (lambda: zoo.network_and_tokenizer("bert"), {"splitter": "x"}, "unknown splitter 'x'"),
        (zoo.classifier, {"labels": ["a"]}, "1 labels given"),
        (zoo.classifier, {"task": "choices"}, "for task 'text', not 'choices'"),
        (lambda: make_pipeline(TfidfVectorizer(), LogisticRegression()), {}, "labels="),
        (lambda: make_pipeline(TfidfVectorizer(), LinearSVC()), {}, "cannot load a Pipeline"),
    ],
)
def test_mistakes_get_one_line_that_says_what_to_do(given: Any, options: dict[str, Any], message: str) -> None:
    model = given() if callable(given) else given
    with pytest.raises(SayWhyError) as caught:
        saywhy.load(model, **options)
    assert re.search(message, str(caught.value))
    assert "\n" not in str(caught.value)


def test_a_file_with_a_mistake_in_it(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("def judge(texts:\n")
    with pytest.raises(LoadError, match="never closed"):
        saywhy.load(f"{tmp_path}/wrong.py:judge")


def test_the_network_can_be_moved() -> None:
    model = saywhy.load(zoo.network_and_tokenizer("bert"), device="cpu")
    assert model.device == torch.device("cpu")
    assert saywhy.load(model, device="cpu").network is model.network
