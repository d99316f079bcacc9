"""The page in Chromium: what people do with it, from typing a text to judging its explanations."""

from __future__ import annotations

import math
import re
import time
from typing import Any

import pytest

from tests.server import conftest
from tests.server.conftest import Watched

expect = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.browser

TEXT = "A good and fine film, never dull."
FILM = "A gripping, beautifully shot film that never lets go."


def shown(weights: float) -> str:
    """What the page writes for the probability of yes."""
    return f"{1 / (1 + math.exp(-weights)):.2f}"


def test_a_text_is_typed_and_explained(watched: Watched) -> None:
    page = watched.open()
    page.select_option("#model", "weigher")
    page.fill("#text-0", TEXT)
    page.wait_for_selector("#prediction strong:has-text('yes')")  # without being asked
    expect(page.locator(".chip[data-method='leave-one-out']")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Control+Enter")
    card = page.locator(".card", has_text="leave-one-out")
    card.locator(".verdict").wait_for()
    best, worst = card.locator(".w", has_text="good"), card.locator(".w", has_text="dull")
    assert "f9" in best.get_attribute("class")
    assert re.search(r"\ba\d", worst.get_attribute("class"))
    # The sign is in the line under the word, too, and is said aloud.
    style = "node => getComputedStyle(node).textDecorationStyle"
    assert best.evaluate(style) == "solid"
    assert worst.evaluate(style) == "dotted"
    assert re.fullmatch(r"good, \+\d\.\d+ for yes", best.get_attribute("aria-label"))
    assert re.fullmatch(r"dull, −\d\.\d+ against yes", worst.get_attribute("aria-label"))
    best.hover()
    assert page.locator("#tip").inner_text().startswith("+")
    card.locator("summary", has_text="All scores").click()
    assert card.locator(".scores tbody tr").count() == card.locator(".w").count()


def test_three_methods_stand_side_by_side(watched: Watched) -> None:
    methods = ["integrated-gradients", "leave-one-out", "input-x-gradient"]
    page = watched.open(model="film", text=FILM, method=methods)
    page.locator(".verdict").nth(2).wait_for()
    assert page.locator(".card h3").all_inner_texts() == methods
    boxes = [page.locator(".card").nth(i).bounding_box() for i in range(3)]
    assert len({box["y"] for box in boxes}) == 1
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    # Parts of neighbours begin at the same height.
    assert len({page.locator(".whatif").nth(i).bounding_box()["y"] for i in range(3)}) == 1


def test_a_pair_shows_its_alignments(watched: Watched) -> None:
    page = watched.open(
        model="pairs", text=["People walk through a store.", "Passengers sit in a car."], method="co-attention"
    )
    matrix = page.locator(".matrix")
    matrix.wait_for()
    assert matrix.locator("tbody tr").count() == 6
    assert matrix.locator("tbody tr").first.locator("td").count() == 6
    assert page.locator(".links .link").count() == page.locator(".phrases li").count() == 5
    page.locator(".phrases li").nth(1).hover()
    assert page.locator(".links .link.lit").count() == 1
    assert matrix.locator("td.lit").count() == 1
    page.locator(".matrix td.lit").hover()
    assert "↔" in page.locator("#tip").inner_text()


def test_a_click_takes_a_word_away_and_asks_again(watched: Watched) -> None:
    page = watched.open(model="weigher", text=TEXT, method="leave-one-out")
    card = page.locator(".card")
    card.locator(".whatif").wait_for()
    expect(card.locator(".now b")).to_have_text(shown(1))
    good = card.locator(".w", has_text="good")
    good.click()
    card.locator(".flip", has_text="now no").wait_for()
    expect(card.locator(".now b")).to_have_text(shown(-1))
    assert good.get_attribute("aria-pressed") == "true"
    assert "line-through" in good.evaluate("node => getComputedStyle(node).textDecorationLine")
    good.click()
    expect(card.locator(".now b")).to_have_text(shown(1))
    expect(card.locator(".flip")).to_have_text("")


def test_the_slider_keeps_the_top_words(watched: Watched) -> None:
    page = watched.open(model="weigher", text=TEXT, method=["leave-one-out", "occlusion"])
    first, second = page.locator(".card").nth(0), page.locator(".card").nth(1)
    second.locator(".whatif").wait_for()
    first.locator(".slider").fill("1")
    expect(first.locator(".now b")).to_have_text(shown(2))
    assert first.locator(".w:not(.gone)").all_inner_texts() == ["good"]
    total = first.locator(".w").count()
    assert first.locator(".kept").inner_text() == f"1 of {total}"
    assert second.locator(".w.gone").count() == 0
    page.check("#together")
    first.locator(".slider").fill("2")
    assert second.locator(".w:not(.gone)").count() == 2
    first.locator("button:has-text('Reset')").click()
    assert page.locator(".w.gone").count() == 0
    expect(first.locator(".now b")).to_have_text(shown(1))


def test_the_last_answer_wins(watched: Watched) -> None:
    page = watched.open(model="weigher", text=TEXT, method="leave-one-out")
    page.locator(".whatif").wait_for()
    held: list[Any] = []
    # The first question is answered late, after the second.
    page.route("**/api/predict", lambda route: held.append(route) if not held else route.continue_())
    page.locator(".slider").fill("1")
    while not held:
        page.wait_for_timeout(20)
    page.locator(".slider").fill("2")
    expect(page.locator(".now b")).to_have_text(shown(3))
    held[0].fulfill(json={"label": "no", "probabilities": {"yes": 0.01, "no": 0.99}, "words": [], "removed": []})
    page.wait_for_timeout(200)
    assert page.locator(".now b").inner_text() == shown(3)


def test_what_is_wrong_is_said(watched: Watched) -> None:
    page = watched.open(model="weigher")
    page.click("#explain")
    assert page.locator("#alert").inner_text().startswith("Type a text first.")
    assert page.evaluate("document.activeElement.id") == "text-0"
    page.click("#alert-close")
    assert page.locator("#alert").is_hidden()
    watched.expected = ("status of 422",)
    page.fill("#text-0", "good " * 3000)
    page.click("#explain")
    page.locator(".card .failed").first.wait_for()
    assert "3000 words; at most 2000" in page.locator("#alert").inner_text()
    assert page.locator("#alert").get_attribute("role") == "alert"


def test_a_server_that_is_gone_is_said_to_be(watched: Watched) -> None:
    page = watched.open(model="weigher", text=TEXT, method="leave-one-out")
    page.locator(".whatif").wait_for()
    page.route("**/api/**", lambda route: route.abort())
    watched.expected = ("ERR_FAILED",)
    page.click("#explain")
    page.locator("#alert:visible").wait_for()
    assert "does not answer" in page.locator("#alert").inner_text()


def test_a_job_shows_its_progress_and_is_cancelled(watched: Watched) -> None:
    page = watched.open(model="slow", text=f"Slowly: {TEXT}", method="kernel-shap")
    assert page.locator(".card").count() == 0  # a link does not start what is slow
    page.click("#explain")
    expect(page.locator(".working-text")).to_have_text(re.compile(r"^[1-9]\d* model calls? · "))
    page.click(".working button")
    page.locator(".stopped").wait_for()
    assert "Cancelled" in page.locator(".stopped").inner_text()
    time.sleep(0.3)
    before = len(conftest.SLOW_CALLS)
    time.sleep(0.5)
    assert len(conftest.SLOW_CALLS) == before


def test_a_link_restores_everything(watched: Watched, browser: Any, address: str) -> None:
    page = watched.open(model="weigher", text=TEXT, method="leave-one-out")
    page.click("#settings summary")
    page.select_option("#target", "no")
    page.fill("#seed", "7")
    page.select_option("#option-leave-one-out-output", "logit")
    page.keyboard.press("Control+Enter")
    page.locator(".aside", has_text="why no").wait_for()
    link = page.url
    text = page.locator(".summary").inner_text()
    other = browser.new_context()
    twin = other.new_page()
    twin.goto(link)
    twin.locator(".aside", has_text="why no").wait_for()
    assert twin.input_value("#model") == "weigher"
    assert twin.input_value("#text-0") == TEXT
    assert twin.input_value("#target") == "no"
    assert twin.input_value("#seed") == "7"
    assert twin.input_value("#option-leave-one-out-output") == page.input_value("#option-leave-one-out-output") != ""
    assert twin.locator(".summary").inner_text() == text
    other.close()


def test_two_models_are_compared(watched: Watched) -> None:
    page = watched.open(view="compare", model="weigher", second="slow", text=TEXT, method="leave-one-out")
    page.locator(".agreement").wait_for()
    assert page.locator("#view-compare .card").count() == 2
    assert page.locator(".agreement .headline").inner_text() == "Both say yes"
    assert "100 %" in page.locator(".numbers").inner_text()
    # Only models that read the same kind of input are offered.
    assert page.locator("#second option").all_inner_texts() == ["film", "slow", conftest.HOSTILE]
    page.select_option("#model", "pairs")
    page.fill("#text-0", "A film")
    page.fill("#text-1", "A store")
    page.click("#explain")
    page.locator("#alert", has_text="No other model").wait_for()


def test_methods_are_measured_beside_random_ones(watched: Watched) -> None:
    page = watched.open(model="weigher", text=TEXT, method=["leave-one-out", "random"])
    page.locator(".whatif").nth(1).wait_for()
    page.click("#evaluate")
    table = page.locator("#evaluation .metrics")
    table.wait_for()
    assert table.locator("tbody th").all_inner_texts() == ["leave-one-out", "random"]
    assert table.locator("td small", has_text="random").count() == 4


def test_the_smallest_change_that_turns_the_answer_is_struck_out(watched: Watched) -> None:
    page = watched.open(
        model="weigher", text="A good \N{CLAPPER BOARD} and fine film, never dull.", method=["leave-one-out"]
    )
    page.locator(".whatif").first.wait_for()
    page.click("#turn")
    box = page.locator("#turning")
    box.locator("del").first.wait_for()
    struck = box.locator("del").all_inner_texts()
    assert set(struck) <= {"good", "fine"}
    assert struck
    assert "the model says no" in box.inner_text()
    assert box.locator(".turned").inner_text() == "A good \N{CLAPPER BOARD} and fine film, never dull."
    assert "No smaller change does it." in box.inner_text()
    page.fill("#text-0", "Nothing of note.")
    page.click("#explain")
    expect(box).to_be_hidden()


def test_choices_are_typed_and_explained(watched: Watched) -> None:
    page = watched.open(model="choices")
    page.fill("#text-0", "What do you do when you are tired?")
    page.fill("#choice-0", "sleep")
    page.fill("#choice-1", "eat")
    page.click("text=Add a choice")
    page.fill("#choice-2", "run away")
    page.click("#explain")
    page.locator(".card .named").nth(3).wait_for()
    assert page.locator(".card").first.locator(".name").all_inner_texts() == [
        "question",
        "choice 1",
        "choice 2",
        "choice 3",
    ]
    page.click("#settings summary")
    page.select_option("#target", label="choice 2")
    page.click("#explain")
    page.locator(".aside", has_text="why eat").first.wait_for()


def test_examples_fill_the_input(watched: Watched) -> None:
    page = watched.open(model="weigher")
    page.locator(".suggestions .row", has_text="a fine film").click()
    assert page.input_value("#text-0") == "a fine film"
    page.fill("#text-0", "")
    page.click("#examples-open")
    page.select_option("#dataset", "rows.jsonl")
    page.locator("#rows .row", has_text="a fine film").click()
    assert page.locator("#examples").is_hidden()
    assert page.input_value("#text-0") == "a fine film"
    page.wait_for_selector("#prediction strong:has-text('yes')")


def test_an_older_explanation_is_marked_when_the_text_changes(watched: Watched) -> None:
    page = watched.open(model="weigher", text=TEXT, method="leave-one-out")
    page.locator(".whatif").wait_for()
    assert page.locator("#stale").is_hidden()
    page.fill("#text-0", "A dull film.")
    page.locator("#stale").wait_for()
    page.wait_for_selector("#prediction strong:has-text('no')")
    page.fill("#text-0", TEXT)
    page.locator("#stale").wait_for(state="hidden")


def test_reports_are_shown_in_a_frame_that_reaches_nothing(watched: Watched) -> None:
    page = watched.open(view="reports")
    frame = page.locator("iframe")
    frame.wait_for()
    assert frame.get_attribute("sandbox") == "allow-scripts"
    page.frame_locator("iframe").locator("text=Figures").wait_for()
    assert page.locator(".report b").inner_text().startswith("A study & <img")


def test_the_theme_is_kept(watched: Watched) -> None:
    page = watched.open()
    ink = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ink)
    page.click("#theme")
    assert page.evaluate(ink) != light
    page.reload()
    page.wait_for_selector("html[data-theme=dark]")
    assert page.evaluate(ink) != light
