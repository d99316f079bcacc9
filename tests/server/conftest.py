from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
from starlette.testclient import TestClient

import saywhy
from saywhy.models import TextModel
from saywhy.server import Settings, make_app, running
from tests import zoo


def liking(texts: list[str]) -> list[list[float]]:
    """A black box that likes what is good."""
    return [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts]


@pytest.fixture(scope="session")
def models() -> dict[str, TextModel]:
    return {
        "film": zoo.classifier(),
        "pairs": zoo.pair_classifier(),
        "choices": zoo.chooser(),
        "reader": zoo.reader(),
        "box": saywhy.load(liking, labels=["yes", "no"]),
    }


@pytest.fixture(scope="module")
def client(models: dict[str, TextModel]) -> Iterator[TestClient]:
    """All models, for tests that do not mind what others have asked."""
    with TestClient(make_app(models, Settings()), base_url="http://localhost") as client:
        yield client


# The page in a browser ------------------------------------------------------------------------------------------------

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
SLOW_CALLS: list[int] = []
WEIGHTS = {"good": 2.0, "fine": 1.0, "dull": -2.0}


def weighing(texts: list[str]) -> list[list[float]]:
    """A black box whose every answer can be reckoned by hand: the words' weights, through the logistic function."""
    sums = [sum(WEIGHTS.get(word.strip(".,"), 0.0) for word in text.lower().split()) for text in texts]
    return [[1 / (1 + math.exp(-s)), 1 / (1 + math.exp(s))] for s in sums]


def slowly(texts: list[str]) -> list[list[float]]:
    """The same, a little at a time, so that there is something to cancel."""
    SLOW_CALLS.append(len(texts))
    time.sleep(0.05 * len(texts))
    return weighing(texts)


@pytest.fixture(scope="module")  # no longer: Playwright's event loop would be in the way of other tests'
def browser() -> Iterator[Any]:
    """Chromium, or a skip that says what is missing."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with models of every kind, a dataset and a report, some of them hostile."""
    folder = tmp_path_factory.mktemp("page")
    rows = [{"text": f"{HOSTILE} good film", "label": HOSTILE}, {"text": "a fine film", "label": "yes"}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "study").mkdir()
    (folder / "study" / "table.html").write_text(
        f"<title>A study &amp; {HOSTILE.replace('<', '&lt;')}</title><p>Figures"
    )
    models = {
        "weigher": saywhy.load(weighing, labels=["yes", "no"]),
        "film": zoo.classifier(),
        "pairs": zoo.pair_classifier("decomposable-attention"),
        "choices": zoo.chooser(),
        "slow": saywhy.load(slowly, labels=["yes", "no"]),
        HOSTILE: saywhy.load(weighing, labels=[HOSTILE, "plain"]),
    }
    with running(models, Settings(port=0, data=(str(folder / "rows.jsonl"),), reports=(folder / "study",))) as url:
        with pytest.MonkeyPatch.context() as patch:
            # The server looks for data once; looking through real corpora would take its time.
            patch.setenv("SAYWHY_DATA", str(folder / "none"))
            urlopen(f"{url}api/datasets").close()
        yield url


class Watched:
    """A page that remembers whatever went wrong in it."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address
        self.problems: list[str] = []
        self.expected: tuple[str, ...] = ()
        page.add_init_script(
            "window.violations = []; addEventListener('securitypolicyviolation',"
            " (event) => violations.push(`${event.violatedDirective} ${event.blockedURI}`))"
        )
        page.on("console", lambda said: self.problems.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def open(self, **state: Any) -> Any:
        """Go to a state of the page, as a link says it."""
        pairs = [
            (key, value) for key, values in state.items() for value in ([values] if isinstance(values, str) else values)
        ]
        self.page.goto(self.address + ("#" + urlencode(pairs) if pairs else ""))
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def check(self) -> None:
        """Nothing went wrong but what a test said would."""
        assert self.page.evaluate("window.violations") == []
        assert self.page.evaluate("window.hacked") is None
        assert [said for said in self.problems if not any(part in said for part in self.expected)] == []


@pytest.fixture
def watched(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    size = getattr(request, "param", {"width": 1280, "height": 900})
    context = browser.new_context(viewport=size, accept_downloads=True)
    context.set_default_timeout(30_000)
    watched = Watched(context.new_page(), address)
    yield watched
    watched.check()
    context.close()
