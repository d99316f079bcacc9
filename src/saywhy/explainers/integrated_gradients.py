"""Integrated gradients on word embeddings or on masks, with points only where the path needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.explainers.base import AGGREGATIONS, Explainer, Request, aggregate, check_output, register
from saywhy.explainers.inquiry import open_space
from saywhy.models import Encoded
from saywhy.models.differentiate import Loss
from saywhy.models.embedding_space import EmbeddingSpace, Point
from saywhy.ops.quadrature import completeness_error, gauss_legendre, midpoint, spline_weights
from saywhy.types import Explanation

__all__ = ["IntegratedGradients"]

RULES = {"gauss-legendre": gauss_legendre, "midpoint": midpoint}
# Chosen on development sentences. Gradients of transformers peak in the first half of the path: look there first.
START = (1.0, 0.0, 0.0625, 0.125, 0.1875, 0.25, 0.375, 0.5, 0.75)
# What one part of the path misses may make up for what another misses: luck, not precision. So the sum of the parts'
# own errors is bounded too, at this many times the tolerance.
SLACK = 10


@register
@dataclass(frozen=True)
class IntegratedGradients(Explainer):
    """The gradient along the straight path from a baseline to the input, times the way.

    Reference: Sundararajan, Taly, Yan: Axiomatic Attribution for Deep Networks, ICML 2017, equations 1 and 3.

    The scores of the words sum to what the target gains between the baseline and the input. How far they miss that is
    the completeness error, reported as ``error`` relative to the gain. Every gradient comes with the value of the
    function, so the error is known piece by piece of the path: points are added where it is largest until the whole
    is below ``tolerance``.

    Options:
        tolerance: the completeness error to stop at.
        max_points: gradients at most, whatever the error.
        points: a fixed number of points instead, placed by ``rule``.
        rule: ``gauss-legendre`` (default, as Captum) or ``midpoint``.
        baseline: ``zero`` embeddings (default), or those of the tokenizer's ``pad`` or ``mask`` token.
        aggregation: of a piece's embedding dimensions: ``sum`` (default), ``l2`` or ``mean``.
        output: ``logit`` (default) or ``probability`` of the target.
        space: ``words`` (default) or ``alignments``.
        erasure: None (default): the path of embeddings. ``attention-mask`` or ``zero-embedding``: the path on which all
            words are kept to the same degree, from 0 to 1 (``baseline`` does not apply). Alignments always have such
            a path (AREC, section 4.1).

    Departures: special tokens stay as they are on the whole path, so that all of the gain belongs to words.

    A network that normalises its embeddings before anything is added to them (Llama) jumps at zero: no number of points
    makes the scores sum to the gain from a zero baseline there, and a note says how much is missed.
    """

    name: ClassVar[str] = "integrated-gradients"
    family: ClassVar[str] = "gradient"
    needs: ClassVar[tuple[str, ...]] = ("gradients", "embeddings")
    spaces: ClassVar[tuple[str, ...]] = ("words", "alignments")
    paper: ClassVar[str] = "Sundararajan et al. 2017"

    tolerance: float = 0.01
    max_points: int = 64
    points: int | None = None
    rule: str = "gauss-legendre"
    baseline: str = "zero"
    aggregation: str = "sum"
    output: str = "logit"
    space: str = "words"
    erasure: str | None = None

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        self._check()
        size = request.batch_size
        if self.aggregation != "sum" and len(request.examples) > size:
            # Norms need every gradient of a path until it is integrated, so only a batch of paths is walked at a time.
            parts = [request.part(slice(start, start + size)) for start in range(0, len(request.examples), size)]
            return [why for part in parts for why in self.explain(part)]
        targets: dict[int, int] = {}

        def loss(scores: Tensor, owner: np.ndarray) -> Tensor:
            # The first point asked for of every input is the input itself: it says which label is explained.
            for place, number in enumerate(owner):
                if int(number) not in targets:
                    chosen, _ = request.targets(scores[place : place + 1], owner[place : place + 1])
                    targets[int(number)] = int(chosen)
            held = torch.tensor([targets[int(number)] for number in owner])
            return request.value(scores, owner, self.output, held)

        ground = self._ground(request, loss)
        encoded, paths = ground.encoded, [_Path() for _ in ground.encoded]

        def ask(wanted: list[tuple[int, float]]) -> None:
            owner, at = np.asarray([number for number, _ in wanted]), np.asarray([t for _, t in wanted])
            for (number, t), point in zip(wanted, ground.points(owner, at), strict=True):
                paths[number].points[t] = point

        if self.points is not None:
            nodes, _ = RULES[self.rule](self.points)
            ask([(i, t) for i in range(len(encoded)) for t in (1.0, 0.0, *nodes.tolist())])
        else:
            ask([(i, t) for i in range(len(encoded)) for t in START])
            open_paths = list(range(len(encoded)))
            while open_paths:
                wanted = [(i, t) for i in open_paths for t in paths[i].refine(self.tolerance, self.max_points)]
                if wanted:
                    ask(wanted)
                open_paths = sorted({i for i, _ in wanted})
        words, errors = [], []
        for i, path in enumerate(paths):
            rows = path.integral(self._rule(path))
            words.append(ground.scores(i, [aggregate(row, self.aggregation) for row in rows]))
            errors.append(path.error(self._rule(path)))
        costs = [{"gradients": len(p.points) * len(item.rows)} for p, item in zip(paths, encoded, strict=True)]
        scores = [path.points[1.0].scores for path in paths]
        notes = [
            (f"the scores miss {error:.1%} of what the target gains on the path",) if error > self.tolerance else ()
            for error in errors
        ]
        return self.word_scores(request, encoded, scores, words, errors, costs, notes, **ground.facts)

    def _ground(self, request: Request, loss: Loss) -> _Ground:
        """Where the paths lie: among embeddings, or among masks."""
        if self.space != "words" or self.erasure is not None:
            masks = open_space(request, self.space, self.erasure)
            widest = max(len(features) for features in masks.features)

            def on_masks(owner: np.ndarray, at: np.ndarray) -> list[Point]:
                keep = np.repeat(at[:, None], widest, axis=1)
                scores, values, grads = masks.value_and_grad(owner, keep, loss)
                return [
                    Point(scores[i].numpy(), float(values[i]), (grads[i, : len(masks.features[n]), None],))
                    for i, n in enumerate(owner)
                ]

            return _Ground(masks.encoded, on_masks, lambda _, rows: rows[0], {"erasure": masks.erasure})
        space = EmbeddingSpace(request.model, request.prepare(), baseline=self.baseline, batch_size=request.batch_size)

        def reduce(grad: Tensor, difference: Tensor) -> Tensor:
            # Summing at once saves memory; norms can be taken only of the whole integral.
            way = grad * difference
            return way.sum(dim=-1, keepdim=True) if self.aggregation == "sum" else way

        return _Ground(space.encoded, lambda owner, at: space.gradients(owner, at, loss, reduce), space.word_scores, {})

    def _rule(self, path: _Path) -> dict[float, float]:
        if self.points is None:
            return path.weights()
        nodes, weights = RULES[self.rule](self.points)
        return dict(zip(nodes.tolist(), weights.tolist(), strict=True))

    def _check(self) -> None:
        check_output(self.output)
        if self.aggregation not in AGGREGATIONS:
            raise OptionError(f"unknown aggregation {self.aggregation!r}; use one of {', '.join(AGGREGATIONS)}")
        if self.rule not in RULES:
            raise OptionError(f"unknown rule {self.rule!r}; use one of {', '.join(RULES)}")
        if self.points is not None and self.points < 1:
            raise OptionError(f"points must be at least 1, not {self.points}")
        if self.max_points < len(START):
            raise OptionError(f"max_points must be at least {len(START)}, not {self.max_points}; or give points=")
        if self.tolerance <= 0:
            raise OptionError(f"tolerance must be positive, not {self.tolerance}")


@dataclass(frozen=True)
class _Ground:
    """Where paths lie: gives points on them, and makes scores of features from what was integrated."""

    encoded: list[Encoded]
    points: Callable[[np.ndarray, np.ndarray], list[Point]]
    scores: Callable[[int, list[np.ndarray]], np.ndarray]
    facts: dict[str, Any]


@dataclass
class _Path:
    """What is known of one input's path: the points asked for so far, by how far along they lie."""

    points: dict[float, Point] = field(default_factory=dict)

    @property
    def gain(self) -> float:
        return self.points[1.0].value - self.points[0.0].value

    def slope(self, at: float) -> float:
        """The derivative of the value along the path."""
        return float(sum(row.sum() for row in self.points[at].rows))

    def weights(self) -> dict[float, float]:
        nodes = sorted(self.points)
        return dict(zip(nodes, spline_weights(np.asarray(nodes)).sum(axis=0).tolist(), strict=True))

    def integral(self, rule: dict[float, float]) -> list[np.ndarray]:
        """The gradients times the way, integrated: (L, c) for each row of the input."""
        rows = [np.zeros(row.shape) for row in next(iter(self.points.values())).rows]
        for at, weight in rule.items():
            for total, row in zip(rows, self.points[at].rows, strict=True):
                total += weight * row
        return rows

    def error(self, rule: dict[float, float]) -> float:
        """The completeness error, relative to the gain."""
        return completeness_error(sum(weight * self.slope(at) for at, weight in rule.items()), self.gain)

    def refine(self, tolerance: float, most: int) -> list[float]:
        """Where to look next: the middles of the intervals that miss most of what the value gains in them."""
        nodes = np.asarray(sorted(self.points))
        room = most - len(nodes)
        slopes = np.asarray([self.slope(t) for t in nodes])
        values = np.asarray([self.points[t].value for t in nodes])
        missed = spline_weights(nodes) @ slopes - np.diff(values)
        allowed = SLACK * tolerance * abs(self.gain)
        if room <= 0 or (abs(missed.sum()) <= tolerance * abs(self.gain) and np.abs(missed).sum() <= allowed):
            return []
        # All intervals that take three times their share, so that few rounds are needed; the worst in any case.
        order = np.argsort(-np.abs(missed), kind="stable")
        chosen = order[: max(1, int((np.abs(missed) > 3 * allowed / len(missed)).sum()))][:room]
        return [float(t) for t in sorted((nodes[chosen] + nodes[chosen + 1]) / 2)]
