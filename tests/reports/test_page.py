from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from saywhy.errors import InputError, OptionError
from saywhy.reports import Report, Shown, examples_page, explanations_page, page, report, write_page
from saywhy.types import Example, Explanation, MetricResult, Span, explanation_from_dict
from tests.display.shown import boxed

from .conftest import Page, result, scored

NASTY = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 7*7 }} 👩‍👩‍👧 שלום\u202e \x00 \ud800"


def test_the_page_is_whole_html_and_holds_every_part(full: Report) -> None:
    text = full.to_html()
    assert text.startswith("<!doctype html>")
    read = Page(text)
    ids = [a["id"] for _, a in read.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {"card", "findings", "examples", "scores", "curves", "reading", "content"} <= set(ids)
    assert {a["href"] for a in read.all("a")} <= {f"#{i}" for i in ids}
    assert {a[key] for _, a in read.tags for key in ("aria-labelledby",) if key in a} <= set(ids)
    assert len(read.all("article")) == 2
    assert len(read.all("h1")) == len(read.all("main")) == 1


def test_the_page_fetches_nothing_and_runs_nothing(full: Report) -> None:
    text = full.to_html()
    read = Page(text)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|@font-face", text)
    assert not {tag for tag, _ in read.tags} & {"script", "iframe", "img", "object", "embed", "form", "base"}
    assert not any(name.startswith("on") or name == "src" for _, a in read.tags for name in a)
    assert [a["href"] for a in read.all("link")] == ["data:,"]
    policy = next(a["content"] for a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    assert text.index("Content-Security-Policy") < text.index("<style>")


def test_the_key_speaks_of_what_is_shown() -> None:
    words, pairs = scored("a good film", "lime"), boxed("a store", "the car", [(1, 1, 1, 1)])
    for shown, told in ((words, (True, False)), (pairs, (False, True)), (None, (False, False))):
        text = Report("r", examples=(Shown(Example(("a good film",)), (shown,) if shown else ()),)).to_html()
        assert ("bold on blue" in text, "Links join phrases" in text) == told
        assert "is the true reason" not in text
    marked = Example(("a good film",), rationales=((Span(0, 2, 6),),))
    assert "is the true reason" in Report("r", examples=(Shown(marked, (words,)),)).to_html()


def test_user_text_is_never_interpreted(tmp_path: Path) -> None:
    bad = NASTY
    explanation = scored("fine", bad)
    example = Example((bad,), label=bad, choices=(bad,), explanations=(bad,), id=bad, source=bad, line=3)
    everything = Report(
        bad,
        {bad: bad, "labels": [bad]},
        (Shown(example), Shown(Example(("fine",), label=bad), (explanation, scored(bad, bad)))),
        (
            result(bad, bad, 0.5, family=bad, notes=(bad,), bins={bad: 0.1, "b": 0.2}),
            result(bad, "b", 0.6, family=bad),
        ),
        summary=bad,
        notes=(bad,),
        sentences={bad: bad},
        created=bad,
    )
    read = Page(everything.write(tmp_path / "x.html").read_text(encoding="utf-8"))
    assert not {tag for tag, _ in read.tags} & {"script", "img"}
    assert not any(name.startswith("on") for _, a in read.tags for name in a)
    assert "\x00" not in read.text
    assert "49" not in read.text
    assert read.text.count("<script>alert(1)</script>") > 10


def test_explanations_of_one_input_stand_side_by_side(full: Report) -> None:
    assert [[e.method for e in shown.explanations] for shown in full.examples] == [["lime", "random"]] * 2
    assert full.examples[0].example.truth
    read = Page(full.to_html())
    assert read.words.count("so very good") == 2
    assert "first model says pos (0.80) label pos ✓ right reason planted" in read.words
    assert "Example 2 model says pos (0.80)" in read.words


def test_gold_is_underlined(full: Report) -> None:
    gold = [a for a in Page(full.to_html()).all("span") if "go" in (a.get("class") or "").split()]
    assert len(gold) == 3  # the key, and once a method in the first example


def test_wrong_predictions_are_said(full: Report) -> None:
    shown = Shown(Example(("a b",), label="neg"), (scored("a b", "lime"),))
    assert "✗ wrong" in Report("x", examples=(shown,)).to_html()
    choice = Shown(Example(("a b",), label=1, choices=("c", "d")), (scored("a b", "lime"),))
    read = Page(Report("x", examples=(choice,)).to_html())
    assert "label choice 2: d ✓ right" in read.words


def test_the_card_has_an_order_and_takes_results_of_the_model(full: Report) -> None:
    read = Page(full.to_html())
    assert (
        "labels neg, pos architecture gru seed 0 time 1 min 15 s extra a: 1.5 accuracy 0.970 [0.960, 0.980]"
        in read.words
    )
    assert (
        "0.970 [0.960, 0.980], n = 100"
        in Page(Report("x", {"accuracy": result("accuracy", "", 0.97, 0.01)}).to_html()).text
    )


def test_the_table_marks_best_and_close(full: Report) -> None:
    read = Page(full.to_html())
    assert "comprehensiveness ↑ 0.500 ★ 0.480 to 0.520 0.100 0.080 to 0.120" in read.words
    assert "sufficiency ↓ 0.100 ★ 0.080 to 0.120 0.110 ≈ 0.090 to 0.130" in read.words
    assert "truth ↑ 0.900 0.880 to 0.920 –" in read.words
    assert "Value and 95 % confidence interval" in read.words
    assert "lime leads with 0.500; random gets 0.100. Every method beats random." in read.words


def test_the_level_of_the_interval_is_that_of_the_results() -> None:
    assert (
        "Value and 90 % conf" in Report("x", results=(result("truth", "lime", 0.5, variant={"level": 0.9}),)).to_html()
    )


def test_notes_of_results_are_shown_once() -> None:
    notes = ("3 texts had no gold",)
    both = (result("truth", "lime", 0.5, notes=notes), result("truth", "random", 0.1, notes=notes))
    assert Page(Report("x", results=both).to_html()).words.count("truth of lime, random: 3 texts had no gold") == 1


def test_every_metric_and_method_on_the_page_is_explained(full: Report) -> None:
    read = Page(full.to_html())
    assert "comprehensiveness How much the model's confidence falls" in read.words
    assert "random Scores by chance" in read.words
    mine = Report("x", results=full.results, sentences={"truth": "My own words."})
    assert "truth My own words." in Page(mine.to_html()).words


def test_a_page_of_explanations_has_no_empty_sections() -> None:
    read = Page(explanations_page([scored("a b", "lime")], "Title"))
    assert "Title" in read.words
    assert not read.all("table")
    assert not read.all("figure")
    assert {"scores", "curves", "card", "findings"}.isdisjoint(a.get("id") for _, a in read.tags)
    with pytest.raises(InputError, match="nothing to show"):
        explanations_page([])


def test_an_empty_report_is_a_page() -> None:
    assert "Nothing yet" in Page(report("Nothing yet").to_html()).words


def test_a_page_of_examples_shows_gold() -> None:
    example = Example(("so good", "yes"), label="pos", rationales=((Span(0, 3, 7),),), explanations=("it says so",))
    read = Page(examples_page([example], "sst2", {"examples": 1234}))
    assert "examples 1,234" in read.words
    assert "premise so good hypothesis yes because it says so" in read.words
    assert {"class": "go"} in read.all("span")
    assert "speaks for" not in read.words


def test_regions_that_scroll_can_be_reached_and_have_names(full: Report) -> None:
    regions = [a for _, a in Page(full.to_html()).tags if a.get("role") == "region"]
    assert regions
    assert all(a.get("tabindex") == "0" and (a.get("aria-label") or a.get("aria-labelledby")) for a in regions)


def test_to_dict_is_plain_json_and_holds_what_is_shown(full: Report) -> None:
    data = json.loads(json.dumps(full.to_dict()))
    assert data["kind"] == "report"
    again: list[Explanation] = [explanation_from_dict(e) for s in data["examples"] for e in s["explanations"]]
    assert again == [e for s in full.examples for e in s.explanations]
    assert [r["value"] for r in data["results"]] == [r.value for r in full.results]
    assert data["card"]["labels"] == ["neg", "pos"]
    card = Report("x", {"accuracy": MetricResult("accuracy", 0.9, 0.8, 1.0, 10), "path": Path("a")}).to_dict()["card"]
    assert card["accuracy"]["kind"] == "metric"
    assert card["path"] == "a"


def test_writing_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "new" / "page.html"
    assert write_page(target, "old") == target

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(page.os, "replace", broken)
    with pytest.raises(OptionError, match="No space left"):
        write_page(target, "new")
    assert target.read_text() == "old"
    assert os.listdir(target.parent) == ["page.html"]


def test_writing_over_a_folder_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="choose another place"):
        write_page(tmp_path, "x")
