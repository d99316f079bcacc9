"""The hub's columns, on local datasets of the same schema."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from saywhy.data import load_dataset
from saywhy.errors import DataError, OptionError
from saywhy.types import Example, Span

hub = pytest.importorskip("datasets", reason="the datasets library is not installed")


def read(name: str, rows: list[dict[str, Any]], **options: Any) -> list[Example]:
    return load_dataset(name, rows={"validation": hub.Dataset.from_list(rows)}, split="dev", **options)


def words(example: Example) -> list[list[str]]:
    return [[example.fields[s.field][s.start : s.end] for s in rationale] for rationale in example.rationales]


NLI = {"premise": "A dog runs.", "hypothesis": "A dog sleeps."}


@pytest.mark.parametrize(
    ("name", "row", "label"),
    [
        ("sst2", {"sentence": "fine", "label": 1, "idx": 0}, "positive"),
        ("sst2-phrases", {"sentence": "fine", "label": 0, "idx": 0}, "negative"),
        ("sst5", {"text": "fine", "label": 4, "label_text": "very positive"}, "very positive"),
        ("imdb", {"text": "fine", "label": 1}, "positive"),
        ("yelp-polarity", {"text": "fine", "label": 0}, "negative"),
        ("amazon-books", {"content": "fine", "label": 0}, "negative"),
        ("amazon-instruments", {"reviewText": "fine", "overall": 3.0}, "neutral"),
        ("mr", {"text": "fine", "label": 1}, "positive"),
        ("subj", {"text": "he leaves", "label": 0, "label_text": "objective"}, "objective"),
        ("trec", {"text": "How far ?", "coarse_label": 2, "fine_label": 7}, "description"),
        ("snli", {**NLI, "label": 2}, "contradiction"),
        ("multinli", {**NLI, "label": 1, "pairID": "7", "genre": "fiction"}, "neutral"),
        ("sick", {"sentence_A": "a", "sentence_B": "b", "label": 0, "relatedness_score": 4.5, "id": "1"}, "entailment"),
        ("hans", {**NLI, "label": 1, "heuristic": "constituent", "subcase": "x"}, "non-entailment"),
    ],
)
def test_columns_and_label_numbers(name: str, row: dict[str, Any], label: str) -> None:
    (example,) = read(name, [row])
    assert example.label == label
    assert (example.source, example.line) == (f"{name}/dev", 1)


def test_rows_without_gold_label_are_left_out() -> None:
    assert [e.label for e in read("snli", [{**NLI, "label": -1}, {**NLI, "label": 0}])] == ["entailment"]


def test_explanations_of_esnli() -> None:
    row = {**NLI, "label": 2, "explanation_1": "It runs.", "explanation_2": "", "explanation_3": "It is awake."}
    (example,) = read("esnli", [row])
    assert example.explanations == ("It runs.", "It is awake.")


def test_cose() -> None:
    row = {
        "id": "1",
        "question": "Where do you keep milk?",
        "choices": ["fridge", "oven"],
        "answer": "oven",
        "abstractive_explanation": "It is cold.",
        "extractive_explanation": "Keep milk",
    }
    (example,) = read("cose", [row])
    assert (example.label, example.explanations, words(example)) == (1, ("It is cold.",), [["keep milk"]])
    with pytest.raises(DataError, match="not among the choices"):
        read("cose", [{**row, "answer": "sea"}])


def test_eraser() -> None:
    (movie,) = read(
        "eraser-movies", [{"review": "a film .\nit is bad .", "label": 0, "evidences": ["is bad", "a film"]}]
    )
    assert words(movie) == [["a film", "is bad"]]
    assert movie.meta["sentences"] == ((0, 8), (9, 20))
    row = {
        "passage": "It was late .\nA dog barked .",
        "query_and_answer": "Who ? || A dog",
        "label": 1,
        "evidences": ["A dog barked ."],
    }
    (answer,) = read("eraser-multirc", [row])
    assert (answer.texts[0], answer.label, words(answer)) == ("Who ? || A dog", "True", [["A dog barked ."]])
    assert answer.rationales[0][0].field == 1


def test_hatexplain() -> None:
    row = {
        "id": "7",
        "annotators": {"label": [0, 0, 2], "annotator_id": [1, 2, 3], "target": [["x"], ["x"], ["None"]]},
        "rationales": [[0, 1, 1], [0, 0, 1]],
        "post_tokens": ["you", "stupid", "fool"],
    }
    undecided = {**row, "annotators": {**row["annotators"], "label": [0, 1, 2]}}
    (example,) = read("hatexplain", [row, undecided])
    assert (example.label, words(example)) == ("hatespeech", [["stupid fool"], ["fool"]])
    with pytest.raises(DataError, match="each of the 3 tokens"):
        read("hatexplain", [{**row, "rationales": [[0, 1], [1, 1]]}])


def test_toxic_spans() -> None:
    (example,) = read("toxic-spans", [{"text": "you fool and idiot", "spans": [4, 5, 6, 7, 13, 14, 15, 16, 17]}])
    assert words(example) == [["fool", "idiot"]]


def test_squad() -> None:
    row = {
        "id": "1",
        "title": "T",
        "context": "A dog barks.",
        "question": "Who?",
        "answers": {"text": ["dog", "A dog", "dog"], "answer_start": [2, 0, 2]},
    }
    (example,) = read("squad", [row])
    assert example.answers == (Span(1, 2, 5), Span(1, 0, 5))
    with pytest.raises(DataError, match="not at character 3"):
        read("squad", [{**row, "answers": {"text": ["dog"], "answer_start": [3]}}])


def test_splits_of_a_dataset_dict() -> None:
    part = hub.Dataset.from_list([{**NLI, "label": 0}])
    data = load_dataset("multinli", rows=hub.DatasetDict({"train": part, "validation_matched": part}))
    assert list(data.splits) == ["train", "dev"]
    lone = load_dataset("multinli", rows=part)
    assert list(lone.splits) == ["train", "dev", "test", "all"]
    assert len(lone["all"]) == 1
    spent = load_dataset("multinli", rows=iter([{**NLI, "label": 0}]))
    assert len(list(spent.stream("all"))) == len(list(spent.stream("all"))) == 1


def test_a_bad_row_names_its_place() -> None:
    with pytest.raises(DataError, match=r"sst2/dev:2 \(field 'label'\): unknown label 7"):
        read("sst2", [{"text": "a", "label": 1}, {"text": "b", "label": 7}])


def test_fetching_from_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fake(*names: str) -> Any:
        asked.append(names)
        return {"validation": [{"sentence": "fine", "label": 1}]}

    monkeypatch.setattr(hub, "load_dataset", fake)
    assert load_dataset("sst2-phrases", hub=True, split="dev")[0].label == "positive"
    assert asked == [("nyu-mll/glue", "sst2")]

    def offline(*names: str) -> Any:
        raise ConnectionError("no network")

    monkeypatch.setattr(hub, "load_dataset", offline)
    with pytest.raises(DataError, match=r"stanfordnlp/imdb: .*no network.*path="):
        load_dataset("imdb", hub=True)
    with pytest.raises(OptionError, match="not known to be on the hub"):
        load_dataset("breaking-nli", hub=True)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(OptionError, match=r"saywhy\[hub\]"):
        load_dataset("sst2", hub=True)
