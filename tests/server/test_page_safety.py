"""The page in Chromium: hostile texts stay text, files come out whole, and nobody is left out."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

import saywhy
from saywhy.server import Settings, running
from saywhy.types import FreeText, Header, Rationale, Word, explanation_from_dict
from tests.server.conftest import HOSTILE, Watched, weighing

expect = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed").expect
expect.set_options(timeout=30_000)
pytestmark = pytest.mark.browser

TEXT = "A good and fine film, never dull."
PHONE = {"width": 390, "height": 844}


def test_hostile_names_labels_texts_and_rows_stay_text(watched: Watched) -> None:
    page = watched.open(model=HOSTILE, text=f"{HOSTILE} is a good film", method="leave-one-out")
    page.locator(".whatif").wait_for()
    expect(page.locator("#prediction .who")).to_have_text(f"{HOSTILE} says ")
    expect(page.locator("#prediction strong")).to_have_text(HOSTILE)
    assert page.locator(".card .text").first.inner_text().startswith("<img src=x")
    page.locator(".card .w", has_text="good").hover()
    assert HOSTILE in page.locator("#tip").inner_text()
    page.click("#examples-open")
    page.select_option("#dataset", "rows.jsonl")
    row = page.locator("#rows .row", has_text="good film")
    expect(row.locator(".tag")).to_have_text(HOSTILE)
    row.click()
    assert page.input_value("#text-0") == f"{HOSTILE} good film"
    # No element came from anybody's text.
    assert page.locator("main img, main script, dialog img, dialog script").count() == 0


def test_a_hostile_link_and_a_hostile_answer_stay_text(watched: Watched) -> None:
    page = watched.open(
        model=f"{HOSTILE}?", text=HOSTILE, method=HOSTILE, target=HOSTILE, options='{"__proto__": {"hacked": 1}}'
    )
    expect(page.locator("#alert")).to_contain_text(HOSTILE)
    page.route(
        "**/api/explain",
        lambda route: route.fulfill(status=422, json={"error": {"kind": "input", "message": HOSTILE, "field": None}}),
    )
    watched.expected = ("status of 422",)
    page.click("#explain")
    expect(page.locator(".failed").first).to_have_text(HOSTILE)
    assert page.evaluate("({}).hacked") is None


def test_offsets_count_characters_and_not_halves_of_them(watched: Watched) -> None:
    page = watched.open(model="weigher", text="🙂🙂 a good 👩‍🎤 film", method="leave-one-out")
    page.locator(".whatif").wait_for()
    assert page.locator(".card .text").inner_text() == "🙂🙂 a good 👩‍🎤 film"
    assert page.locator(".card .w.f9").inner_text() == "good"


def test_files_come_out_as_html_json_and_png(watched: Watched, tmp_path: Path) -> None:
    page = watched.open(model="weigher", text=TEXT, method=["leave-one-out", "occlusion"])
    page.locator(".whatif").nth(1).wait_for()

    def saved(form: str) -> Path:
        with page.expect_download() as download:
            page.click(f"[data-export={form}]")
        assert download.value.suggested_filename == f"saywhy-weigher.{form}"
        place = tmp_path / form
        download.value.save_as(place)
        return place

    read = [explanation_from_dict(one) for one in json.loads(saved("json").read_text())]
    assert [one.method for one in read] == ["leave-one-out", "occlusion"]
    assert read[0].header.texts == (TEXT,)
    html = saved("html").read_text()
    assert "<title>Why the model says so</title>" in html
    assert html.count("occlusion") >= 1
    picture = saved("png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", picture[16:24])
    assert width == 2000
    assert 600 < height < 4000
    # There is blue on it, for words that speak for the label.
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    with image.open(tmp_path / "png") as opened:
        pixels = opened.convert("RGB").getcolors(1 << 24)
    assert sum(count for count, (red, _, blue) in pixels if blue - red > 60) > 2000


def test_a_sentence_shows_how_its_label_grew(watched: Watched) -> None:
    header = Header("sentence", "no", ("yes", "no"), (0.2, 0.8), (TEXT,))
    made = FreeText(
        header, sentence="it is <b>dull</b>", steps=((0.5, 0.5), (0.6, 0.4), (0.3, 0.7), (0.25, 0.75), (0.2, 0.8))
    )
    page = _given(watched, made.to_dict())
    expect(page.locator(".quote")).to_have_text("it is <b>dull</b>")
    assert page.locator(".evolution:not(.swatch) polyline").count() == 2
    assert page.locator(".lines-key li").all_text_contents() == ["yes 0.20", "no 0.80"]
    assert page.locator(".free tbody th").all_text_contents() == ["start", "it", "is", "<b>dull</b>", "end"]


def test_a_rationale_is_marked_and_kept_first(watched: Watched) -> None:
    header = Header("rationale", "yes", ("yes", "no"), (0.73, 0.27), ("a good and fine film",))
    starts = [("a", 0), ("good", 2), ("and", 7), ("fine", 11), ("film", 16)]
    words = tuple(Word(text, at, at + len(text)) for text, at in starts)
    made = Rationale(header, words=words, selected=(False, True, True, True, False))
    page = _given(watched, made.to_dict(), "a good and fine film")
    expect(page.locator(".summary")).to_have_text("3 of 5 words selected")
    assert page.locator(".card .sel").all_inner_texts() == ["good", "and", "fine"]
    assert page.locator(".card .gap").count() == 2
    page.locator(".slider").fill("3")
    assert page.locator(".w:not(.gone)").all_inner_texts() == ["good", "and", "fine"]


def _given(watched: Watched, explanation: dict[str, Any], text: str = TEXT) -> Any:
    page = watched.open(model="weigher", method="leave-one-out")
    page.route(
        "**/api/explain",
        lambda route: route.fulfill(json={"explanation": explanation, "cached": False, "seconds": 0.1}),
    )
    page.fill("#text-0", text)
    page.keyboard.press("Control+Enter")
    page.locator(".card[aria-busy=false]").wait_for()
    return page


def test_the_keyboard_is_enough(watched: Watched) -> None:
    page = watched.open(model="weigher")
    focused = (
        "(({ id, className, dataset }) => `${id} ${className} ${dataset.word ? 'a-word' : ''}`)(document.activeElement)"
    )

    def tab_to(wanted: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if wanted in page.evaluate(focused):
                return
        raise AssertionError(f"Tab never comes to {wanted}")

    tab_to("skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    tab_to("text-0")
    page.keyboard.type(TEXT)
    tab_to("chip")
    name = page.evaluate("document.activeElement.dataset.method")
    before = page.locator(f".chip[data-method='{name}']").get_attribute("aria-pressed")
    page.keyboard.press("Space")
    assert page.locator(f".chip[data-method='{name}']").get_attribute("aria-pressed") != before
    assert page.evaluate("document.activeElement.dataset.method") == name  # the focus is not lost
    page.keyboard.press("Space")
    page.keyboard.press("Control+Enter")
    page.locator(".whatif").first.wait_for()
    tab_to("a-word")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "good"
    page.keyboard.press("Enter")
    card = page.locator(".card").first
    expect(card.locator(".flip")).to_have_text("now no")
    page.keyboard.press("Delete")
    expect(card.locator(".flip")).to_have_text("")
    tab_to("slider")
    page.keyboard.press("Home")
    expect(card.locator(".kept")).to_contain_text("0 of")
    page.keyboard.press("ArrowRight")
    expect(card.locator(".kept")).to_contain_text("1 of")


def test_everything_has_a_name_for_screen_readers(watched: Watched) -> None:
    page = watched.open(model="weigher", text=TEXT, method="leave-one-out")
    page.locator(".whatif").wait_for()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll(
            "button, select, textarea, input, iframe, [role=region], [role=group], [role=img]")]
          .filter((node) => !(node.getAttribute("aria-label") || node.textContent.trim() || node.title
            || node.labels?.length || node.getAttribute("aria-labelledby")))
          .map((node) => node.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    assert page.locator("[aria-live], [role=status], [role=alert]").count() >= 4
    assert page.locator("h1").count() == 1
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("watched", [PHONE], indirect=True)
def test_a_phone_needs_no_sideways_scrolling(watched: Watched) -> None:
    wide = "document.documentElement.scrollWidth - Math.ceil(document.body.getBoundingClientRect().width)"
    long = "An_unbreakable_" * 12
    page = watched.open(model="weigher", text=f"{TEXT} {long}", method=["leave-one-out", "random"])
    page.locator(".whatif").nth(1).wait_for()
    page.click(".more-methods")
    page.click("#settings summary")
    assert page.evaluate(wide) <= 0
    page.click("#evaluate")
    page.locator(".metrics").wait_for()
    assert page.evaluate(wide) <= 0
    page = watched.open(
        model="pairs",
        text=["People walk through a store. " * 4, f"Passengers sit in a car. {long}"],
        method="co-attention",
    )
    page.locator(".matrix").wait_for()
    assert page.evaluate(wide) <= 0
    page.click("[data-view=compare]")
    assert page.evaluate(wide) <= 0
    page.click("[data-view=reports]")
    page.locator("iframe").wait_for()
    assert page.evaluate(wide) <= 0


def test_nothing_jumps_when_answers_come(watched: Watched) -> None:
    page = watched.open(model="weigher", text=TEXT, method=["leave-one-out", "occlusion", "random"])
    page.locator(".whatif").nth(2).wait_for()
    shifts = page.evaluate(
        """() => new Promise((resolve) => {
          let sum = 0;
          const add = (list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) sum += e.value; };
          new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
          setTimeout(() => resolve(sum), 200);
        })"""
    )
    assert shifts < 0.1  # what browsers call good


def test_the_first_paint_is_early(watched: Watched) -> None:
    page = watched.open()
    painted = []
    for _ in range(3):
        page.reload()
        page.wait_for_selector("html[data-ready]")
        painted.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').map((entry) => [entry.name, entry.decodedBodySize])"
    )
    own = sum(size for name, size in sizes if "/static/" in name)
    assert own < 150_000  # the whole page, before compression
    # A fifth of a second on an idle machine; tests may share theirs with much else.
    assert min(painted) < 3_000
    assert all(name.startswith(watched.address) for name, _ in sizes)


def test_a_token_leaves_the_address_and_opens_the_page(browser: Any) -> None:
    token = "a-token-of-some-length"
    with running({"weigher": saywhy.load(weighing, labels=["yes", "no"])}, Settings(port=0, token=token)) as url:
        address = url.partition("?")[0]
        context = browser.new_context()
        page = context.new_page()
        page.goto(address)
        expect(page.locator("#alert")).to_contain_text("token")
        page.goto(f"{url}#model=weigher&text=good")
        page.wait_for_selector("html[data-ready]")
        assert token not in page.url
        expect(page.locator("#prediction strong")).to_have_text("yes")
        context.close()
