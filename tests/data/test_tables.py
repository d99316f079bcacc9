from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saywhy.data import load_dataset
from saywhy.errors import DataError, OptionError
from saywhy.types import Span
from tests.data.mini import write_jsonl


def one(tmp_path: Path, row: dict[str, Any], **options: Any) -> Any:
    return load_dataset(write_jsonl(tmp_path / "rows.jsonl", [row]), split="all", **options)[0]


def test_columns_by_their_usual_names(tmp_path: Path) -> None:
    example = one(tmp_path, {"premise": "a", "hypothesis": "b", "gold_label": "neutral", "id": 3, "explanation": "why"})
    assert (example.texts, example.label, example.id, example.explanations) == (("a", "b"), "neutral", "3", ("why",))
    assert example.source.endswith("rows.jsonl")
    assert example.line == 1


def test_columns_by_name_given(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("review,stars,label\nfine,5,x\nbad,1,y\n")
    data = load_dataset(path, columns={"text": "review", "label": "stars"})
    assert [(e.texts[0], e.label) for e in data["all"]] == [("fine", "5"), ("bad", "1")]
    assert data.labels == ("1", "5")
    assert data.task == "text"
    unlabelled = load_dataset(path, columns={"text": "review", "label": None})
    assert [e.label for e in unlabelled["all"]] == [None, None]


def test_labels_given_are_checked_and_indexed(tmp_path: Path) -> None:
    assert one(tmp_path, {"text": "a", "label": 1}, labels=["no", "yes"]).label == "yes"
    assert one(tmp_path, {"text": "a", "label": 1.0}, labels=["no", "yes"]).label == "yes"
    with pytest.raises(DataError, match="unknown label 'maybe'; known: no, yes") as caught:
        one(tmp_path, {"text": "a", "label": "maybe"}, labels=["no", "yes"])
    assert (caught.value.line, caught.value.field) == (1, "label")
    with pytest.raises(OptionError, match="takes a list"):
        one(tmp_path, {"text": "a"}, labels="yes")


def test_numbers_are_sorted_as_numbers(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": str(i), "label": i} for i in (10, 9, 2)])
    assert load_dataset(path).labels == ("2", "9", "10")


def test_choices(tmp_path: Path) -> None:
    row = {"question": "q", "choices": ["a", "b", "c"]}
    assert one(tmp_path, {**row, "label": 2}).label == 2
    assert one(tmp_path, {**row, "answer": "b"}).label == 1
    with pytest.raises(DataError, match="between 0 and 2"):
        one(tmp_path, {**row, "label": 3})
    path = tmp_path / "c.csv"
    path.write_text('question,choices,label\nq,"[""a"", ""b""]",1\n')
    (example,) = load_dataset(path, split="all")
    assert (example.choices, example.label) == (("a", "b"), 1)
    assert load_dataset(path).task == "choices"
    assert load_dataset(path).labels == ()


def test_rationales_of_one_or_several_annotators(tmp_path: Path) -> None:
    base = {"text": "abc def", "text_pair": "ghi"}
    assert one(tmp_path, {**base, "rationale": [[0, 3]]}).rationales == ((Span(0, 0, 3),),)
    assert one(tmp_path, {**base, "rationale": "[[1, 0, 3]]"}).rationales == ((Span(1, 0, 3),),)
    several = one(tmp_path, {**base, "rationales": [[[0, 3]], [[4, 7], [1, 0, 2]]]})
    assert several.rationales == ((Span(0, 0, 3),), (Span(0, 4, 7), Span(1, 0, 2)))
    assert one(tmp_path, {**base, "rationale": None}).rationales == ()
    for bad, message in (
        ([[0, 9]], "within"),
        ([[2, 2]], "within"),
        ([[2, 0, 1]], "names field 2"),
        ([["x", 1]], "expected spans"),
        ([[0]], "expected"),
    ):
        with pytest.raises(DataError, match=message) as caught:
            one(tmp_path, {**base, "rationale": bad})
        assert caught.value.field == "rationale"


def test_answers(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "qa.jsonl", [{"question": "who?", "context": "a dog", "answers": [[2, 5]]}])
    data = load_dataset(path)
    assert data.task == "span-qa"
    assert data["all"][0].answers == (Span(1, 2, 5),)


@pytest.mark.parametrize(
    ("row", "message", "field"),
    [
        ({"body": "x"}, "no column holds the text; the row has body", "text"),
        ({"text": 3}, "expected a string", "text"),
        ({"text": " "}, "skip_empty=True", "text"),
        ({"text": "a", "label": ""}, "the label is empty", "label"),
        ({"text": "a", "label": [1]}, "expected a label", "label"),
        ({"text": "a", "choices": "b"}, "expected a list", "choices"),
        ({"text": "half \ud83d of an emoji"}, "surrogate", "text"),
    ],
)
def test_bad_rows(tmp_path: Path, row: dict[str, Any], message: str, field: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "fine"}\n' + json.dumps(row) + "\n")
    with pytest.raises(DataError, match=message) as caught:
        load_dataset(path, split="all")
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), 2, field)


def test_empty_rows_can_be_left_out(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": ""}, {"text": "b"}])
    assert [e.texts for e in load_dataset(path, split="all", skip_empty=True)] == [("b",)]


def test_a_column_that_vanishes_is_an_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"review": "a"}, {"other": "b"}])
    with pytest.raises(DataError, match="is missing") as caught:
        load_dataset(path, split="all", columns={"text": "review"})
    assert (caught.value.line, caught.value.field) == (2, "review")
    with pytest.raises(OptionError, match="columns= knows no 'body'"):
        load_dataset(path, columns={"body": "review"})


def test_a_folder_has_the_splits_of_its_files(tmp_path: Path) -> None:
    for name in ("train.jsonl", "valid.jsonl.gz", "my_test.csv"):
        if name.endswith("csv"):
            (tmp_path / name).write_text("text,label\nx,1\n")
        else:
            write_jsonl(tmp_path / name, [{"text": name, "label": "1"}])
    (tmp_path / "README.md").write_text("hello")
    data = load_dataset(tmp_path)
    assert list(data.splits) == ["train", "dev", "test"]
    assert data["dev"][0].texts == ("valid.jsonl.gz",)
    write_jsonl(tmp_path / "train2_train.jsonl", [])
    with pytest.raises(DataError, match="both train"):
        load_dataset(tmp_path)


def test_a_file_named_after_a_split_is_that_split(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "sst.test.jsonl", [{"text": "a"}])
    assert list(load_dataset(path).splits) == ["test"]


def test_a_lone_file_is_split_by_its_texts(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": f"text {i % 200}", "label": i % 2} for i in range(400)])
    data = load_dataset(path, seed=1)
    texts = {split: {e.texts for e in data[split]} for split in ("train", "dev", "test")}
    assert sum(len(data[s]) for s in texts) == len(data["all"]) == 400
    assert not texts["train"] & texts["dev"]
    assert not texts["train"] & texts["test"]
    assert 130 < len(texts["train"]) < 185
    assert {e.texts for e in load_dataset(path, seed=2)["test"]} != texts["test"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
columns = st.sampled_from(["text", "text_pair", "label", "choices", "rationale", "answers", "explanation", "id", "x"])


@pytest.mark.slow
@settings(max_examples=2500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(columns, json_values, max_size=6), max_size=3))
def test_any_rows_are_read_or_refused(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = write_any(tmp_path / "any.jsonl", rows)
    try:
        data = load_dataset(path)
        for example in data["all"]:
            for rationale in example.rationales:
                for span in rationale:
                    assert 0 <= span.start < span.end <= len(example.fields[span.field])
        assert all(isinstance(label, str) for label in data.labels)
    except DataError:
        return


def write_any(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
