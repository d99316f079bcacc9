from __future__ import annotations

from typing import Any

import pytest

from saywhy.data.rows import Row
from saywhy.errors import DataError


def row(**values: Any) -> Row:
    return Row(values, "f.jsonl", 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: row(b=1).text("a"), "is missing; the row has b"),
        (lambda: row(a=None).text("a"), "is null"),
        (lambda: row(a=3).text("a"), "expected a string, got 3"),
        (lambda: row(a="\ud800").text("a"), "surrogate"),
        (lambda: row(a="x").sequence("a"), "expected a list in JSON"),
        (lambda: row(a='{"b": 1}').sequence("a"), "expected a list, got"),
        (lambda: row(a=["x", 1]).texts("a"), "expected a string, got 1"),
        (lambda: row(a=[1]).rows("a"), "expected a list of objects"),
        (lambda: row(a="x").integer("a"), "expected a whole number"),
        (lambda: row(a=True).integer("a"), "expected a whole number"),
        (lambda: row(a=1.5).integer("a"), "expected a whole number"),
        (lambda: row(a=6).integer("a", low=1, high=5), "between 1 and 5, got 6"),
        (lambda: row(a="nan").number("a"), "expected a number"),
        (lambda: row(a="x").number("a"), "expected a number"),
        (lambda: row(a="maybe").label("a", ("no", "yes")), "unknown label 'maybe'; known: no, yes"),
        (lambda: row(a=2).label("a", ("no", "yes")), "unknown label 2; known: 0 to 1 for no, yes"),
        (lambda: row(a=-1).label("a", ("no", "yes")), "unknown label -1"),
        (lambda: row(a=[[3]]).pairs("a", 9), "expected spans"),
        (lambda: row(a=[[3, True]]).pairs("a", 9), "expected spans"),
        (lambda: row(a=[[3, 3]]).pairs("a", 9), "does not lie within 0 to 9"),
        (lambda: row(a=[[3, 10]]).pairs("a", 9), "does not lie within 0 to 9"),
    ],
)
def test_faults_name_file_line_and_field(call: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        call()
    assert (caught.value.file, caught.value.line, caught.value.field) == ("f.jsonl", 7, "a")


def test_right_values() -> None:
    assert row(a='["x", "y"]').texts("a") == ("x", "y")
    assert row(a=" 3 ").integer("a") == row(a=3.0).integer("a") == 3
    assert row(a="0.5").number("a") == 0.5
    assert row(a="1").label("a", ("no", "yes")) == row(a=1).label("a", ("no", "yes")) == "yes"
    assert row(a="NEG").label("a", ("negative", "positive"), {"NEG": "negative"}) == "negative"
    # A label that looks like a number is a name first.
    assert row(a="1").label("a", ("1", "0")) == "1"
    assert row(a=[[0, 2], [4, 5]]).pairs("a", 5) == [(0, 2), (4, 5)]
    assert not row(a=None).has("a")
