from __future__ import annotations

import os
from pathlib import Path

import pytest

from saywhy.data.wordnet import WordNet, open_wordnet
from saywhy.errors import DataError

# Written by hand in the format of wndb(5WN): an index line names the offsets of its synsets in the data file.
NOUNS = [
    ("film 0 movie 0 moving_picture 0", "a form of entertainment"),
    ("film 1 plastic_film 0", "a thin coating"),
    ("good 0 goodness 0", "that which is pleasing"),
]
ADJECTIVES = [("good 0 fine(p) 0", "having desirable qualities")]


def write_part(folder: Path, part: str, synsets: list[tuple[str, str]]) -> None:
    licence = "  1 This is a licence line.  \n"
    data, index = licence, {}
    for words, gloss in synsets:
        names = words.split()[::2]
        for name in names:
            index.setdefault(name.split("(")[0], []).append(len(data))
        data += f"{len(data):08d} 10 {part[0]} {len(names):02x} {words} 000 | {gloss}  \n"
    (folder / f"data.{part}").write_text(data, encoding="latin-1")
    lines = [
        f"{name} {part[0]} {len(at)} 2 @ ~ {len(at)} 0 {' '.join(f'{o:08d}' for o in at)}  \n"
        for name, at in sorted(index.items())
    ]
    (folder / f"index.{part}").write_text(licence + "".join(lines), encoding="latin-1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for part, synsets in {"noun": NOUNS, "adj": ADJECTIVES, "verb": [], "adv": []}.items():
        write_part(tmp_path, part, synsets)
    return tmp_path


def test_synonyms_of_the_first_sense_of_every_part_of_speech(folder: Path) -> None:
    net = WordNet(folder)
    assert net.synonyms("film") == ("movie",)  # neither two words nor the second sense
    assert net.synonyms("Movie") == ("film",)
    assert net.synonyms("good") == ("goodness", "fine")
    assert net.synonyms("fine") == ("good",)
    assert net.synonyms("films") == ()
    assert open_wordnet(str(folder)) is open_wordnet(str(folder))


def test_mistakes(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="wordnet-base"):
        WordNet(tmp_path / "nothing")
    (folder / "index.verb").write_text("run v 1 0 1 0 nonsense\n")
    with pytest.raises(DataError, match=r"index\.verb:1: not a line"):
        WordNet(folder)
    (folder / "index.verb").write_text("run v 1 0 1 0 00000003\n")
    with pytest.raises(DataError, match="no synset at offset 3"):
        WordNet(folder).synonyms("run")


@pytest.mark.realdata
def test_the_real_one() -> None:
    place = Path(os.environ.get("WORDNET", "/usr/share/wordnet"))
    if not (place / "data.noun").is_file():
        pytest.skip("WordNet's database files are not installed; set WORDNET to their folder")
    net = WordNet(place)
    assert {"film", "flick"} <= set(net.synonyms("movie"))
    assert "awful" in net.synonyms("terrible")
