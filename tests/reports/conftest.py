from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from saywhy.reports import Report, report
from saywhy.types import Example, Header, MetricResult, Span, Word, WordScores

BLOCKS = {"dt", "dd", "li", "th", "td", "small", "figcaption", "p", "div", "h3", "span"}
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """A strict reader: every element must be closed by its own end tag."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.stack: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag
        self.text += " " if tag in BLOCKS else ""

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] not in ("style", "title"):
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def scored(text: str, method: str, *scores: float) -> WordScores:
    words = tuple(Word(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", text))
    top = Header(method, "pos", ("neg", "pos"), (0.2, 0.8), (text,), model="f00d", version="0.1.0")
    return WordScores(top, words=words, scores=scores or tuple(0.1 * i for i in range(len(words))))


def result(
    name: str, method: str, value: float, width: float = 0.02, higher: bool = True, **facts: object
) -> MetricResult:
    return MetricResult(
        name,
        value,
        value - width,
        value + width,
        100,
        method=method,
        higher_is_better=higher,
        **facts,  # type: ignore[arg-type]
    )


@pytest.fixture
def full() -> Report:
    texts = ["so very good", "not bad at all"]
    explanations = [scored(t, m) for t in texts for m in ("lime", "random")]
    examples = [Example((texts[0],), label="pos", rationales=((Span(0, 8, 12),),), truth=True, id="first")]
    bins = {"0.1": 0.2, "0.5": 0.6}
    results = [
        result("comprehensiveness", "random", 0.1, family="faithfulness", bins=bins),
        result("comprehensiveness", "lime", 0.5, family="faithfulness", bins={"0.1": 0.4, "0.5": 0.7}),
        result("sufficiency", "lime", 0.1, higher=False, family="faithfulness", bins=bins),
        result("sufficiency", "random", 0.11, higher=False, family="faithfulness", bins=bins),
        result("truth", "lime", 0.9, family="plausibility"),
        result("accuracy", "", 0.97, 0.01),
    ]
    card = {"seed": 0, "labels": ("neg", "pos"), "architecture": "gru", "time": 75.0, "extra": {"a": 1.5}}
    return report("Why", card=card, explanations=explanations, examples=examples, results=results, notes=["cut"])
