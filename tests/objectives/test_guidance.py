from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import saywhy
from saywhy.errors import CapabilityError, OptionError
from saywhy.models.attention_door import AttentionTap, tap_attention
from saywhy.objectives.guidance import ATTRIBUTIONS, Guide
from saywhy.types import Example
from tests.zoo import LABELS, TEXTS, chooser, classifier, shared

EXAMPLES = [Example((text,), label=LABELS[i % 3]) for i, text in enumerate(TEXTS)]


def encoded(model: Any, examples: list[Example] | None = None) -> Any:
    return model.encode(examples or EXAMPLES)


@pytest.mark.parametrize("attribution", ATTRIBUTIONS)
@pytest.mark.parametrize("aggregation", ["l2", "mean"])
def test_targets_are_those_of_the_explainer(attribution: str, aggregation: str) -> None:
    if (attribution, aggregation) == ("gradient", "mean"):
        pytest.skip("behind a layer norm the gradients of a piece's dimensions sum to zero: their mean is rounding")
    model = shared()
    items = encoded(model)
    targets = Guide(model, attribution=attribution, aggregation=aggregation, points=5).targets(items)
    options: dict[str, Any] = {"points": 5} if attribution == "integrated-gradients" else {}
    for item, target in zip(items, targets, strict=True):
        assert float(target[0].sum()) == pytest.approx(1, abs=0.01)
        assert (target[0][~item.rows[0].pieces.owned()] == 0).all()
        why = saywhy.explain(
            model,
            item.example,
            attribution,
            target=item.example.label,
            aggregation=aggregation,
            verdict=False,
            **options,
        )
        scores = np.asarray(why.scores)
        words = item.rows[0].pieces.word_scores(target[0].astype(float))
        np.testing.assert_allclose(words, scores / scores.sum(), atol=2e-3)


def test_integrated_gradients_are_complete() -> None:
    # What the guide integrates is what the explainer's tests show to be complete: at 50 points the sum is the gain.
    model = shared()
    why = saywhy.explain(model, TEXTS[2], "integrated-gradients", points=50, verdict=False)
    assert why.error is not None
    assert why.error < 0.05


def test_the_query_is_read_right_for_every_architecture() -> None:
    for architecture in ("bert", "gpt2", "modernbert"):
        model = shared(architecture)
        items = encoded(model)
        guide = Guide(model, mask="random")
        batch = model.task.collate(items)
        with torch.no_grad(), tap_attention(model.module, AttentionTap(layers=guide.calls)) as tap:
            model.task.scores(model.module, batch)
        found = guide.attention(tap.calls[-1], batch)
        torch.testing.assert_close(found.sum(-1), torch.ones(len(items)))
        for i, item in enumerate(items):
            owned = item.rows[0].pieces.owned()
            assert (found[i, len(owned) :] == 0).all()
            words = item.rows[0].pieces.word_scores(found[i, : len(owned)].numpy())
            scores = np.asarray(saywhy.explain(model, item.example, "attention", verdict=False).scores)
            np.testing.assert_allclose(words, scores / scores.sum(), atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 0.9), st.sampled_from(range(3)), st.integers(0, 100))
def test_as_many_words_are_masked_as_asked(ratio: float, number: int, seed: int) -> None:
    model = shared()
    item = encoded(model)[number]
    row = item.rows[0]
    guide = Guide(model, mask_ratio=ratio)
    target = (np.random.default_rng(seed).random(len(row)).astype(np.float16),)
    chosen = guide.lowest(item, target)
    assert chosen.sum() == min(len(item.words), max(1, math.ceil(ratio * len(item.words) - 1e-9)))
    scores = row.pieces.word_scores(target[0].astype(float))
    assert scores[chosen].max() <= scores[~chosen].min(initial=np.inf)
    masked = guide.masked([item], [target])[0].rows[0]
    changed = masked.ids != row.ids
    assert (masked.ids[changed] == model.tokenizer.mask_token_id).all()
    assert (changed == (row.pieces.keep_pieces(~chosen) == 0)).all()
    assert not changed[~row.pieces.owned()].any()


def test_fixed_and_cut_words_are_never_masked() -> None:
    model = classifier("bert")
    item = encoded(model, [Example(("Dull film", "A gripping film"), label="neutral", meta={"fixed": (0,)})])[0]
    flat = (np.zeros(len(item.rows[0]), dtype=np.float16),)
    chosen = Guide(model, mask_ratio=0.9).lowest(item, flat)
    assert chosen.tolist() == [False, False, True, True, True]
    with pytest.warns(UserWarning, match="cut"):
        cut = model.encode([Example(("film " * 100,), label="neutral")], "head")[0]
    shown = np.unique(cut.rows[0].pieces.word)
    chosen = Guide(model).lowest(cut, (np.ones(len(cut.rows[0]), dtype=np.float16),))
    assert chosen.sum() == math.ceil(0.15 * len(shown))
    assert not chosen[len(shown) :].any()


def test_random_tokens_are_ordinary_ones() -> None:
    model = shared()
    items = encoded(model)
    guide = Guide(model, mask="random", mask_ratio=0.9)
    targets = guide.targets(items)
    made = guide.masked(items, targets, np.random.default_rng(3))
    again = guide.masked(items, targets, np.random.default_rng(3))
    for before, target, item, same in zip(items, targets, made, again, strict=True):
        row = before.rows[0]
        changed = row.ids != item.rows[0].ids
        assert not set(item.rows[0].ids[changed]) & set(model.tokenizer.all_special_ids)
        asked = row.pieces.keep_pieces(~guide.lowest(before, target)) == 0.0
        assert changed.any()
        assert not changed[~asked].any()
        assert not changed[~row.pieces.owned()].any()
        assert (item.rows[0].ids == same.rows[0].ids).all()
    assert any((a.rows[0].ids != b.rows[0].ids).any() for a, b in zip(items, made, strict=True))


def moved_on(epoch: int) -> tuple[Any, Any, Guide, Any]:
    """A model that has changed since an epoch, its examples, a guide that keeps targets twice, and those of then."""
    model = classifier("bert")
    items, guide = encoded(model), Guide(model, refresh=2)
    then = guide.targets(items, epoch=epoch)
    with torch.no_grad():
        for parameter in model.module.parameters():
            parameter.mul_(1.2)
    return model, items, guide, then


def equal(some: Any, others: Any) -> bool:
    return all((a[0] == b[0]).all() for a, b in zip(some, others, strict=True))


def test_targets_are_kept_for_some_epochs() -> None:
    model, items, guide, first = moved_on(epoch=0)
    assert equal(first, guide.targets(items, epoch=1))
    other = Guide(model, refresh=2)
    other.load_state(guide.state())
    assert equal(first, other.targets(items, epoch=1))
    assert not equal(first, guide.targets(items, epoch=2))
    relabelled = [replace(items[0], example=replace(EXAMPLES[0], label=LABELS[1]))]
    assert (guide.targets(relabelled, epoch=1)[0][0] != first[0][0]).any()
    assert Guide(model).state() == {}


def test_a_target_grows_old_by_its_own_epochs() -> None:
    # With terms in every fifth batch an example may be met first in an odd epoch.
    _, items, guide, first = moved_on(epoch=1)
    assert equal(first, guide.targets(items, epoch=2))
    assert not equal(first, guide.targets(items, epoch=3))


def test_choices_have_a_target_where_they_were_asked_about() -> None:
    model = chooser()
    items = model.encode([Example(("Dull film?",), choices=("You sleep", "run"), label=1)])
    targets = Guide(model).targets(items)[0]
    assert float(targets[0].sum()) == 0
    assert float(targets[1].sum()) == pytest.approx(1, abs=0.01)


def test_of_choices_words_of_the_gold_row_are_masked() -> None:
    model = chooser()
    example = Example(("Dull film, you sleep?",), choices=("You sleep through most of it", "run away"), label=1)
    items = model.encode([example])
    guide = Guide(model, mask_ratio=0.3)
    targets = guide.targets(items)
    chosen = guide.lowest(items[0], targets[0])
    gold = items[0].rows[1]
    shown = np.unique(gold.pieces.word)
    assert chosen.sum() == math.ceil(0.3 * len(shown))
    assert set(np.flatnonzero(chosen)) <= set(shown)  # the words of the other choice have no attribution
    assert (guide.masked(items, targets)[0].rows[1].ids != gold.ids).any()
    flat = tuple(np.zeros(len(row), dtype=np.float16) for row in items[0].rows)
    assert guide.lowest(items[0], flat).sum() == math.ceil(0.3 * len(items[0].words))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"attribution": "lime"}, OptionError, "attribution must be one of integrated-gradients, gradient"),
        ({"aggregation": "sum"}, OptionError, "aggregation must be one of l2, mean"),
        ({"mask": "delete"}, OptionError, "mask must be one of"),
        ({"mask_ratio": 1.0}, OptionError, "mask_ratio must lie between"),
        ({"points": 0}, OptionError, "at least 1"),
    ],
)
def test_mistakes(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Guide(shared(), **options)


def test_what_the_model_must_have() -> None:
    with pytest.raises(CapabilityError, match=r"no mask token; use mask='random'"):
        Guide(shared("gpt2"))
    with pytest.raises(CapabilityError, match="guidance_weight=0"):
        Guide(classifier("deberta-v2"))
