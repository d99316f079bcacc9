"""Probes of rationalizers: how their predictors judge the true rationales, how smooth they are, how selections move.

Library functions on trained models. The objectives of rationalisation log them epoch by epoch (``probes=True``), and
the metrics ``rationale-accuracy``, ``rationale-cross-entropy`` and ``lipschitz`` put them into tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saywhy.data.words import span_mask
from saywhy.errors import InputError
from saywhy.models.embedding_door import look_up, replace_embeddings
from saywhy.models.encoding import Encoded
from saywhy.models.rationales import Reading, rationalizer_of, read_rationales
from saywhy.models.rationalizer import piece_mask
from saywhy.models.text_model import TextModel
from saywhy.ops.batching import length_batches
from saywhy.ops.rationales import non_overlap
from saywhy.types import Example

__all__ = [
    "Assessment",
    "Judgement",
    "ProbePoint",
    "assess_rationales",
    "estimate_lipschitz",
    "estimate_slopes",
    "gold_words",
    "judge_rationales",
    "mean_change",
    "probe_curve",
    "selection_change",
]


@dataclass(frozen=True)
class Assessment:
    """What a predictor makes of its own selection and of the true rationales of the same examples.

    Medians of the cross-entropy, because a few confident mistakes would drown its mean.
    """

    n: int
    selected_accuracy: float
    gold_accuracy: float
    selected_cross_entropy: float
    gold_cross_entropy: float


@dataclass(frozen=True)
class Judgement:
    """What a predictor makes of examples, one by one: whether its label is right, and its cross-entropy, (N,) each."""

    right: NDArray[np.bool_]
    losses: NDArray[np.float64]


def judge_rationales(
    model: TextModel, encoded: Sequence[Encoded], *, gold: bool = False, batch_size: int = 32
) -> Judgement:
    """What a rationalizer's predictor makes of what its selector selects, or of the gold rationales.

    Args:
        model: a rationalizer.
        encoded: examples with labels, as the model encodes them.
        gold: read the gold rationales instead; of several annotators the union counts.
        batch_size: rows at a time.
    """
    masks = [gold_words(item) for item in encoded] if gold else None
    return _judged(model, encoded, read_rationales(model, encoded, batch_size, masks))


def gold_words(item: Encoded) -> NDArray[np.bool_]:
    """Which words of an example are in its gold rationale, (words,); of several annotators the union counts."""
    return span_mask(item.words, [span for marked in item.example.rationales for span in marked])


def _judged(model: TextModel, encoded: Sequence[Encoded], readings: Sequence[Reading]) -> Judgement:
    scores = torch.from_numpy(np.stack([reading.scores for reading in readings])).double()
    labels = torch.tensor([model.task.gold(item.example) for item in encoded])
    losses = torch.nn.functional.cross_entropy(scores, labels, reduction="none")
    return Judgement((scores.argmax(-1) == labels).numpy(), losses.numpy())


def assess_rationales(
    model: TextModel, examples: Sequence[Example], *, batch_size: int = 32, truncation: str = "head"
) -> Assessment:
    """Accuracy and median cross-entropy of a predictor on what its selector selects, and on the gold rationales.

    Reference: VER, Figures 3 and 10, appendices A.3 and A.5.

    Args:
        model: a rationalizer.
        examples: with labels and rationales; those without are left out. Of several annotators the union counts.
        batch_size: rows at a time.
        truncation: what happens to texts that are too long.
    """
    kept = [e for e in examples if e.label is not None and any(e.rationales)]
    if not kept:
        raise InputError("none of the examples has a label and a rationale")
    encoded = model.encode(kept, truncation)
    own = judge_rationales(model, encoded, batch_size=batch_size)
    true = judge_rationales(model, encoded, gold=True, batch_size=batch_size)
    return Assessment(
        len(kept), float(own.right.mean()), float(true.right.mean()), _median(own.losses), _median(true.losses)
    )


def _median(losses: NDArray[np.float64]) -> float:
    return float(np.quantile(losses, 0.5, method="inverted_cdf"))


def estimate_slopes(
    model: TextModel,
    encoded: Sequence[Encoded],
    *,
    label: str | int = 1,
    absolute: bool = False,
    batch_size: int = 32,
) -> NDArray[np.float64]:
    """How fast the probability of a label changes with what a predictor reads of each example, (N,).

    Reference: VER, appendix A.4: the gradient of the label's probability with respect to the embeddings of the
    selected words, mean over these, its norm. Of an example in several windows the steepest counts.

    Departures: every text's own gradient, in evaluation mode; the released code takes that of a batch's mean, which
    shrinks with the batch, under dropout, and times 1000. ``absolute`` averages absolute values, as the code does.
    """
    network, chosen = rationalizer_of(model), model.label_index(label)
    single = [Encoded(item.example, item.words, (row,)) for item in encoded for row in item.rows]
    owner = np.asarray([i for i, item in enumerate(encoded) for _ in item.rows], dtype=np.intp)
    steepest = np.zeros(len(encoded))
    with model.evaluation(), torch.enable_grad():
        for some in length_batches([len(item.rows[0]) for item in single], batch_size):
            inputs = model.task.collate([single[i] for i in some]).to(model.device).inputs
            with torch.no_grad():
                choice = network.choose(inputs)
                mask = network.select(choice)
                keep = piece_mask(choice.word_ids, mask)
                read = look_up(network.predictor, inputs["input_ids"]) * keep.unsqueeze(-1)
            read.requires_grad_()
            with replace_embeddings(network.predictor, inputs["input_ids"], read):
                scores = network.predict(inputs, mask)
            (slope,) = torch.autograd.grad(scores.softmax(-1)[:, chosen].sum(), read)
            selected = (keep * (choice.word_ids > 0)).unsqueeze(-1)
            slope = (slope.abs() if absolute else slope) * selected
            mean = slope.sum(1) / selected.sum(1).clamp_min(1)
            np.maximum.at(steepest, owner[some], mean.norm(dim=-1).double().cpu().numpy())
    return steepest


def estimate_lipschitz(
    model: TextModel,
    examples: Sequence[Example],
    *,
    label: str | int = 1,
    absolute: bool = False,
    batch_size: int = 32,
    truncation: str = "head",
) -> float:
    """How fast a predictor's probability can change with what it reads: the largest slope found on the examples.

    Reference: VER, Figure 4 and appendix A.4; see `estimate_slopes`.

    Args:
        model: a rationalizer.
        examples: the texts.
        label: whose probability.
        absolute: average the gradients' absolute values over the selected words.
        batch_size: rows at a time.
        truncation: what happens to texts that are too long.
    """
    encoded = model.encode(examples, truncation)
    return float(estimate_slopes(model, encoded, label=label, absolute=absolute, batch_size=batch_size).max())


def selection_change(
    one: TextModel, other: TextModel, examples: Sequence[Example], *, batch_size: int = 32, truncation: str = "head"
) -> float:
    """How far two rationalizers, such as those of successive epochs, select different words: 0 the same, 1 no overlap.

    Reference: VER, Figure 2 and appendix A.3, mean over texts.
    """
    masks = [read_rationales(m, m.encode(examples, truncation), batch_size) for m in (one, other)]
    for first, second in zip(*masks, strict=True):
        if len(first.selected) != len(second.selected):
            raise InputError("the two models cut texts into different words")
    return mean_change(*([reading.selected for reading in readings] for readings in masks))


def mean_change(before: Sequence[NDArray[np.bool_]], after: Sequence[NDArray[np.bool_]]) -> float:
    """How far two selections of the same texts differ, mean over texts; see `selection_change`."""
    pairs = zip(before, after, strict=True)
    found = [float(non_overlap(*(torch.from_numpy(mask).float().unsqueeze(0) for mask in pair))) for pair in pairs]
    return float(np.mean(found))


@dataclass(frozen=True)
class ProbePoint:
    """The probes of one model on the way, such as that of one epoch.

    ``change`` is how far its selection differs from that of the model before; None for the first.
    """

    assessment: Assessment
    lipschitz: float
    change: float | None


def probe_curve(
    models: Iterable[TextModel],
    examples: Sequence[Example],
    *,
    label: str | int = 1,
    batch_size: int = 32,
    truncation: str = "head",
) -> list[ProbePoint]:
    """All probes of successive models on the same examples: the curves of a training run, or of a sweep.

    Reference: VER, Figures 2 to 5. No more than two models are held at a time, so that they may be loaded on the way.

    Args:
        models: rationalizers in their order; an iterator is read once.
        examples: with labels and rationales.
        label: of the Lipschitz estimate.
        batch_size: rows at a time.
        truncation: what happens to texts that are too long.

    Example:
        >>> folders = ["runs/ver-1", "runs/ver-2", "runs/ver-3"]              # after one, two and three epochs
        >>> curve = probe_curve(map(saywhy.load, folders), examples)                           # doctest: +SKIP
        >>> [point.assessment.gold_accuracy for point in curve]                                # doctest: +SKIP
        [0.55, 0.68, 0.74]
    """
    points: list[ProbePoint] = []
    before: TextModel | None = None
    how: dict[str, Any] = {"batch_size": batch_size, "truncation": truncation}
    for model in models:
        change = None if before is None else selection_change(before, model, examples, **how)
        slope = estimate_lipschitz(model, examples, label=label, **how)
        points.append(ProbePoint(assess_rationales(model, examples, **how), slope, change))
        before = model
    return points
