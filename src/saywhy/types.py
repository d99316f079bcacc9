"""What goes in and what comes out: examples, explanations, metric results.

Everything here is frozen, small and plain: it can be written as JSON, compared, and kept by the thousand.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

from saywhy.errors import InputError
from saywhy.plain import plain, read_flat, tuples

__all__ = [
    "Alignments",
    "Example",
    "Explanation",
    "FreeText",
    "Header",
    "MetricResult",
    "Prediction",
    "Rationale",
    "Span",
    "TextInput",
    "Verdict",
    "Word",
    "WordScores",
    "as_example",
    "as_examples",
    "explanation_from_dict",
]

SCHEMA = 1


class Span(NamedTuple):
    """Characters ``start`` to ``end`` (half open) of field number ``field`` of an example."""

    field: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its place in the text the user gave; ``field`` counts an example's texts, then its choices."""

    text: str
    start: int
    end: int
    field: int = 0

    def __str__(self) -> str:
        return self.text

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self.field, self.start, self.end)


@dataclass(frozen=True)
class Example:
    """One input, with whatever is known about its label and its true reasons.

    ``texts`` holds one text, or two (premise and hypothesis; question and context). With ``choices`` it holds the
    question. ``label`` is a class name, or the index of the right choice. ``rationales`` holds the spans marked by each
    annotator. ``answers`` are the spans that answer a question about a context. ``truth`` says that the rationale is
    exact because it was planted, not judged.
    """

    texts: tuple[str, ...]
    label: str | int | None = None
    choices: tuple[str, ...] = ()
    rationales: tuple[tuple[Span, ...], ...] = ()
    alignments: tuple[tuple[Span, Span], ...] = ()
    answers: tuple[Span, ...] = ()
    explanations: tuple[str, ...] = ()
    truth: bool = False
    id: str = ""
    source: str = ""
    line: int | None = None
    meta: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def fields(self) -> tuple[str, ...]:
        """All strings of the example, in the order in which ``Span.field`` and ``Word.field`` count them."""
        return self.texts + self.choices

    @property
    def shape(self) -> str:
        """``choices``, ``pair`` or ``text``, by what it holds."""
        if self.choices:
            return "choices"
        return "pair" if len(self.texts) == 2 else "text"

    def where(self) -> str:
        """A phrase that names the example in an error message."""
        if self.source:
            return self.source + (f":{self.line}" if self.line is not None else "")
        return f"example {self.id}" if self.id else "the example"


TextInput: TypeAlias = "str | tuple[str, str] | Mapping[str, Any] | Example"


def as_example(given: TextInput) -> Example:
    """Read one input in any of the forms people use.

    A string; a pair of strings; ``{"text": ..., "text_pair": ...}`` as pipelines take it;
    ``{"premise", "hypothesis"}``; ``{"question", "choices"}``; ``{"question", "context"}``; or an
    `Example`, returned as it is.
    """
    if isinstance(given, Example):
        return given
    if isinstance(given, str):
        return Example((given,))
    if isinstance(given, tuple):
        if not 1 <= len(given) <= 2 or not all(isinstance(t, str) for t in given):
            raise InputError(f"a pair is a tuple of two strings, not {given!r}; for several texts give a list")
        return Example(tuple(given))
    if isinstance(given, Mapping):
        for first, second in (("text", "text_pair"), ("premise", "hypothesis"), ("question", "context")):
            if first in given and ("choices" in given or second in given or first == "text"):
                texts = [given[first]] + ([given[second]] if given.get(second) is not None else [])
                choices = given.get("choices", ())
                if isinstance(choices, str) or not all(isinstance(t, str) for t in (*texts, *choices)):
                    raise InputError(f"the texts of {dict(given)!r} must be strings")
                return Example(tuple(texts), label=given.get("label"), choices=tuple(choices))
        raise InputError(
            f"cannot read an input with keys {sorted(given)}; use text[+text_pair], premise+hypothesis, "
            "question+choices or question+context"
        )
    raise InputError(
        f"cannot read an input of type {type(given).__name__}; give a string, a pair, a dict or an Example"
    )


def as_examples(given: TextInput | Sequence[TextInput]) -> tuple[list[Example], bool]:
    """Read one input or a list of them; the flag says whether it was a single one."""
    if isinstance(given, str | tuple | Mapping | Example) or not isinstance(given, Iterable):
        return [as_example(given)], True
    return [as_example(item) for item in given], False


@dataclass(frozen=True)
class Prediction:
    """What a model says about one input."""

    label: str
    probability: float
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]

    @property
    def index(self) -> int:
        """Index of the predicted label."""
        return max(range(len(self.probabilities)), key=self.probabilities.__getitem__)

    def __str__(self) -> str:
        return f"{self.label} ({self.probability:.2f})"


@dataclass(frozen=True)
class Header:
    """What every explanation says about where it comes from, so that it can be trusted and found again."""

    method: str
    target: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    texts: tuple[str, ...]
    choices: tuple[str, ...] = ()
    against: str | None = None
    output: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    space: str = "words"
    erasure: str | None = None
    seed: int = 0
    model: str = ""
    version: str = ""
    notes: tuple[str, ...] = ()

    @property
    def prediction(self) -> Prediction:
        """The model's prediction for the input that was explained."""
        best = max(range(len(self.probabilities)), key=self.probabilities.__getitem__)
        return Prediction(self.labels[best], self.probabilities[best], self.labels, self.probabilities)


@dataclass(frozen=True)
class Verdict:
    """An explanation's own check: what the target is worth when the features it names are kept or removed.

    ``features`` are the places of the named ones among the ``total`` (word pairs row by row), best first. ``whole``,
    ``kept``, ``removed`` and ``empty`` are the target's probability (less the contrast's) on the input, on the named
    features alone, without them, and without any; ``random_...`` those of as many random features, draw by draw.
    ``better``: whether the named do more (rule: `saywhy.explainers.verdict`), or None where there is no comparison.
    ``agreement``: mean Jaccard index with what ``seeds`` other seeds name (``cost`` is without their runs).
    """

    features: tuple[int, ...]
    total: int
    whole: float
    kept: float
    removed: float
    empty: float
    random_kept: tuple[float, ...] = ()
    random_removed: tuple[float, ...] = ()
    better: bool | None = None
    erasure: str | None = None
    agreement: float | None = None
    seeds: int = 0
    cost: Mapping[str, int] = field(default_factory=dict)

    @property
    def effect(self) -> float:
        """What the named features do: the value with them alone less the value without them."""
        return self.kept - self.removed

    @property
    def random_effects(self) -> tuple[float, ...]:
        """The same for each draw of random features."""
        return tuple(k - r for k, r in zip(self.random_kept, self.random_removed, strict=True))


@dataclass(frozen=True)
class Explanation:
    """Base of the four kinds of explanation; ``kind`` is the tag of the union."""

    header: Header
    verdict: Verdict | None = field(default=None, kw_only=True)
    kind: ClassVar[str] = ""

    @property
    def method(self) -> str:
        """Name of the method that made it."""
        return self.header.method

    @property
    def prediction(self) -> Prediction:
        """The model's prediction for the input that was explained."""
        return self.header.prediction

    @property
    def target(self) -> str:
        """Label that was explained."""
        return self.header.target

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, with ``kind`` and ``schema``."""
        return {"kind": self.kind, "schema": SCHEMA, **plain(asdict(self))}

    def to_json(self, indent: int | None = None) -> str:
        """The same as a string."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def to_html(self) -> str:
        """A fragment of HTML that needs no style sheet."""
        from saywhy.display import explanation_html

        return explanation_html(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __rich__(self) -> Any:
        from saywhy.display import explanation_rich

        return explanation_rich(self)


@dataclass(frozen=True)
class WordScores(Explanation):
    """A score for every word; higher speaks more for the target.

    ``error`` is the method's own estimate of its numerical error, relative where it can be (integrated gradients: the
    completeness error), or None. ``cost`` counts model calls per row of input.
    """

    words: tuple[Word, ...] = ()
    scores: tuple[float, ...] = ()
    error: float | None = None
    cost: Mapping[str, int] = field(default_factory=dict)
    kind: ClassVar[str] = "word-scores"

    def top(self, k: int) -> list[tuple[Word, float]]:
        """The k words with the highest scores, best first; ties in the order of the text."""
        order = sorted(range(len(self.words)), key=lambda i: (-self.scores[i], i))[:k]
        return [(self.words[i], self.scores[i]) for i in order]


@dataclass(frozen=True)
class Rationale(Explanation):
    """The words a model used, or that suffice: selected or not, with scores where there are any."""

    words: tuple[Word, ...] = ()
    selected: tuple[bool, ...] = ()
    scores: tuple[float, ...] = ()
    kind: ClassVar[str] = "rationale"


@dataclass(frozen=True)
class Alignments(Explanation):
    """Scores on pairs of words of two texts, and the phrase pairs that decided.

    A rationale also says which pairs are ``selected``, a table like ``scores``; they make up the ``phrases`` (with the
    mean score of their pairs), whose ``boxes`` are first and last premise word, first and last hypothesis word.
    ``fidelity`` is how far the logits move when only the selected pairs are left, ``empty`` when none is, and ``kept``
    whether the label stays with those selected.
    """

    premise: tuple[Word, ...] = ()
    hypothesis: tuple[Word, ...] = ()
    scores: tuple[tuple[float, ...], ...] = ()
    selected: tuple[tuple[bool, ...], ...] = ()
    phrases: tuple[tuple[str, str, float], ...] = ()
    boxes: tuple[tuple[int, int, int, int], ...] = ()
    fidelity: float | None = None
    empty: float | None = None
    kept: bool | None = None
    error: float | None = None
    cost: Mapping[str, int] = field(default_factory=dict)
    kind: ClassVar[str] = "alignments"

    def top(self, k: int) -> list[tuple[tuple[Word, Word], float]]:
        """The k word pairs with the highest scores, best first; ties in the order of the texts."""
        cells = [(i, j) for i in range(len(self.premise)) for j in range(len(self.hypothesis))]
        cells.sort(key=lambda cell: -self.scores[cell[0]][cell[1]])
        return [((self.premise[i], self.hypothesis[j]), self.scores[i][j]) for i, j in cells[:k]]


@dataclass(frozen=True)
class FreeText(Explanation):
    """A sentence in plain language, and the label distribution after each of its words."""

    sentence: str = ""
    steps: tuple[tuple[float, ...], ...] = ()
    kind: ClassVar[str] = "free-text"


def explanation_from_dict(data: Mapping[str, Any]) -> Explanation:
    """Read back what `Explanation.to_dict` wrote."""
    kinds = {k.kind: k for k in (WordScores, Rationale, Alignments, FreeText)}
    if data.get("schema") != SCHEMA or data.get("kind") not in kinds:
        raise InputError(f"not an explanation of schema {SCHEMA}: kind={data.get('kind')!r}")
    cls = kinds[data["kind"]]
    values = {f.name: tuples(data[f.name]) for f in fields(cls) if f.name in data}
    values["header"] = read_flat(Header, data["header"])
    values["verdict"] = read_flat(Verdict, data["verdict"]) if data.get("verdict") else None
    for name in ("words", "premise", "hypothesis"):
        if name in values:
            values[name] = tuple(Word(**w) for w in data[name])
    return cast(Explanation, cls(**values))


@dataclass(frozen=True)
class MetricResult:
    """A number, how sure we are of it, and how it was made.

    ``low`` and ``high`` bound it by the bootstrap over examples. ``values`` are the examples' own contributions in
    their order (empty where a metric has none). ``bins`` are more numbers by name, and ``bins_are`` says what they are,
    as the metric declares it: ``shares`` of words, ``thresholds``, a ``histogram`` or ``parts``; it is empty where
    there are none, and in results of earlier versions. ``higher_is_better`` and ``range`` are declared by the variant
    that ran; an end of the range may be infinite.
    """

    name: str
    value: float
    low: float
    high: float
    n: int
    values: tuple[float, ...] = ()
    bins: Mapping[str, float] = field(default_factory=dict)
    method: str = ""
    family: str = ""
    variant: Mapping[str, Any] = field(default_factory=dict)
    higher_is_better: bool = True
    range: tuple[float, float] = (0.0, 1.0)
    erasure: str | None = None
    seed: int = 0
    model: str = ""
    version: str = ""
    notes: tuple[str, ...] = ()
    bins_are: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        # JSON has no infinity: a range that is open at an end has null there.
        ends = [None if math.isinf(end) else end for end in self.range]
        return {"kind": "metric", "schema": SCHEMA, **plain(asdict(self)), "range": ends}

    def __str__(self) -> str:
        return f"{self.name} {self.value:z.3f} [{self.low:z.3f}, {self.high:z.3f}]"
