from __future__ import annotations

import math

import pytest

from saywhy.metrics.base import BIN_KINDS
from saywhy.reports import Report, arrange
from saywhy.reports.bins import AXES, Axis, parts_tables, plot_row

from .conftest import Page, result

SHARES, THRESHOLDS, HISTOGRAM = AXES
TOKENS = {f"0.{i}": 100.0 - 10 * i for i in range(1, 10)}
COSINES = {f"{i / 10:.1f}": 0.1 for i in range(10)}
ATTACK = {"successes": 7.0, "accuracy": 0.84, "accuracy-under-attack": 0.805, "words-changed": 0.01, "queries": 38.0}


def drawn(name: str, bins: dict[str, float], axis: Axis, **facts: object) -> Page:
    methods, (row,) = arrange([result(name, "a", 0.1, bins=bins, **facts)])
    return Page(plot_row(row, methods, axis))


def label(page: Page) -> str:
    return page.all("svg")[0]["aria-label"] or ""


def test_every_kind_of_bins_has_its_place() -> None:
    assert {axis.kind for axis in AXES} | {"parts"} == set(BIN_KINDS)
    assert len({axis.id for axis in AXES}) == len(AXES)


def test_shares_are_in_order_and_per_cent_and_higher_values_are_higher() -> None:
    page = drawn("sufficiency", {"0.5": 0.8, "0.05": 0.2, "0.1": 0.4}, SHARES)
    points = [tuple(map(float, p.split(","))) for p in (page.all("polyline")[0]["points"] or "").split()]
    assert [x for x, _ in points] == sorted(x for x, _ in points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    assert "5%10%50%" in page.text.replace("a, 5%: 0.200", "")
    assert label(page) == "sufficiency at each share of words: a 5% 0.200, 10% 0.400, 50% 0.800"
    assert page.text.endswith("share of words")


def test_thresholds_are_no_shares_of_words() -> None:
    page = drawn("important-tokens", TOKENS, THRESHOLDS)
    assert label(page).startswith("important-tokens at each threshold: a 0.1 90.000, 0.2 80.000")
    assert "%" not in page.text
    assert page.text.endswith("threshold")


def test_a_histogram_has_a_step_for_every_range() -> None:
    page = drawn("similarity", COSINES, HISTOGRAM)
    assert label(page).startswith("similarity as a histogram: a 0 to 0.1 0.100, 0.1 to 0.2 0.100")
    assert label(page).endswith("0.9 to 1 0.100")
    assert len((page.all("polyline")[0]["points"] or "").split()) == 22
    assert "%" not in page.text
    assert page.text.endswith("value")


@pytest.mark.parametrize(
    ("name", "bins", "kind"),
    [
        ("sufficiency", {"0.1": 0.4, "0.5": 0.8}, "shares"),
        ("important-tokens", TOKENS, "thresholds"),
        ("similarity", COSINES, "histogram"),
        ("critic-score", {"right": 80.0, "wrong": 50.0}, "parts"),
        ("model-jaccard", {"1": 0.3, "2": 0.4}, "parts"),  # names of models, though they read like numbers
        ("method-jaccard", {"lime": 0.3, "gradient": 0.4}, "parts"),
        ("nobody-knows-it", {"0.1": 0.4, "0.5": 0.8}, "parts"),
    ],
)
@pytest.mark.parametrize("earlier", [False, True])
def test_bins_are_shown_once_and_as_what_the_metric_says(
    name: str, bins: dict[str, float], kind: str, earlier: bool
) -> None:
    """Results of earlier versions do not say what their bins are."""
    given = result(name, "a", 0.1, bins=bins, bins_are="" if earlier else kind)
    methods, (row,) = arrange([given])
    shown = [axis.kind for axis in AXES if plot_row(row, methods, axis)] + ["parts"] * len(parts_tables([given]))
    assert shown == [kind]


def test_what_a_result_says_of_its_own_bins_goes_first() -> None:
    assert label(drawn("mine", {"1": 0.1, "2": 0.2}, THRESHOLDS, bins_are="thresholds")).endswith("a 1 0.100, 2 0.200")
    assert not parts_tables([result("mine", "a", 0.1, bins={"1": 0.1}, bins_are="thresholds")])


def test_a_rationale_has_one_size_and_no_curve() -> None:
    methods, (row,) = arrange(
        [result("sufficiency", "a", 0.1), result("sufficiency", "b", 0.1, bins={"selected": 0.3})]
    )
    assert not any(plot_row(row, methods, axis) for axis in AXES)
    assert not SHARES.holds("shares", ["0.1", "selected"])
    assert not SHARES.holds("shares", ["0.1", "nan"])


def test_methods_may_have_unequal_bins() -> None:
    methods, (row,) = arrange(
        [
            result("sufficiency", "a", 0.1, bins={"0.1": 0.1, "0.5": math.nan}),
            result("sufficiency", "b", 0.1, bins={"0.1": 0.2, "0.2": 0.3}),
        ]
    )
    page = Page(plot_row(row, methods, SHARES))
    assert [len((p["points"] or "").split()) for p in page.all("polyline")] == [1, 2]


def test_parts_of_the_model_and_of_methods_are_tables() -> None:
    attacks = [
        result("attack-success", "", 0.04, bins=ATTACK, variant={"recipe": "checklist"}),
        result("attack-success", "", 0.4, bins={"queries": 9.0}, variant={"recipe": "synonyms"}),
    ]
    critic = [
        result("critic-score", "a", 70.0, bins={"right": 80.0, "wrong": 50.0}),
        result("critic-score", "b", 90.0, bins={"right": 90.0}),
    ]
    first, second, third = parts_tables([*attacks, *critic, result("truth", "a", 0.5)])
    assert (first.title, first.columns) == ("attack-success (recipe checklist)", tuple(ATTACK))
    assert first.lines == (("the model", tuple(ATTACK.values())),)
    assert (second.title, second.columns) == ("attack-success (recipe synonyms)", ("queries",))
    assert (third.title, third.columns) == ("critic-score", ("right", "wrong"))
    assert third.lines == (("a", (80.0, 50.0)), ("b", (90.0, None)))


def test_the_page_has_a_section_for_each_kind() -> None:
    results = (
        result("sufficiency", "lime", 0.1, higher=False, bins={"0.1": 0.2, "0.5": 0.6}),
        result("important-tokens", "lime", 50.0, higher=False, bins=TOKENS),
        result("similarity", "lime", 0.5, bins=COSINES),
        result("critic-score", "lime", 70.0, bins={"right": 80.0, "wrong": 50.0}),
        result("attack-success", "", 0.04, bins=ATTACK),
    )
    text = Report("x", results=results).to_html()
    read = Page(text)
    ids = [a["id"] for _, a in read.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {"curves", "thresholds", "histograms", "parts"} <= set(ids)
    assert {f"#{i}" for i in ("curves", "thresholds", "histograms", "parts")} <= {a["href"] for a in read.all("a")}
    assert "the model 7.000 0.840 0.805 0.010 38.000" in read.words
    assert "critic-score method right wrong lime 80.000 50.000" in read.words
    curves, thresholds, histograms = (text.split(f'<section id="{a.id}"')[1].split("</section>")[0] for a in AXES)
    assert [part.count("<figure>") for part in (curves, thresholds, histograms)] == [1, 1, 1]
    assert "↓ lower is better" in thresholds
    assert "is better" not in histograms  # heights are shares of the examples
    regions = [a for a in read.all("div") if a.get("role") == "region"]
    assert len(regions) == len(read.all("table")) == 3


def test_a_page_without_bins_has_no_such_sections() -> None:
    read = Page(Report("x", results=(result("truth", "lime", 0.5),)).to_html())
    assert {"curves", "thresholds", "histograms", "parts"}.isdisjoint(a.get("id") for _, a in read.tags)
