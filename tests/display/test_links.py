from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from saywhy.display import explanation_html, explanation_rich
from saywhy.display.links import links_svg
from saywhy.types import Alignments, Header, Span, Word
from tests.display.shown import printed


def chosen_alignments() -> Alignments:
    header = Header("arec", "contradiction", ("a", "b"), (0.4, 0.6), ("Two men <walk> home", "The men sleep"))
    premise = tuple(Word(t, s, s + len(t)) for t, s in (("Two", 0), ("men", 4), ("walk", 9), ("home", 15)))
    hypothesis = tuple(Word(t, s, s + len(t), 1) for t, s in (("The", 0), ("men", 4), ("sleep", 8)))
    scores = ((0.9, 0.8, 0.1), (0.9, 0.8, 0.1), (0.1, 0.1, 0.7), (0.1, 0.1, 0.2))
    selected = tuple(tuple(s > 0.5 for s in row) for row in scores)
    return Alignments(
        header, premise, hypothesis, scores, selected,
        phrases=(("Two men", "The men", 0.85), ("walk", "sleep", 0.7)), boxes=((0, 1, 0, 1), (2, 2, 2, 2)),
        fidelity=0.123, empty=2.0, kept=True,
    )  # fmt: skip


def test_selected_alignments_are_linked_boxed_and_told() -> None:
    why = chosen_alignments()
    html = why.to_html()
    assert "5 of 12 word pairs selected; with them alone the logits move by 0.12 (with none: 2.00)" in html
    assert "the label is kept" in html
    svg = links_svg(why)
    assert svg in html
    drawn = ElementTree.fromstring(svg)  # it is well-formed
    assert [title.text for title in drawn.iter("title")] == ["Two men ↔ The men: +0.850", "walk ↔ sleep: +0.700"]
    texts = [text.text for text in drawn.iter("text")]
    assert texts == ["1", "2", "Two", "men", "walk", "home", "The", "men", "sleep"]
    lost = replace(why, kept=False)
    assert "the label is lost" in lost.to_html()
    shown = printed(explanation_rich(why))
    assert "Two men ↔ The men +0.850" in shown
    assert "5 of 12 word pairs selected" in shown
    widths = {text.text: float(text.get("textLength", "0")) for text in drawn.iter("text")}
    assert widths["men"] > widths["The"]  # by the shapes of letters, not by their number
    nothing = replace(why, selected=((False,) * 3,) * 4, phrases=(), boxes=())
    assert links_svg(nothing) == ""
    assert "pairs: none" in printed(explanation_rich(nothing))
    scored = replace(why, selected=(), phrases=(), boxes=(), fidelity=None, empty=None, kept=None)
    assert links_svg(scored).count("<title>") == 5


def test_gold_words_stay_underlined_where_links_are_drawn() -> None:
    why = chosen_alignments()
    gold = [Span(0, 4, 13), Span(1, 8, 13), Span(1, 90, 95)]
    page = explanation_html(why, gold=gold)
    drawn = ElementTree.fromstring(links_svg(why, gold))
    assert links_svg(why, gold) in page
    words = [text for text in drawn.iter("text") if text.get("textLength")]
    lines = [path.get("d", "") for path in drawn.iter("path") if path.get("class") == "sw-gold"]
    start = {text.text: float(text.get("x", "0")) for text in words}
    end = {text.text: start[text.text] + float(text.get("textLength", "0")) for text in words}
    edges = [tuple(map(float, line.lstrip("M").replace("H", " ").split())) for line in lines]
    # One line under "men <walk", one under "sleep"; the last span is outside the text.
    assert [(a, b) for a, _, b in edges] == [
        (pytest.approx(float(words[1].get("x", "0"))), pytest.approx(end["walk"], abs=1)),
        (pytest.approx(start["sleep"]), pytest.approx(end["sleep"], abs=1)),
    ]
    assert [y for _, y, _ in edges] == [float(text.get("y", "0")) + 4 for text in (words[1], words[-1])]
    assert "sw-gold" not in links_svg(why)
