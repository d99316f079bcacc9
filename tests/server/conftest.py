from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

import saywhy
from saywhy.models import TextModel
from saywhy.server import Settings, make_app
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
