from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import OptionError
from saywhy.explainers.lime import Lime
from saywhy.ops.least_squares import ridge_fit
from saywhy.ops.subsets import every_subset
from tests import zoo

WEIGHTS = {"good": 1.5, "bad": -2.0, "film": 0.3, "very": 0.5}
TEXT = "this very good film has one bad scene"
LONG = f"{TEXT} and some more of it that nobody ever saw"


def liking(texts: list[str]) -> np.ndarray:
    """A logistic taste in which "very good" is more than its parts."""
    logits = []
    for text in texts:
        words = text.split()
        logits.append(sum(WEIGHTS.get(w, 0.0) for w in words) + 0.8 * ("very" in words and "good" in words))
    p = 1 / (1 + np.exp(-np.asarray(logits)))
    return np.stack([1 - p, p], axis=1)


MODEL = saywhy.load(liking, labels=["no", "yes"])


def lime(model: Any, inputs: Any, **options: Any) -> Any:
    return saywhy.explain(model, inputs, "lime", **options)


def population(text: str, how: Lime, samples: int) -> np.ndarray:
    """What LIME's fit would find if every mask came as often as it should."""
    words = text.split()
    masks = every_subset(len(words))
    values = liking([" ".join(np.asarray(words)[m]) for m in masks])[:, 1]
    erased = len(words) - masks.sum(axis=1)
    weights = how.weight(erased, len(words)) * (how.chances(len(words)) / np.bincount(erased))[erased] * samples
    weights[-1] = 1.0
    return ridge_fit(masks, values, weights, how.alpha).coefficients


def masks_and_values() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    masks = np.ones((40, 6), dtype=int)
    for i, k in enumerate(rng.integers(1, 7, 39)):
        masks[i + 1, rng.permutation(6)[:k]] = 0
    logits = masks @ np.array([2.0, -1.0, 0.5, 0.0, 1.5, -0.5]) - 1 + masks[:, 0] * masks[:, 1]
    return masks, 1 / (1 + np.exp(-logits))


def test_coefficients_of_the_lime_package() -> None:
    # Computed by lime 0.2.0.1: LimeBase with its text explainer's kernel, no feature selection.
    masks, values = masks_and_values()
    fit = ridge_fit(masks, values, Lime().weight(6 - masks.sum(axis=1), 6), alpha=1.0)
    expected = [
        0.38652414798029167, -0.04829916256256428, 0.052097204808269, -0.033510511112184775, 0.1281546389073341,
        -0.011709757138272865,
    ]  # fmt: skip
    np.testing.assert_allclose(fit.coefficients, expected, atol=1e-12)
    assert fit.intercept == pytest.approx(0.37288403785137003)


def test_the_lime_package_itself_on_the_masks_it_drew() -> None:
    package = pytest.importorskip("lime.lime_text")
    seen: list[str] = []

    def watched(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return liking(texts)

    theirs = package.LimeTextExplainer(
        bow=False, mask_string="", split_expression=" ", feature_selection="none", random_state=3
    ).explain_instance(TEXT, watched, labels=(1,), num_features=99, num_samples=400)
    words = TEXT.split()
    masks = np.asarray([[word in text.split() for word in words] for text in seen])
    fit = ridge_fit(masks, liking(seen)[:, 1], Lime().weight(len(words) - masks.sum(axis=1), len(words)), 1.0)
    np.testing.assert_allclose(fit.coefficients, [dict(theirs.local_exp[1])[i] for i in range(len(words))], atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"sampling": "bernoulli"}, {"distance": "hamming"}, {"kernel": "uniform"}])
@pytest.mark.parametrize("seed", [0, 1])
def test_both_designs_find_what_infinitely_many_samples_would(options: dict[str, Any], seed: int) -> None:
    text = "this very good film has one bad scene and some more of it"
    expected = population(text, Lime(**options), 800)
    largest = np.abs(expected).max()
    for design in ("spread", "plain"):
        why = lime(MODEL, text, target="yes", samples=800, tolerance=None, design=design, seed=seed, **options)
        missed = float(np.sqrt(np.mean((np.asarray(why.scores) - expected) ** 2)) / largest)
        assert missed < 2.5 * why.error + 2e-3
        assert 0 < why.error < (0.03 if design == "plain" else 0.01)


def test_short_texts_are_exact() -> None:
    why = lime(MODEL, TEXT, target="yes", samples=500)
    assert why.error == 0.0
    assert why.cost == {"forwards": 2**8}
    expected = population(TEXT, Lime(), 500)
    # The input counts as 500 / 256 copies there and as one here.
    np.testing.assert_allclose(why.scores, expected, atol=1e-3)


def test_two_words_have_one_solution() -> None:
    why = lime(MODEL, "good film", target="yes")
    whole, good, film = (float(liking([t])[0, 1]) for t in ("good film", "good", "film"))
    np.testing.assert_allclose(why.scores, [whole - film, whole - good], atol=0.02)


def test_it_stops_when_it_is_precise_enough() -> None:
    loose, tight = (lime(MODEL, LONG, tolerance=t, samples=5000, output="logit") for t in (0.1, 0.01))
    assert loose.error <= 0.1
    assert tight.error <= 0.01
    assert loose.cost["forwards"] < tight.cost["forwards"] < 5000
    full = lime(MODEL, LONG, tolerance=None, samples=300)
    assert full.cost["forwards"] <= 301


def test_a_word_counts_more_than_its_absence_and_nothing_stays_nothing() -> None:
    why = lime(MODEL, LONG, target="yes")
    scores = dict(zip((w.text for w in why.words), why.scores, strict=True))
    assert scores["good"] > scores["very"] > 0.05 > 0 > scores["bad"]
    constant = saywhy.load(lambda ts: [[0.3, 0.7]] * len(ts), labels=["no", "yes"])
    for text in ("good", "good film", LONG):
        flat = lime(constant, text)
        assert max(map(abs, flat.scores)) < 1e-9
        assert flat.error == 0.0


def test_an_input_draws_the_same_wherever_it_stands() -> None:
    options: dict[str, Any] = {"samples": 200, "tolerance": None, "target": "yes"}
    alone = lime(MODEL, LONG, **options)
    first, second, again = lime(MODEL, [TEXT, LONG, LONG], **options)
    assert second.scores == again.scores == alone.scores
    assert first.scores == lime(MODEL, TEXT, **options).scores
    assert lime(MODEL, LONG, seed=1, **options).scores != alone.scores


def test_alignments() -> None:
    why: Any = lime(zoo.pair_classifier(), zoo.PAIR, space="alignments", samples=150, tolerance=None)
    assert np.asarray(why.scores).shape == (len(why.premise), len(why.hypothesis))
    assert np.isfinite(why.scores).all()
    assert why.error > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"samples": 0}, "samples must be at least 1"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"sampling": "snow"}, "use one of lime, bernoulli"),
        ({"kernel": "corn"}, "unknown kernel"),
        ({"distance": "far"}, "use one of cosine, hamming"),
        ({"design": "art"}, "unknown design"),
        ({"kernel_width": 0.0}, "kernel_width must be positive"),
        ({"alpha": -1.0}, "alpha must not be negative"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        lime(MODEL, TEXT, **options)
