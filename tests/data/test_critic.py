from __future__ import annotations

from pathlib import Path

import pytest

from saywhy.data import load_dataset
from saywhy.errors import OptionError
from tests.data.mini import write_jsonl


@pytest.mark.parametrize("source", ["planted-nli", "planted-choices"])
def test_every_explanation_once_with_its_own_and_once_with_another(source: str) -> None:
    pairs = list(load_dataset("critic-pairs", source=source)["dev"])
    examples = list(load_dataset(source)["dev"])
    assert [p.label for p in pairs[:4]] == ["yes", "no", "yes", "no"]
    assert len(pairs) == 2 * len(examples)
    for i in (0, 5):
        label = examples[i].choices[int(examples[i].label)] if examples[i].choices else examples[i].label
        assert pairs[2 * i].texts == (" | ".join(examples[i].fields), f"{label}: {examples[i].explanations[0]}")
        assert pairs[2 * i + 1].texts[0] == pairs[2 * i].texts[0]
        assert pairs[2 * i + 1].texts[1] != pairs[2 * i].texts[1]
    again = list(load_dataset("critic-pairs", source=source)["dev"])
    assert [p.texts for p in again] == [p.texts for p in pairs]


def test_choices_meet_explanations_of_the_same_answer() -> None:
    examples = list(load_dataset("planted-choices")["dev"])
    pairs = list(load_dataset("critic-pairs", source="planted-choices")["dev"])
    answers = [e.choices[int(e.label)] for e in examples]  # type: ignore[arg-type]
    common = [i for i, a in enumerate(answers) if answers.count(a) > 1]
    assert all(answers[i] in pairs[2 * i + 1].texts[1].split(": ", 1)[1] for i in common)


def test_a_sentence_given_for_several_examples_is_no_other_one(tmp_path: Path) -> None:
    question = {"choices": ["fridge", "oven"], "answer": 0, "concept": "milk"}
    said = ["It is cold.", "It is cold.", "It is cold.", "Rivers flow."]
    rows = [{**question, "id": str(i), "question": f"Where, {i}?", "explanation": s} for i, s in enumerate(said)]
    write_jsonl(tmp_path / "cose" / "v1.11_train.jsonl.gz", rows)
    pairs = load_dataset("critic-pairs", source="cose", root=str(tmp_path))["train"]
    by_label = {label: [p.texts[1] for p in pairs if p.label == label] for label in ("yes", "no")}
    assert by_label["yes"] == [f"fridge: {s}" for s in said]
    assert by_label["no"] == ["fridge: Rivers flow."] * 3 + ["fridge: It is cold."]
    write_jsonl(tmp_path / "cose" / "v1.11_train.jsonl.gz", rows[:2])
    assert [p.label for p in load_dataset("critic-pairs", source="cose", root=str(tmp_path))["train"]] == ["yes"] * 2


def test_explanations_alone() -> None:
    data = load_dataset("explanations-alone", source="planted-nli")
    first = next(iter(load_dataset("planted-nli")["test"]))
    assert data.labels == ("entailment", "neutral", "contradiction")
    assert data["test"][0].texts == first.explanations
    assert data["test"][0].label == first.label
    with pytest.raises(OptionError, match="is not a dataset"):
        load_dataset("critic-pairs", source="nothing")


def test_explanations_of_choices_are_read_with_the_choices() -> None:
    data = load_dataset("explanations-alone", source="planted-choices")
    first = next(iter(load_dataset("planted-choices")["test"]))
    assert data.task == "choices"
    assert not data.labels
    assert data["test"][0].texts == first.explanations
    assert (data["test"][0].choices, data["test"][0].label) == (first.choices, first.label)


@pytest.mark.parametrize("name", ["critic-pairs", "explanations-alone"])
def test_no_question_is_learned_from_and_selected_on(name: str, tmp_path: Path) -> None:
    rows = [
        {"choices": ["a", "b"], "answer": i % 2, "id": str(i), "question": f"Where, {i}?", "explanation": f"{i}!"}
        for i in range(60)
    ]
    write_jsonl(tmp_path / "cose" / "v1.11_train.jsonl.gz", rows[:50])
    write_jsonl(tmp_path / "cose" / "v1.11_dev.jsonl.gz", rows[50:])
    data = load_dataset(name, source="cose", root=str(tmp_path), dev_share=0.3)
    source = load_dataset("cose", root=str(tmp_path), dev_share=0.3)
    assert list(data.splits) == ["train", "dev", "test"]
    for split in data.splits:
        assert {e.id.split("-")[0] for e in data[split]} == {e.id for e in source[split]}


@pytest.mark.realdata
def test_a_dev_split_can_be_trained_on() -> None:
    data = load_dataset("esnli", train_share=0.9)
    assert list(data.splits) == ["train", "dev", "test"]
    sizes = len(data["train"]), len(data["dev"])
    assert sum(sizes) == len(load_dataset("esnli")["dev"])
    assert sizes[0] / sum(sizes) == pytest.approx(0.9, abs=0.02)
    assert not {e.id for e in data["train"]} & {e.id for e in data["dev"]}


@pytest.mark.realdata
def test_a_dev_split_that_is_reported_is_not_selected_on() -> None:
    data = load_dataset("cose", dev_share=0.1)
    assert list(data.splits) == ["train", "dev", "test", "test-unlabelled"]
    assert [e.id for e in data["test"]] == [e.id for e in load_dataset("cose")["dev"]]
    assert {e.id for e in data["dev"]} < {e.id for e in load_dataset("cose")["train"]}
