from __future__ import annotations

import numpy as np
import pytest

from saywhy.loop import Step
from saywhy.objectives.sparsity import SparsityControl, find_collapse, position_agreement


@pytest.mark.parametrize(("centre", "width"), [(-2.0, 0.1), (0.0, 1.0), (3.0, 2.0)])
def test_the_threshold_selects_the_target_whatever_the_logits(centre: float, width: float) -> None:
    logits = centre + width * np.random.default_rng(0).standard_normal(5000)
    threshold = SparsityControl(0.15, 0.15).threshold(1 / (1 + np.exp(-logits)))
    assert (logits > threshold).mean() == pytest.approx(0.15, abs=0.001)


def test_certain_words_have_a_threshold_too() -> None:
    assert np.isfinite(SparsityControl(0.1, 0.1).threshold(np.ones(9, dtype=np.float32)))
    assert np.isfinite(SparsityControl(0.1, 0.1).threshold(np.zeros(9, dtype=np.float32)))


def test_without_a_target_any_share_will_do() -> None:
    control = SparsityControl(0.125, None)
    assert control.alpha == 0.125
    assert control.reached(0.9)
    assert control.score(0.8, 0.9) == 0.8


def test_alpha_comes_down_and_the_state_is_kept() -> None:
    control = SparsityControl(0.2, None, anneal=0.5)
    assert control.alpha == pytest.approx(0.9)
    seen = []
    for index in range(10):
        control.update(Step(index, 10, 0, seed=0))
        seen.append(control.alpha)
        other = SparsityControl(0.2, None, anneal=0.5)
        other.load_state(control.state())
        assert other.alpha == control.alpha
    assert seen[:5] == pytest.approx([0.76, 0.62, 0.48, 0.34, 0.2])
    assert set(seen[5:]) == {0.2}


def test_an_epoch_with_the_wrong_share_scores_below_all_others() -> None:
    control = SparsityControl(0.15, 0.15)
    assert control.score(0.6, 0.16) == 0.6
    assert control.score(0.99, 0.5) < control.score(0.4, 0.2) < control.score(0.1, 0.15)
    early = SparsityControl(0.15, 0.15, anneal=0.5)
    assert early.score(1.0, 0.15) < control.score(0.0, 0.99)
    early.update(Step(4, 10, 0, seed=0))
    assert early.score(1.0, 0.15) == 1.0


def test_collapse() -> None:
    assert find_collapse(0.15, 0.1, 0.2) == ""
    assert "nothing" in find_collapse(0.001, 0.0, 0.2)
    assert "everything" in find_collapse(0.97, 0.95, 0.2)
    assert "same places" in find_collapse(0.2, 0.9, 0.2)
    assert "as likely" in find_collapse(0.2, 0.1, 0.0001)


def test_places_agree_only_where_the_selector_ignores_the_text() -> None:
    rng = np.random.default_rng(0)
    texts = [rng.random(int(n)) < 0.15 for n in rng.integers(20, 60, 80)]
    assert position_agreement(texts) < 0.2
    blind = [np.arange(len(t)) % 7 == 0 for t in texts]
    assert position_agreement(blind) > 0.95
    assert position_agreement([np.zeros(4, dtype=bool)] * 3) == 0.0
