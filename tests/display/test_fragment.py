from __future__ import annotations

import html
import json
import math
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.display import STYLE, example_rich, explanation_html, explanation_rich, field_names, visible, words_html
from saywhy.display.colours import COLOURS
from saywhy.display.fragment import BLUE, ORANGE, STRONGEST_ALPHA
from saywhy.display.parts import level_of, segments
from saywhy.errors import InputError
from saywhy.types import (
    Alignments,
    Example,
    FreeText,
    Rationale,
    Span,
    Word,
    WordScores,
    explanation_from_dict,
)
from tests.display.shown import all_kinds, boxed, header, printed, read, scored, words

NASTY = "<script>alert('x')</script> \"q\" & 'a' 👩‍👩‍👧 שלום\u202e  tab\t\nnul\x00esc\x1b[31m \ud800"


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


def test_boxes_have_the_colours_and_numbers_of_the_links() -> None:
    page = explanation_html(boxed("two men walk", "the girl sleeps", ((0, 0, 0, 0), (1, 2, 1, 2))))
    table = re.search(r"<tbody>(.*?)</tbody>", page)
    assert table is not None
    cells = re.findall(r'<td(?: class="([^"]*)")? title="[^"]*">(.*?)</td>', table[1])
    hues = [[name for name in classes.split() if name[0] == "k"] for classes, _ in cells]
    assert hues == [["k0"], [], [], [], ["k1"], ["k1"], [], ["k1"], ["k1"]]
    # A box has its number once, in its first cell.
    assert [inner for _, inner in cells] == ["<b>1</b>", "", "", "", "<b>2</b>", "", "", "", ""]
    drawn = re.findall(r'stroke="(#\w+)" stroke-width="3"/><text [^>]*>(\d)</text>', page)
    assert drawn == [(COLOURS[0], "1"), (COLOURS[1], "2")]
    for i, colour in enumerate(COLOURS):
        assert f".saywhy .k{i}{{--k:{colour}}}" in STYLE
    assert re.findall(r'<span class="sw-n (k\d)">(\d)</span> <bdi>(.*?)</bdi>', page) == [
        ("k0", "1", "two ↔ the"),
        ("k1", "2", "men walk ↔ girl sleeps"),
    ]


def test_pairs_against_are_listed_without_a_number() -> None:
    one, two = words("a b"), words("c", 1)
    page = explanation_html(Alignments(header("a b", "c"), one, two, scores=((0.5,), (-1.0,))))
    assert '<span class="sw-n k0">1</span> <bdi>a ↔ c</bdi>\xa0+0.500 · <bdi>b ↔ c</bdi>\xa0−1.000' in page


def test_a_large_matrix_is_cut_and_says_so() -> None:
    one, two = words("p " * 200), words("h " * 100, 1)
    grid = tuple(tuple(float(i == 150 and j == 99) for j in range(100)) for i in range(200))
    page = explanation_html(Alignments(header("p " * 200, "h " * 100), premise=one, hypothesis=two, scores=grid))
    assert "strongest 60 of 200 rows and 60 of 100 columns" in page
    assert 'class="f9 bx k0 bt bb bl br" title="p / h: +1.000"><b>1</b>' in page


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
