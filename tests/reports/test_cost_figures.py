from __future__ import annotations

from pathlib import Path

import pytest

from saywhy.reports.cost_figures import cost_figures, training_costs
from saywhy.reports.study import study_page
from saywhy.studies import StudyResult

from .made import study
from .test_page import Page

MODELS = {"plain": {}, "rich": {}, "thrifty": {}}
SPENT = {"plain": (10.0, 30.0), "rich": (50.0, 70.0), "thrifty": (30.0, 30.0)}  # of two seeds


def spent(folder: Path, **facts: object) -> StudyResult:
    result = study(folder, models=MODELS, reference="plain", **facts)
    for cell in result.plan.cells:
        if cell.kind == "train":
            result.results[cell.name]["cpu_seconds"] = SPENT[cell.facts["model"]][cell.facts["seed"]]
    return result


def test_costs_are_times_the_reference_and_means_over_seeds(tmp_path: Path) -> None:
    assert training_costs(spent(tmp_path)) == {"plain": 1.0, "rich": 3.0, "thrifty": 1.5}


def test_a_cost_that_is_not_known_is_left_out(tmp_path: Path) -> None:
    result = spent(tmp_path)
    for cell in result.plan.cells:
        if cell.facts["model"] == "rich":
            result.results[cell.name].pop("cpu_seconds", None)  # trained by an earlier version
    assert training_costs(result) == {"plain": 1.0, "thrifty": 1.5}


def test_a_line_a_method_over_the_cost(tmp_path: Path) -> None:
    (figure,) = cost_figures(spent(tmp_path, costs=["truth"]))
    assert (figure.title, figure.higher) == ("truth", True)
    assert figure.about == "on reviews: plain 1.0, thrifty 1.5, rich 3.0"
    assert [name for name, _ in figure.keys] == ["random", "lime"]
    # Truth is a method's number and a hundredth for every model and seed, so 0.605, 0.625 and 0.615 in this order.
    label = Page(figure.plot).all("svg")[0]["aria-label"] or ""
    assert "lime 1 0.605, 1.5 0.625, 3 0.615" in label


def test_the_report_has_a_section_of_costs_where_the_study_asks_for_it(tmp_path: Path) -> None:
    def sections(result: StudyResult) -> list[str | None]:
        return [attributes.get("id") for _, attributes in Page(study_page(result)).tags]

    assert "costs" in sections(spent(tmp_path / "asked", costs=["truth"]))
    assert "costs" not in sections(spent(tmp_path / "not"))


@pytest.mark.parametrize("costs", [["truth"], ["accuracy"]])
def test_metrics_of_models_have_one_line(tmp_path: Path, costs: list[str]) -> None:
    (figure,) = cost_figures(spent(tmp_path, costs=costs))
    assert bool(figure.keys) == (costs == ["truth"])
