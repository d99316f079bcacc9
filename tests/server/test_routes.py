"""What the API answers, route by route."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import saywhy
from saywhy.models import TextModel
from saywhy.server import make_app
from saywhy.types import explanation_from_dict
from tests import zoo

FILM = {"texts": ["A gripping, beautifully shot film."]}
PAIR = {"texts": list(zoo.PAIR)}
CHOICES = {"texts": ["What do you do when you are tired?"], "choices": ["sleep", "eat", "run away"]}
READING = {"texts": list(zoo.CONTEXTS[0])}
INPUTS: dict[str, dict[str, Any]] = {
    "film": FILM, "pairs": PAIR, "choices": CHOICES, "reader": READING, "box": {"texts": ["A good film"]},
}  # fmt: skip


def ask(client: TestClient, route: str, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/api/{route}", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def refuse(client: TestClient, route: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = client.post(f"/api/{route}", json=body)
    assert set(answer.json()) == {"error"}
    assert set(answer.json()["error"]) == {"kind", "message", "field"}
    return answer.status_code, answer.json()["error"]


def finished(client: TestClient, job: dict[str, Any]) -> dict[str, Any]:
    for _ in range(600):
        found: dict[str, Any] = client.get(f"/api/jobs/{job['id']}").json()["job"]
        if found["state"] in ("done", "failed", "cancelled"):
            return found
        time.sleep(0.02)
    raise AssertionError("the job does not end")


def test_what_is_served(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok", "version": saywhy.__version__, "models": 5}
    models = {model["name"]: model for model in client.get("/api/models").json()["models"]}
    assert [models[name]["task"] for name in INPUTS] == ["text", "pair", "choices", "span-qa", "text"]
    assert models["box"]["black_box"]
    assert models["box"]["parameters"] is None
    assert "arec" in models["pairs"]["methods"]
    assert "arec" not in models["film"]["methods"]
    assert all(set(m["default_methods"]) <= set(m["methods"]) and m["default_methods"] for m in models.values())


def test_methods_say_what_they_take_and_why_they_do_not_work(client: TestClient) -> None:
    found = {m["name"]: m for m in client.get("/api/methods", params={"model": "film"}).json()["methods"]}
    assert found["lime"]["long"]
    assert not found["gradient"]["long"]
    assert found["lime"]["usable"]
    assert "task 'text'" in found["arec"]["why_not"] or "alignments" in found["arec"]["why_not"]
    options = {o["name"]: o for o in found["lime"]["options"]}
    assert options["samples"] == {
        "name": "samples", "type": "int", "default": 1000, "choices": None, "help": "erased copies at most.",
    }  # fmt: skip
    assert options["distance"]["choices"] == ["cosine", "hamming"]
    assert options["erasure"]["choices"] == ["delete", "mask-token", "attention-mask", "pad", "zero-embedding"]
    assert options["space"]["choices"] == ["words"]
    assert all(o["help"] for m in found.values() for o in m["options"])


@pytest.mark.parametrize("model", INPUTS)
def test_explanations_are_those_of_the_library(client: TestClient, models: dict[str, TextModel], model: str) -> None:
    given = INPUTS[model]
    answer = ask(client, "explain", model=model, input=given, method="leave-one-out", seed=3)
    example = saywhy.Example(tuple(given["texts"]), choices=tuple(given.get("choices", ())))
    wanted = saywhy.explain(models[model], example, "leave-one-out", seed=3, truncation="head")
    found = explanation_from_dict(answer["explanation"])
    assert found.words == wanted.words  # type: ignore[attr-defined]
    assert np.allclose(found.scores, wanted.scores, atol=1e-5)  # type: ignore[attr-defined]
    assert found.verdict is not None
    assert wanted.verdict is not None
    assert found.verdict.features == wanted.verdict.features


def test_the_second_time_it_is_known(client: TestClient) -> None:
    body = {"model": "film", "input": {"texts": ["Said twice"]}, "method": "input-x-gradient"}
    first, again = (ask(client, "explain", **body) for _ in range(2))
    assert not first["cached"]
    assert again["cached"]
    assert again["explanation"] == first["explanation"]
    assert not ask(client, "explain", **body, seed=1)["cached"]
    assert not ask(client, "explain", **{**body, "model": "box", "method": "leave-one-out"})["cached"]


def test_options_targets_and_contrasts(client: TestClient) -> None:
    body = {"model": "film", "input": FILM, "method": "integrated-gradients", "verdict": False}
    why = ask(client, "explain", **body, options={"points": 4}, target="neutral", against=2)["explanation"]
    assert (why["header"]["target"], why["header"]["against"]) == ("neutral", "positive")
    assert why["header"]["parameters"]["points"] == 4
    assert why["verdict"] is None
    why = ask(client, "explain", **{**body, "verdict": {"draws": 3}})["explanation"]
    assert len(why["verdict"]["random_kept"]) == 3


def test_words_are_removed_and_kept(client: TestClient, models: dict[str, TextModel]) -> None:
    whole = ask(client, "predict", model="film", input=FILM)
    assert [w["text"] for w in whole["words"]] == ["A", "gripping", ",", "beautifully", "shot", "film", "."]
    wanted = models["film"].predict(FILM["texts"][0])[0]
    assert whole["label"] == wanted.label
    assert np.allclose(whole["values"], wanted.probabilities, atol=1e-5)
    assert list(whole["probabilities"]) == zoo.LABELS
    without = ask(client, "predict", model="film", input=FILM, remove=[1, 2])
    left = models["film"].predict("A beautifully shot film.")[0]
    assert np.allclose(without["values"], left.probabilities, atol=1e-4)
    assert without["removed"] == [1, 2]
    assert ask(client, "predict", model="film", input=FILM, keep=[0, 3, 4, 5, 6])["values"] == without["values"]
    masked = ask(client, "predict", model="film", input=FILM, remove=[1, 2], erasure="mask-token")
    assert masked["erasure"] == "mask-token"
    assert masked["values"] != without["values"]
    assert ask(client, "predict", model="film", input=FILM, keep=[])["removed"] == list(range(7))


@pytest.mark.parametrize("model", INPUTS)
def test_every_task_is_asked_live(client: TestClient, model: str) -> None:
    answer = ask(client, "predict", model=model, input=INPUTS[model], remove=[0])
    assert answer["label"] == max(zip(answer["values"], answer["labels"], strict=True))[1] or model == "reader"
    assert len(answer["words"]) > 2


def test_texts_that_are_too_long_are_cut_and_say_so(client: TestClient) -> None:
    text = {"texts": ["good " * 200]}
    why = ask(client, "explain", model="film", input=text, method="gradient", verdict=False)["explanation"]
    assert why["header"]["notes"]
    status, error = refuse(client, "explain", model="film", input=text, method="gradient", truncation="error")
    assert (status, error["kind"]) == (422, "limit")


@pytest.mark.parametrize(
    ("route", "change", "status", "kind", "field"),
    [
        ("explain", {"model": "none"}, 404, "not-found", "model"),
        ("explain", {"method": "limes"}, 422, "input", "method"),
        ("explain", {"method": "arec"}, 422, "input", "method"),
        ("explain", {"options": {"size": 3}}, 422, "input", "options"),
        ("explain", {"method": "lime", "options": {"samples": 10**9}}, 422, "limit", "options"),
        ("explain", {"method": "lime", "options": {"samples": "many"}}, 422, "input", "options"),
        ("explain", {"method": "interaction", "model": "pairs", "input": {"texts": ["a " * 9, "b " * 9]},
                     "options": {"exact": 99}}, 422, "limit", "options"),
        ("explain", {"input": {"texts": [" "]}}, 422, "input", "input.texts"),
        ("explain", {"input": {"texts": ["a", "b"]}}, 422, "input", "input"),
        ("explain", {"input": {"texts": ["a " * 3000]}}, 422, "limit", "input.texts"),
        ("explain", {"input": {"texts": ["a"], "choices": ["b"] * 17}}, 422, "limit", "input.choices"),
        ("explain", {"input": {"texts": ["a"], "choices": ["b"]}}, 422, "input", "input"),
        ("explain", {"input": {"texts": []}}, 422, "input", "input.texts"),
        ("explain", {"input": {"texts": ["a"], "more": 1}}, 422, "input", "input.more"),
        ("explain", {"target": "lovely"}, 422, "input", "target"),
        ("explain", {"target": 0, "against": 0}, 422, "input", None),
        ("explain", {"truncation": "tail"}, 422, "input", "truncation"),
        ("explain", {"seed": -1}, 422, "input", "seed"),
        ("predict", {"remove": [7]}, 422, "input", "remove"),
        ("predict", {"remove": [1], "keep": [1]}, 422, "input", "keep"),
        ("predict", {"erasure": "burn"}, 422, "input", "erasure"),
        ("evaluate", {"methods": ["gradient"], "metrics": ["accuracy"]}, 422, "input", "metrics"),
        ("evaluate", {"methods": ["gradient"], "metrics": ["auprc"]}, 422, "input", "metrics"),
        ("evaluate", {"methods": ["gradient"], "metrics": ["beauty"]}, 422, "input", "metrics"),
        ("evaluate", {"methods": ["attention"], "space": "alignments"}, 422, "input", "methods"),
        ("compare", {"models": ["film", "none"]}, 404, "not-found", "models"),
        ("counterfactual", {"model": "reader", "input": READING}, 422, "input", "model"),
    ],
)  # fmt: skip
def test_mistakes_are_named(
    client: TestClient, route: str, change: dict[str, Any], status: int, kind: str, field: str | None
) -> None:
    body: dict[str, Any] = {"input": FILM} | ({} if route == "compare" else {"model": "film"}) | change
    found, error = refuse(client, route, **body)
    assert (found, error["kind"], error["field"]) == (status, kind, field), error


def test_what_is_no_json_and_what_is_not_there(client: TestClient) -> None:
    headers = {"content-type": "application/json"}
    for text, status in (("{", 400), ("[]", 422), ('"a"', 422)):
        answer = client.post("/api/predict", content=text, headers=headers)
        assert (answer.status_code, answer.json()["error"]["kind"]) == (status, "input")
    lone = json.dumps({"model": "film", "input": {"texts": ["\ud800"]}})
    assert client.post("/api/predict", content=lone, headers=headers).status_code == 422
    assert client.get("/api/nothing").json()["error"]["kind"] == "not-found"
    assert client.get("/api/jobs/none").json()["error"]["kind"] == "not-found"
    assert client.put("/api/explain").status_code == 405


def test_metrics_of_one_input_beside_random(client: TestClient) -> None:
    answer = ask(client, "evaluate", model="film", input=FILM, methods=["leave-one-out", "gradient"], seed=1)
    assert [row["method"] for row in answer["rows"]] == ["leave-one-out", "gradient"]
    table = saywhy.evaluate(zoo.shared(), [FILM["texts"][0]], ["gradient", "random"], seed=1)
    for name in ("sufficiency", "comprehensiveness"):
        assert answer["rows"][1]["metrics"][name] == pytest.approx(table["gradient", name].value, abs=1e-4)
        assert answer["rows"][1]["random"][name] == pytest.approx(table["random", name].value, abs=1e-4)


def test_two_models_are_compared(client: TestClient) -> None:
    text = {"texts": ["A good film."]}
    answer = ask(client, "compare", models=["film", "box"], input=text, method="leave-one-out")
    assert [why["header"]["labels"] for why in answer["explanations"]] == [zoo.LABELS, ["yes", "no"]]
    assert answer["predictions"][1]["label"] == "yes"
    assert answer["agreement"]["features"] == 4
    assert {c["word"] for c in answer["changed"]} <= {"A", "good", "film", "."}
    same = ask(client, "compare", models=["film", "film"], input=FILM, method="leave-one-out")
    assert same["agreement"]["kendall_tau"] == pytest.approx(1)
    assert same["agreement"]["top_k_overlap"] == 1
    assert same["changed"] == []
    mixed = refuse(client, "compare", models=["film", "pairs"], input=FILM, method="leave-one-out")
    assert mixed[0] == 422


def test_the_smallest_change(client: TestClient) -> None:
    body = {"model": "box", "input": {"texts": ["A good film"]}}
    answer = client.post("/api/counterfactual", json=body)
    assert answer.status_code == 202
    job = finished(client, answer.json()["job"])
    assert job["result"]["new_texts"] == ["A film"]
    assert ask(client, "counterfactual", **body) == job["result"]


def test_export_escapes_and_refuses(client: TestClient) -> None:
    evil = "<script>alert(1)</script> good"
    why = ask(client, "explain", model="box", input={"texts": [evil]}, method="leave-one-out")["explanation"]
    answer = client.post("/api/export/html", json={"explanations": [why], "title": evil})
    assert answer.headers["content-type"].startswith("text/html")
    assert "attachment" in answer.headers["content-disposition"]
    assert "<script>" not in answer.text
    assert "&lt;script&gt;" in answer.text
    for wrong in ({}, {"kind": "word-scores", "schema": 1}, {**why, "words": 3}, {**why, "header": []}):
        assert refuse(client, "export/html", explanations=[wrong])[0] == 422


def test_figures(models: dict[str, TextModel]) -> None:
    with TestClient(make_app({"box": models["box"]}), base_url="http://localhost") as client:
        ask(client, "predict", model="box", input=FILM)
        client.get("/api/jobs/what-somebody-made-up")
        client.get("/what-somebody-made-up")
        text = client.get("/metrics").text
    assert 'saywhy_requests_total{method="POST",route="/api/predict",status="200"} 1' in text
    assert 'route="/api/jobs/{id}",status="404"} 1' in text
    assert "made-up" not in text
    assert "saywhy_batch_size_count 1" in text
    assert int(text.split("process_resident_memory_bytes ")[-1].split()[0]) > 10**7


def test_two_black_boxes_that_look_alike_do_not_share_answers() -> None:
    def liking(word: str) -> Any:
        return lambda texts: [[0.9, 0.1] if word in text else [0.2, 0.8] for text in texts]

    # Neither word stands in the texts that a fingerprint is taken from.
    boxes = {word: saywhy.load(liking(word), labels=["yes", "no"]) for word in ("zebra", "gnu")}
    assert len({model.fingerprint for model in boxes.values()}) == 1
    with TestClient(make_app(boxes), base_url="http://127.0.0.1") as client:
        asked = {"input": {"texts": ["a zebra and a gnu"]}, "method": "leave-one-out", "verdict": False}
        scores = [
            client.post("/api/explain", json={"model": word, **asked}).json()["explanation"]["scores"] for word in boxes
        ]
    assert scores[0] != scores[1]
