from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import InputError, OptionError, SayWhyWarning, TooLongError
from saywhy.models import TextModel
from saywhy.models.text_model import longest_input
from saywhy.types import Example
from tests import zoo

ROOT = Path(__file__).parents[2]


def test_predict_gives_a_list_in_order_whatever_the_batch() -> None:
    model = zoo.shared()
    together = model.predict(zoo.TEXTS)
    assert [len(p.probabilities) for p in together] == [3, 3, 3]
    for text, prediction in zip(zoo.TEXTS, together, strict=True):
        (alone,) = model.predict(text)
        assert alone.label == prediction.label == model.labels[prediction.index]
        np.testing.assert_allclose(alone.probabilities, prediction.probabilities, atol=1e-6)
        assert sum(prediction.probabilities) == pytest.approx(1, abs=1e-6)
        assert prediction.probability == max(prediction.probabilities)
    np.testing.assert_allclose(
        [p.probabilities for p in model.predict(zoo.TEXTS, batch_size=1)],
        [p.probabilities for p in together],
        atol=1e-6,
    )
    assert model.predict([]) == []


def test_labels_by_index_and_by_name_in_any_case() -> None:
    model = zoo.shared()
    for label in (2, -1, "positive", "POSITIVE", "2", np.int64(2)):
        assert model.label_index(label) == 2
    question = Example(("q",), choices=("Sleep", "Eat"))
    assert zoo.shared_chooser().label_index("eat", question) == 1
    assert zoo.shared_reader().label_index("answer") == 0
    for wrong in ("nice", 3, -4, True, "3", 1.0, None):
        with pytest.raises(InputError, match="the labels are negative, neutral, positive"):
            model.label_index(wrong)  # type: ignore[arg-type]


def test_a_name_that_is_a_number_is_a_name() -> None:
    model = saywhy.load(zoo.network_and_tokenizer("bert"), labels=["2", "0", "1"])
    assert model.label_index("2") == 0
    assert model.label_index(2) == 2


def _step(model: TextModel) -> None:
    optimiser = torch.optim.SGD(model.module.parameters(), lr=0.1)
    batch = model.task.collate(model.encode([Example(("film",))]))
    model.task.raw(model.module, batch).sum().backward()
    optimiser.step()


def _assign(model: TextModel) -> None:
    weight = next(model.module.parameters())
    weight.data = weight.data * 2


def _scale_data(model: TextModel) -> None:
    next(model.module.parameters()).data.mul_(1.5)


def _load_state(model: TextModel) -> None:
    model.module.load_state_dict({k: v + 1 for k, v in model.module.state_dict().items()})


def _one_number(model: TextModel) -> None:
    with torch.no_grad():
        list(model.module.parameters())[3][1] += 1e-3


def _labels(model: TextModel) -> None:
    model.labels = model.task.labels = ("a", "b", "c")


def _configuration(model: TextModel) -> None:
    model.module.config.layer_norm_eps = 1e-3  # type: ignore[union-attr]


def _tokenizer(model: TextModel) -> None:
    model.tokenizer = copy.deepcopy(model.tokenizer)
    model.tokenizer.add_tokens(["beautifully"])


@pytest.mark.parametrize(
    "change", [_step, _assign, _scale_data, _load_state, _one_number, _labels, _configuration, _tokenizer]
)
def test_the_fingerprint_is_never_stale(change: Callable[[TextModel], None]) -> None:
    model = zoo.classifier()
    before = model.fingerprint
    model.predict(zoo.TEXTS)
    assert model.fingerprint == before
    change(model)
    assert model.fingerprint != before
    assert model.fingerprint == model.fingerprint


def test_the_fingerprint_takes_every_kind_of_tensor() -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    network.register_buffer("steps", torch.tensor(3))
    network.classifier.weight = torch.nn.Parameter(torch.randn(32, 3).t())
    assert len(saywhy.load((network, tokenizer)).fingerprint) == 16
    assert len(saywhy.load((network.to(torch.bfloat16), tokenizer)).fingerprint) == 16


def test_the_fingerprint_is_the_same_in_another_process(tmp_path: Path) -> None:
    zoo.shared().save(tmp_path)
    code = "import sys, saywhy; print(saywhy.load(sys.argv[1]).fingerprint)"
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=ROOT, check=True,
        env={"PYTHONPATH": "src", "PYTHONHASHSEED": "7", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert run.stdout.strip().splitlines()[-1] == zoo.shared().fingerprint


@pytest.mark.parametrize("architecture", [*zoo.ARCHITECTURES, "deberta-v2", "mpnet", "t5"])
def test_save_and_load_bring_back_the_same_model(architecture: str, tmp_path: Path) -> None:
    model = zoo.classifier(architecture)
    before, names = model.fingerprint, dict(model.module.config.id2label)  # type: ignore[union-attr]
    model.save(tmp_path / "model")
    again = saywhy.load(tmp_path / "model")
    assert again.fingerprint == before == model.fingerprint
    assert (again.labels, again.task.name, again.encoder.max_length) == (
        model.labels, model.task.name, model.encoder.max_length,
    )  # fmt: skip
    assert again.capabilities == model.capabilities
    examples = [Example((t,)) for t in zoo.TEXTS]
    # Not bit by bit: how weights lie in memory decides how a matrix is multiplied by a single row.
    first, second = model.scores(model.encode(examples)), again.scores(again.encode(examples))
    torch.testing.assert_close(second, first, atol=1e-6, rtol=1e-6)
    assert model.module.config.id2label == names  # type: ignore[union-attr]
    # transformers alone reads the folder too.
    assert '"saywhy"' not in (tmp_path / "model" / "config.json").read_text()


@pytest.mark.parametrize(("make", "inputs"), [(zoo.chooser, zoo.QUESTIONS), (zoo.reader, zoo.CONTEXTS)])
def test_other_tasks_are_saved_too(make: Callable[[], TextModel], inputs: list[object], tmp_path: Path) -> None:
    model = make()
    model.save(tmp_path)
    again = saywhy.load(str(tmp_path))
    assert again.task.name == model.task.name
    for one, other in zip(again.predict(inputs), model.predict(inputs), strict=True):  # type: ignore[arg-type]
        assert one.label == other.label
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-6)


def test_evaluation_gives_every_module_its_mode_back() -> None:
    model = zoo.classifier()
    network = model.module
    network.train()
    network.bert.encoder.eval()  # type: ignore[union-attr]
    modes = [m.training for m in network.modules()]
    with model.evaluation():
        assert not any(m.training for m in network.modules())
    assert [m.training for m in network.modules()] == modes
    with pytest.raises(ZeroDivisionError), model.evaluation():
        raise ZeroDivisionError
    assert [m.training for m in network.modules()] == modes


@pytest.mark.parametrize(
    ("architecture", "limit"), [("bert", 64), ("roberta", 64), ("mpnet", 64), ("gpt2", 64), ("bart", 64), ("t5", None)]
)
def test_the_longest_input_is_read_and_a_longer_one_is_not(architecture: str, limit: int | None) -> None:
    model = zoo.shared(architecture)
    assert longest_input(model.module, model.tokenizer) == limit == model.encoder.max_length
    if limit is None:
        return
    special = model.tokenizer.num_special_tokens_to_add()
    fits = " ".join(["film"] * (limit - special))
    sizes = [len(model.encoder._tokenize([fits])[0].ids)]
    while sizes[-1] > limit:
        fits = fits.rsplit(" ", 1)[0]
        sizes.append(len(model.encoder._tokenize([fits])[0].ids))
    model.predict(fits)
    with pytest.raises(TooLongError):
        model.predict(fits + " film" * 5)
    with pytest.warns(SayWhyWarning):
        model.predict(fits + " film" * 5, truncation="head")


def test_one_warning_however_many_texts_are_cut() -> None:
    long = "film " * 100
    with pytest.warns(SayWhyWarning) as told:
        zoo.shared().predict([long, "Dull film", long, long], truncation="head")
    assert len(told) == 1
    assert "pieces, and 2 of the other 3 likewise" in str(told[0].message)
    assert told[0].filename == __file__


def test_windows_only_where_they_make_sense() -> None:
    for model, given in ((zoo.shared_chooser(), zoo.QUESTIONS[0]), (zoo.shared_reader(), zoo.CONTEXTS[0])):
        with pytest.raises(OptionError, match="cannot be read in windows"):
            model.predict(given, truncation="window")  # type: ignore[arg-type]


def test_gradients_after_prediction_with_buffers_that_grow() -> None:
    """Dynamic rotary embeddings are made in the forward pass; made in inference mode they would break gradients."""
    network, tokenizer = zoo.network_and_tokenizer(
        "llama", rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    )
    model = saywhy.load((network, tokenizer), labels=zoo.LABELS)
    model.encoder.max_length = 500
    long = " ".join(zoo.TEXTS * 3)
    model.predict(long)
    assert np.isfinite(saywhy.explain(model, long, "gradient").scores).all()  # type: ignore[attr-defined]
