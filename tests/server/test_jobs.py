"""Jobs, their events and their end; and who waits with whom."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

import saywhy
from saywhy.models import TextModel
from saywhy.server import Settings, running


class Slow:
    """A black box that takes its time and counts its calls."""

    def __init__(self, seconds: float = 0.02) -> None:
        self.seconds = seconds
        self.calls = 0
        self.at_once = 0
        self.most_at_once = 0
        self._lock = threading.Lock()

    def __call__(self, texts: list[str]) -> list[list[float]]:
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self.seconds)
        with self._lock:
            self.at_once -= 1
            self.calls += 1
        return [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts]


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def serving(slow: Slow) -> Iterator[Callable[..., httpx.Client]]:
    open_things: list[Any] = []

    def start(**limits: Any) -> httpx.Client:
        box: TextModel = saywhy.load(slow, labels=["yes", "no"])
        server = running({"box": box}, Settings(port=0, **{"grace": 0.3, **limits}))
        url = server.__enter__()
        client = httpx.Client(base_url=url, timeout=30)
        open_things.extend([client, server])
        return client

    yield start
    for thing in reversed(open_things):
        thing.__exit__(None, None, None)


LONG = " ".join(f"good{i}" for i in range(30))


def long_body(text: str = LONG, **more: Any) -> dict[str, Any]:
    options = {"samples": 5000, "tolerance": None}
    body = {"model": "box", "input": {"texts": [text]}, "method": "lime", "options": options, "verdict": False}
    return {**body, **more}


def quick_body(text: str = "a good film", **more: Any) -> dict[str, Any]:
    return {"model": "box", "input": {"texts": [text]}, "method": "leave-one-out", "verdict": False, **more}


def events(client: httpx.Client, job: str, most: int = 200) -> Iterator[tuple[str, dict[str, Any]]]:
    with client.stream("GET", f"/api/jobs/{job}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in stream.iter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])["job"]


def wait_until(true: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def test_a_job_tells_how_far_it_is_and_what_came_out(serving: Callable[..., httpx.Client]) -> None:
    client = serving()
    body = long_body(options={"samples": 640, "tolerance": None})
    answer = client.post("/api/explain", json=body)
    assert answer.status_code == 202
    job = answer.json()["job"]
    assert (job["state"], job["method"], job["model"], job["result"]) == ("queued", "lime", "box", None)
    told = list(events(client, job["id"]))
    assert [name for name, _ in told[:-1]] == ["progress"] * (len(told) - 1)
    fractions = [found["progress"]["fraction"] for name, found in told if found["state"] == "running"]
    assert fractions == sorted(fractions)
    assert 0 < fractions[-1] < 1
    name, last = told[-1]
    assert (name, last["state"], last["progress"]["fraction"]) == ("done", "done", 1)
    assert last["progress"]["calls"] >= 20
    why = last["result"]["explanation"]
    assert len(why["words"]) == 30
    assert client.get(f"/api/jobs/{job['id']}").json()["job"]["result"] == last["result"]
    assert [found["id"] for found in client.get("/api/jobs").json()["jobs"]] == [job["id"]]
    # Known now: no job is needed.
    again = client.post("/api/explain", json=body)
    assert (again.status_code, again.json()["cached"]) == (200, True)
    assert next(events(client, job["id"]))[0] == "done"


def test_a_cancelled_job_does_not_ask_the_model_again(serving: Callable[..., httpx.Client], slow: Slow) -> None:
    client = serving()
    job = client.post("/api/explain", json=long_body()).json()["job"]
    wait_until(lambda: slow.calls > 3)
    found = client.delete(f"/api/jobs/{job['id']}").json()["job"]
    assert (found["state"], found["error"]["kind"], found["result"]) == ("cancelled", "cancelled", None)
    time.sleep(0.1)
    calls = slow.calls
    time.sleep(0.2)
    assert slow.calls == calls
    assert next(events(client, job["id"]))[0] == "cancelled"
    assert client.delete(f"/api/jobs/{job['id']}").json()["job"]["state"] == "cancelled"
    # The lane is free for others.
    small = long_body(options={"samples": 50}, wait=True)
    assert client.post("/api/explain", json=small).status_code == 200


def test_live_questions_do_not_wait_for_jobs(serving: Callable[..., httpx.Client], slow: Slow) -> None:
    client = serving()
    client.post("/api/explain", json=long_body())
    wait_until(lambda: slow.calls > 1)
    start = time.perf_counter()
    answer = client.post("/api/predict", json={"model": "box", "input": {"texts": ["a good film"]}, "remove": [1]})
    assert answer.json()["label"] == "no"
    assert time.perf_counter() - start < 1
    assert client.get("/api/jobs").json()["jobs"][0]["state"] == "running"
    assert slow.most_at_once == 1  # a function that is not made for threads is never called by two


def test_the_same_question_is_answered_once(serving: Callable[..., httpx.Client], slow: Slow) -> None:
    client = serving()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/api/explain", json=quick_body()).json(), range(8)))
    assert slow.calls <= 3 + 3  # its fingerprint, and one explanation
    assert len({json.dumps(answer["explanation"]) for answer in answers}) == 1


def test_who_leaves_does_not_end_what_others_wait_for(serving: Callable[..., httpx.Client], slow: Slow) -> None:
    client = serving()
    body = long_body(options={"samples": 320, "tolerance": None})
    one, two = (client.post("/api/explain", json=body).json()["job"] for _ in range(2))
    assert one["id"] != two["id"]
    wait_until(lambda: slow.calls > 2)
    assert client.delete(f"/api/jobs/{one['id']}").json()["job"]["state"] == "cancelled"
    assert list(events(client, two["id"]))[-1][1]["state"] == "done"


def test_what_takes_too_long_is_stopped(serving: Callable[..., httpx.Client], slow: Slow) -> None:
    client = serving(timeout=0.3)
    answer = client.post("/api/explain", json=long_body(wait=True))
    assert (answer.status_code, answer.json()["error"]["kind"]) == (504, "timeout")
    time.sleep(0.1)
    calls = slow.calls
    time.sleep(0.2)
    assert slow.calls == calls


def test_a_client_that_hangs_up_stops_its_work(serving: Callable[..., httpx.Client], slow: Slow) -> None:
    client = serving()
    with pytest.raises(httpx.ReadTimeout):
        client.post("/api/explain", json=long_body(wait=True), timeout=0.2)
    time.sleep(0.3)
    calls = slow.calls
    time.sleep(0.2)
    assert slow.calls == calls


def test_too_much_at_once_is_refused(serving: Callable[..., httpx.Client], slow: Slow) -> None:
    client = serving(max_jobs=2, max_waiting=1)
    first = client.post("/api/explain", json=long_body("one good film " * 9)).json()["job"]
    wait_until(lambda: client.get(f"/api/jobs/{first['id']}").json()["job"]["state"] == "running")
    second = client.post("/api/explain", json=long_body("two good films " * 9)).json()["job"]
    third = client.post("/api/explain", json=long_body("three good films " * 9))
    assert (third.status_code, third.json()["error"]["kind"]) == (429, "busy")
    assert int(third.headers["retry-after"]) >= 1
    # The lane is full as well, for those who would wait.
    waiting = client.post("/api/explain", json=long_body("four good films " * 9, wait=True))
    assert waiting.status_code == 429
    client.delete(f"/api/jobs/{second['id']}")
    assert client.post("/api/explain", json=long_body("five good films " * 9)).status_code == 202


def test_jobs_that_are_over_are_forgotten_in_the_end(serving: Callable[..., httpx.Client]) -> None:
    client = serving(kept_jobs=2)
    names = []
    for number in range(4):
        job = client.post("/api/explain", json=quick_body(f"good {number}", wait=False)).json()["job"]
        names.append(job["id"])
        assert list(events(client, job["id"]))[-1][0] == "done"
    left = [job["id"] for job in client.get("/api/jobs").json()["jobs"]]
    assert left == names[::-1][:3]
    assert client.get(f"/api/jobs/{names[0]}").status_code == 404


def test_a_function_that_fails_is_an_error_and_no_end(serving: Callable[..., httpx.Client], slow: Slow) -> None:
    client = serving()
    slow.seconds = -1.0  # time.sleep refuses
    answer = client.post("/api/explain", json=quick_body())
    assert (answer.status_code, answer.json()["error"]["kind"]) == (500, "internal")
    assert "sleep" not in answer.text
    job = client.post("/api/explain", json=quick_body(wait=False)).json()["job"]
    name, found = list(events(client, job["id"]))[-1]
    assert (name, found["error"]["kind"]) == ("failed", "internal")
    slow.seconds = 0.0
    assert client.post("/api/explain", json=quick_body()).status_code == 200


def test_when_told_to_stop_everybody_gets_an_answer(slow: Slow) -> None:
    box = saywhy.load(slow, labels=["yes", "no"])
    slow.seconds = 0.1

    async def ask(url: str, stop: Callable[[], None]) -> list[Any]:
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            job = (await client.post("/api/explain", json=long_body())).json()["job"]
            queued = (await client.post("/api/explain", json=long_body("other " + LONG))).json()["job"]
            streams = [asyncio.ensure_future(client.get(f"/api/jobs/{j['id']}/events")) for j in (job, queued)]
            short = asyncio.ensure_future(client.post("/api/explain", json=quick_body()))
            endless = asyncio.ensure_future(client.post("/api/explain", json=long_body("third " + LONG, wait=True)))
            # Asked, and usually not answered yet: a busy machine may be slower here than the model there.
            await asyncio.sleep(0.3)
            stop()
            return [await each for each in (*streams, short, endless)]

    with ThreadPoolExecutor(1) as pool:
        server = running({"box": box}, Settings(port=0, grace=1.0))
        url = server.__enter__()
        stopped: list[Any] = []

        def stop() -> None:
            stopped.append(pool.submit(server.__exit__, None, None, None))

        slow.calls = 0
        first, queued, short, endless = asyncio.run(ask(url, stop))
        stopped[0].result(30)
    assert "event: cancelled" in first.text
    assert "event: cancelled" in queued.text
    assert short.status_code == 200
    assert short.json()["explanation"]["words"]
    assert (endless.status_code, endless.json()["error"]["kind"]) == (503, "cancelled")
    calls = slow.calls
    time.sleep(0.3)
    assert slow.calls == calls
    with pytest.raises(httpx.ConnectError):
        httpx.get(url)
