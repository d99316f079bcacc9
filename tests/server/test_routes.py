from __future__ import annotations

from starlette.testclient import TestClient

FILM = {"texts": ["A gripping, beautifully shot film."]}


def test_a_text_is_explained_and_known_the_second_time(client: TestClient) -> None:
    body = {"model": "film", "input": FILM, "method": "input-x-gradient"}
    first, again = (client.post("/api/explain", json=body).json() for _ in range(2))
    assert [word["text"] for word in first["explanation"]["words"]][1] == "gripping"
    assert first["explanation"]["verdict"]["total"] == 7
    assert not first["cached"]
    assert again["cached"]
    assert again["explanation"] == first["explanation"]
