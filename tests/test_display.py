from __future__ import annotations

import html
import io
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.display import example_rich, explanation_html, explanation_rich, field_names, visible, words_html
from saywhy.display.fragment import BLUE, ORANGE, STRONGEST_ALPHA
from saywhy.display.links import links_svg
from saywhy.display.parts import level_of, segments
from saywhy.display.verdict import judgement, verdict_sentences
from saywhy.errors import InputError
from saywhy.types import (
    Alignments,
    Example,
    Explanation,
    FreeText,
    Header,
    Rationale,
    Span,
    Verdict,
    Word,
    WordScores,
    explanation_from_dict,
)

NASTY = "<script>alert('x')</script> \"q\" & 'a' 👩‍👩‍👧 שלום\u202e  tab\t\nnul\x00esc\x1b[31m \ud800"


def words(text: str, field: int = 0) -> tuple[Word, ...]:
    return tuple(Word(m.group(), m.start(), m.end(), field) for m in re.finditer(r"\w+|[^\w\s]", text))


def header(*texts: str, **facts: object) -> Header:
    values: dict[str, object] = {
        "method": "lime",
        "target": "pos",
        "labels": ("neg", "pos"),
        "probabilities": (0.1, 0.9),
    }
    return Header(texts=texts, **{**values, **facts})  # type: ignore[arg-type]


def scored(text: str, *scores: float, **facts: object) -> WordScores:
    return WordScores(header(text, **facts), words=words(text), scores=scores)


def all_kinds(text: str = "a store", other: str = "a car") -> list[Explanation]:
    one, two = words(text), words(other, 1)
    top = header(text, other, notes=("cut <here>",))
    grid = tuple(tuple(0.1 * (i - j) for j in range(len(two))) for i in range(len(one)))
    return [
        WordScores(top, words=one + two, scores=tuple(0.3 - 0.2 * i for i in range(len(one + two)))),
        Rationale(top, words=one, selected=tuple(i % 2 == 0 for i in range(len(one)))),
        Alignments(top, premise=one, hypothesis=two, scores=grid, phrases=((text, other, 0.9),)),
        FreeText(top, sentence=f"because {text}", steps=((0.6, 0.4), (0.3, 0.7), (0.1, 0.9))),
    ]


class Reader(HTMLParser):
    """Collects tags, attributes and the text inside ``sw-text`` blocks."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[tuple[str, bool]] = []
        self.fields: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        starts = "sw-text" in (dict(attrs).get("class") or "")
        if starts:
            self.fields.append("")
        self.open.append((tag, starts))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if any(starts for _, starts in self.open):
            self.fields[-1] += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def printed(renderable: object, **options: object) -> str:
    from rich.console import Console

    out = io.StringIO()
    settings: dict[str, object] = {"file": out, "force_terminal": True, "width": 80, "color_system": "truecolor"}
    Console(**{**settings, **options}).print(renderable)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize("kind", range(4))
def test_user_text_never_becomes_markup(kind: int) -> None:
    evil = all_kinds(NASTY, NASTY)[kind]
    page = explanation_html(evil)
    tags = {tag for tag, _ in read(page).tags}
    assert "script" not in tags
    assert not tags & {"a", "img", "iframe", "link", "object"}
    assert not any(name.startswith("on") for _, attributes in read(page).tags for name in attributes)
    assert "\x00" not in page
    assert "\x1b" not in page
    page.encode("utf-8")


def test_header_strings_are_escaped_too() -> None:
    bad = '<img src=x onerror=1>"'
    facts = {"method": bad, "target": bad, "labels": (bad, "pos"), "notes": (bad,), "model": bad, "against": bad}
    page = explanation_html(scored("fine", 1.0, **facts, parameters={bad: bad}))
    assert "img" not in {tag for tag, _ in read(page).tags}
    assert html.escape(bad) in page


@pytest.mark.parametrize("kind", range(4))
def test_a_terminal_gets_no_control_codes_of_the_user(kind: int) -> None:
    out = printed(all_kinds("x\x1b[2Jy \x07 z", "b\x9b31m c")[kind], color_system=None)
    assert "\x1b[2J" not in out
    assert "\x07" not in out
    assert "\x9b" not in out
    assert "x␛[2Jy" in out


def test_every_field_keeps_its_text() -> None:
    text = "Two  spaces,\n\n a line; and\ttab & <b>"
    both = words(text) + words("b  c", 1)
    explanation = WordScores(header(text, "b  c"), words=both, scores=(0.5,) * len(both))
    assert read(explanation_html(explanation)).fields == [text, "b  c"]
    assert "Two  spaces,\n\n a line; and" in printed(explanation, color_system=None)


@given(
    st.text(max_size=40),
    st.lists(st.tuples(st.integers(-5, 45), st.integers(-5, 45)), max_size=8),
    st.lists(st.tuples(st.integers(-5, 45), st.integers(-5, 45)), max_size=4),
    st.booleans(),
)
def test_segments_add_up_to_the_text(
    text: str, places: list[tuple[int, int]], gold: list[tuple[int, int]], selecting: bool
) -> None:
    given_words = [Word("w", a, b) for a, b in places]
    selected = [True] * len(given_words) if selecting else []
    chunks = list(segments(text, 0, given_words, [Span(0, a, b) for a, b in gold], selected))
    assert "".join(chunk for chunk, _, _ in chunks) == text
    position = 0
    for chunk, at, is_gold in chunks:
        inside = range(position, position + len(chunk))
        assert all(any(a <= c < b for a, b in gold) == is_gold for c in inside)
        if at is not None and not selecting:
            assert all(places[at][0] <= c < places[at][1] for c in inside)
        position += len(chunk)


def test_words_are_placed_by_offsets_not_by_search() -> None:
    text = "good or good"
    page = explanation_html(WordScores(header(text), words=(Word("good", 8, 12),), scores=(1.0,)))
    assert re.search(r'dir="auto">good or <span class="f9 st" title="\+1\.000">good</span></div>', page)


def test_sign_and_size_become_classes() -> None:
    page = words_html(["a b c d"], words("a b c d"), (1.0, -1.0, 0.3, 0.01))
    classes = [attributes.get("class") for tag, attributes in read(page).tags if tag == "span"]
    assert classes == ["f9 st", "a9 st ag", "f3", None]


@pytest.mark.parametrize("scores", [(0.0, 0.0), (math.nan, 1.0), (math.inf, 1.0), (1e-300, 5e-324), (-1e308, 1e308)])
def test_strange_scores_are_shown(scores: tuple[float, float]) -> None:
    explanation = scored("a b", *scores)
    read(explanation_html(explanation))
    assert "a b" in printed(explanation, color_system=None)


def test_every_score_can_be_read_without_pointing() -> None:
    page = explanation_html(scored("good, bad", 0.5, 0.0, -0.25))
    assert re.findall(r"<li><bdi>(.*?)</bdi>\xa0(.*?)</li>", page) == [
        ("good", "+0.500"),
        (",", "+0.000"),
        ("bad", "−0.250"),
    ]
    assert "<li>" not in explanation_html(scored("x " * 500, *[0.1] * 500))


def test_equal_zeros_are_said_plainly() -> None:
    assert "No word stands out" in explanation_html(scored("a b", 0.0, 0.0))
    assert "no word stands out" in printed(scored("a b", 0.0, 0.0))


def test_levels() -> None:
    assert [level_of(s, 2.0) for s in (2.0, -2.0, 1.0, 0.05, 0.0, 0.12)] == [9, -9, 4, 0, 0, 1]
    assert level_of(1.0, 0.0) == 0


def test_scores_must_match_words() -> None:
    with pytest.raises(InputError, match="2 words need as many scores, not 1"):
        words_html(["a b"], words("a b"), (1.0,))
    with pytest.raises(InputError, match="2 words need as many scores, not 1"):
        printed(scored("a b", 1.0))


def test_gold_is_underlined_by_characters() -> None:
    page = explanation_html(scored("very good film", 0.0, 1.0, 0.0), gold=[Span(0, 0, 9)])
    assert '<span class="go" title="+0.000">very</span><span class="go"> </span><span class="f9 st go"' in page
    assert ' <span title="+0.000">film</span>' in page


def test_neighbours_in_a_rationale_are_joined() -> None:
    text = "a b c d"
    flags = (True, True, False, True)
    page = explanation_html(Rationale(header(text), words=words(text), selected=flags))
    assert re.findall(r'<span class="f6 st">([^<]*)</span>', page) == ["a ", "b", "d"]
    assert "3 of 4 words selected" in page


def test_fields_have_names() -> None:
    assert field_names(header("x")) == ("",)
    assert field_names(header("x", "y")) == ("premise", "hypothesis")
    assert field_names(header("x", "y", output="span probability")) == ("question", "context")
    assert field_names(header("x", choices=("y", "z"))) == ("question", "choice 1", "choice 2")
    choices = header("q", choices=("no", "yes"), labels=("no", "yes"), target="yes")
    page = explanation_html(WordScores(choices, words=words("q"), scores=(1.0,)))
    assert "choice 2 · 0.90 · predicted · explained" in page
    assert "choice 1 · 0.10<" in page


def test_alignments_draw_boxes_around_phrases() -> None:
    one, two = words("in a store"), words("a car", 1)
    grid = ((0.0, 0.1), (0.5, 0.5), (0.5, 0.9))
    pair = Alignments(
        header("in a store", "a car"), premise=one, hypothesis=two, scores=grid, phrases=(("a store", "a car", 0.9),)
    )
    cells = [attributes for tag, attributes in read(explanation_html(pair)).tags if tag == "td"][1:]
    assert [set((c.get("class") or "").split()) & {"bt", "bb", "bl", "br"} for c in cells] == [
        set(),
        set(),
        {"bt", "bl"},
        {"bt", "br"},
        {"bb", "bl"},
        {"bb", "br"},
    ]
    assert cells[5]["title"] == "store / car: +0.900"
    assert "a store ↔ a car" in explanation_html(pair)
    assert "store  ▒▒ ██" in printed(pair, color_system=None)


def test_a_large_matrix_is_cut_and_says_so() -> None:
    one, two = words("p " * 200), words("h " * 100, 1)
    grid = tuple(tuple(float(i == 150 and j == 99) for j in range(100)) for i in range(200))
    page = explanation_html(Alignments(header("p " * 200, "h " * 100), premise=one, hypothesis=two, scores=grid))
    assert "strongest 60 of 200 rows and 60 of 100 columns" in page
    assert 'class="f9" title="p / h: +1.000"' in page


def test_free_text_says_when_the_label_settled() -> None:
    steps = ((0.9, 0.1), (0.3, 0.7), (0.1, 0.9))
    explanation = FreeText(header("x"), sentence="cars are moving", steps=steps)
    assert "pos (0.90) leads from “are” on" in html.unescape(explanation_html(explanation))
    assert "neg █▃▁ 0.10\npos ▁▆█ 0.90" in printed(explanation, color_system=None)
    ended = FreeText(header("x"), sentence="cars are", steps=steps)
    assert [a for t, a in read(explanation_html(ended)).tags if t == "th"].count({"scope": "col"}) == 3
    assert '<th scope="col">end</th>' in explanation_html(ended)


@pytest.mark.parametrize("kind", range(4))
def test_what_is_shown_survives_json(kind: int) -> None:
    explanation = all_kinds()[kind]
    again = explanation_from_dict(json.loads(explanation.to_json()))
    assert explanation_html(again) == explanation_html(explanation)
    assert printed(again) == printed(explanation)


@pytest.mark.parametrize("kind", range(4))
def test_notes_and_origin_are_shown(kind: int) -> None:
    explanation = all_kinds()[kind]
    assert '<p class="sw-note">cut &lt;here&gt;</p>' in explanation_html(explanation)
    assert "How it was made" in explanation_html(explanation)
    out = printed(explanation, color_system=None)
    assert "cut <here>" in out
    assert out.startswith("lime for pos · model says pos (0.90)")


def test_a_compact_fragment_leaves_out_what_its_page_has() -> None:
    whole, compact = explanation_html(scored("a", 1.0)), explanation_html(scored("a", 1.0), compact=True)
    for part in ("<style>", "model says", "speaks for"):
        assert part in whole
        assert part not in compact


def test_an_explanation_without_probabilities_is_shown() -> None:
    bare = scored("a", 1.0, labels=(), probabilities=())
    assert "model says" not in explanation_html(bare) + printed(bare)


def test_terminal_marks_without_colour() -> None:
    out = printed(scored("good bad meh", 1.0, -1.0, 0.0), no_color=True)
    assert "\x1b[1mgood\x1b[0m \x1b[4mbad\x1b[0m meh" in out


def test_terminal_with_sixteen_colours_uses_readable_pairs() -> None:
    out = printed(scored("good bad meh", 1.0, -1.0, 0.0), color_system="standard")
    assert "\x1b[1;37;44mgood" in out
    assert "\x1b[4;30;43mbad" in out


def test_terminal_ignores_markup_of_the_user() -> None:
    assert "[bold]x[/bold] :smile:" in printed(scored("[bold]x[/bold] :smile:"), color_system=None)


def scored_contrast(ink: tuple[int, ...], paper: tuple[int, ...]) -> float:
    def luminance(colour: tuple[int, ...]) -> float:
        parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    high, low = sorted((luminance(ink), luminance(paper)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("shade", [BLUE, ORANGE])
@pytest.mark.parametrize(("ink", "paper"), [((33, 33, 33), (255, 255, 255)), ((230, 230, 225), (27, 30, 36))])
def test_the_deepest_colour_stays_readable(
    shade: tuple[int, int, int], ink: tuple[int, int, int], paper: tuple[int, int, int]
) -> None:
    mixed = tuple(round(STRONGEST_ALPHA * s + (1 - STRONGEST_ALPHA) * p) for s, p in zip(shade, paper, strict=True))
    assert scored_contrast(ink, mixed) >= 4.5


@pytest.mark.parametrize("tone", [(31, 119, 208), (190, 90, 0)])
def test_terminal_tones_read_on_black_and_on_white(tone: tuple[int, int, int]) -> None:
    assert scored_contrast(tone, (0, 0, 0)) >= 4.5
    assert scored_contrast(tone, (255, 255, 255)) >= 4.5


def test_gold_of_an_example_on_the_terminal() -> None:
    example = Example(("so good",), label="pos", rationales=((Span(0, 3, 7),),), explanations=("it is",))
    out = printed(example_rich(example))
    assert "so \x1b[1;4mgood" in out
    assert "because: it is" in out


@given(st.text(max_size=30))
def test_visible_keeps_length_and_is_harmless(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert not any((ord(c) < 32 and c not in "\t\n\r") or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert visible(shown) == shown


def test_long_texts_stay_light() -> None:
    text = "word " * 20000
    explanation = WordScores(header(text), words=words(text), scores=(1.0,) + (0.0,) * 19999)
    assert len(explanation_html(explanation)) < 1.2 * len(text) + 8000
    assert printed(explanation_rich(explanation), color_system=None).count("word") >= 20000


def test_display_needs_nothing_heavy() -> None:
    code = "import saywhy.display, sys; print([m for m in ('torch', 'numpy', 'rich', 'jinja2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def verdict(*features: int, **facts: object) -> Verdict:
    values: dict[str, object] = {"total": 4, "whole": 0.97, "kept": 0.94, "removed": 0.31, "empty": 0.5, "better": True}
    values |= {"random_kept": (0.5, 0.6), "random_removed": (0.96, 0.94), "erasure": "delete", "cost": {"forwards": 8}}
    return Verdict(features=features, **{**values, **facts})  # type: ignore[arg-type]


def check(found: Verdict, **facts: object) -> WordScores:
    return replace(scored("good , fine film", 3, 2, 1, 0, **facts), verdict=found)


def test_a_verdict_in_plain_sentences() -> None:
    assert verdict_sentences(check(verdict(0, 1))) == [
        "keeping these 2 words (good, “,”): 0.97 → 0.94 (2 random words: 0.55, 0.50 to 0.60; no words: 0.50)",
        "without them: 0.97 → 0.31 (without 2 random words: 0.95, 0.94 to 0.96)",
    ]
    assert verdict_sentences(check(verdict(2, random_kept=(0.5, 0.501), agreement=0.625, seeds=3))) == [
        "keeping this word (fine): 0.97 → 0.94 (1 random word: 0.50; no words: 0.50)",
        "without it: 0.97 → 0.31 (without 1 random word: 0.95, 0.94 to 0.96)",
        "words named with 3 other seeds: 62% the same (mean Jaccard index)",
    ]
    assert verdict_sentences(check(verdict(0, agreement=1.0, seeds=1)))[-1] == "words named with 1 other seed: the same"
    nothing = check(verdict(random_kept=(), random_removed=(), kept=0.5, removed=0.97))
    assert verdict_sentences(nothing)[0] == "keeping no words: 0.97 → 0.50 (no words: 0.50)"
    assert verdict_sentences(scored("a", 1)) == []


def test_the_numbers_say_what_they_are_of() -> None:
    assert ": neg 0.97 → neg" not in verdict_sentences(check(verdict(0), target="neg"))[0]
    assert "(good): neg 0.97 → 0.94" in verdict_sentences(check(verdict(0), target="neg"))[0]
    contrast = verdict_sentences(check(verdict(0, removed=-0.4), against="neg"))
    assert contrast[1].startswith("without it: pos less neg 0.97 → −0.40")


def test_many_words_are_counted() -> None:
    long = WordScores(header("a b c d e f g"), words("a b c d e f g"), (1.0,) * 7, verdict=verdict(*range(7)))
    assert "keeping these 7 words (a, b, c, d, e and 2 more): " in verdict_sentences(long)[0]


def test_word_pairs_are_named_by_both_words() -> None:
    pair = replace(all_kinds("a store", "one car")[2], verdict=verdict(3, 0))
    assert "these 2 word pairs (store ↔ car, a ↔ one)" in verdict_sentences(pair)[0]
    assert judgement(pair).startswith("better than random word pairs")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (verdict(0), "better than random words: none of 2 random sets does as well"),
        (
            verdict(0, random_kept=(0.9,) * 19 + (1.0,), random_removed=(0.9,) * 19 + (0.2,)),
            "better than random words: only 1 of 20 random sets does as well",
        ),
        (
            verdict(0, better=False, random_kept=(0.94, 1), random_removed=(0.31, 0)),
            "no better than random words: 2 of 2 random sets do as well",
        ),
        (verdict(0, better=False), "no better than random words: the difference is below 0.01"),
        (verdict(0, 1, 2, 3, better=None), "nothing to compare with: all words are named"),
        (verdict(better=None), "nothing to compare with: no words are named"),
        (verdict(0, better=None, total=1), "nothing to compare with: the only word is named"),
    ],
)
def test_the_judgement_is_plain(found: Verdict, said: str) -> None:
    assert judgement(check(found)) == said
    assert judgement(scored("a", 1)) == ""
    assert f"→ {said}" in " ".join(printed(check(found), color_system=None).split())
    assert said in explanation_html(check(found), compact=True)


def test_a_verdict_is_shown_with_what_it_cost() -> None:
    page = explanation_html(check(verdict(0)))
    assert page.count("sw-verdict") > 1
    assert "<dt>cost of the check</dt><dd>8 forwards</dd>" in page
    assert "sw-verdict" not in explanation_html(scored("a", 1.0), compact=True)
    evil = replace(scored("<b> x", 1.0, 0.0, 0.0, 0.0), verdict=verdict(0, 1))
    assert "(“&lt;”, b)" in explanation_html(evil)
    read(explanation_html(evil))


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
    assert [line.count("██") for line in shown.splitlines() if "██" in line] == [2, 2, 1]
    widths = {text.text: float(text.get("textLength", "0")) for text in drawn.iter("text")}
    assert widths["men"] > widths["The"]  # by the shapes of letters, not by their number
    nothing = replace(why, selected=((False,) * 3,) * 4, phrases=(), boxes=())
    assert links_svg(nothing) == ""
    assert "pairs: none" in printed(explanation_rich(nothing))
    scored = replace(why, selected=(), phrases=(), boxes=(), fidelity=None, empty=None, kept=None)
    assert links_svg(scored).count("<title>") == 5
