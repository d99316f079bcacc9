from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saywhy.studies import StudyError, plan_study
from tests.studies.small import DATA, study


def titles(given: dict[str, Any], **options: Any) -> list[str]:
    return [cell.title for cell in plan_study(given, **options)[0].cells]


def table(word: str) -> str:
    rows = [f"{word} film number {i},yes\nbad film number {i},no" for i in range(40)]
    return "\n".join(["text,label", *rows])


def test_a_study_unfolds_into_cells_that_need_each_other() -> None:
    plan, _ = plan_study(study())
    trained = {cell.name for cell in plan.cells if cell.kind == "train"}
    assert titles(study())[:2] == ["train plain · seed 0", "train plain · seed 1"]
    assert len(trained) == 2
    measured = [cell for cell in plan.cells if cell.kind == "evaluate"]
    # The model's own metrics once, then each method, for each seed.
    assert len(measured) == 2 * (1 + 2)
    assert all(cell.needs[0] in trained for cell in measured)
    assert [m["name"] for m in measured[0].config["metrics"]] == ["accuracy"]
    assert {m["name"] for m in measured[1].config["metrics"]} == {"truth", "sufficiency"}


def test_trainings_with_the_same_objectives_are_told_apart_by_their_steps() -> None:
    given = study(train__plain__objective=["plain", "ivra"])
    given["train"]["again"] = {**given["train"]["plain"], "objective": ["plain", "regex"], "options": {"epochs": 3}}
    chosen = [title for title in titles(given) if title.startswith("train") and title.endswith("seed 0")]
    assert chosen == [
        "train plain · seed 0",
        "train plain · ivra · seed 0",
        "train again · plain · seed 0",
        "train again · regex · seed 0",
    ]


def test_lists_are_sweeps_and_lists_in_lists_are_values() -> None:
    given = study(
        train__plain__model=["text-transformer", "gru"],
        train__plain__options={"epochs": [1, 2], "learning_rate": 1e-3},
    )
    plan, _ = plan_study(given)
    cells = [cell for cell in plan.cells if cell.kind == "train" and cell.facts["seed"] == 0]
    assert [(c.config["model"], c.config["options"]["epochs"]) for c in cells] == [
        ("text-transformer", 1), ("text-transformer", 2), ("gru", 1), ("gru", 2)
    ]  # fmt: skip
    assert cells[0].facts["model"] == "plain (model=text-transformer, epochs=1)"
    assert cells[0].facts["variant"] == {"model": "text-transformer", "epochs": 1}
    one, _ = plan_study(study(train__plain__options={"log_with": [["a", "b"]]}))
    assert one.cells[0].config["options"] == {"log_with": ["a", "b"]}
    assert one.cells[0].facts["variant"] == {}


def test_names_are_hashes_of_everything_that_decides_a_result() -> None:
    def names(**changes: Any) -> list[str]:
        return [cell.name for cell in plan_study(study(**changes))[0].cells]

    first = names()
    assert len(set(first)) == len(first)
    assert names() == first
    # Threads are part of it; titles and the order of seeds are not.
    assert not set(names(threads=2)) & set(first)
    assert set(names(seeds=[1, 0])) == set(first)
    assert set(names(title="Another title")) == set(first)
    # Another training is another model, and so is all that is measured on it.
    assert not set(names(train__plain__options={"epochs": 2})) & set(first)
    # Another metric leaves the models as they are.
    other = names(evaluate__truth__metrics=["comprehensiveness"])
    assert set(other) & set(first) == set(first[:2])


def test_a_file_that_changes_is_other_data(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(table("good"), encoding="utf-8")
    given = study(train__plain__data=str(file), evaluate__truth__data=str(file), evaluate__truth__metrics="accuracy")
    before = [cell.name for cell in plan_study(given)[0].cells]
    assert [cell.name for cell in plan_study(given)[0].cells] == before
    file.write_text(table("fine"), encoding="utf-8")
    assert not set(before) & {cell.name for cell in plan_study(given)[0].cells}


def test_steps_that_train_further_and_steps_that_wait_for_each_other() -> None:
    further = {"data": DATA, "model": "plain", "options": {"epochs": 1}}
    plan, _ = plan_study({**study(), "train": {"more": further, **study()["train"]}})
    cells = {cell.name: cell for cell in plan.cells}
    more = [cell for cell in plan.cells if cell.facts["step"] == "more"]
    assert [cells[c.needs[0]].facts["seed"] for c in more] == [0, 1]
    order = [cell.name for cell in plan.cells]
    assert all(order.index(c.needs[0]) < order.index(c.name) for c in more)
    with pytest.raises(StudyError, match="wait for each other: a -> b -> a"):
        plan_study(
            study(train={"a": {**further, "model": "b"}, "b": {**further, "model": "a"}}, evaluate__truth__model="a")
        )


def test_a_measurement_of_some_seeds_only() -> None:
    given = study()
    given["evaluate"]["more"] = {**given["evaluate"]["truth"], "metrics": ["comprehensiveness"], "seeds": [1]}
    more = [cell for cell in plan_study(given)[0].cells if cell.facts["step"] == "more"]
    assert [cell.facts["seed"] for cell in more] == [1, 1]
    given["evaluate"]["more"]["seeds"] = [5]
    with pytest.raises(StudyError, match="'plain' have the seeds 0, 1, none of those asked for"):
        plan_study(given)


def test_a_step_may_bear_the_name_of_its_network() -> None:
    named = {"data": DATA, "model": "text-transformer", "options": {"epochs": 1}}
    plan, _ = plan_study(study(train={"text-transformer": named}, evaluate__truth__model="text-transformer"))
    trained = [cell for cell in plan.cells if cell.kind == "train"]
    assert {cell.config["model"] for cell in trained} == {"text-transformer"}
    assert not any(cell.needs for cell in trained)


def test_options_are_those_of_the_network_that_an_objective_trains() -> None:
    # A rationalizer over a text-transformer: the options are the rationalizer's, also where the encoder is named.
    inside = {"model_options": {"encoder_options": {"layers": 1}}}
    changes: dict[str, Any] = {"train__plain__objective": "ver", "train__plain__options": inside}
    assert plan_study(study(**changes))[0].cells
    with pytest.raises(StudyError, match="'rationalizer' has no option 'layers'"):
        plan_study(study(**{**changes, "train__plain__options": {"model_options": {"layers": 1}}}))


def test_models_of_two_steps_do_not_pass_for_one() -> None:
    # Both steps train an rnp and a ver, and one table has all four.
    games = {"objective": ["rnp", "ver"], "data": DATA, "model": "rationalizer", "options": {"epochs": 1}}
    more = {**games, "options": {"epochs": 2}}
    plan, _ = plan_study(
        study(
            train={"short": games, "long": more},
            evaluate__truth__model=["short", "long"],
            evaluate__truth__methods=["rationale"],
        )
    )
    assert {cell.facts["model"] for cell in plan.cells} == {"rnp", "ver", "rnp (long)", "ver (long)"}


def test_what_is_measured_twice_needs_another_name() -> None:
    given = study(evaluate__truth__metrics=["truth"])
    again = {**given["evaluate"]["truth"], "erasure": "delete"}
    with pytest.raises(StudyError, match=r"two steps measure plain · planted-reviews · .* · truth; give a dataset"):
        plan_study({**given, "evaluate": {**given["evaluate"], "again": again}})
    other = {**again, "metrics": [{"name": "truth", "label": "by deletion"}]}
    assert plan_study({**given, "evaluate": {**given["evaluate"], "again": other}})[0].cells


def test_only_takes_what_is_named_and_what_it_needs() -> None:
    chosen = titles(study(), only=["gradient", "seed 1"])
    assert chosen == ["train plain · seed 1", "evaluate plain · planted-reviews · gradient · seed 1"]
    with pytest.raises(StudyError, match="no cell has 'nothing'"):
        plan_study(study(), only=["nothing"])


def test_methods_that_are_compared_share_a_cell() -> None:
    plan, _ = plan_study(study(evaluate__truth__metrics=["method-jaccard"]))
    assert [len(c.config["methods"]) for c in plan.cells if c.kind == "evaluate"] == [2, 2]


def test_models_are_compared_with_those_of_other_seeds_and_steps() -> None:
    untrained = {**study()["train"]["plain"], "options": {"epochs": 0}, "seeds": [7]}
    changes = {
        "train__untrained": untrained,
        "evaluate__truth__metrics": ["model-jaccard"],
        "evaluate__truth__against": ["plain", "untrained"],
        "evaluate__truth__methods": ["gradient"],
    }
    plan, _ = plan_study(study(**changes))
    trained = {c.title: c.name for c in plan.cells if c.kind == "train"}
    for cell, other in zip([c for c in plan.cells if c.kind == "evaluate"], (1, 0), strict=True):
        expected = {f"plain (seed {other})": trained[f"train plain · seed {other}"]}
        expected["untrained (seed 7)"] = trained["train untrained · seed 7"]
        assert cell.config["against"] == {title: {"cell": name} for title, name in expected.items()}
        assert set(cell.needs) == {*expected.values(), cell.config["model"]["cell"]}
    plain, _ = plan_study(study())
    assert not any("against" in c.config for c in plain.cells)
    with pytest.raises(StudyError, match="no other model to compare with"):
        plan_study(study(seeds=[0], **{**changes, "evaluate__truth__against": ["plain"]}))


def test_an_option_may_be_the_model_of_another_step() -> None:
    fresh = {**study()["train"]["plain"], "objective": "fresh"}
    fresh["options"] = {**fresh["options"], "support": "plain", "method": ["gradient", "random"]}
    plan, _ = plan_study(study(train__fresh=fresh))
    trained = {c.title: c for c in plan.cells if c.kind == "train"}
    cell = trained["train fresh (method=random) · seed 1"]
    assert cell.config["options"]["support"] == {"cell": trained["train plain · seed 1"].name}
    assert cell.needs == (trained["train plain · seed 1"].name,)
    with pytest.raises(StudyError, match="'plane' is no step of train and no folder"):
        plan_study(study(train__fresh={**fresh, "options": {**fresh["options"], "support": "plane"}}))
    several = {**study()["train"]["plain"], "model": ["text-transformer", "gru"], "options": {"epochs": 1}}
    with pytest.raises(StudyError, match="trains several models; support needs one"):
        plan_study(study(train__fresh=fresh, train__plain=several))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluate__truth__methods": ["gradiant"]}, "unknown method 'gradiant'; did you mean 'gradient'"),
        ({"evaluate__truth__methods": [{"gradient": {"samples": 3}}]}, "'gradient' has no option 'samples'"),
        ({"evaluate__truth__methods": ["gradient", "gradient"]}, "'gradient' comes twice; give one of them a label"),
        ({"evaluate__truth__metrics": ["sufficienty"]}, "unknown metric"),
        ({"evaluate__truth__metrics": [{"sufficiency": {"bin": 3}}]}, "option bin"),
        ({"evaluate__truth__methods": []}, "'truth' measures explanations: name at least one method"),
        ({"evaluate__truth__space": "letters"}, "unknown space 'letters'"),
        ({"evaluate__truth__model": "nothing"}, "'nothing' is no step of train and no folder"),
        ({"evaluate__truth__data": "no-such-data"}, "no-such-data"),
        ({"evaluate__truth__data": "planted-choices"}, "the models of 'plain' do text; the data is choices"),
        ({"train__plain__objective": "plane"}, "unknown objective 'plane'"),
        ({"train__plain__options": {"epoch": 3}}, "neither training nor plain has an option 'epoch'"),
        ({"train__plain__options": {"model_options": {"layer": 2}}}, "'text-transformer' has no option 'layer'"),
        ({"train__plain__options": {"model_options": 3}}, "model_options must be a mapping"),
        ({"evaluate__truth__metrics": ["truth", "truth"]}, "metric 'truth' comes twice; give one of them a label"),
        ({"evaluate__truth__metrics": ["model-jaccard"]}, "against: model-jaccard compares models: name others"),
        ({"evaluate__truth__against": ["plain"]}, "against: no metric here compares models"),
        ({"gains": {"truht": "plain"}}, "no metric 'truht' is measured here; there are"),
        ({"gains": {"truth": "plane"}}, "no model 'plane' is measured here; there are plain"),
        ({"costs": ["truht"], "reference": "plain"}, "no metric 'truht' is measured here; there are"),
        ({"costs": ["truth"]}, "costs are times those of the study's reference: name that model"),
        ({"reference": "plane"}, "no model 'plane' is measured here; there are plain"),
        ({"reference": {"plain": "plane"}}, "no model 'plane' is measured here; there are plain"),
        ({"counterparts": {"lime": "limes"}, "reference": "plain"}, "no method 'lime' is measured here; there are"),
        ({"counterparts": {"random": "random"}}, "counterparts are methods of the study's reference: name that model"),
        ({"train__plain__model": "no-such-net"}, "'no-such-net' is no network"),
        ({"train__plain__data": {**DATA, "seed": "each"}}, "seed must be a number or 'run'"),
    ],
)
def test_mistakes_are_found_before_any_work(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(StudyError, match=r"^the study: ") as caught:
        plan_study(study(**changes))
    assert message in str(caught.value)


def test_a_metric_that_cannot_apply_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(table("good"), encoding="utf-8")
    path = tmp_path / "study.yaml"
    path.write_text(
        "study: mine\n"
        f"train: {{plain: {{data: {file}}}}}\n"
        "evaluate:\n"
        "  main:\n"
        "    model: plain\n"
        f"    data: {file}\n"
        "    methods: [random]\n"
        "    metrics:\n"
        "      - accuracy\n"
        "      - token-f1\n",
        encoding="utf-8",
    )
    with pytest.raises(StudyError, match=r"study.yaml, line 10: metric 'token-f1' cannot apply to .*mine.csv"):
        plan_study(path)


def test_the_runs_own_seed_may_make_the_data() -> None:
    plan, _ = plan_study(study(train__plain__data={**DATA, "seed": "run"}))
    assert [c.config["data"]["seed"] for c in plan.cells if c.kind == "train"] == [0, 1]
