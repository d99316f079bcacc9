"""What a study shows of bins: figures over axes of their own, and tables of parts."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from saywhy.reports.bins import AXES
from saywhy.reports.study import study_page, write_study
from saywhy.reports.study_figures import bin_figures

from .conftest import Page
from .made import measured, study

SHARES, THRESHOLDS, HISTOGRAM = AXES


def binned(model: str, method: str, seed: int) -> list[dict[str, Any]]:
    """What papers make figures and tables of, besides their main numbers."""
    if not method:
        attack = {"successes": 7.0 + seed, "words-changed": 0.01, "queries": 38.5}
        return [measured("attack-success", "", [0.04], higher=False, bins=attack)]
    starts = {f"small (seed {other})": 0.5 + (seed + other) / 100 for other in (0, 1, 2) if other != seed}
    return [
        measured("important-tokens", method, [50.0], higher=False, bins={"0.1": 90.0 - seed, "0.2": 10.0}),
        measured("similarity", method, [0.5], bins={"0.0": 0.25, "0.5": 0.75}),
        measured("model-jaccard", method, [0.5], bins=starts),
        measured("critic-score", method, [70.0], bins={"right": 80.0 + seed, "wrong": 50.0}),
        measured("label-follows", method, [0.4], bins={"changed": 0.6}),
    ]


def test_thresholds_and_histograms_have_axes_of_their_own(tmp_path: Path) -> None:
    table = study(tmp_path, more=binned).table
    titles = {axis.kind: [figure.title for figure in bin_figures(table, axis)] for axis in AXES}
    assert titles == {"shares": ["sufficiency"], "thresholds": ["important-tokens"], "histogram": ["similarity"]}
    (tokens,), (cosines,) = (bin_figures(table, axis) for axis in (THRESHOLDS, HISTOGRAM))
    label = Page(tokens.plot).all("svg")[0]["aria-label"] or ""
    assert label.startswith(
        "important-tokens, small on reviews, at each threshold: random 0.1 89.500, 0.2 10.000; lime"
    )
    assert tokens.plot.endswith(">threshold</text></svg>")
    assert "%" not in tokens.plot
    assert "random 0 to 0.5 0.250, 0.5 to 1 0.750" in cosines.plot
    assert (tokens.higher, cosines.higher) == (False, None)


def test_a_curve_has_what_all_seeds_have(tmp_path: Path) -> None:
    """A mean of other seeds in each place would be a curve of nothing."""

    def more(model: str, method: str, seed: int) -> list[dict[str, Any]]:
        last = {} if seed else {"0.9": 0.9}
        return [measured("aorc", method, [0.5], bins={"0.1": 0.1, "0.5": 0.5, **last})] if method else []

    figure = next(f for f in bin_figures(study(tmp_path, more=more).table, SHARES) if f.title == "aorc")
    assert (Page(figure.plot).all("svg")[0]["aria-label"] or "").endswith("; lime 10% 0.100, 50% 0.500")


def test_models_with_one_method_each_are_compared_in_one_plot(tmp_path: Path) -> None:
    models = {f"m{i}": {} for i in range(8)}
    figures = bin_figures(
        study(tmp_path, models=models, methods={"lime": 0.6}, seeds=[0], more=binned).table, HISTOGRAM
    )
    assert [[name for name, _ in figure.keys] for figure in figures] == [[f"m{i}" for i in range(6)], ["m6", "m7"]]
    assert {figure.about for figure in figures} == {"reviews"}


def test_parts_stand_in_the_report_and_beside_it(tmp_path: Path) -> None:
    write_study(study(tmp_path, seeds=[0, 1, 2], more=binned))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    read = Page(text)
    assert {"parts", "curves", "thresholds", "histograms"} <= {a.get("id") for _, a in read.tags}
    assert 'href="#parts"' in text
    section = Page('<section id="parts"' + text.split('<section id="parts"')[1].split("</section>")[0] + "</section>")
    titles = ["attack-success", "model-jaccard", "critic-score", "label-follows"]
    assert [a["aria-label"] for a in section.all("div")] == [f"truth: parts of {name} on reviews" for name in titles]
    # Over seeds, where these have the same parts.
    assert "successes words-changed queries small 8.000 ± 1.000 0.010 ± 0.000 38.500 ± 0.000" in section.words
    assert "right wrong small · random 81.000 ± 1.000 50.000 ± 0.000 small · lime 81.000 ± 1.000" in section.words
    # A model is not compared with itself: the starts are a matrix.
    assert "small (seed 0) small (seed 1) small (seed 2) small · random · seed 0 – 0.510 0.520" in section.words
    assert "small · random · seed 1 0.510 – 0.530 small · random · seed 2 0.520 0.530 –" in section.words
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    (attack,) = [row for row in rows if row["metric"] == "attack-success"]
    assert (float(attack["part_successes"]), float(attack["part_successes_seed_2"])) == (8.0, 9.0)
    assert "% truth: parts of attack-success on reviews" in (tmp_path / "table.tex").read_text(encoding="utf-8")


def test_a_study_without_parts_has_no_such_section(tmp_path: Path) -> None:
    ids = {a.get("id") for _, a in Page(study_page(study(tmp_path))).tags}
    assert {"parts", "thresholds", "histograms"}.isdisjoint(ids)
    assert "curves" in ids


def test_results_of_earlier_versions_are_shown_by_what_their_metric_declares(tmp_path: Path) -> None:
    """They have no ``bins_are``; some had no bins either."""
    result = study(tmp_path, more=binned)
    assert all("bins_are" in e["result"] for r in result.results.values() for e in r.get("results", ()))
    new = study_page(result).split('<section id="ran"')[0]
    for found in result.results.values():
        for entry in found.get("results", ()):
            del entry["result"]["bins_are"]
            if not entry["result"]["bins"]:
                del entry["result"]["bins"]
    assert study_page(result).split('<section id="ran"')[0] == new
