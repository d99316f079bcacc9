from __future__ import annotations

from pathlib import Path

import pytest

from saywhy.data import Dataset, data_root, load_dataset
from saywhy.data.corpus import hash_split, text_key
from saywhy.data.dataset import take
from saywhy.errors import DataError, OptionError, SayWhyError, UnknownNameError
from saywhy.types import Example
from tests.data.mini import write_jsonl


def test_nothing_is_read_before_a_split_is_asked_for(tmp_path: Path) -> None:
    data = load_dataset("sst2", root=tmp_path)
    assert (data.labels, data.task, list(data.splits)) == (("negative", "positive"), "text", ["train", "dev", "test"])
    write_jsonl(tmp_path / "sst" / "sst2_dev.jsonl", [{"text": "late", "label": 0}])
    assert [e.texts for e in data["dev"]] == [("late",)]
    with pytest.raises(DataError, match=r"sst2_train\.jsonl\.gz.*SAYWHY_DATA"):
        data["train"]


def test_a_split_is_read_once_and_streams_are_not_kept(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.test.jsonl", [{"text": "a", "label": "x"}])
    data = load_dataset(path)
    assert [e.texts for e in data.stream("test")] == [("a",)]
    write_jsonl(path, [{"text": "b", "label": "x"}])
    assert [e.texts for e in data.stream("test")] == [("b",)]
    kept = data["test"]
    path.unlink()
    assert data["test"] is kept
    assert list(data.stream("test")) == list(kept)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("sst", UnknownNameError, "did you mean"),
        ("nothing.csv", DataError, "no such file or folder"),
        ("folder/nothing", DataError, "no such file or folder"),
    ],
)
def test_unknown_names_and_files(name: str, error: type[SayWhyError], message: str) -> None:
    with pytest.raises(error, match=message):
        load_dataset(name)


def test_wrong_options(mini_root: Path) -> None:
    with pytest.raises(OptionError, match=r"sst2 has no option 'colums'; it has .*max_line_bytes"):
        load_dataset("sst2", colums={})
    with pytest.raises(OptionError, match=r"cose has no option 'size'.*version"):
        load_dataset("cose", size="demo")
    with pytest.raises(OptionError, match="no split 'validation'; it has train, dev, test"):
        load_dataset("sst2", root=mini_root, split="validation")
    with pytest.raises(OptionError, match="limit must be at least 1"):
        load_dataset("sst2", limit=0)
    with pytest.raises(OptionError, match="dev_share"):
        load_dataset("sst2", dev_share=1.0)
    with pytest.raises(OptionError, match="give one of them"):
        load_dataset("sst2", rows=[], path="x")


def test_limit_is_even_seeded_and_in_order() -> None:
    examples = [Example((str(i),), id=str(i)) for i in range(1000)]
    first = [int(e.id) for e in take(iter(examples), 100, seed=0)]
    assert first == sorted(first)
    assert len(set(first)) == 100
    assert first == [int(e.id) for e in take(iter(examples), 100, seed=0)]
    assert first != [int(e.id) for e in take(iter(examples), 100, seed=1)]
    assert 400 < sum(first) / 100 < 600
    assert [e.id for e in take(iter(examples[:3]), 5, seed=0)] == ["0", "1", "2"]


def test_split_gives_a_list(mini_root: Path) -> None:
    examples = load_dataset("sst2", root=mini_root, split="dev", limit=7)
    assert isinstance(examples, list)
    assert len(examples) == 7


def test_dev_share(mini_root: Path, tmp_path: Path) -> None:
    rows = [{"text": f"t{i}", "label": i % 2} for i in range(300)]
    write_jsonl(tmp_path / "imdb" / "train.jsonl", rows)
    write_jsonl(tmp_path / "imdb" / "test.jsonl", rows[:3])
    data = load_dataset("imdb", root=tmp_path, dev_share=0.2)
    assert list(data.splits) == ["train", "dev", "test"]
    assert len(data["train"]) + len(data["dev"]) == 300
    assert 35 < len(data["dev"]) < 90
    assert not {e.texts for e in data["train"]} & {e.texts for e in data["dev"]}
    assert len(data["test"]) == 3
    # A corpus with a dev split of its own keeps it.
    assert len(load_dataset("sst2", root=mini_root, dev_share=0.5)["train"]) == len(
        load_dataset("sst2", root=mini_root)["train"]
    )


def test_corpora_without_splits_have_them_drawn(tmp_path: Path) -> None:
    rows = [{"text": f"book {i}", "label": i % 2} for i in range(300)]
    write_jsonl(tmp_path / "amazon_multidomain" / "books.jsonl", rows)
    data = load_dataset("amazon-books", root=tmp_path)
    assert list(data.splits) == ["train", "dev", "test", "all"]
    lines = {split: {e.line for e in data[split]} for split in data.splits}
    assert lines["train"] | lines["dev"] | lines["test"] == lines["all"]
    assert sum(len(lines[s]) for s in ("train", "dev", "test")) == 300
    assert 15 < len(lines["test"]) < 50
    assert {e.line for e in load_dataset("amazon-books", root=tmp_path, seed=1)["test"]} != lines["test"]


def pair(identity: str, premise: str, hypothesis: str = "h") -> dict[str, str]:
    return {"id": identity, "premise": premise, "hypothesis": hypothesis, "label": "neutral"}


def test_exclude_by_id_where_ids_mean_the_same(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "snli" / "dev.jsonl", [pair("1", "kept"), pair("2", "dropped")])
    empty = {"explanation": "e", "premise_char_spans": [], "hypothesis_char_spans": []}
    write_jsonl(
        tmp_path / "esnli" / "highlights_dev_sample.jsonl", [{**pair("2", "spelt otherwise"), "annotations": [empty]}]
    )
    write_jsonl(tmp_path / "esnli" / "highlights_train_sample.jsonl", [])
    data = load_dataset("snli", root=tmp_path, exclude="esnli-highlights")
    assert [e.id for e in data["dev"]] == ["1"]
    # Breaking NLI counts its pairs in its own way: the same number means another pair.
    write_jsonl(tmp_path / "breaking_nli" / "test.jsonl", [pair("1", "another")])
    assert len(load_dataset("snli", root=tmp_path, exclude="breaking-nli", split="dev")) == 2


def test_exclude_by_text_whatever_the_tokenisation(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "snli" / "dev.jsonl", [pair("1", "A dog's bone."), pair("2", "A cat.")])
    write_jsonl(tmp_path / "multinli" / "val_5k.jsonl", [pair("", "a dog 's bone .")])
    assert [e.id for e in load_dataset("snli", root=tmp_path, exclude="multinli:dev-tokenised", split="dev")] == ["2"]
    mine = [Example(("a CAT", "h"))]
    assert [e.id for e in load_dataset("snli", root=tmp_path, exclude=mine, split="dev")] == ["1"]
    data = Dataset.from_examples("mine", {"x": mine})
    assert [e.id for e in load_dataset("snli", root=tmp_path, exclude=[data, *mine], split="dev")] == ["1"]
    with pytest.raises(OptionError, match="no split 'tset'"):
        load_dataset("snli", root=tmp_path, exclude="multinli:tset", split="dev")


@pytest.mark.slow
@pytest.mark.realdata
def test_known_leaks_are_closed(real_root: Path) -> None:
    gold = {e.id for e in load_dataset("esnli-highlights", root=real_root, split="dev")}
    for name in ("snli", "esnli"):
        whole = {e.id for e in load_dataset(name, root=real_root, split="dev")}
        rest = {e.id for e in load_dataset(name, root=real_root, split="dev", exclude="esnli-highlights")}
        assert gold <= whole
        assert not gold & rest
        assert len(rest) >= len(whole) - 1010

    matched = load_dataset("multinli", root=real_root, split="dev", exclude="multinli:dev-tokenised")
    assert 4700 < len(matched) < 4950


@pytest.mark.slow
@pytest.mark.realdata
def test_counterfactual_originals_leave_imdb(real_root: Path) -> None:
    originals = {
        text_key(e)
        for split in ("train", "dev")
        for e in load_dataset("cad-imdb", root=real_root, split=split)
        if e.meta["source"] == "original"
    }
    whole = load_dataset("imdb", root=real_root, split="train")
    rest = load_dataset("imdb", root=real_root, split="train", exclude="cad-imdb")
    assert not originals & {text_key(e) for e in rest}
    assert len(whole) - len(rest) > 0.9 * len(originals)


def test_equal_texts_share_a_split() -> None:
    shares = {"train": 0.5, "test": 0.5}
    for i in range(50):
        first, second = Example((f"A text, number {i}.",)), Example((f"a text , number {i} .",))
        assert hash_split(first, 3, shares) == hash_split(second, 3, shares)
    assert {hash_split(Example((str(i),)), 3, shares) for i in range(50)} == {"train", "test"}
    # Texts of nothing but signs are still told apart.
    assert text_key(Example(("!!",))) != text_key(Example(("??",)))


def test_evaluation_split(mini_root: Path) -> None:
    assert load_dataset("sst2").evaluation_split == "test"
    assert load_dataset("cose").evaluation_split == "dev"
    assert load_dataset("hatexplain").evaluation_split == "dev"
    described = load_dataset("eraser-movies", root=mini_root).describe()
    assert described["splits"]["dev"]["gold"] == {"rationales": 1}  # type: ignore[index]
    assert described["labels"] == ["negative", "positive"]


def test_from_examples() -> None:
    data = Dataset.from_examples("mine", {"train": [Example(("a",), "y"), Example(("b",), "x")]})
    assert (data.task, data.labels, data.evaluation_split) == ("text", ("x", "y"), "train")
    with pytest.raises(DataError, match="one shape"):
        Dataset.from_examples("mine", {"train": [Example(("a",)), Example(("a", "b"))]})


@pytest.mark.parametrize(
    ("platform", "variable", "ending"),
    [
        ("linux", "XDG_CACHE_HOME", "saywhy/data"),
        ("win32", "LOCALAPPDATA", "saywhy/data"),
        ("darwin", "", "Library/Caches/saywhy/data"),
    ],
)
def test_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, variable: str, ending: str) -> None:
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.delenv("SAYWHY_DATA", raising=False)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path))
        assert data_root() == tmp_path / ending
    else:
        assert data_root().as_posix().endswith(ending)
    monkeypatch.setenv("SAYWHY_DATA", "~/corpora")
    assert data_root() == Path("~/corpora").expanduser()
    assert data_root(tmp_path) == tmp_path


def test_only_some_of_the_examples() -> None:
    whole = load_dataset("planted-nli", split="dev")
    rules = {e.meta["rule"] for e in whole}
    one = load_dataset("planted-nli", split="dev", only={"label": "neutral"})
    assert {e.label for e in one} == {"neutral"}
    both = load_dataset("planted-nli", split="dev", only={"label": ["neutral", "entailment"], "rule": "verb"})
    assert both == [e for e in whole if e.label != "contradiction" and e.meta["rule"] == "verb"]
    assert "verb" in rules
    assert len(load_dataset("planted-nli", split="dev", only={"label": "neutral"}, limit=7)) == 7
    with pytest.raises(OptionError, match="no example has a field 'rul'; they have label, rule"):
        load_dataset("planted-nli", split="dev", only={"rul": "verb"})
