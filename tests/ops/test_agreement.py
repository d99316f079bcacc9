from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.ops.agreement import krippendorff_alpha

# Krippendorff (2011), section D: four observers, twelve units, missing data.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = [[float(v) for v in unit if v is not None] for unit in zip(*OBSERVERS, strict=True)]


@pytest.mark.parametrize(("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_example(level: str, value: float) -> None:
    assert krippendorff_alpha(UNITS, level) == pytest.approx(value, abs=5e-4)


def test_by_hand() -> None:
    # Pairs: (1,1), (1,2), (2,2), (3,3): o = 2 on 1-1, 1 on 1-2 and 2-1, 2 on 2-2, 2 on 3-3; n = 3, 3, 2 of 8.
    units = [[1, 1], [1, 2], [2, 2], [3, 3]]
    # Nominal: observed 2, expected 64 - 9 - 9 - 4 = 42: 1 - 7 * 2 / 42.
    assert krippendorff_alpha(units, "nominal") == pytest.approx(1 - 14 / 42)
    # Ordinal: d(1,2) = 3, d(2,3) = 2.5, d(1,3) = 5.5; observed 2 * 9; expected 2 * (9*9 + 6*6.25 + 6*30.25).
    assert krippendorff_alpha(units, "ordinal") == pytest.approx(1 - 7 * 18 / (2 * (81 + 37.5 + 181.5)))
    # Interval: observed 2, expected 2 * (9 * 1 + 6 * 1 + 6 * 4).
    assert krippendorff_alpha(units, "interval") == pytest.approx(1 - 14 / 78)


def test_where_it_is_not_defined() -> None:
    assert krippendorff_alpha([]) is None
    assert krippendorff_alpha([[1], [2], [3]]) is None
    assert krippendorff_alpha([[2, 2], [2, 2, 2]]) is None
    with pytest.raises(ValueError, match="unknown level 'ratio'"):
        krippendorff_alpha([[1, 2]], "ratio")


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=4), max_size=8))
def test_yes_and_no_have_one_agreement_whatever_the_level(units: list[list[int]]) -> None:
    nominal = krippendorff_alpha(units, "nominal")
    for level in ("ordinal", "interval"):
        assert krippendorff_alpha(units, level) == pytest.approx(nominal)
    assert nominal is None or nominal <= 1
