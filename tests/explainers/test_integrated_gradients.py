from __future__ import annotations

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import OptionError
from saywhy.explainers.integrated_gradients import _Path
from saywhy.models.embedding_space import Point
from saywhy.types import WordScores
from tests import zoo


@pytest.mark.parametrize("architecture", [a for a in zoo.ARCHITECTURES if a != "llama"])
def test_scores_sum_to_the_gain_within_the_tolerance(architecture: str) -> None:
    model = zoo.shared(architecture)
    for why in saywhy.explain(model, zoo.TEXTS, "integrated-gradients", tolerance=0.02, max_points=200):
        assert isinstance(why, WordScores)
        fine = saywhy.explain(model, why.header.texts[0], "integrated-gradients", points=200, target=why.target)
        gain = sum(fine.scores)
        assert why.error is not None
        assert why.error <= 0.02
        assert why.header.notes == ()
        assert sum(why.scores) == pytest.approx(gain, rel=0.03, abs=1e-3)
        # The parts are bounded as well as the sum: no word may be far off.
        assert np.abs(np.subtract(why.scores, fine.scores)).sum() <= 0.15 * np.abs(fine.scores).sum()


@pytest.mark.parametrize("text", zoo.TEXTS)
def test_fifty_points_sum_to_what_the_network_itself_gains(text: str) -> None:
    model = zoo.shared("bert")
    why = saywhy.explain(model, text, "integrated-gradients", points=50, output="logit", target=1)
    (item,) = model.encode([saywhy.Example((text,))])
    inputs = dict(model.task.collate([item]).inputs)
    words = torch.from_numpy(item.rows[0].pieces.owned())
    with torch.no_grad():
        embeddings = model.module.get_input_embeddings()(inputs.pop("input_ids"))  # type: ignore[operator]
        empty = embeddings.masked_fill(words[None, :, None], 0.0)  # special tokens stay
        whole, none = (float(model.module(inputs_embeds=x, **inputs).logits[0, 1]) for x in (embeddings, empty))
    assert abs(whole - none) > 0.05
    assert sum(why.scores) == pytest.approx(whole - none, rel=0.05)  # type: ignore[attr-defined]


def test_a_tighter_tolerance_costs_more_and_errs_less() -> None:
    model = zoo.shared("bert")
    loose, tight = (
        saywhy.explain(model, zoo.TEXTS[2], "integrated-gradients", tolerance=t, max_points=500) for t in (0.1, 1e-4)
    )
    assert tight.cost["gradients"] > loose.cost["gradients"]
    assert tight.error <= 1e-4
    assert saywhy.explain(model, zoo.TEXTS[2], "integrated-gradients", tolerance=1e-9, max_points=12).cost == {
        "gradients": 12
    }


def test_what_is_missed_is_said() -> None:
    # Llama normalises the bare embeddings first, so its logits jump at the zero baseline.
    why = saywhy.explain(zoo.shared("llama"), zoo.TEXTS[0], "integrated-gradients")
    assert why.error > 0.01
    assert f"miss {why.error:.1%}" in why.header.notes[0]


def test_rules_agree_where_points_are_many() -> None:
    model = zoo.shared("bert")
    one, two = (
        saywhy.explain(model, "Dull film", "integrated-gradients", points=200, rule=rule)
        for rule in ("midpoint", "gauss-legendre")
    )
    np.testing.assert_allclose(one.scores, two.scores, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("baseline", ["pad", "mask"])
def test_other_baselines_change_the_path(baseline: str) -> None:
    model = zoo.shared("bert")
    zero = saywhy.explain(model, zoo.TEXTS[0], "integrated-gradients", points=20)
    other = saywhy.explain(model, zoo.TEXTS[0], "integrated-gradients", points=20, baseline=baseline)
    assert other.header.parameters["baseline"] == baseline
    assert not np.allclose(zero.scores, other.scores, atol=1e-3)


def test_aggregations_of_the_integral() -> None:
    model = zoo.shared("bert")
    total, norm, mean = (
        np.asarray(saywhy.explain(model, zoo.TEXTS[0], "integrated-gradients", points=20, aggregation=a).scores)
        for a in ("sum", "l2", "mean")
    )
    assert (norm >= 0).all()
    assert (mean >= 0).all()
    # One piece a word here, so |mean| of 32 dimensions is |sum| / 32, and a norm is at least |sum| / sqrt(32).
    pieces = model.encode([saywhy.Example((zoo.TEXTS[0],))])[0].rows[0].pieces
    single = np.bincount(pieces.word, minlength=pieces.words) == 1
    np.testing.assert_allclose(mean[single], np.abs(total[single]) / 32, rtol=1e-4, atol=1e-7)
    assert (norm[single] * np.sqrt(32) >= np.abs(total[single]) - 1e-6).all()


def test_a_contrast_explains_the_difference() -> None:
    model = zoo.shared("bert")
    text = zoo.TEXTS[0]
    one, two = (
        np.asarray(saywhy.explain(model, text, "integrated-gradients", points=30, target=t).scores) for t in (0, 1)
    )
    both = saywhy.explain(model, text, "integrated-gradients", points=30, target=0, against=1)
    np.testing.assert_allclose(both.scores, one - two, atol=1e-5)


@pytest.mark.parametrize(
    "options", [{"rule": "simpson"}, {"points": 0}, {"tolerance": 0.0}, {"aggregation": "max"}, {"baseline": "noise"}]
)
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        saywhy.explain(zoo.shared("bert"), "Dull", "integrated-gradients", **options)


def test_errors_that_cancel_are_not_precision() -> None:
    # A slope of 1 + 20 sin(6 pi t), known at five even points: what one half misses the other makes up for.
    path = _Path()
    for at in (0.0, 0.25, 0.5, 0.75, 1.0):
        value = at + 20 * (1 - np.cos(6 * np.pi * at)) / (6 * np.pi)
        slope = 1 + 20 * np.sin(6 * np.pi * at)
        path.points[at] = Point(np.zeros(2), float(value), (np.array([[slope]]),))
    assert path.error(path.weights()) < 1e-9
    assert path.refine(tolerance=0.01, most=64)
    assert path.refine(tolerance=0.01, most=5) == []
