"""Official files by path, written here in the formats their authors publish."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from saywhy.data import load_dataset
from saywhy.data.nli import differing_phrases
from saywhy.data.sst import parse_tree
from saywhy.errors import DataError, OptionError
from saywhy.types import Example, Span
from tests.data.mini import write_jsonl


def words(example: Example) -> list[list[str]]:
    return [[example.fields[s.field][s.start : s.end] for s in rationale] for rationale in example.rationales]


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_sst_trees(tmp_path: Path) -> None:
    for name, tree in (("train", "(3 (2 A) (4 (3 good) (2 film)))"), ("dev", "(2 (2 So) (2 so))"), ("test", "(0 bad)")):
        write(tmp_path / f"{name}.txt", tree + "\n")
    fine = load_dataset("sst5", path=tmp_path)
    assert [(e.texts, e.label) for e in fine["train"]] == [(("A good film",), "positive")]
    assert fine["train"][0].meta["phrases"] == ((2, 0, 1), (3, 2, 6), (2, 7, 11), (4, 2, 11), (3, 0, 11))
    binary = load_dataset("sst2", path=tmp_path)
    assert [e.label for e in binary["train"]] == ["positive"]
    assert list(binary["dev"]) == []
    assert [e.label for e in binary["test"]] == ["negative"]
    glue = load_dataset("sst2", path=write(tmp_path / "g" / "train.tsv", "sentence\tlabel\nfine \t1\n"))
    assert [e.texts for e in glue["train"]] == [("fine",)]


@pytest.mark.parametrize("tree", ["(3 a", "3 a)", "(7 a)", "a", "", "(3)", "()", "(3 a))", "(3 (2 a) (2"])
def test_broken_trees(tree: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"tree|score"):
        parse_tree(tree)
    if tree:
        with pytest.raises(DataError, match=r"test\.txt:1"):
            load_dataset("sst5", path=write(tmp_path / "test.txt", tree), split="test")


def test_imdb_folders(tmp_path: Path) -> None:
    write(tmp_path / "train" / "neg" / "10_2.txt", "bad")
    write(tmp_path / "train" / "neg" / "9_1.txt", "worse")
    write(tmp_path / "train" / "pos" / "0_9.txt", "fine")
    write(tmp_path / "train" / "unsup" / "0_0.txt", "?")
    examples = load_dataset("imdb", path=tmp_path, split="train")
    assert [(e.id, e.label, e.meta["stars"]) for e in examples] == [
        ("neg/9_1", "negative", 1),
        ("neg/10_2", "negative", 2),
        ("pos/0_9", "positive", 9),
    ]
    with pytest.raises(DataError, match="aclImdb"):
        load_dataset("imdb", path=tmp_path / "train")
    write(tmp_path / "train" / "pos" / "notes.txt", "x")
    with pytest.raises(DataError, match="notes"):
        load_dataset("imdb", path=tmp_path, split="train")


def test_tables_of_reviews(tmp_path: Path) -> None:
    cad = write(tmp_path / "train.tsv", 'Sentiment\tText\tbatch_id\nNegative\t"so ""bad"""\t4\n')
    (example,) = load_dataset("cad-imdb", path=cad, split="train")
    assert (example.texts, example.label, example.meta["pair"]) == (('so "bad"',), "negative", "4")
    yelp = write(tmp_path / "test.csv", '"2","fine\\nfood"\n')
    (example,) = load_dataset("yelp-polarity", path=yelp, split="test")
    assert (example.texts, example.label) == (("fine\nfood",), "positive")
    music = write_jsonl(
        tmp_path / "music.json.gz", [{"reviewText": "ok", "overall": 3.0}, {"reviewText": "", "overall": 1}]
    )
    assert [e.label for e in load_dataset("amazon-instruments", path=music, split="all")] == ["neutral"]
    assert [e.label for e in load_dataset("amazon-instruments", path=music, split="all", classes="five")] == ["3"]
    mr = write(tmp_path / "mr.all", "1 a fine film\n0 dull\n")
    assert [(e.label, e.texts[0]) for e in load_dataset("mr", path=mr, split="all")] == [
        ("positive", "a fine film"),
        ("negative", "dull"),
    ]
    trec = tmp_path / "train_5500.label"
    trec.write_bytes("LOC:city Where is Malmö ?\n".encode("latin-1"))
    (example,) = load_dataset("trec", path=trec, split="train")
    assert (example.label, example.texts[0]) == ("location", "Where is Malmö ?")


SNLI = {
    "gold_label": "neutral",
    "sentence1": "A dog.",
    "sentence2": "A pet.",
    "pairID": "1#2",
    "annotator_labels": ["neutral"],
}


def test_snli_and_multinli(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "snli_1.0_dev.jsonl", [SNLI, {**SNLI, "gold_label": "-"}])
    (example,) = load_dataset("snli", path=tmp_path, split="dev")
    assert (example.texts, example.label, example.id) == (("A dog.", "A pet."), "neutral", "1#2")
    kept = load_dataset("snli", path=tmp_path, split="dev", unlabelled=True)
    assert [e.label for e in kept] == ["neutral", None]
    folder = tmp_path / "multinli"
    for part in ("train", "dev_matched", "dev_mismatched"):
        write_jsonl(folder / f"multinli_1.0_{part}.jsonl", [{**SNLI, "genre": part}])
    data = load_dataset("multinli", path=folder)
    assert {split: data[split][0].meta["genre"] for split in data.splits} == {
        "train": "train",
        "dev": "dev_matched",
        "dev-mismatched": "dev_mismatched",
    }


def test_sick_hans_cad(tmp_path: Path) -> None:
    sick = write(
        tmp_path / "SICK_train.txt",
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n1\ta\tb\t4.5\tENTAILMENT\n",
    )
    (example,) = load_dataset("sick", path=sick, split="train")
    assert (example.label, example.meta["relatedness"]) == ("entailment", 4.5)
    hans = write(
        tmp_path / "heuristics_evaluation_set.txt",
        "gold_label\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2\tpairID\theuristic\tsubcase\ttemplate\n"
        "non-entailment\t(ROOT)\t(ROOT)\tA saw B .\tB saw A .\tex0\tlexical_overlap\tln_swap\ttemp1\n",
    )
    (example,) = load_dataset("hans", path=hans, split="test")
    assert (example.texts[1], example.label, example.meta["heuristic"]) == (
        "B saw A .",
        "non-entailment",
        "lexical_overlap",
    )
    assert example.meta["premise_parse"] == "(ROOT)"
    cad = write(tmp_path / "cad" / "dev.tsv", "sentence1\tsentence2\tgold_label\na\tb\tcontradiction\n")
    assert load_dataset("cad-snli", path=cad, split="dev")[0].label == "contradiction"
    wrong = write(tmp_path / "wrong_dev.tsv", "sentence1\tsentence2\tgold_label\na\tb\tperhaps\n")
    with pytest.raises(DataError, match=r"wrong_dev\.tsv:2 \(field 'label'\): unknown label 'perhaps'"):
        load_dataset("cad-snli", path=wrong, split="dev")


@pytest.mark.parametrize(
    ("premise", "hypothesis", "pairs"),
    [
        ("A man eats an apple.", "A man eats a pear.", [("apple", "pear")]),
        ("near the yellow line", "near the dark red line", [("yellow", "dark red")]),
        ("two men and two dogs", "six men and six dogs", [("two", "six"), ("two", "six")]),
        ("the same", "the same", []),
        ("cannot look", "look", []),
    ],
)
def test_differing_phrases(premise: str, hypothesis: str, pairs: list[tuple[str, str]]) -> None:
    found = differing_phrases(premise, hypothesis)
    assert [(premise[a.start : a.end], hypothesis[b.start : b.end]) for a, b in found] == pairs
    assert all((a.field, b.field) == (0, 1) for a, b in found)


def test_esnli_stars(tmp_path: Path) -> None:
    header = "pairID,gold_label,Sentence1,Sentence2,Explanation_1,Sentence1_marked_1,Sentence2_marked_1"
    header += ",Explanation_2,Sentence1_marked_2,Sentence2_marked_2"
    rows = [
        "1,contradiction,A dog runs.,A dog sleeps.,It runs.,A dog *runs.*,A dog *sleeps.*,,,",
        "2,neutral,A  dog runs.,A pet.,Why not.,A *dog* runs.,A pet.,No.,A  dog *runs*.,A *pet*.",
    ]
    path = write(tmp_path / "esnli_dev.csv", "\n".join([header, *rows]) + "\n")
    first, second = load_dataset("esnli", path=path, split="dev")
    assert words(first) == [["runs.", "sleeps."]]
    assert first.explanations == ("It runs.",)
    # The first annotator saw the sentence with one space less: the word is looked up.
    assert words(second) == [["dog"], ["runs", "pet"]]
    broken = write(tmp_path / "bad_dev.csv", f"{header}\n1,neutral,A.,B.,E.,*A.,B.,,,\n")
    with pytest.raises(DataError, match="not closed") as caught:
        load_dataset("esnli", path=broken, split="dev")
    assert (caught.value.line, caught.value.field) == (2, "Sentence1_marked_1")


def eraser_row(**changes: Any) -> dict[str, Any]:
    evidence = {"docid": "d1", "start_token": 4, "end_token": 8, "start_sentence": 1, "end_sentence": 2, "text": "x"}
    row = {
        "annotation_id": "d1:0",
        "query": "Who ?",
        "classification": "True",
        "evidences": [[evidence]],
        "docids": None,
    }
    return {**row, **changes}


def test_eraser_folders(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "d1", "It was late .\nA dog barked .\n")
    write_jsonl(tmp_path / "val.jsonl", [eraser_row()])
    (example,) = load_dataset("eraser-multirc", path=tmp_path, split="dev")
    assert (example.texts, words(example)) == (("Who ?", "It was late . A dog barked ."), [["A dog barked ."]])
    write_jsonl(tmp_path / "val.jsonl", [eraser_row(classification="POS")])
    (movie,) = load_dataset("eraser-movies", path=tmp_path, split="dev")
    assert (movie.texts, movie.label, words(movie)) == (
        ("It was late . A dog barked .",),
        "positive",
        [["A dog barked ."]],
    )
    write_jsonl(tmp_path / "docs.jsonl", [{"docid": "d1", "document": "Quite another thing .\nA dog barked ."}])
    assert load_dataset("eraser-movies", path=tmp_path, split="dev")[0].texts[0].startswith("Quite")
    with pytest.raises(DataError, match="expected an ERASER folder"):
        load_dataset("eraser-fever", path=tmp_path / "docs")


def test_eraser_documents_stay_in_their_folder(tmp_path: Path) -> None:
    write(tmp_path / "secret", "x")
    write_jsonl(tmp_path / "e" / "val.jsonl", [eraser_row(docids=["../../secret"], evidences=[])])
    (tmp_path / "e" / "docs").mkdir()
    with pytest.raises(DataError, match="is not the name of a document"):
        load_dataset("eraser-multirc", path=tmp_path / "e", split="dev")


def test_evidence_beyond_the_document(tmp_path: Path) -> None:
    write(tmp_path / "docs" / "d1", "It was late .\n")
    write_jsonl(tmp_path / "val.jsonl", [eraser_row()])
    with pytest.raises(DataError, match=r"val\.jsonl:1 .*does not lie within 0 to 4"):
        load_dataset("eraser-multirc", path=tmp_path, split="dev")


def test_hatexplain(tmp_path: Path) -> None:
    def post(*votes: str) -> dict[str, Any]:
        annotators = [{"label": v, "annotator_id": 1, "target": ["None"]} for v in votes]
        return {"post_id": "x", "annotators": annotators, "rationales": [[0, 1]], "post_tokens": ["you", "fool"]}

    posts = {
        "a": post("offensive", "offensive", "normal"),
        "b": post("hatespeech", "normal", "offensive"),
        "c": post("normal", "normal", "normal"),
    }
    write(tmp_path / "dataset.json", json.dumps(posts))
    assert [e.id for e in load_dataset("hatexplain", path=tmp_path, split="all")] == ["a", "c"]
    write(tmp_path / "post_id_divisions.json", json.dumps({"train": ["c"], "val": ["a", "b"], "test": []}))
    data = load_dataset("hatexplain", path=tmp_path)
    assert [(e.id, e.label, words(e)) for e in data["dev"]] == [("a", "offensive", [["fool"]])]
    assert [e.id for e in data["train"]] == ["c"]


def test_toxic_spans(tmp_path: Path) -> None:
    path = write(tmp_path / "tsd_test.csv", 'spans,text\n"[4, 5, 6, 7]",you fool\n[],go\n')
    first, second = load_dataset("toxic-spans", path=path, split="test")
    assert (words(first), words(second)) == ([["fool"]], [])
    path = write(tmp_path / "tsd_test.csv", 'spans,text\n"[4, 99]",you fool\n')
    with pytest.raises(DataError, match="does not lie within 0 to 8"):
        load_dataset("toxic-spans", path=path, split="test")


def test_cose(tmp_path: Path) -> None:
    question = {
        "stem": "Where is milk?",
        "question_concept": "milk",
        "choices": [{"label": "A", "text": "sea"}, {"label": "B", "text": "fridge"}],
    }
    write_jsonl(tmp_path / "dev_rand_split.jsonl", [{"id": "1", "answerKey": "B", "question": question}])
    write_jsonl(
        tmp_path / "cose_dev_v1.11_processed.jsonl",
        [{"id": "1", "explanation": {"open-ended": "It is cold.", "selected": "milk"}}],
    )
    (example,) = load_dataset("cose", path=tmp_path, split="dev")
    assert (example.label, example.choices, words(example)) == (1, ("sea", "fridge"), [["milk"]])
    assert example.explanations == ("It is cold.",)
    with pytest.raises(OptionError, match=r"1\.11 or 1\.0"):
        load_dataset("cose", version="2")


def test_comve(tmp_path: Path) -> None:
    write(tmp_path / "subtaskA_data_all.csv", "id,sent0,sent1\n3,He eats milk.,He eats sand.\n")
    write(tmp_path / "subtaskA_answers_all.csv", "3,1\n")
    write(tmp_path / "subtaskB_data_all.csv", "id,FalseSent,OptionA,OptionB,OptionC\n3,He eats sand.,x,y,z\n")
    write(tmp_path / "subtaskB_answers_all.csv", "3,B\n")
    write(tmp_path / "subtaskC_answers_all.csv", "3,r1,r2,r3\n")
    (example,) = load_dataset("comve", path={"train": tmp_path}, split="train")
    assert (example.label, example.choices, example.explanations) == (
        1,
        ("He eats milk.", "He eats sand."),
        ("r1", "r2", "r3"),
    )
    (reasons,) = load_dataset("comve", path={"train": tmp_path}, split="train", subtask="explanation")
    assert (reasons.texts, reasons.label, reasons.choices) == (("He eats sand.",), 1, ("x", "y", "z"))
    (tmp_path / "subtaskC_answers_all.csv").unlink()
    with pytest.raises(DataError, match="no subtaskC_answers"):
        load_dataset("comve", path={"train": tmp_path}, split="train")


def test_squad(tmp_path: Path) -> None:
    answers = [{"text": "dog", "answer_start": 2}]
    paragraph = {"context": "A dog barks.", "qas": [{"id": "1", "question": "Who?", "answers": answers}]}
    path = write(tmp_path / "dev-v1.1.json", json.dumps({"data": [{"title": "T", "paragraphs": [paragraph]}]}))
    (example,) = load_dataset("squad", path=path, split="dev")
    assert (example.texts, example.answers, example.meta["title"]) == (("Who?", "A dog barks."), (Span(1, 2, 5),), "T")


def test_beer(tmp_path: Path) -> None:
    lines = "0.9 0.2 0.5 0.5 0.5\tnice head . bad smell\n0.5 0.7 0.5 0.5 0.5\tso so\n"
    (tmp_path / "reviews.aspect0.heldout.txt.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "reviews.aspect1.heldout.txt.gz").write_bytes(gzip.compress(lines.encode()))
    rows = [
        {"x": ["nice", "head", ".", "bad", "smell"], "y": [0.9, 0.2, 0.5], "0": [[0, 2]], "1": [[3, 5]]},
        {"x": ["nice", "head"], "y": [0.9, 0.2, 0.5], "0": [], "1": [[0, 1]]},
    ]
    write_jsonl(tmp_path / "annotations.json", rows)
    data = load_dataset("beer-appearance", path=tmp_path)
    assert [(e.label, e.meta["rating"]) for e in data["dev"]] == [("positive", 0.9)]
    assert [words(e) for e in data["test"]] == [[["nice head"]]]
    assert [e.label for e in load_dataset("beer-aroma", path=tmp_path)["dev"]] == ["negative", "positive"]
    (tmp_path / "reviews.aspect0.heldout.txt").write_text("no ratings here\n")
    with pytest.raises(DataError, match="expected ratings, a tab"):
        load_dataset("beer-appearance", path=tmp_path / "reviews.aspect0.heldout.txt", split="dev")


def test_hotel(tmp_path: Path) -> None:
    path = write(tmp_path / "hotel_Location.test", "task\tlabel\ttext\trationale\nhotel\t1\tnear the sea\t0 0 1\n")
    (example,) = load_dataset("hotel-location", path=path, split="test")
    assert (example.label, words(example)) == ("positive", [["sea"]])
    write(path, "task\tlabel\ttext\trationale\nhotel\t1\tnear the sea\t0 1\n")
    with pytest.raises(DataError, match="2 marks, the text 3 tokens"):
        load_dataset("hotel-location", path=path, split="test")


def test_balance(mini_root: Path, tmp_path: Path) -> None:
    rows = [{"text": f"beer {i}", "scores": [0.9 if i % 4 else 0.1] * 5} for i in range(200)]
    write_jsonl(tmp_path / "beer" / "aspect0_heldout.jsonl", rows)
    plain = load_dataset("beer-appearance", root=tmp_path, split="train")
    even = load_dataset("beer-appearance", root=tmp_path, split="train", balance=True)
    labels = [e.label for e in even]
    assert labels.count("positive") == labels.count("negative") == [e.label for e in plain].count("negative")
    assert [e.line for e in even] == sorted(e.line or 0 for e in even)
    assert even == load_dataset("beer-appearance", root=tmp_path, split="train", balance=True)


def test_corpora_without_official_reader(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no reader for official files"):
        load_dataset("ewt-srl", path=write(tmp_path / "dev.conllu", "x"), split="dev")
