from __future__ import annotations

import csv
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from saywhy.errors import OptionError
from saywhy.reports import study as module
from saywhy.reports.bins import AXES
from saywhy.reports.study import study_page, write_study
from saywhy.reports.study_figures import (
    bar_figures,
    bin_figures,
    gain_figures,
    map_figures,
    sweep_figures,
    training_figures,
)
from saywhy.reports.study_parts import overviews, ran, short
from saywhy.studies.grids import grids

from .conftest import Page
from .made import measured, study

NASTY = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 111*91 }} \x00"
PAPER = {"table": "Paper, Table 1", "values": {"random": {"truth": 0.7}, "lime": {"truth": 0.5}}, "note": "Other data."}


def test_everything_is_written_into_the_folder(tmp_path: Path) -> None:
    result = study(tmp_path)
    written = write_study(result)
    cards = [tmp_path / "cells" / c.name / "model" / "README.md" for c in result.plan.cells if c.kind == "train"]
    assert written == [tmp_path / n for n in ("report.html", "table.csv", "table.tex", "table.parquet")] + cards
    assert all(path.stat().st_size > 100 for path in written)
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".part")]
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        assert [row["metric"] for row in csv.DictReader(file)] == [row.metric for row in result.table.rows]


def test_the_page_is_whole_and_fetches_and_runs_nothing(tmp_path: Path) -> None:
    text = study_page(study(tmp_path, models={"a": {}, "b": {}}, paper=PAPER))
    read = Page(text)
    ids = [a["id"] for _, a in read.tags if "id" in a]
    assert len(ids) == len(set(ids))
    wanted = {"study", "findings", "overview", "tables", "bars", "curves", "training", "examples", "ran", "reading"}
    assert wanted <= set(ids)
    links = {a["href"] for a in read.all("a")}
    assert links - {f"#{i}" for i in ids} == {"table.csv", "table.tex", "table.parquet"}
    assert not re.search(r"https?:|//[a-z]|url\(|@import|@font-face", text)
    assert not {tag for tag, _ in read.tags} & {"script", "iframe", "img", "object", "embed", "form", "base"}
    assert not any(name.startswith("on") or name == "src" for _, a in read.tags for name in a)
    assert len(read.all("h1")) == len(read.all("main")) == 1
    regions = [a for _, a in read.tags if a.get("role") == "region"]
    assert regions
    assert all(a.get("tabindex") == "0" and a.get("aria-label") for a in regions)
    assert len(read.all("table")) == len(regions)


def test_user_text_is_never_interpreted(tmp_path: Path) -> None:
    result = study(
        tmp_path,
        models={NASTY: {NASTY: 1}, "b" + NASTY: {NASTY: 2}},
        data=[NASTY],
        methods={"random": 0.1, NASTY: 0.5},
        texts=[[NASTY, NASTY], ["other " + NASTY, NASTY]],
        more=lambda *_: [measured(NASTY, "", [0.5], bins={NASTY: 0.5})],
        title=NASTY,
        summary=NASTY,
        paper={"table": NASTY, "values": {"random": {"truth": 0.7}, NASTY: {"truth": 0.5}}, "note": NASTY},
    )
    text = study_page(result)
    read = Page(text)
    assert not {tag for tag, _ in read.tags} & {"script", "img"}
    assert not any(name.startswith("on") for _, a in read.tags for name in a)
    assert "\x00" not in text
    assert "10101" not in read.text
    assert 'id="alike"' in text
    assert read.text.count("<script>alert(1)</script>") > 10


def test_cells_say_mean_deviation_interval_mark_and_the_papers_value(tmp_path: Path) -> None:
    result = study(tmp_path, paper=PAPER)
    row = next(row for row in result.table.rows if (row.method, row.metric) == ("lime", "truth"))
    words = Page(study_page(result)).words
    assert f"0.605+ ★ ± 0.007 {row.low:.3f} to {row.high:.3f} paper 0.5" in words
    assert "clearly better and − clearly worse than random" in words
    assert "Mean ± standard deviation over seeds" in words
    assert "Slanted is the value of Paper, Table 1" in words
    plain = Page(study_page(study(tmp_path / "one", seeds=[0]))).words
    assert "±" not in plain
    assert "Slanted" not in plain


def test_orderings_of_the_paper_that_do_not_hold_are_listed(tmp_path: Path) -> None:
    words = Page(study_page(study(tmp_path, paper=PAPER))).words
    assert "0 of 1 orderings of Paper, Table 1 hold here. Other data. The 1 that does not" in words
    assert "the paper has random above lime (0.7 against 0.5); here 0.105 against 0.605" in words
    kept = {**PAPER, "values": {"random": {"truth": 0.1}, "lime": {"truth": 0.5}}}
    words = Page(study_page(study(tmp_path, paper=kept))).words
    assert "1 of 1 orderings of Paper, Table 1 hold here." in words
    assert "that does not" not in words


def test_findings_count_tables_and_name_who_is_no_better_than_chance(tmp_path: Path) -> None:
    methods = {"random": 0.3, "lime": 0.6, "bad": 0.3}
    found = dict(short(grids(study(tmp_path, data=["x", "y"], methods=methods).table.rows), "random"))
    assert found["truth"] == "Best: lime in 2 of 2 tables. Not clearly better than random: bad (2 of 2)."
    alone = dict(short(grids(study(tmp_path / "one").table.rows), "random"))
    assert alone["truth"] == "lime is best with 0.605. Every method is clearly better than random."
    assert alone["sufficiency"].startswith("lime is best with 0.395.")


def test_the_overview_grades_within_a_column_and_by_its_direction(tmp_path: Path) -> None:
    (overview,) = overviews(grids(study(tmp_path, methods={"random": 0.1, "half": 0.35, "lime": 0.6}).table.rows))
    levels = {name: [level for _, level in cells] for name, cells in overview.lines}
    assert overview.columns == (("truth", True), ("sufficiency", False))
    assert levels["random"] == [0, 0]
    assert levels["lime"] == [9, 9]
    assert set(levels["half"]) <= {4, 5}


def test_bars_put_models_beside_each_other(tmp_path: Path) -> None:
    figures = {f.title: f for f in bar_figures(study(tmp_path, models={"a": {}, "b": {}}, paper=PAPER).table)}
    assert list(figures) == ["accuracy", "truth", "sufficiency"]
    read = Page(figures["truth"].plot)
    assert len(read.all("rect")) == 4
    assert [name for name, _ in figures["truth"].keys] == ["a", "b"]
    assert figures["truth"].papers
    assert not figures["sufficiency"].papers
    widths = [float(r["width"] or 0) for r in read.all("rect")]
    assert widths[2] / widths[0] == pytest.approx(0.605 / 0.105, rel=0.02)


def test_many_models_get_several_plots(tmp_path: Path) -> None:
    models = {f"m{i}": {} for i in range(8)}
    figures = [f for f in bar_figures(study(tmp_path, models=models, seeds=[0]).table) if f.title == "truth"]
    assert [len(f.keys) for f in figures] == [6, 2]


def test_a_numeric_option_that_was_swept_becomes_lines(tmp_path: Path) -> None:
    models = {f"small (lr={v}, net={n})": {"lr": v, "net": n} for v in (0.1, 0.01, 1) for n in ("gru", "lstm")}
    figures = sweep_figures(study(tmp_path, models=models).table)
    truth = [f for f in figures if f.title == "truth"]
    assert [f.about for f in truth] == ["small (lr, net=gru) on reviews", "small (lr, net=lstm) on reviews"]
    read = Page(truth[0].plot)
    assert len(read.all("polyline")) == 2
    # In the order of the values, not of the study: the models were measured at 0.1, 0.01 and 1.
    assert "random 0.01 0.125, 0.1 0.105, 1 0.145" in (read.all("svg")[0]["aria-label"] or "")
    places = [float(p.split(",")[0]) for p in (read.all("polyline")[0]["points"] or "").split()]
    assert places == sorted(places)
    assert not sweep_figures(study(tmp_path / "none", models={"a": {"net": "gru"}, "b": {"net": "lstm"}}).table)
    assert not sweep_figures(study(tmp_path / "flag", models={"a": {"on": True}, "b": {"on": False}}).table)


def test_curves_are_means_over_seeds(tmp_path: Path) -> None:
    (figure,) = bin_figures(study(tmp_path).table, AXES[0])
    label = Page(figure.plot).all("svg")[0]["aria-label"] or ""
    assert "random 5% 0.795, 10% 0.895; lime 5% 0.295, 10% 0.395" in label
    assert (figure.about, [name for name, _ in figure.keys]) == ("small on reviews", ["random", "lime"])


def test_training_shows_the_mean_before_its_seeds(tmp_path: Path) -> None:
    loss, score = training_figures(study(tmp_path))
    assert (loss.title, score.title) == ("loss", "score")
    read = Page(loss.plot)
    assert len(read.all("polyline")) == 3
    assert (read.all("svg")[0]["aria-label"] or "").endswith("small 10 1.000, 20 0.500")
    assert not training_figures(study(tmp_path / "quiet", log=False))


def test_long_logs_are_thinned_and_end_where_they_ended(tmp_path: Path) -> None:
    result = study(tmp_path, seeds=[0])
    log = [{"step": i, "loss": 1.0} for i in range(1, 1001)]
    results = {name: {**r, "log": log} if "log" in r else r for name, r in result.results.items()}
    (figure,) = training_figures(type(result)(result.plan, results, tmp_path))
    assert len(Page(figure.plot).all("circle")) <= 61
    assert "1 1.000, 1000 1.000" in figure.plot


def test_models_are_set_against_the_reference(tmp_path: Path) -> None:
    models = {"plain": {}, "new": {}}
    read = Page(study_page(study(tmp_path, models=models, reference="plain")))
    ids = [a["id"] for _, a in read.tags if "id" in a]
    assert "changes" in ids
    # A hundredth more truth, so a hundredth less sufficiency, which is better: 2 seeds of 4 examples.
    for said in ("changes from plain on reviews", "new · lime +0.010+", "-0.010+"):
        assert said in read.words
    assert "Against plain: clearly better in 2 of 2: new · random on reviews, new · lime on reviews." in read.words
    assert "changes" not in [a.get("id") for _, a in Page(study_page(study(tmp_path / "b", models=models))).tags]


def test_gains_are_in_proportion_to_the_model_that_was_trained_for_a_metric(tmp_path: Path) -> None:
    models = {f"mixed (criteria={c})": {"criteria": c} for c in ("suff", "sim")}
    references = {"truth": "mixed (criteria=sim)", "sufficiency": "mixed (criteria=suff)"}
    result = study(tmp_path, models=models, methods={"lime": 0.6}, seeds=[0], gains=references)
    (figure,) = gain_figures(result)
    # Truth is 0.60 and 0.61; sufficiency, of which less is better, 0.40 and 0.39.
    label = Page(figure.plot).all("svg")[0]["aria-label"] or ""
    first, second = label.removeprefix("average relative gain: ").split("; ")
    assert first == f"sim: truth 0.000, sufficiency {0.01 / 0.4:.3f}"
    assert second == f"suff: truth {-0.01 / 0.61:.3f}, sufficiency 0.000"
    assert not gain_figures(study(tmp_path / "none"))


def test_heat_maps_of_a_training_stand_in_the_report_once_a_model(tmp_path: Path) -> None:
    result = study(tmp_path)
    drawn = {"rows": ["layer 1"], "columns": ["1", "2"], "values": [[1.0, 3.0]], "middle": 1.0}
    results = {
        name: {**found, "report": {"maps": {"head coefficients": drawn}}} if "log" in found else found
        for name, found in result.results.items()
    }
    (figure,) = map_figures(replace(result, results=results))
    assert (figure.title, figure.about) == ("head coefficients", "small, seed 0")
    assert "layer 1: 1 1.000, 2 3.000" in (Page(figure.plot).all("svg")[0]["aria-label"] or "")
    assert 'id="maps"' in study_page(replace(result, results=results))
    assert not map_figures(result)


def test_what_ran_and_what_was_there_already(tmp_path: Path) -> None:
    result = study(tmp_path)
    assert not any(cell["reused"] for cell in ran(result))
    (tmp_path / "study.json").write_text('{"scale": "quick"}')
    times = [(tmp_path / "cells" / c.name / "result.json") for c in result.plan.cells]
    for path in times:
        os.utime(path, (1, 1))
    os.utime(tmp_path / "study.json", (2, 2))
    os.utime(times[0], (3, 3))
    cells = ran(result)
    assert [cell["reused"] for cell in cells] == [False] + [True] * 7
    assert cells[0]["title"] == "train small · seed 0"
    assert cells[0]["machine"] == "Linux, 2 processors, Python 3.11"
    words = Page(study_page(result)).words
    assert "8 cells, 7 of them from an earlier run" in words
    assert "scale quick" in words
    assert "work 2 min 12 s" in words
    assert "train small · seed 0" + result.plan.cells[0].name + " 0 1 min 0 s 1 saywhy 0.1.0, torch 2" in words


def test_titles_of_the_study_are_explained_by_what_they_stand_for(tmp_path: Path) -> None:
    evaluate = {
        "truth": {
            "model": "small",
            "data": "reviews",
            "methods": [{"name": "lime", "label": "mine", "options": {"samples": 9}}],
            "metrics": ["truth"],
        }
    }
    words = Page(study_page(study(tmp_path, evaluate=evaluate))).words
    assert "mine A simple linear model fitted around the input on partly erased copies. (lime with samples 9)" in words


def test_notes_of_metrics_are_said_once(tmp_path: Path) -> None:
    words = Page(study_page(study(tmp_path))).words
    assert words.count("truth of random, lime: one text had no gold") == 1


def test_a_study_that_only_trained_has_a_page(tmp_path: Path) -> None:
    result = study(tmp_path)
    plan = type(result.plan)(result.plan.study, tuple(c for c in result.plan.cells if c.kind == "train"))
    only = type(result)(plan, {c.name: result.results[c.name] for c in plan.cells}, tmp_path)
    assert len(write_study(only)) == 6
    read = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "2 cells" in read.words
    assert {"tables", "findings", "overview"}.isdisjoint(a.get("id") for _, a in read.tags)


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = study(tmp_path)
    (tmp_path / "table.parquet").write_text("old")

    def broken(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "replace", broken)
    with pytest.raises(OptionError, match="No space left"):
        module._write_parquet(result.table, tmp_path / "table.parquet")
    assert (tmp_path / "table.parquet").read_text() == "old"
    assert not list(tmp_path.glob(".*part"))
