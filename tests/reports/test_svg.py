from __future__ import annotations

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from saywhy.reports import arrange, svg

from .conftest import Page, result


def test_dots_stand_where_their_values_are() -> None:
    _, (row,) = arrange(
        [result("truth", "a", 0.0, 0.0), result("truth", "b", 1.0, 0.0), result("truth", "c", 0.5, 0.1)]
    )
    page = Page(svg.dots(row))
    places = [float(c["cx"] or "nan") for c in page.all("circle")]
    assert places[2] == pytest.approx((places[0] + places[1]) / 2, abs=0.1)
    assert [c["class"] for c in page.all("circle")] == ["dot", "dot best", "dot"]
    bar = page.all("path")[2]["d"] or ""
    ends = [float(v) for v in re.findall(r"[MH]([\d.]+)", bar)[:2]]
    assert (ends[1] - ends[0]) / (places[1] - places[0]) == pytest.approx(0.2, abs=0.01)
    assert page.all("svg")[0]["aria-label"] == (
        "truth by method: a 0.000, 0.000 to 0.000; b 1.000, 1.000 to 1.000; c 0.500, 0.400 to 0.600"
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6))
@example([5e-324])
@example([-5e-324])
def test_axes_hold_zero_and_every_value(values: list[float]) -> None:
    low, high, step = svg._axis(values)
    slack = 1e-6 * step
    assert low - slack <= min(0.0, *values, 0.0)
    assert high + slack >= max(0.0, *values, 0.0)
    assert low < high
    assert 2 <= len(svg._ticks(low, high, step)) <= 8


def test_methods_differ_by_more_than_colour() -> None:
    marks = [re.sub(r'class="s\d"', "", svg.series_swatch(i)) for i in range(4)]
    assert len(set(marks)) == 4


def test_bars_end_at_their_values_and_begin_at_zero() -> None:
    groups = [
        ("a", [svg.Bar("a, x", 0.5, 0.4, 0.6, 0), svg.Bar("a, y", 1.0, 0.9, 1.0, 1, paper=0.25)]),
        ("b", [svg.Bar("b, x", -0.5, -0.6, -0.4, 0)]),
        ("gone", [svg.Bar("gone, x", math.nan, 0.0, 0.0, 0)]),
    ]
    page = Page(svg.bars("truth", groups))
    boxes = [(float(r["x"] or 0), float(r["width"] or 0)) for r in page.all("rect")]
    assert boxes[0][0] == boxes[1][0] == pytest.approx(boxes[2][0] + boxes[2][1], abs=0.1)
    assert boxes[1][1] == pytest.approx(2 * boxes[0][1], abs=0.2)
    assert float(page.all("circle")[0]["cx"] or 0) == pytest.approx(sum(boxes[0]), abs=0.1)
    (diamond,) = [p["points"] or "" for p in page.all("polygon") if len((p["points"] or "").split()) == 4][1:]
    assert float(diamond.split(",")[0]) == pytest.approx(boxes[0][0] + boxes[1][1] / 4, abs=0.1)
    label = page.all("svg")[0]["aria-label"]
    assert (
        label
        == "truth: a, x 0.500, 0.400 to 0.600; a, y 1.000, 0.900 to 1.000, paper 0.25; b, x -0.500, -0.600 to -0.400"
    )


def test_long_names_stand_above_their_bars_and_can_be_read_whole() -> None:
    name = "regex (weight=0.1, net=lstm)"
    drawn = svg.bars("x", [(name, [svg.Bar(name, 0.5, 0.4, 0.6)])])
    assert f'text-anchor="start">{name}</text>' in drawn
    assert 'text-anchor="end">lime</text>' in svg.bars("x", [("lime", [svg.Bar("lime", 0.5, 0.4, 0.6)])])
    longer = 5 * name
    drawn = svg.bars("x", [(longer, [svg.Bar(longer, 0.5, 0.4, 0.6)])])
    assert f"<title>{longer}</title>{longer[:57].rstrip()}…" in drawn


def test_lines_have_numbers_or_places_below() -> None:
    line = svg.Line("a", ((10.0, 0.5), (20.0, 1.0), (30.0, math.nan)), 0, ((0.4, 0.6), (0.9, 1.0), (0.0, 1.0)))
    page = Page(svg.lines("loss", [line], under="step"))
    points = [tuple(map(float, p.split(","))) for p in (page.all("polyline")[0]["points"] or "").split()]
    assert len(points) == 2
    assert points[1][0] - points[0][0] == pytest.approx((points[0][0] - 52) / 1, abs=0.1)  # the axis begins at zero
    assert len([p for p in page.all("path") if p.get("class") == "span"]) == 2
    assert page.all("svg")[0]["aria-label"] == "loss: a 10 0.500, 20 1.000"
    named = Page(svg.lines("x", [svg.Line("a", ((0.0, 0.5), (1.0, 1.0)))], places=["low", "<high>"]))
    assert "<high>" in named.text
    assert named.all("svg")[0]["aria-label"] == "x: a low 0.500, <high> 1.000"


def test_steps_are_as_wide_as_places_are_apart_and_begin_and_end_at_zero() -> None:
    line = svg.Line("a", ((0.5, 0.25), (1.5, 0.75)))
    page = Page(svg.lines("x", [line], places=["0", "0.5", "1"], steps=True))
    points = [tuple(map(float, p.split(","))) for p in (page.all("polyline")[0]["points"] or "").split()]
    (left, zero), (_, low), (middle, _), (_, high), (right, _), last = points
    assert [x for x, _ in points] == [left, left, middle, middle, right, right]
    assert middle - left == pytest.approx(right - middle, abs=0.1)
    assert last == (right, zero)
    assert zero - high == pytest.approx(3 * (zero - low), abs=0.3)
    marks = [float(c["cx"] or "nan") for c in page.all("circle")]
    assert marks == pytest.approx([(left + middle) / 2, (middle + right) / 2], abs=0.1)
    assert page.all("svg")[0]["aria-label"] == "x: a 0 to 0.5 0.250, 0.5 to 1 0.750"


def test_long_lines_are_told_by_their_ends() -> None:
    line = svg.Line("a", tuple((float(i), 1.0) for i in range(50)))
    assert Page(svg.lines("x", [line])).all("svg")[0]["aria-label"] == "x: a 0 1.000, 49 1.000"


def test_a_heat_map_is_bluer_above_its_middle_and_more_orange_below() -> None:
    page = Page(svg.heat("gain", ["a", "b"], ["x", "y"], [[1.0, 2.0], [0.5, math.nan]], middle=1.0))
    cells = [a for a in page.all("path") if (a["class"] or "").startswith("cell")]
    assert [c["class"] for c in cells] == ["cell up", "cell up", "cell down"]
    even, far, half = (float(c["fill-opacity"] or "nan") for c in cells)
    assert even == 0
    assert half == pytest.approx(far / 2)
    assert page.all("svg")[0]["aria-label"] == "gain: a: x 1.000, y 2.000; b: x 0.500, y nan"
    assert "1.002.00" in page.text.replace("a, x: 1.000", "").replace("a, y: 2.000", "")


def test_a_heat_map_of_narrow_cells_has_no_numbers_in_them() -> None:
    wide = [[0.25] * 16]
    page = Page(svg.heat("heads", ["layer 1"], [str(i) for i in range(16)], wide))
    assert not [a for a in page.all("text") if (a["class"] or "").startswith("num")]
    assert len([a for a in page.all("path") if (a["class"] or "").startswith("cell")]) == 16
