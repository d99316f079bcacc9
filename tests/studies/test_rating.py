"""Rating sheets: blind, and read back as they were answered."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from saywhy.cli import main
from saywhy.errors import DataError, InputError, OptionError
from saywhy.reports.rating import rating_page
from saywhy.studies.rating import Scale, Sheet, draw_explanations, export_sheet, make_sheet
from saywhy.studies.ratings import Ratings, read_ratings
from saywhy.types import Alignments, Explanation, FreeText, Header, Rationale, Word, WordScores

METHODS = ("kernel-shap", "lime", "random")
TEXTS = ["A gripping film", 'Dull <b>"and"</b> lifeless', "=1+1 is the plot"]


def words(text: str) -> tuple[Word, ...]:
    return tuple(Word(m[0], m.start(), m.end()) for m in re.finditer(r"\S+", text))


def why(text: str, method: str, seed: int = 0) -> WordScores:
    header = Header(
        method, "positive", ("negative", "positive"), (0.2, 0.8), (text,), parameters={"samples": 77}, seed=seed,
        model="f00dcafe", notes=("a note on the method",),
    )  # fmt: skip
    places = words(text)
    scale = {"kernel-shap": 1e-6, "lime": 400.0, "random": 1.0}.get(method, 1.0)
    return WordScores(header, places, tuple(scale * (i - 0.5) for i in range(len(places))))


@pytest.fixture
def sheet() -> Sheet:
    return make_sheet([why(text, method) for text in TEXTS for method in METHODS])


def fill(sheet: Sheet, path: Path, rater: str, answers: dict[tuple[str, str], Any]) -> Path:
    """A filled-in table: the answers by text and method, others left empty."""
    export_sheet(sheet, path)
    lines = list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))
    by_code = {i.code: (i.why.header.texts[0], i.method) for i in sheet.items}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0].keys())
        writer.writeheader()
        for line in lines:
            writer.writerow({**line, "rater": rater, "rating": answers.get(by_code[line["item"]], "")})
    return path


def test_every_explanation_is_on_the_sheet_once_in_random_order(sheet: Sheet) -> None:
    assert len(sheet.items) == 9
    assert {(i.why.header.texts[0], i.method) for i in sheet.items} == {(t, m) for t in TEXTS for m in METHODS}
    assert [[i.code for i in group] for group in sheet.inputs] == [[f"{n}-{k}" for k in (1, 2, 3)] for n in (1, 2, 3)]
    for group in sheet.inputs:
        assert len({i.why.header.texts for i in group}) == 1
    many = [why(f"film number {i}", method) for i in range(60) for method in METHODS]
    first = [group[0].method for group in make_sheet(many).inputs]
    assert {first.count(method) for method in METHODS} <= set(range(10, 31))
    assert make_sheet(many, seed=1).items != make_sheet(many).items
    assert make_sheet(many) == make_sheet(many)
    assert make_sheet(reversed(many)) == make_sheet(many), "the order of the files must not show"


@pytest.mark.parametrize("name", ["sheet.html", "sheet.csv"])
def test_the_sheet_tells_nothing_of_the_methods(sheet: Sheet, tmp_path: Path, name: str) -> None:
    page, key = export_sheet(sheet, tmp_path / name)
    text = page.read_text(encoding="utf-8")
    for secret in (*METHODS, "samples", "77", "f00dcafe", "a note on the method", "1e-06"):
        assert secret not in re.sub(r"<style>.*?</style>|<script>.*?</script>|sheet [0-9a-f]{12}", "", text, flags=re.S)
    assert key.name == "sheet.key.json"
    kept = json.loads(key.read_text())
    assert {item["method"] for item in kept["items"].values()} == set(METHODS)


def test_methods_with_the_same_words_look_the_same(sheet: Sheet) -> None:
    page = rating_page(sheet)
    shown = re.findall(r'<div class="saywhy">.*?</div></div></div>', page)
    assert len(shown) == 9
    assert len(set(shown)) == 3, "the methods differ by the size of their numbers only, which must not show"


def test_texts_are_escaped(sheet: Sheet, tmp_path: Path) -> None:
    page = rating_page(sheet)
    assert "<b>" not in re.sub(r"<legend>.*?</legend>", "", page)
    assert "Dull" in page
    table = export_sheet(sheet, tmp_path / "sheet.csv")[0].read_text(encoding="utf-8-sig")
    cells = [line["text"] for line in csv.DictReader(table.splitlines())]
    assert {cell for cell in cells if "plot" in cell} == {"'=1+1 is the plot"}
    assert not any(line["explanation"].startswith("=") for line in csv.DictReader(table.splitlines()))


def test_the_page_runs_its_own_script_and_no_other(sheet: Sheet) -> None:
    import base64
    import hashlib

    page = rating_page(sheet)
    script = re.findall(r"<script>(.*?)</script>", page, flags=re.S)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'; style-src" in page
    assert "http://" not in page
    assert "https://" not in page
    assert page.count('type="radio"') == 9 * 5


def test_all_kinds_of_explanations_can_be_shown() -> None:
    text, pair = words("People walk"), (Word("store", 0, 5), Word("car", 0, 3, 1))
    header = Header("secret", "no", ("no", "yes"), (0.9, 0.1), ("store", "car"))
    kinds: list[Explanation] = [
        Rationale(Header("secret", "no", ("no",), (1.0,), ("People walk",)), text, (True, False), (3.0, 1.0)),
        Alignments(header, pair[:1], pair[1:], ((2.0,),)),
        FreeText(Header("secret", "no", ("no",), (1.0,), ("People sit",)), "Because <they> sit."),
    ]
    page = rating_page(make_sheet(kinds))
    assert "secret" not in page
    assert "Because &lt;they&gt; sit." in page
    assert "store" in page


def test_one_of_several_and_at_most_so_many() -> None:
    seeds = [why(TEXTS[0], "lime", seed) for seed in range(3)]
    assert [i.method for i in make_sheet(seeds).items] == ["lime"]
    assert {make_sheet(seeds, seed=s).items[0].why.header.seed for s in range(20)} == {0, 1, 2}
    few = make_sheet([why(text, method) for text in TEXTS for method in METHODS], per_item=2)
    assert [len(group) for group in few.inputs] == [2, 2, 2]
    with pytest.raises(OptionError, match="per_item must be at least 1"):
        make_sheet(seeds, per_item=0)
    with pytest.raises(InputError, match="nothing to rate"):
        make_sheet([])


GRADES = {(t, m): {"lime": 5, "kernel-shap": 3, "random": 1}[m] for t in TEXTS for m in METHODS}


def test_round_trip_of_several_raters_with_missing_answers(sheet: Sheet, tmp_path: Path) -> None:
    ann = fill(sheet, tmp_path / "ann.csv", "Ann", GRADES)
    missing = {k: v for k, v in GRADES.items() if k != (TEXTS[0], "lime")}
    ben = fill(sheet, tmp_path / "ben.csv", "", {**missing, (TEXTS[1], "random"): 4})
    ratings = read_ratings([ann, ben])
    assert ratings.raters == ("Ann", "ben")
    assert (ratings.answered, ratings.asked) == (17, 18)
    assert [(r.method, r.ratings, r.inputs) for r in ratings.methods] == [
        ("lime", 5, 3),
        ("kernel-shap", 6, 3),
        ("random", 6, 3),
    ]
    best, middle, worst = ratings.methods
    assert (best.mean, best.low, best.high) == pytest.approx((5, 5, 5))
    assert middle.mean == 3
    assert worst.mean == pytest.approx(1.5)
    assert worst.low == pytest.approx(1.0)
    assert worst.high == pytest.approx(2.5), "the interval is over inputs: that with ratings 1 and 4, three times"
    assert worst.counts == {"1": 5, "2": 0, "3": 0, "4": 1, "5": 0}
    found = {(p.first, p.second): (p.wins, p.ties, p.losses, p.share) for p in ratings.preferences}
    assert found["lime", "random"] == (5, 0, 0, 1.0)
    assert found["kernel-shap", "random"] == (5, 0, 1, pytest.approx(5 / 6))
    assert ratings.level == "ordinal"
    assert ratings.alpha is not None
    assert 0.5 < ratings.alpha < 1
    assert read_ratings([ann]).alpha is None, "one rater agrees with nobody"
    assert ratings.to_dict()["methods"][0]["method"] == "lime"


def test_ties_count_half(sheet: Sheet, tmp_path: Path) -> None:
    equal = fill(sheet, tmp_path / "a.csv", "A", dict.fromkeys(GRADES, 2))
    ratings = read_ratings([equal])
    assert {(p.wins, p.ties, p.losses, p.share) for p in ratings.preferences} == {(0, 3, 0, 0.5)}


def test_yes_and_no(tmp_path: Path) -> None:
    sheet = make_sheet([why(text, method) for text in TEXTS for method in METHODS], scale="yes-no")
    answers = {(t, m): "Yes" if m == "lime" else "no" for t in TEXTS for m in METHODS}
    files = [fill(sheet, tmp_path / f"{who}.csv", who, answers) for who in "ab"]
    ratings = read_ratings(files)
    assert (ratings.scale, ratings.level, ratings.alpha) == ("yes-no", "nominal", 1.0)
    assert {r.method: r.mean for r in ratings.methods} == {"lime": 1.0, "kernel-shap": 0.0, "random": 0.0}
    assert ratings.methods[0].counts == {"yes": 6, "no": 0}


@pytest.mark.parametrize("answer", ["6", "0", "yes", "3.5", "-1"])
def test_an_answer_out_of_the_scale_is_named_by_file_and_line(sheet: Sheet, tmp_path: Path, answer: str) -> None:
    code = sheet.items[3]
    path = fill(sheet, tmp_path / "ann.csv", "Ann", {(code.why.header.texts[0], code.method): answer})
    with pytest.raises(DataError, match=rf"ann.csv:5 \(field 'rating'\): '{answer}' is no answer on the scale 1-5"):
        read_ratings([path])


def test_mistakes_in_answers(sheet: Sheet, tmp_path: Path) -> None:
    path = fill(sheet, tmp_path / "ann.csv", "Ann", GRADES)
    (tmp_path / "copy.csv").write_text(path.read_text())
    with pytest.raises(DataError, match=r"copy.csv:2 .*Ann has answered item 1-1 already, at .*ann.csv:2"):
        read_ratings([path, tmp_path / "copy.csv"])
    (tmp_path / "item.csv").write_text(f"sheet,rater,item,rating\n{sheet.name},Ann,9-9,1\n")
    with pytest.raises(DataError, match=r"item.csv:2 .*no item '9-9'"):
        read_ratings([tmp_path / "item.csv"])
    (tmp_path / "other.csv").write_text("sheet,rater,item,rating\nabc,Ann,1-1,1\n")
    with pytest.raises(OptionError, match="no key of sheet 'abc'"):
        read_ratings([tmp_path / "other.csv"])
    with pytest.raises(DataError, match=r"other.csv:2 .*belongs to sheet 'abc'"):
        read_ratings([tmp_path / "other.csv"], tmp_path / "ann.key.json")
    empty = fill(sheet, tmp_path / "empty.csv", "Ann", {})
    with pytest.raises(DataError, match="no rating is filled in"):
        read_ratings([empty])
    with pytest.raises(DataError, match="not a key"):
        read_ratings([path], path)
    with pytest.raises(DataError, match="no such key"):
        read_ratings([path], tmp_path / "none.json")
    (tmp_path / "none.key.json").write_text("[]")
    with pytest.raises(DataError, match="not the key of a rating sheet"):
        read_ratings([path], tmp_path / "none.key.json")


def test_scales() -> None:
    assert Scale.parse("1-7").read(" 7 ") == 7
    assert Scale.parse("1-7").read("3.0") == 3
    assert Scale.parse("yes-no").read("NO") == 0
    assert Scale.parse("yes-no").read("maybe") is None
    for wrong in ("5-1", "1..5", "a-b", ""):
        with pytest.raises(OptionError, match="unknown scale"):
            Scale.parse(wrong)


def test_explanations_are_read_from_whatever_holds_them(tmp_path: Path) -> None:
    made = [why(text, method) for text in TEXTS for method in METHODS]
    (tmp_path / "many.json").write_text(json.dumps([w.to_dict() for w in made]))
    (tmp_path / "one.json").write_text(made[0].to_json())
    (tmp_path / "lines.jsonl").write_text("\n".join(w.to_json() for w in made))
    cell = tmp_path / "study" / "cells" / "abc"
    cell.mkdir(parents=True)
    titled = [{"method": f"title of {w.method}", "why": w.to_dict()} for w in made]
    (cell / "result.json").write_text(json.dumps({"explanations": titled}))
    named = [(w.method, w) for w in made]
    assert draw_explanations([tmp_path / "many.json"]) == named
    assert draw_explanations([tmp_path / "lines.jsonl"]) == named
    assert draw_explanations([tmp_path / "one.json"]) == named[:1]
    assert draw_explanations([tmp_path / "study"])[0] == (f"title of {made[0].method}", made[0])
    drawn = draw_explanations([tmp_path / "many.json"], limit=2)
    assert len(drawn) == 6
    assert len({w.header.texts for _, w in drawn}) == 2
    (tmp_path / "bad.json").write_text('{"kind": "metric"}')
    for name, said in {
        "bad.json": "not an explanation",
        "no.json": "no such file",
        ".": "no results of a study",
    }.items():
        with pytest.raises(DataError, match=said):
            draw_explanations([tmp_path / name])


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = [why(text, method) for text in TEXTS for method in METHODS]
    Path("why.json").write_text(json.dumps([w.to_dict() for w in made]))
    assert run("rate", "export", "why.json", "--out", "sheet.html", "--question", "Is it <clear>?") == 0
    assert "9 explanations of 3 inputs by 3 methods" in capsys.readouterr().out.replace("\n", " ")
    assert "Is it &lt;clear&gt;?" in Path("sheet.html").read_text()
    items = json.loads(Path("sheet.key.json").read_text())
    lines = [f"{items['sheet']},Ann,{code},{1 + (item['method'] == 'lime')}" for code, item in items["items"].items()]
    Path("ann.csv").write_text("sheet,rater,item,rating\n" + "\n".join(lines))
    assert run("rate", "read", "ann.csv") == 0
    said = capsys.readouterr().out
    assert "lime" in said
    assert "9 of 9 ratings answered" in said
    assert run("rate", "read", "ann.csv", "--key", "sheet.key.json", "--json") == 0
    read = json.loads(capsys.readouterr().out)
    assert {m["method"]: m["mean"] for m in read["methods"]} == {"lime": 2.0, "kernel-shap": 1.0, "random": 1.0}
    assert run("rate", "export", "why.json", "--out", "sheet.pdf") == 2
    assert ".html or .csv" in capsys.readouterr().err


def run(*arguments: str) -> int:
    try:
        main(list(arguments))
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def test_a_summary_can_be_printed(sheet: Sheet, tmp_path: Path) -> None:
    from rich.console import Console

    ratings: Ratings = read_ratings([fill(sheet, tmp_path / "a.csv", "A", GRADES)])
    console = Console(width=120, record=True, quiet=False, file=(tmp_path / "out.txt").open("w"))
    console.print(ratings)
    assert "lime rather than random: 1.00" in console.export_text()
