"""The picture of alignments on a terminal: one number and one colour for a phrase pair, wherever it is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from saywhy.display.alignments import SIXTEEN, Palette
from saywhy.display.colours import COLOURS
from saywhy.types import Alignments
from tests.display.shown import boxed, header, printed, words

PREMISE, HYPOTHESIS = "People walk through a store.", "Passengers in a car on the street."
BOXES = ((4, 4, 3, 3), (0, 1, 0, 0), (1, 1, 4, 5), (4, 4, 6, 6))


def lines_of(why: Alignments, **options: object) -> list[str]:
    return [row.rstrip() for row in printed(why, color_system=None, **options).splitlines()]


def test_the_whole_picture_without_colour() -> None:
    assert lines_of(boxed(PREMISE, HYPOTHESIS, BOXES)) == [
        "lime for pos · model says pos (0.90)",
        "premise",
        "[People]² [walk]²·³ through a [store]¹·⁴.",
        "hypothesis",
        "[Passengers]² in a [car]¹ [on the]³ [street]⁴.",
        "          a  b  c  d  e  f  g  h",
        "        ┌──┐",
        " People │ 2│",
        "        │  │        ┌─────┐",
        "   walk │ 2│        │ 3  3│",
        "        └──┘        └─────┘",
        "through",
        "      a",
        "                 ┌──┐     ┌──┐",
        "  store          │ 1│     │ 4│",
        "                 └──┘     └──┘",
        "      .",
        "a Passengers  b in  c a  d car  e on  f the  g street  h .",
        "phrase pairs",
        " 1  store ↔ car +0.900",
        " 2  People walk ↔ Passengers +0.800",
        " 3  walk ↔ on the +0.700",
        " 4  store ↔ street +0.600",
        "6 of 48 word pairs selected",
    ]


def test_boxes_that_touch_share_a_line() -> None:
    shown = lines_of(boxed("a b", "c d e", ((0, 0, 0, 0), (1, 1, 1, 2), (0, 0, 1, 1))))
    assert [row for row in shown if set(row) & set("│─")] == [
        "  ┌──┬──┐",
        "a │ 1│ 3│",
        "  └──┼──┴──┐",
        "b    │ 2  2│",
        "     └─────┘",
    ]


def ansi(colour: str, layer: int) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"{layer};2;{red};{green};{blue}"


@pytest.mark.parametrize("n", [1, 2])
def test_a_phrase_pair_has_one_colour_everywhere(n: int) -> None:
    shown = printed(boxed("two men", "the girl sleeps", ((0, 0, 0, 0), (1, 1, 1, 2)))).splitlines()
    paper, pen = ansi(COLOURS[n - 1], 48), ansi(COLOURS[n - 1], 38)
    places = [i for i, row in enumerate(shown) if f"{paper}m" in row]
    # A sentence each, its row of the table, its entry in the list.
    assert places == {1: [2, 4, 7, 13], 2: [2, 4, 9, 14]}[n]
    drawn = [row for row in shown if f"{pen}m" in row and "─" in row]
    assert len(drawn) == 2
    other = ansi(COLOURS[2 - n], 48)
    assert f"{other}m" not in shown[places[2]]


def test_without_colour_and_with_sixteen() -> None:
    why = boxed("two men", "the girl sleeps", ((0, 0, 0, 0), (1, 1, 1, 2)))
    bare = printed(why, color_system=None)
    assert "[two]¹ [men]²" in bare
    assert "\x1b[38" not in printed(why, no_color=True)
    shown = printed(why, color_system="standard")
    assert "\x1b[1;37;44mtwo" in shown
    assert "\x1b[1;37;41mmen" in shown
    assert len(SIXTEEN) == len(COLOURS) == len({Palette(False).block(n) for n in range(1, 9)})


@pytest.mark.parametrize(
    ("premise", "hypothesis"), [("word " * 61, "few words"), ("few words", "word " * 26), ("w" * 75, "few words")]
)
def test_a_table_that_does_not_fit_is_left_out(premise: str, hypothesis: str) -> None:
    why = boxed(premise, hypothesis, ((0, 0, 1, 1),))
    shown = lines_of(why)
    assert not any("│" in row for row in shown)
    assert any(row.startswith(" 1  ") for row in shown)
    assert "[words]¹" in " ".join(shown) or "[word]¹" in " ".join(shown)
    assert any("│" in row for row in lines_of(why, width=200)) == (len(why.premise) <= 60)


def test_everything_stays_within_the_width() -> None:
    wide = boxed("日本語 " * 4 + "ab", "the word " * 11, ((0, 1, 0, 3), (4, 4, 20, 21)))
    assert any("│" in row for row in lines_of(wide))
    assert max(map(len, lines_of(wide))) <= 80
    rows = [row for row in lines_of(wide) if "│" in row]
    # A wide character takes two places: edges stand under each other all the same.
    assert {row.count("日") * 3 + row.index("│") for row in rows if "日" in row} == {7}
    assert any(row.strip().endswith("t  u  v") for row in lines_of(wide))


def test_scores_alone_have_their_strongest_pairs_numbered() -> None:
    one, two = words("a store"), words("the car", 1)
    why = Alignments(header("a store", "the car"), premise=one, hypothesis=two, scores=((0.1, -0.8), (0.0, 1.0)))
    shown = lines_of(why)
    assert "[a]² [store]¹" in shown
    assert "[the]² [car]¹" in shown
    assert " 1  store ↔ car +1.000" in shown
    assert " 2  a ↔ the +0.100" in shown
    assert "against: a ↔ car −0.800" in shown
    assert any("│ 2│-▓" in row for row in shown)
    flat = lines_of(replace(why, scores=((0.0, 0.0), (0.0, 0.0))))
    assert "pairs: none" in flat
    assert "a store" in flat


def test_a_phrase_that_is_not_found_keeps_its_number() -> None:
    one, two = words("a store"), words("the car", 1)
    phrases = (("a shop", "the car", 0.9), ("store", "car", 0.5))
    why = Alignments(header("a store", "the car"), one, two, ((0.0, 0.0), (0.0, 1.0)), phrases=phrases)
    shown = lines_of(why)
    assert "a [store]²" in shown
    assert " 1  a shop ↔ the car +0.900" in shown
    assert any("│ 2│" in row for row in shown)
