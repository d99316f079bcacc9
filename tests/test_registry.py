from __future__ import annotations

from typing import Any

import pytest

from saywhy.errors import UnknownNameError
from saywhy.registry import Registry


def shapes() -> Registry[Any]:
    registry: Registry[Any] = Registry("shape")

    @registry.register("unit-square", family="flat", needs=("sides",), facts={"corners": 4})
    class UnitSquare:
        """A square of side one.

        And more about it.
        """

    registry.register("circle", summary="Round.")(lambda: None)
    return registry


def test_entries_know_their_facts() -> None:
    registry = shapes()
    entry = registry["unit-square"]
    assert (entry.name, entry.summary, entry.family, entry.needs) == (
        "unit-square", "A square of side one.", "flat", ("sides",),
    )  # fmt: skip
    assert entry.to_dict() == {
        "name": "unit-square", "summary": "A square of side one.", "family": "flat", "tasks": [], "spaces": [],
        "needs": ["sides"], "fitted": False, "paper": "", "corners": 4,
    }  # fmt: skip
    assert registry.names() == ["circle", "unit-square"]
    assert [e.name for e in registry] == registry.names()
    assert len(registry) == 2
    assert "circle" in registry
    assert "oval" not in registry


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown shape 'circel'; did you mean 'circle'\?"):
        shapes()["circel"]
    with pytest.raises(UnknownNameError, match="unknown shape 'xyz'; known: circle, unit-square"):
        shapes()["xyz"]


@pytest.mark.parametrize("name", ["Square", "two words", "under_score", "-x", "x-", "", "é"])
def test_names_are_lower_case_words_joined_by_hyphens(name: str) -> None:
    with pytest.raises(ValueError, match="lower case"):
        shapes().register(name)


def test_a_name_is_taken_once_and_needs_a_summary() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        shapes().register("circle", summary="Another.")(object())
    with pytest.raises(ValueError, match="docstring"):
        shapes().register("bare")(lambda: None)


def test_a_package_is_imported_on_the_first_look() -> None:
    registry: Registry[Any] = Registry("thing", "no.such.package")
    with pytest.raises(ModuleNotFoundError):
        registry.names()
