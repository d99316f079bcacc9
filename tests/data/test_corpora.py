"""Contracts that hold for every registered dataset, on made-up rows and on the real ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saywhy.data import datasets, load_dataset
from saywhy.data.rows import Row
from saywhy.data.sst import parse_tree
from saywhy.data.words import example_words, span_mask
from saywhy.errors import DataError
from saywhy.types import Example

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)
PLANTED = ("planted-choices", "planted-nli", "planted-reviews")
# Examples and label counts of the corpora as they are distributed, without rows that have no gold label or no text.
COUNTS: dict[str, dict[str, int]] = {
    "amazon-books": {"all": 6000},
    "amazon-dvd": {"all": 6000},
    "amazon-electronics": {"all": 6000},
    "amazon-instruments": {"all": 5048},
    "amazon-kitchen": {"all": 6000},
    "amazon-sentences": {"dev": 2000, "test": 1000},
    "amazon-video": {"all": 6000},
    "beer-appearance": {"all": 6628 + 2103},
    "beer-aroma": {"all": 6579 + 2218},
    "beer-palate": {"all": 6740 + 2000},
    "beer-taste": {"all": 6899 + 1978},
    "breaking-nli": {"test": 8193},
    "cad-imdb": {"train": 3414, "dev": 490},
    "cad-snli": {"train": 8330, "dev": 1000},
    "comve": {"train": 10000, "dev": 997, "test": 1000},
    "cose": {"train": 9741, "dev": 1221, "test-unlabelled": 1140},
    "cr-reviews": {"all": 3775 - 4},
    "eraser-fever": {"dev": 6122, "test": 6111},
    "eraser-movies": {"train": 1600, "dev": 200},
    "eraser-multirc": {"dev": 3214, "test": 4848},
    "esnli": {"dev": 9842, "test": 9824},
    "esnli-highlights": {"train": 988, "dev": 1000},
    "ewt-srl": {"train": 12544, "dev": 2001, "test": 2077},
    "hans": {"test": 30000, "sample": 1000},
    "hatexplain": {"dev": 1922},
    "hotel-cleanliness": {"all": 20750 + 7274},
    "hotel-location": {"all": 22132 + 3094},
    "hotel-service": {"all": 19358 + 9289},
    "imdb": {"train": 25000, "test": 25000},
    "mpqa": {"all": 10606 - 3},
    "mr": {"all": 10662},
    "multinli": {"train": 20000, "dev": 9815, "dev-tokenised": 5000},
    "sick": {"train": 4500, "dev": 500, "test": 4927},
    "snli": {"train": 1022, "dev": 10000 - 158, "test": 10000 - 176},
    "squad": {"train": 11877, "dev": 10570},
    "sst2": {"train": 6920, "dev": 872, "test": 1821},
    "sst2-phrases": {"train": 67349, "dev": 872, "test": 1821},
    "sst5": {"train": 8544, "dev": 1101, "test": 2210},
    "subj": {"all": 10000},
    "toxic-spans": {"train": 7939, "dev": 690, "test": 2000},
    "trec": {"train": 5452, "test": 500},
    "yelp-polarity": {"test": 1000},
    "yelp-sentences": {"dev": 63483, "test": 126670},
}
BALANCE = {
    ("sst2", "test"): {"negative": 912, "positive": 909},
    ("snli", "dev"): {"entailment": 3329, "contradiction": 3278, "neutral": 3235},
    ("breaking-nli", "test"): {"contradiction": 7164, "entailment": 982, "neutral": 47},
    ("eraser-fever", "dev"): {"REFUTES": 3103, "SUPPORTS": 3019},
    ("hatexplain", "dev"): {"normal": 781, "hatespeech": 593, "offensive": 548},
    ("beer-appearance", "all"): {"positive": 6628, "negative": 2103},
    ("mpqa", "all"): {"positive": 3311, "negative": 7292},
}
# Corpora that are read in well under a second; the others are marked slow.
QUICK = (
    "amazon-sentences",
    "cad-imdb",
    "cad-snli",
    "comve",
    "cr-reviews",
    "esnli-highlights",
    "hatexplain",
    "sick",
    "sst2",
)
QUICK += ("toxic-spans", "trec", "yelp-polarity")


def check(example: Example, task: str, labels: tuple[str, ...]) -> None:
    """What every example must keep to."""
    assert len(example.texts) == (2 if task in ("pair", "span-qa") else 1)
    assert bool(example.choices) == (task == "choices")
    assert all(isinstance(text, str) and text.strip() for text in example.texts)
    assert example.source
    assert example.line is not None
    if task == "choices":
        assert example.label is None or 0 <= int(example.label) < len(example.choices)
    elif example.label is not None:
        assert example.label in labels
    spans = [s for r in example.rationales for s in r] + [s for pair in example.alignments for s in pair]
    for span in [*spans, *example.answers]:
        text = example.fields[span.field]
        assert 0 <= span.start < span.end <= len(text)
        assert text[span.start : span.end].strip(), f"{example.where()}: a blank span"


def check_words(example: Example) -> None:
    """Gold spans begin and end where words do, so that no word is gold by half."""
    words = example_words(example, "whitespace")
    for rationale in example.rationales:
        mask = span_mask(words, rationale)
        assert mask.any()
        for span in rationale:
            inside = [w for w, m in zip(words, mask, strict=True) if m and w.field == span.field]
            assert any(w.start <= span.start < w.end for w in inside)
            assert any(w.start < span.end <= w.end for w in inside)


def test_every_registered_name_is_checked_here() -> None:
    assert {*COUNTS, *PLANTED, "composed", "mixture", "critic-pairs", "explanations-alone"} == set(datasets.names())


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_made_up_rows_are_read(name: str, mini_root: Path) -> None:
    data = load_dataset(name, root=mini_root)
    assert data.task == datasets[name].tasks[0]
    assert data.summary
    found = [example for split in data.splits for example in data[split]]
    assert found
    for example in found:
        check(example, data.task, data.labels)
        assert str(mini_root) not in example.source


def rows_of(name: str, root: Path) -> list[Row]:
    """One normalised row of each split."""
    corpus = datasets[name].value(name, root=root)
    splits = [s for s in corpus.splits() if s not in ("train", "dev", "test") or "all" not in corpus.splits()]
    return [next(corpus.rows(split)) for split in splits]


@pytest.mark.parametrize("name", sorted(COUNTS))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_row_is_read_or_refused(name: str, mini_root: Path, data: st.DataObject) -> None:
    """Whatever stands in a field, the only exception is one that says where."""
    row = data.draw(st.sampled_from(rows_of(name, mini_root)))
    field = data.draw(st.sampled_from(sorted(row.values)))
    values = {k: v for k, v in row.values.items() if k != field}
    if data.draw(st.booleans()):
        values[field] = data.draw(JSON)
    corpus = datasets[name].value(name, root=mini_root)
    try:
        example = corpus.example(row.with_values(values))  # type: ignore[attr-defined]
    except DataError as error:
        found: Example | DataError | None = error
    else:
        found = example
    assert found is None or isinstance(found, Example) or found.line == row.line


@pytest.mark.parametrize("name", PLANTED)
def test_planted_corpora_need_no_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYWHY_DATA", "/nowhere")
    data = load_dataset(name, n={"train": 60, "dev": 20, "test": 20})
    assert {split: len(data[split]) for split in data.splits} == {"train": 60, "dev": 20, "test": 20}
    for split in data.splits:
        for example in data[split]:
            check(example, data.task, data.labels)
            check_words(example)
            assert example.truth


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_a_missing_root_says_which_file_and_what_to_do(name: str, tmp_path: Path) -> None:
    data = load_dataset(name, root=tmp_path / "none")
    with pytest.raises(DataError, match=r"jsonl\.gz.*SAYWHY_DATA"):
        data[next(iter(data.splits))]


def parameters() -> list[object]:
    return [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in sorted(COUNTS)]


@pytest.mark.realdata
@pytest.mark.parametrize("name", parameters())
def test_real_counts_and_spans(name: str, real_root: Path) -> None:
    data = load_dataset(name, root=real_root)
    for split, count in COUNTS[name].items():
        labels: dict[str, int] = {}
        for example in data.stream(split):
            if "raw" not in split:
                check(example, data.task, data.labels)
            labels[str(example.label)] = labels.get(str(example.label), 0) + 1
        assert sum(labels.values()) == count
        assert labels == BALANCE.get((name, split), labels)


@pytest.mark.realdata
def test_drawn_splits_make_up_the_whole(real_root: Path) -> None:
    data = load_dataset("cr-reviews", root=real_root)
    parts = [e.line for split in ("train", "dev", "test") for e in data[split]]
    assert sorted(parts) == sorted(e.line for e in data["all"])
    assert 0.75 < len(data["train"]) / len(data["all"]) < 0.85


@pytest.mark.slow
@pytest.mark.realdata
def test_real_evidence_is_the_marked_words(real_root: Path) -> None:
    movie = load_dataset("eraser-movies", root=real_root, split="dev")[0]
    span = movie.rationales[0][0]
    tokens = movie.texts[0].split()
    before = movie.texts[0][: span.start].split()
    assert (len(before), movie.texts[0][span.start : span.end].split()) == (618, tokens[618:622])

    claim = load_dataset("eraser-fever", root=real_root, split="dev")[0]
    assert claim.texts[0] == "Steve Wozniak designed homes."
    span = claim.rationales[0][0]
    assert span.field == 1
    assert (span.start, span.end) in claim.meta["sentences"]
    assert claim.meta["fixed"] == (0,)

    answer = load_dataset("squad", root=real_root, split="dev")[0]
    assert [answer.texts[1][s.start : s.end] for s in answer.answers] == ["SoCal"]


@pytest.mark.realdata
def test_real_alignments_are_the_replaced_words(real_root: Path) -> None:
    pairs = load_dataset("breaking-nli", root=real_root, split="test")
    assert sum(not e.alignments for e in pairs) == 1
    first = pairs[0]
    assert [(first.texts[0][a.start : a.end], first.texts[1][b.start : b.end]) for a, b in first.alignments] == [
        ("yellow", "red")
    ]


@pytest.mark.realdata
def test_trees_agree_with_their_sentences(real_root: Path) -> None:
    for example in load_dataset("sst5", root=real_root, split="dev"):
        assert example.meta["phrases"][-1][1:] == (0, len(example.texts[0]))
    assert parse_tree("(1 (2 a) (0 bad))")[1][-1][0] == 1
