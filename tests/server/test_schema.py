"""Whatever somebody sends, the server does not fail: from the schema, and from the methods' own options."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from starlette.testclient import TestClient

import saywhy
from saywhy.models import TextModel
from saywhy.server import Settings, make_app
from tests.server.test_routes import INPUTS

schemathesis = pytest.importorskip("schemathesis")

FEW = hypothesis.settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)


@pytest.fixture(scope="module")
def app(models: dict[str, TextModel]) -> Any:
    # Short texts of untrained networks: what takes longer than this has run away.
    return make_app(models, Settings(timeout=20, max_words=60, job_timeout=20))


@pytest.fixture(scope="module")
def client(app: Any) -> Iterator[TestClient]:
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def operations() -> list[Any]:
    # The schema does not depend on the models.
    app = make_app({"box": saywhy.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])})
    found = [each.ok() for each in schemathesis.openapi.from_dict(app.openapi()).get_all_operations()]
    made = [(each, "positive") for each in found]
    # Where there is neither a body nor a query nothing can be wrong.
    made += [(each, "negative") for each in found if each.method == "post" or each.query]
    return [pytest.param(*pair, id=f"{pair[0].label}-{pair[1]}") for pair in made]


@pytest.mark.parametrize(("operation", "mode"), operations())
@FEW
@hypothesis.given(st.data())
def test_nothing_that_the_schema_allows_or_forbids_breaks_it(
    client: TestClient, operation: Any, mode: str, data: st.DataObject
) -> None:
    case = data.draw(operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    body = case.body if isinstance(case.body, dict | list | str | int | float | None) else None
    answer = client.request(
        case.method,
        case.formatted_path,
        params=case.query or None,
        content=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    check(answer.status_code, answer.text)


def check(status: int, text: str) -> None:
    assert status < 500, text
    if status >= 400:
        assert set(json.loads(text)) == {"error"}


WORDS = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    ["good", "<b>", "a b", "\u202e", "\x00", "é" * 9]
)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 40), st.floats(allow_nan=False, allow_infinity=False), WORDS,
    st.sampled_from([0, 1, -1, 0.0, 1e-300, 1e300, 10**30]),
)  # fmt: skip


@hypothesis.settings(FEW, max_examples=15)
@hypothesis.given(st.data())
def test_odd_inputs_to_models_that_are_there(client: TestClient, data: st.DataObject) -> None:
    model = data.draw(st.sampled_from(list(INPUTS)))
    whole = INPUTS[model]
    texts = [data.draw(WORDS | st.just(text)) for text in whole["texts"]]
    choices = [data.draw(WORDS | st.just(text)) for text in whole.get("choices", ())]
    given = {"texts": texts, "choices": choices}
    numbers = data.draw(st.lists(st.integers(0, 9), max_size=4))
    for route, more in (
        ("predict", {"remove": numbers}),
        ("explain", {"method": data.draw(st.sampled_from(["auto", "gradient", "leave-one-out", "random"]))}),
        ("counterfactual", {"budget": 20, "wait": True}),
    ):
        answer = client.post(f"/api/{route}", json={"model": model, "input": given, **more})
        check(answer.status_code, answer.text)


@hypothesis.settings(FEW, max_examples=25)
@hypothesis.given(st.data())
def test_odd_options_of_methods_that_are_there(client: TestClient, data: st.DataObject) -> None:
    model = data.draw(st.sampled_from(["film", "pairs", "box"]))
    usable = [m for m in client.get("/api/methods", params={"model": model}).json()["methods"] if m["usable"]]
    method = data.draw(st.sampled_from(usable))
    options = {}
    for option in data.draw(
        st.lists(st.sampled_from(method["options"] or [{"name": "x", "choices": None}]), max_size=2)
    ):
        fitting = st.sampled_from(option["choices"]) if option["choices"] else VALUES
        options[option["name"]] = data.draw(fitting | VALUES)
    if "steps" not in options and method["name"] == "arec":
        options["steps"] = 3
    body = {"model": model, "input": INPUTS[model], "method": method["name"], "options": options, "wait": True}
    answer = client.post("/api/explain", json={**body, "target": data.draw(st.none() | st.integers(-4, 4))})
    check(answer.status_code, answer.text)
