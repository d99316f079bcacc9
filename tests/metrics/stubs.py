"""A model one can compute by hand: every word has a weight, and the probability is the sigmoid of their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from saywhy.data.words import example_words
from saywhy.metrics import Workbench
from saywhy.types import (
    Alignments,
    Example,
    Explanation,
    FreeText,
    Header,
    Prediction,
    Rationale,
    Span,
    Word,
    WordScores,
)

LABELS = ("negative", "positive")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class StubModel:
    fingerprint = "stub"
    splitter = "whitespace"
    labels = LABELS

    def __init__(self, weights: Mapping[str, float], bias: float = 0.0) -> None:
        self.weights, self.bias = dict(weights), bias

    def words(self, example: Example) -> tuple[Word, ...]:
        return example_words(example, "whitespace")

    def probability(self, words: Sequence[Word]) -> float:
        return float(sigmoid(self.bias + sum(self.weights.get(w.text, 0.0) for w in words)))

    def predict(self, inputs, *, batch_size=32, truncation="error"):
        assert isinstance(inputs, list)
        found = []
        for example in inputs:
            p = self.probability(self.words(example))
            found.append(Prediction(LABELS[int(p > 0.5)], max(p, 1 - p), LABELS, (1 - p, p)))
        return found

    def label_index(self, label, example=None):
        return LABELS.index(label)


class StubSpace:
    """Counts its calls and the rows it was asked for."""

    def __init__(self, bench: Workbench) -> None:
        self.model = bench.model
        self.features = [bench.model.words(e) for e in bench.examples]
        self.calls: list[list[tuple[int, tuple[float, ...]]]] = []

    def probabilities(self, owner, keep):
        rows = [tuple(row[: len(self.features[o])].tolist()) for o, row in zip(owner, keep, strict=True)]
        self.calls.append(list(zip(owner.tolist(), rows, strict=True)))
        p = [
            self.model.probability([w for w, k in zip(self.features[o], row, strict=True) if k])
            for o, row in zip(owner, rows, strict=True)
        ]
        return np.stack([1 - np.asarray(p), np.asarray(p)], axis=1)


WEIGHTS = {"good": 2.0, "great": 3.0, "bad": -2.0, "awful": -3.0, "film": 0.1}


def make_bench(
    texts: Sequence[str | Example], weights: Mapping[str, float] = WEIGHTS, bias=0.0, **options
) -> Workbench:
    examples = [t if isinstance(t, Example) else Example((t,)) for t in texts]
    return Workbench(StubModel(weights, bias), examples, **{"make_space": StubSpace, **options})


def header(example: Example, model: StubModel | None = None, method: str = "hand", target: str | None = None) -> Header:
    found = (model or StubModel(WEIGHTS)).predict([example])[0]
    return Header(
        method=method,
        target=target or found.label,
        labels=found.labels,
        probabilities=found.probabilities,
        texts=example.texts,
        choices=example.choices,
    )


def score_words(example: Example, scores: Sequence[float], model: StubModel | None = None) -> WordScores:
    return WordScores(header(example, model), words=example_words(example, "whitespace"), scores=tuple(scores))


def select_words(example: Example, selected: Sequence[int], scores: Sequence[float] = ()) -> Rationale:
    words = example_words(example, "whitespace")
    chosen = tuple(i in set(selected) for i in range(len(words)))
    return Rationale(header(example), words=words, selected=chosen, scores=tuple(scores))


def align(example: Example, scores: Sequence[Sequence[float]], method: str = "hand") -> Alignments:
    first, second = (tuple(w for w in example_words(example, "whitespace") if w.field == field) for field in (0, 1))
    return Alignments(
        replace(header(example, method=method), space="alignments"), first, second, tuple(map(tuple, scores))
    )


class StubAlignments:
    """Pairs of words vote: equal words for the positive class, "not" with anything against it."""

    def __init__(self, bench: Workbench) -> None:
        self.features = []
        for example in bench.examples:
            words = bench.model.words(example)
            self.features.append([(p, h) for p in words if p.field == 0 for h in words if h.field == 1])

    def probabilities(self, owner, keep):
        p = []
        for o, row in zip(owner, keep, strict=True):
            kept = [pair for pair, k in zip(self.features[o], row, strict=False) if k]
            p.append(sigmoid(sum(2.0 * (a.text == b.text) - 3.0 * (a.text == "not") for a, b in kept)))
        return np.stack([1 - np.asarray(p), np.asarray(p)], axis=1)


def pair_bench(pairs: Sequence[tuple[str, str] | Example], **options) -> Workbench:
    examples = [p if isinstance(p, Example) else Example(p) for p in pairs]
    return make_bench(examples, space="alignments", make_space=StubAlignments, erasure="co-attention", **options)


def contributions(bench: Workbench) -> list[Explanation]:
    """The explanations that are right: each word's weight, with the sign of the prediction."""
    found = []
    for example in bench.examples:
        sign = 1 if bench.model.predict([example])[0].label == "positive" else -1
        scores = [sign * bench.model.weights.get(w.text, 0.0) for w in bench.model.words(example)]
        found.append(score_words(example, scores, bench.model))
    return found


def explain_again(bench: Workbench):
    """What `Trial.explain` is for the stub: the weights, with the sign of the class asked about."""

    def explain(examples, targets):
        return [
            score_words(e, [(1 if t else -1) * bench.model.weights.get(w.text, 0.0) for w in bench.model.words(e)])
            for e, t in zip(examples, targets, strict=True)
        ]

    return explain


def whole_trial(bench: Workbench, explanations: Sequence[Explanation], method: str = "hand"):
    """A trial with all that a metric may ask for: another method, another model, and a way to explain again."""
    rivals = {"rival": contributions(bench)}
    return bench.trial(method, explanations, rivals=rivals, explain=explain_again(bench), others=rivals)


def marked(text: str, *annotators: Sequence[tuple[int, int]], **facts) -> Example:
    """An example whose annotators marked half-open ranges of words."""
    words = example_words(Example((text,)), "whitespace")
    rationales = tuple(tuple(Span(0, words[a].start, words[b - 1].end) for a, b in ranges) for ranges in annotators)
    return Example((text,), rationales=rationales, **facts)


def sentence_bench(examples: Sequence[Example], **options) -> Workbench:
    return make_bench(examples, space="sentences", **options)


def say(example: Example, sentence: str) -> FreeText:
    return FreeText(replace(header(example), space="sentences"), sentence=sentence, steps=((0.5, 0.5), (0.2, 0.8)))
