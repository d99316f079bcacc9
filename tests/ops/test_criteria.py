from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import entropy, pearsonr

from saywhy.ops.criteria import (
    cluster_loss,
    comprehensiveness_loss,
    consistency_loss,
    correlation_loss,
    smoothed_kl,
    straight_through_top,
    sufficiency_loss,
)
from saywhy.ops.ranking import top_mask

LOSSES = st.floats(0, 20, width=32)


@given(st.lists(st.tuples(LOSSES, LOSSES), min_size=1, max_size=5), st.floats(0, 3))
@settings(deadline=None, max_examples=50)
def test_margins_bound_the_losses_from_below(pairs: list[tuple[float, float]], margin: float) -> None:
    whole, other = torch.tensor(pairs, dtype=torch.float64).T
    for loss in (comprehensiveness_loss(whole, other, margin), sufficiency_loss(whole, other, margin)):
        assert float(loss.min()) >= -1e-12
    done = other >= whole + margin
    assert float(comprehensiveness_loss(whole, other, margin)[done].abs().sum()) == pytest.approx(0, abs=1e-9)
    done = other <= whole - margin
    assert float(sufficiency_loss(whole, other, margin)[done].abs().sum()) == pytest.approx(0, abs=1e-9)


def test_margins_by_hand() -> None:
    whole = torch.tensor([0.5])
    assert float(comprehensiveness_loss(whole, torch.tensor([1.1]))) == pytest.approx(0.4)
    assert float(sufficiency_loss(whole, torch.tensor([1.1]))) == pytest.approx(0.7)


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.5, 1.0]))
@settings(deadline=None, max_examples=50)
def test_the_top_is_the_top(seed: int, ratio: float) -> None:
    rng = np.random.default_rng(seed)
    n, pad = int(rng.integers(1, 30)), int(rng.integers(0, 5))
    shares = np.concatenate([np.round(rng.dirichlet(np.ones(n)), 2), np.zeros(pad)]).astype(np.float32)
    content = torch.arange(n + pad) < n
    made = straight_through_top(torch.from_numpy(shares)[None], content[None], ratio)[0].numpy()
    np.testing.assert_array_equal(made[:n] > 0.5, top_mask(shares[:n], ratio, "round"))
    assert not made[n:].any()


def test_the_top_passes_its_gradient_on() -> None:
    shares = torch.tensor([[0.2, 0.5, 0.3]], requires_grad=True)
    top = straight_through_top(shares, torch.ones(1, 3, dtype=torch.bool), 0.4)
    assert top.tolist() == [[0.0, 1.0, 0.0]]
    (top * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    torch.testing.assert_close(shares.grad, torch.tensor([[2.0, 4.0, 6.0]]))


def test_a_row_without_content_has_no_top() -> None:
    made = straight_through_top(torch.zeros(1, 4), torch.zeros(1, 4, dtype=torch.bool), 0.5)
    assert not made.any()


def test_divergence_is_scipys_and_finite_with_zeros() -> None:
    p, q = torch.tensor([0.2, 0.5, 0.3, 0.0]), torch.tensor([0.1, 0.6, 0.3, 0.0])
    inside = torch.tensor([True, True, True, False])
    assert float(smoothed_kl(p, q, inside)) == pytest.approx(entropy(p[:3], q[:3]), rel=1e-4)
    sparse = torch.tensor([0.0, 1.0, 0.0, 0.0], requires_grad=True)
    value = smoothed_kl(p, sparse, inside)
    value.backward()
    assert value.isfinite()
    assert 3 < float(value.detach()) < 20
    assert bool(sparse.grad.isfinite().all())  # type: ignore[union-attr]


def test_the_top_is_exactly_one_and_the_rest_exactly_zero() -> None:
    shares = torch.rand(64, 9, generator=torch.Generator().manual_seed(0)).softmax(-1).requires_grad_()
    mask = straight_through_top(shares, torch.ones(64, 9, dtype=torch.bool), 0.4)
    assert set(mask.detach().flatten().tolist()) == {0.0, 1.0}


def test_consistency_by_hand() -> None:
    shares = torch.tensor([[0.7, 0.3, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    content = torch.tensor([[True, True, False], [True, True, False], [True, True, True]])
    states = torch.randn(3, 3, 4, generator=torch.Generator().manual_seed(0))
    states[:, 2] = torch.where(content[:, 2:], states[:, 2], torch.full((3, 4), 99.0))  # beyond a text nothing counts
    distances, divergences = [], []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        shared = content[i] & content[j]
        distances.append(float((states[i] - states[j])[shared].norm()))
        few = 0.01 / float(shared.sum())
        there_and_back = smoothed_kl(shares[i], shares[j], shared, few) + smoothed_kl(shares[j], shares[i], shared, few)
        divergences.append(float(there_and_back) / 2)
    expected = np.mean(np.asarray(divergences) * np.mean(distances) / np.asarray(distances))
    assert float(consistency_loss(shares, content, states)) == pytest.approx(expected, rel=1e-4)


def test_consistency_of_equal_explanations_and_of_one_text() -> None:
    shares, content = torch.full((3, 4), 0.25), torch.ones(3, 4, dtype=torch.bool)
    assert float(consistency_loss(shares, content, torch.randn(3, 4, 2))) == pytest.approx(0, abs=1e-6)
    assert float(consistency_loss(shares[:1], content[:1], torch.randn(1, 4, 2))) == 0
    alike = torch.zeros(3, 4, 2, requires_grad=True)  # the same hidden states: the distance is 0
    value = consistency_loss(torch.eye(3, 4), content, alike)
    value.backward()
    assert value.isfinite()
    assert bool(alike.grad.isfinite().all())  # type: ignore[union-attr]


def test_a_longer_text_may_say_the_same() -> None:
    shares = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]])
    content = shares > 0
    assert float(consistency_loss(shares, content, torch.randn(2, 4, 2))) == pytest.approx(0, abs=1e-6)


def test_nearer_texts_count_more() -> None:
    shares, content = torch.tensor([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]]), torch.ones(3, 2, dtype=torch.bool)
    near, far = torch.zeros(3, 2, 1), torch.zeros(3, 2, 1)
    near[:, 0, 0], far[:, 0, 0] = torch.tensor([0.0, 0.1, 5.0]), torch.tensor([0.0, 5.0, 0.1])
    assert float(consistency_loss(shares, content, near)) > float(consistency_loss(shares, content, far))


def test_the_units_of_hidden_states_do_not_matter() -> None:
    shares, content = torch.softmax(torch.randn(4, 5), -1), torch.ones(4, 5, dtype=torch.bool)
    states, unit = torch.randn(4, 5, 3), torch.ones((), requires_grad=True)
    consistency_loss(shares, content, states * unit).backward()
    assert float(unit.grad) == pytest.approx(0, abs=1e-5)  # type: ignore[arg-type]


def test_shares_of_nothing_have_no_steep_slope() -> None:
    shares = torch.eye(2, 4).requires_grad_()
    consistency_loss(shares, torch.ones(2, 4, dtype=torch.bool), torch.randn(2, 4, 2)).backward()
    assert float(shares.grad.abs().max()) < 1e3  # type: ignore[union-attr]


def test_correlation_is_pearsons_over_shared_places() -> None:
    generator = torch.Generator().manual_seed(0)
    content = torch.tensor([[True] * 6, [True] * 4 + [False] * 2, [True] * 6, [True] * 2 + [False] * 4])
    shares = torch.rand(4, 6, generator=generator) * content
    states = torch.randn(4, 6, 3, generator=generator).requires_grad_()
    expected = []
    for i, j in ((0, 1), (0, 2), (1, 2)):  # the fourth text shares two places with the others: too few
        both = content[i] & content[j]
        apart = (states[i] - states[j]).detach().norm(dim=-1)[both]
        expected.append(1 - pearsonr(apart, (shares[i] - shares[j]).abs()[both]).statistic)
    shares.requires_grad_()
    value = correlation_loss(shares, content, states)
    assert value.item() == pytest.approx(np.mean(expected), abs=1e-5)
    value.backward()
    assert states.grad is None
    assert float(shares.grad.abs().sum()) > 0  # type: ignore[union-attr]


def test_no_correlation_with_something_constant() -> None:
    shares = torch.full((3, 5), 0.2, requires_grad=True)
    value = correlation_loss(shares, torch.ones(3, 5, dtype=torch.bool), torch.randn(3, 5, 2))
    value.backward()
    assert value.item() == pytest.approx(1)
    assert bool(shares.grad.isfinite().all())  # type: ignore[union-attr]
    assert float(correlation_loss(shares[:1], torch.ones(1, 5, dtype=torch.bool), torch.randn(1, 5, 2))) == 0


def test_clusters() -> None:
    shares = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    assert float(cluster_loss(shares, torch.tensor([0, 0, 1]))) == pytest.approx(0.5 - (2.0 + 0.5) / 2)
    assert float(cluster_loss(shares, torch.tensor([0, 0, 0]))) == pytest.approx((0.5 + 2.0 + 0.5) / 3)
    shorter = torch.tensor([[True, True], [True, False], [True, True]])
    assert float(cluster_loss(shares, torch.tensor([0, 0, 0]), shorter)) == pytest.approx((0.25 + 2.0 + 0.25) / 3)
