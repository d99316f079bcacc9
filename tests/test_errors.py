from __future__ import annotations

import pytest

from saywhy import errors
from saywhy.errors import DataError, SayWhyError, UnknownNameError


def test_every_error_is_one_of_ours() -> None:
    for name in errors.__all__:
        cls = getattr(errors, name)
        if name != "SayWhyWarning":
            assert issubclass(cls, SayWhyError)
            assert cls.__doc__
    assert issubclass(errors.TooLongError, errors.InputError)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({}, "no label"),
        ({"file": "a.csv"}, "a.csv: no label"),
        ({"file": "a.csv", "line": 3}, "a.csv:3: no label"),
        ({"file": "a.csv", "line": 3, "field": "text"}, "a.csv:3 (field 'text'): no label"),
        ({"field": "text"}, "(field 'text'): no label"),
    ],
)
def test_errors_in_data_say_where(where: dict[str, object], message: str) -> None:
    error = DataError("no label", **where)  # type: ignore[arg-type]
    assert str(error) == message
    assert (error.file, error.line, error.field) == (where.get("file"), where.get("line"), where.get("field"))


def test_unknown_names_suggest_at_most_three() -> None:
    message = str(UnknownNameError("method", "lim", ["lime", "limes", "limer", "limb", "shap"]))
    assert message.startswith("unknown method 'lim'; did you mean ")
    assert message.count("'") == 2 + 2 * 3
    assert str(UnknownNameError("method", "zzz", ["b", "a"])) == "unknown method 'zzz'; known: a, b"
