from __future__ import annotations

import json

import numpy as np
import pytest
from tests.audits.test_corpus import HONEST, corpus, judge

from saywhy.audits import diff
from saywhy.errors import OptionError
from saywhy.models import load
from saywhy.reports.audit import difference_page


def test_a_model_and_itself() -> None:
    model = judge(HONEST)
    found = diff(model, model, corpus(40), method="leave-one-out")
    assert found.same
    assert (found.turned, found.moved, found.changed, found.examples) == (0, 0, (), ())
    assert found.agreement == pytest.approx(1.0)
    assert "Nothing changed." in difference_page(found)


def test_a_word_that_became_important() -> None:
    texts = corpus()
    found = diff(judge(HONEST), judge(HONEST | {"zygo": 6.0}), texts, method="leave-one-out")
    wrong = sum(e.label == "no" and "zygo" in e.texts[0] for e in texts)
    assert (found.turned, found.broken, found.mended) == (wrong, wrong, 0)
    assert found.old_accuracy == 1.0
    assert found.new_accuracy == pytest.approx(1 - wrong / len(texts))
    up = next(role for role in found.changed if (role.word, role.label) == ("zygo", "yes"))
    assert up.low > 0.5
    assert up.texts == sum("zygo" in e.texts[0] and e.label == "yes" for e in texts)
    assert all(shown.turned for shown in found.examples)
    assert found.examples[0].moved == max(shown.moved for shown in found.examples)
    assert not any(role.word in {"river", "house"} for role in found.changed)


def test_as_json_and_page() -> None:
    from rich.console import Console

    found = diff(judge(HONEST), judge(HONEST | {"zygo": 6.0}), corpus(), method="leave-one-out", keep=2)
    made = json.loads(found.to_json())
    assert len(made["examples"]) == 2
    assert made["examples"][0]["turned"] is True
    page = difference_page(found)
    assert "zygo" in page
    assert "<script" not in page
    console = Console(width=120)
    with console.capture() as captured:
        console.print(found)
    assert "predictions changed" in captured.get()


def test_models_that_do_different_things() -> None:
    other = load(lambda ts: np.full((len(ts), 2), 0.5), labels=["good", "bad"])
    with pytest.raises(OptionError, match="different things"):
        diff(judge(HONEST), other, corpus(5))
