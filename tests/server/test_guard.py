"""Who may ask, and what browsers are told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from saywhy.errors import OptionError
from saywhy.models import TextModel
from saywhy.server import Settings, make_app
from saywhy.server.settings import is_loopback

TOKEN = "let-me-in-please"
BODY = {"model": "box", "input": {"texts": ["A good film"]}}


def serving(models: dict[str, TextModel], base: str = "http://localhost:8000", **settings: Any) -> TestClient:
    return TestClient(make_app({"box": models["box"]}, Settings(**settings)), base_url=base, follow_redirects=False)


@pytest.fixture(scope="module")
def here(models: dict[str, TextModel]) -> Iterator[TestClient]:
    with serving(models, max_bytes=2000) as client:
        yield client


@pytest.fixture
def elsewhere(models: dict[str, TextModel]) -> Iterator[TestClient]:
    with serving(models, "http://10.0.0.7:8000", host="0.0.0.0", token=TOKEN) as client:
        yield client


def test_elsewhere_there_must_be_a_token() -> None:
    with pytest.raises(OptionError, match="token is needed"):
        Settings(host="0.0.0.0")
    with pytest.raises(OptionError, match="at least 8"):
        Settings(token="short")
    assert [is_loopback(h) for h in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(h) for h in ("0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org")] == [
        False
    ] * 5


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "localhost.evil"])
def test_a_name_that_was_pointed_here_is_not_ours(here: TestClient, host: str) -> None:
    for path in ("/", "/health", "/api/models"):
        answer = here.get(path, headers={"host": host})
        assert (answer.status_code, answer.json()["error"]["kind"]) == (403, "unauthorised")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9", "127.0.0.1:8000", "[::1]:8000"])
def test_own_names(here: TestClient, host: str) -> None:
    assert here.get("/api/models", headers={"host": host}).status_code == 200


def test_a_name_behind_a_proxy_can_be_allowed(models: dict[str, TextModel]) -> None:
    with serving(models, "http://models.example", hosts=("models.example",)) as client:
        assert client.get("/api/models").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9000"},
        {"origin": "http://localhost:8000.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_sites_cannot_ask(here: TestClient, headers: dict[str, str]) -> None:
    assert here.post("/api/predict", json=BODY, headers=headers).status_code == 403
    assert here.delete("/api/jobs/1", headers=headers).status_code == 403


def test_the_page_itself_can(here: TestClient) -> None:
    for headers in ({"origin": "http://localhost:8000", "sec-fetch-site": "same-origin"}, {}):
        assert here.post("/api/predict", json=BODY, headers=headers).status_code == 200


def test_forms_are_not_json(here: TestClient) -> None:
    answer = here.post("/api/predict", content=json.dumps(BODY), headers={"content-type": "text/plain"})
    assert answer.status_code == 422


@pytest.mark.parametrize("path", ["/api/models", "/metrics", "/reports/a/b.html", "/api/openapi.json", "/api/jobs"])
def test_without_the_token_nothing_is_told(elsewhere: TestClient, path: str) -> None:
    for headers in ({}, {"authorization": "Bearer wrong-token"}, {"x-saywhy-token": TOKEN + "x"}, {"cookie": "a=b;;="}):
        answer = elsewhere.get(path, headers=headers)
        assert (answer.status_code, answer.json()["error"]["kind"]) == (401, "unauthorised")
    for headers in ({"authorization": f"Bearer {TOKEN}"}, {"x-saywhy-token": TOKEN}):
        assert elsewhere.get(path, headers=headers).status_code in (200, 404)
    assert elsewhere.post("/api/predict", json=BODY).status_code == 401


def test_health_and_the_page_need_no_token(elsewhere: TestClient) -> None:
    assert elsewhere.get("/health").status_code == 200
    assert elsewhere.get("/").status_code == 200


def test_the_address_with_the_token_gives_a_cookie_and_forgets_it(elsewhere: TestClient) -> None:
    wrong = elsewhere.get("/", params={"token": "wrong"})
    assert (wrong.status_code, wrong.headers.get("set-cookie")) == (303, None)
    answer = elsewhere.get("/", params={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert elsewhere.get("/api/models").status_code == 200  # the client has kept it
    foreign = elsewhere.post("/api/predict", json=BODY, headers={"origin": "http://evil.example"})
    assert foreign.status_code == 403


def test_bodies_have_a_limit(here: TestClient) -> None:
    text = json.dumps({**BODY, "input": {"texts": ["a" * 3000]}})
    answer = here.post("/api/predict", content=text, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["kind"]) == (413, "limit")

    def parts() -> Iterator[bytes]:
        for start in range(0, len(text), 100):
            yield text[start : start + 100].encode()

    # Without a length it is counted as it comes.
    answer = here.post("/api/predict", content=parts(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["kind"]) == (413, "limit")
    assert here.get("/health", headers={"content-length": "many"}).status_code == 413


def test_every_answer_has_its_headers(here: TestClient) -> None:
    answers = [
        here.get("/"),
        here.get("/api/models"),
        here.get("/api/nothing"),
        here.get("/nothing"),
        here.get("/health", headers={"host": "evil.example"}),
        here.post("/api/predict", json={}),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


def test_a_failure_of_ours_says_nothing_of_its_inside(
    models: dict[str, TextModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(models) as client:
        monkeypatch.setattr(client.app.state.engine, "figures", lambda: 1 / 0)  # type: ignore[attr-defined]
        answer = client.get("/metrics")
        assert (answer.status_code, answer.json()["error"]["kind"]) == (500, "internal")
        assert "division" not in answer.text
        assert "content-security-policy" in answer.headers


def test_what_is_text_stays_text(models: dict[str, TextModel], tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    file = tmp_path / "evil.csv"
    file.write_text(f"text,label\n{evil} good,yes\n{evil},{evil}\n", encoding="utf-8")
    app = make_app({evil: models["box"]}, Settings(data=(str(file),)))
    with TestClient(app, base_url="http://localhost") as client:
        answers = [
            client.get("/api/models"),
            client.get("/api/datasets"),
            client.get("/api/datasets/evil.csv"),
            client.post("/api/explain", json={**BODY, "model": evil, "input": {"texts": [evil]}}),
            client.post("/api/predict", json={**BODY, "model": "<script>"}),
            client.get(f"/api/jobs/{evil}"),
            client.get(f"/{evil}"),
        ]
    for answer in answers:
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
    rows = answers[2].json()["rows"]
    assert [row["input"]["texts"][0] for row in rows] == [f"{evil} good", evil]
    assert rows[1]["label"] == evil
    assert answers[3].json()["explanation"]["header"]["texts"] == [evil]


def test_reports_are_shown_in_a_sandbox_and_nothing_else_is(models: dict[str, TextModel], tmp_path: Path) -> None:
    folder, secret = tmp_path / "reports", tmp_path / "secret.html"
    (folder / "deep").mkdir(parents=True)
    secret.write_text("secret")
    (folder / "deep" / "study.html").write_text("<title>A &amp; B</title><p>study")
    (folder / "notes.txt").write_text("notes")
    (folder / "link.html").symlink_to(secret)
    (folder / "circle.html").symlink_to(folder / "circle.html")
    (folder / "table.csv").write_text("a,b")
    with serving(models, reports=(folder,)) as client:
        found = client.get("/api/reports").json()["reports"]
        assert found == [
            {
                "name": "reports/deep/study.html",
                "title": "A & B",
                "kind": "study",
                "url": "/reports/reports/deep/study.html",
            }
        ]
        answer = client.get(found[0]["url"])
        assert answer.text.endswith("study")
        assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts;")
        assert "connect-src" not in answer.headers["content-security-policy"]  # default-src 'none' says no
        assert client.get("/reports/reports/table.csv").headers["content-type"].startswith("text/csv")
        for path in (
            "notes.txt", "link.html", "circle.html", "", "deep", "../secret.html", "..%2fsecret.html",
            "%2e%2e/secret.html",
            "deep/../../secret.html", "/etc/hostname", "%00.html", "x" * 5000 + ".html", str(secret),
        ):  # fmt: skip
            answer = client.get(f"/reports/reports/{path}")
            assert answer.status_code == 404, path
            assert "secret" not in answer.text
        assert client.get("/reports/other/table.csv").status_code == 404


def test_examples_come_in_pages(models: dict[str, TextModel], tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("text,label\n" + "\n".join(f"good thing {i},yes" for i in range(30)), encoding="utf-8")
    with serving(models, data=(str(file),)) as client:
        found = client.get("/api/datasets").json()["datasets"]
        assert found[0]["name"] == "mine.csv"
        assert {"planted-reviews"} <= {each["name"] for each in found}
        assert {each["task"] for each in found} == {"text"}
        assert found[0]["splits"] == ["all", "train", "dev", "test"]
        page = client.get("/api/datasets/mine.csv", params={"offset": 2, "limit": 3}).json()
        assert [row["input"]["texts"][0] for row in page["rows"]] == [f"good thing {i}" for i in (2, 3, 4)]
        assert page["total"] == page["seen"] == 30
        assert client.get("/api/datasets/mine.csv", params={"split": "train"}).json()["total"] < 30
        planted = client.get("/api/datasets/planted-reviews", params={"limit": 2}).json()["rows"]
        field, start, end = planted[0]["rationale_spans"][0]
        assert planted[0]["input"]["texts"][field][start:end].strip()
        for path, parameters in (("mine.csv", {"split": "no"}), ("none", {})):
            assert client.get(f"/api/datasets/{path}", params=parameters).status_code == 404
        assert client.get("/api/datasets/mine.csv", params={"limit": 10**9}).status_code == 422


def test_data_that_no_model_reads_is_refused_at_start(models: dict[str, TextModel]) -> None:
    with pytest.raises(OptionError, match="no model here"):
        make_app({"box": models["box"]}, Settings(data=("planted-nli",)))
