from __future__ import annotations

from pathlib import Path

import pytest

from saywhy.cli import main
from saywhy.data import Dataset, load_dataset
from saywhy.errors import CapabilityError, OptionError
from saywhy.models.rationales import rationalizer_of, read_rationales
from saywhy.studies.cleaning import write_clean_corpus
from tests import zoo
from tests.objectives.rationalizers import rationalizer, reviews


def test_what_is_selected_is_written_with_its_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, examples = rationalizer(), reviews(30)
    data = Dataset.from_examples("mine", {"train": examples[:20], "test": examples[20:]}, labels=("bad", "good"))
    facts = write_clean_corpus(model, data, tmp_path / "clean.parquet")
    assert facts["examples"] + facts["empty"] == 30
    assert facts["examples"] > 15
    readings = read_rationales(model, model.encode(examples))
    assert 0 < facts["kept"] < 1
    clean = load_dataset(tmp_path / "clean.parquet", labels=["bad", "good"])
    found = list(clean["all"] if "all" in clean.splits else clean[next(iter(clean.splits))])
    expected = []
    for example, reading in zip(examples, readings, strict=True):
        pairs = zip(model.words(example), reading.selected, strict=True)
        expected.append((" ".join(word.text for word, kept in pairs if kept), example.label))
    assert sorted((e.texts[0], e.label) for e in found) == sorted(one for one in expected if one[0])  # type: ignore[type-var]
    model.save(tmp_path / "model")
    (tmp_path / "mine.csv").write_text("text,label\n" + "\n".join(f"{e.texts[0]},{e.label}" for e in examples))
    out = str(tmp_path / "again.parquet")
    with pytest.raises(SystemExit) as ended:
        main(["rationalize", str(tmp_path / "model"), "--data", str(tmp_path / "mine.csv"), "--out", out])
    assert ended.value.code == 0
    assert f"{facts['examples']} texts" in " ".join(capsys.readouterr().out.split())


def test_mistakes_leave_no_file(tmp_path: Path) -> None:
    data = Dataset.from_examples("mine", {"train": reviews(4)}, labels=("bad", "good"))
    with pytest.raises(OptionError, match="must end in"):
        write_clean_corpus(rationalizer(), data, tmp_path / "clean.csv")
    with pytest.raises(OptionError, match="no split 'tests'"):
        write_clean_corpus(rationalizer(), data, tmp_path / "clean.parquet", split="tests")
    with pytest.raises(CapabilityError, match="no rationalizer"):
        write_clean_corpus(zoo.shared(), data, tmp_path / "clean.parquet")
    assert not list(tmp_path.iterdir())
    assert rationalizer_of(rationalizer())
