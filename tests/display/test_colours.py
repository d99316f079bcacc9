from __future__ import annotations

import pytest

from saywhy.display.colours import COLOURS, colour_of, ink_on, luminance


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_luminance_has_the_values_of_the_standard() -> None:
    assert luminance("#000000") == 0.0
    assert luminance("#ffffff") == pytest.approx(1.0)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)  # the lightest grey that passes AA


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_read_on_any_page(colour: str) -> None:
    assert contrast(colour, "#ffffff") >= 3
    assert contrast(colour, "#000000") >= 3
    assert contrast(ink_on(colour), colour) >= 4.5


def test_numbers_have_colours_of_their_own_as_far_as_there_are_any() -> None:
    assert len({colour_of(n) for n in range(1, 9)}) == len(COLOURS) == 8
    assert colour_of(9) == colour_of(1)
