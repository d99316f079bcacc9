from __future__ import annotations

import numpy as np
import pytest
import torch

from saywhy.loop import Step
from saywhy.objectives.sparsity import SparsityControl, find_collapse, position_agreement


def run(control: SparsityControl, steps: int, response: float) -> float:
    """A selector that selects `response` times what is asked for; where it ends."""
    share = 0.0
    for index in range(steps):
        share = response * control.alpha
        control.observe(torch.tensor([share * 1000]), torch.tensor([1000.0]))
        control.update(Step(index, steps, 0, seed=0))
    return share


@pytest.mark.parametrize("response", [0.6, 1.0, 1.8])
def test_the_controller_reaches_its_target_whatever_the_selector_makes_of_alpha(response: float) -> None:
    assert run(SparsityControl(0.15, 0.15), 400, response) == pytest.approx(0.15, abs=0.005)


def test_without_a_target_nothing_moves() -> None:
    control = SparsityControl(0.125, None)
    run(control, 50, 3.0)
    assert control.alpha == 0.125
    assert control.reached(0.9)
    assert control.score(0.8, 0.9) == 0.8


def test_alpha_comes_down_and_stays_within_bounds() -> None:
    control = SparsityControl(0.2, None, anneal=0.5)
    assert control.alpha == 0.9
    seen = []
    for index in range(10):
        control.update(Step(index, 10, 0, seed=0))
        seen.append(control.alpha)
    assert seen[:5] == pytest.approx([0.76, 0.62, 0.48, 0.34, 0.2])
    assert set(seen[5:]) == {0.2}
    stuck = SparsityControl(0.1, 0.1)
    run(stuck, 2000, 0.0)
    assert stuck.alpha == pytest.approx(0.3)


def test_micro_batches_count_together_and_the_state_is_kept() -> None:
    one, many = SparsityControl(0.15, 0.15), SparsityControl(0.15, 0.15)
    one.observe(torch.tensor([30.0]), torch.tensor([100.0]))
    for chosen, words in ((10.0, 60.0), (20.0, 40.0)):
        many.observe(torch.tensor([chosen]), torch.tensor([words]))
    for control in (one, many):
        control.update(Step(0, 10, 0, seed=0))
    many.update(Step(0, 10, 0, seed=0))  # the second micro-batch's turn
    assert one.alpha == many.alpha < 0.15
    other = SparsityControl(0.15, 0.15)
    other.load_state(one.state())
    assert run(other, 5, 1.0) == run(one, 5, 1.0)


def test_an_epoch_with_the_wrong_share_scores_below_all_others() -> None:
    control = SparsityControl(0.15, 0.15)
    assert control.score(0.6, 0.16) == 0.6
    assert control.score(0.99, 0.5) < control.score(0.4, 0.2) < control.score(0.1, 0.15)


def test_collapse() -> None:
    assert find_collapse(0.15, 0.1) == ""
    assert "nothing" in find_collapse(0.001, 0.0)
    assert "everything" in find_collapse(0.97, 0.95)
    assert "same places" in find_collapse(0.2, 0.9)


def test_places_agree_only_where_the_selector_ignores_the_text() -> None:
    rng = np.random.default_rng(0)
    texts = [rng.random(int(n)) < 0.15 for n in rng.integers(20, 60, 80)]
    assert position_agreement(texts) < 0.2
    blind = [np.arange(len(t)) % 7 == 0 for t in texts]
    assert position_agreement(blind) > 0.95
    assert position_agreement([np.zeros(4, dtype=bool)] * 3) == 0.0
