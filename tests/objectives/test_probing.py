from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score

from saywhy.models.rationale_probes import assess_rationales, estimate_lipschitz, gold_words, selection_change
from saywhy.models.rationales import rationalizer_of, read_rationales
from saywhy.objectives import train
from saywhy.objectives.probing import EpochProbe
from saywhy.types import Example
from tests.objectives.rationalizers import SMALL, make, rationalizer, reviews

OPTIONS = {"target_sparsity": 0.2, "batch_size": 16, "learning_rate": 1e-2, "quiet": True, "model_options": SMALL}


def look(probe: EpochProbe, n: int = 12) -> dict[str, float]:
    items = probe.model.encode(reviews(n), "head")
    return probe.look(items, read_rationales(probe.model, items), 8)


def test_the_numbers_are_those_of_the_probes() -> None:
    model = rationalizer()
    found = look(EpochProbe(model))
    whole = assess_rationales(model, reviews(12))
    assert found["gold-accuracy"] == whole.gold_accuracy
    assert found["selected-accuracy"] == whole.selected_accuracy
    assert found["lipschitz"] == pytest.approx(estimate_lipschitz(model, reviews(12)), rel=1e-5)
    assert found["gold-cross-entropy"] == pytest.approx(whole.gold_cross_entropy, rel=0.2)
    assert "change" not in found
    items = model.encode(reviews(12), "head")
    picked = [reading.selected for reading in read_rationales(model, items)]
    gold = [gold_words(item) for item in items]
    assert all(marks.sum() == 1 for marks in gold)
    assert found["f1"] == pytest.approx(f1_score(np.concatenate(gold), np.concatenate(picked), zero_division=0))
    assert found["f1"] > 0


def test_the_change_is_from_the_validation_before_also_after_a_stop() -> None:
    model, other = rationalizer(0), rationalizer(0)
    probe = EpochProbe(model)
    look(probe)
    assert look(probe)["change"] == 0
    resumed = EpochProbe(model)
    resumed.load_state(json.loads(json.dumps(probe.state())))
    rationalizer_of(model).selector.threshold.fill_(-100.0)
    expected = selection_change(other, model, reviews(12))
    assert 0 < expected < 1
    assert look(probe)["change"] == pytest.approx(expected)
    assert look(resumed)["change"] == pytest.approx(expected)


def test_texts_without_gold_are_probed_for_what_needs_none() -> None:
    model = rationalizer()
    items = model.encode([Example(e.texts, e.label) for e in reviews(6)], "head")
    assert set(EpochProbe(model).look(items, read_rationales(model, items), 8)) == {"lipschitz"}


def test_probing_changes_nothing_that_is_trained_and_is_logged_every_epoch(tmp_path: Path) -> None:
    plain = train("ver", reviews(48), epochs=2, out=tmp_path / "plain", **OPTIONS)
    probed = train("ver", reviews(48), epochs=2, out=tmp_path / "probed", probes=True, **OPTIONS)
    assert plain.fingerprint == probed.fingerprint
    history = json.loads((tmp_path / "probed" / "run.json").read_text())["result"]["history"]
    assert [set(h) - {"step", "epoch", "score", "accuracy", "selected"} for h in history] == [
        {"f1", "lipschitz", "selected-accuracy", "selected-cross-entropy", "gold-accuracy", "gold-cross-entropy"},
        {
            "change",
            "f1",
            "lipschitz",
            "selected-accuracy",
            "selected-cross-entropy",
            "gold-accuracy",
            "gold-cross-entropy",
        },
    ]


def test_the_state_is_empty_before_the_first_look() -> None:
    objective = make("rnp", probes=True)
    assert objective.state() == {"progress": 0.0}
    objective.load_state(objective.state())
    assert objective.probe is not None
    assert np.isfinite(list(look(objective.probe).values())).all()
