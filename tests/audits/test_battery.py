from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from tests.audits.test_corpus import HONEST, WORDS, corpus, judge

from saywhy.audits import SanityReport, sanity
from saywhy.audits.randomised import blocks_of, copy_of, randomised
from saywhy.errors import OptionError
from saywhy.models import TextModel
from saywhy.models.networks import networks
from saywhy.objectives import train
from saywhy.types import Example


def hazy(n: int, seed: int = 0) -> list[Example]:
    """Texts of which half say nothing about their label."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        liked = rng.random() < 0.5
        words = rng.choice(WORDS, 5).tolist()
        if rng.random() < 0.5:
            words.append("good" if liked else "bad")
        if rng.random() < 0.1:
            words.append("xenon")  # so that it is in the vocabulary
        made.append(Example((" ".join(words),), "yes" if liked else "no"))
    return made


METHODS = ["random", "leave-one-out"]


@pytest.fixture(scope="module")
def taught() -> TextModel:
    """A small network that has learnt which words are liked."""
    model: TextModel = train(
        "plain", hazy(300), "text-transformer", epochs=8, quiet=True, model_options={"layers": 1, "width": 32}
    )
    return model


@pytest.fixture(scope="module")
def report(taught: TextModel) -> SanityReport:
    return sanity(taught, hazy(12), METHODS, train=hazy(300), epochs=8, learning_rate=1e-3, word="xenon")


def test_random_does_not_look_at_the_model(report: SanityReport) -> None:
    found = report.of("random")
    assert found["parameters"].passed is False
    assert found["parameters"].value == pytest.approx(1.0)
    assert found["labels"].passed is False
    assert found["shortcut"].passed is False
    assert found["seeds"].passed is False
    assert "fails parameters" in report.verdict("random")


def test_leave_one_out_does(report: SanityReport) -> None:
    found = report.of("leave-one-out")
    assert found["parameters"].passed is True
    assert found["shortcut"].passed is True, found["shortcut"].detail
    assert found["seeds"].value == 1.0
    assert found["invariance"].passed is True
    assert not report.passed


def test_layer_by_layer(report: SanityReport, taught: TextModel) -> None:
    curve = report.of("leave-one-out")["parameters"].curve
    assert [name for name, _ in curve] == [name for name, _ in blocks_of(taught.module)]
    assert abs(curve[-1][1]) < 0.5


def test_the_model_itself_is_left_alone(taught: TextModel) -> None:
    before = taught.fingerprint
    for _, other in randomised(taught, 0):
        assert other.module is not taught.module
    assert taught.fingerprint == before
    assert not torch.equal(next(iter(other.module.parameters())), next(iter(taught.module.parameters()))), (
        "the last block is the embeddings"
    )
    assert copy_of(taught).fingerprint == before


def test_blocks_go_from_the_head_to_the_embeddings() -> None:
    network, _ = networks["text-transformer"].value([Example(("a b",), "x")], "text", ("x", "y"), 0, layers=2, width=32)
    names = [name for name, _ in blocks_of(network)]
    assert "embeddings" in names[-1]
    layers = [name for name in names if name[-1].isdigit()]
    assert layers == sorted(layers, reverse=True)


def test_a_black_box_with_and_without_somebody_to_train_it() -> None:
    model = judge(HONEST)
    alone = sanity(model, hazy(6), "leave-one-out", train=hazy(50))
    assert {test for test, outcome in alone.of("leave-one-out").items() if outcome.passed is None} == {
        "parameters", "labels", "shortcut",
    }  # fmt: skip

    def fit(texts: list[Any], labels: list[str]) -> Any:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        made = make_pipeline(CountVectorizer(), LogisticRegression(C=10)).fit(texts, labels)
        order = [list(made.classes_).index(label) for label in ("yes", "no")]
        return lambda asked: np.asarray(made.predict_proba(asked))[:, order]

    taught = sanity(model, hazy(12), METHODS, train=hazy(200), fit=fit, tests=("shortcut",), strength=1.0)
    assert taught.of("leave-one-out")["shortcut"].passed is True
    assert taught.of("random")["shortcut"].passed is False


def test_shortcuts_of_the_model_itself(report: SanityReport) -> None:
    found = sanity(judge(HONEST | {"zygo": 6.0}), corpus(), METHODS, tests=["seeds"])
    assert [suspect.word for suspect in found.suspects] == ["zygo"]
    assert sanity(judge(HONEST), corpus(), METHODS, tests=["seeds"]).suspects == ()


def test_as_json_and_text(report: SanityReport) -> None:
    from rich.console import Console

    made = json.loads(report.to_json())
    assert made["verdicts"]["random"].startswith("fails")
    console = Console(width=160)
    with console.capture() as captured:
        console.print(report)
    assert "FAILED" in captured.get()


def test_what_cannot_be() -> None:
    with pytest.raises(OptionError, match="no test colours"):
        sanity(judge({}), hazy(3), "random", tests=["colours"])
    with pytest.raises(OptionError, match="strength"):
        sanity(judge({}), hazy(3), "random", strength=0.4)
