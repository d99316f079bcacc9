from __future__ import annotations

import numpy as np
import pytest

from saywhy.errors import InputError, OptionError
from saywhy.metrics import Compactness, Contiguity
from saywhy.types import Example

from .stubs import align, make_bench, pair_bench, score_words, select_words


def _words(metric, chosen, text="a b c d e"):
    example = Example((text,))
    return metric.score(make_bench([example]).trial("m", [select_words(example, chosen)])).value


def test_compactness_of_rationales_and_scores():
    assert _words(Compactness(), [0, 3]) == pytest.approx(40.0)
    example = Example(("a b c d e",))
    trial = make_bench([example]).trial("m", [score_words(example, [5, 4, 3, 2, 1])])
    assert Compactness(top=0.3).score(trial).value == pytest.approx(40.0)
    assert Compactness(top=0.3, rounding="floor").score(trial).value == pytest.approx(20.0)


def test_contiguity_of_words_counts_changes_between_neighbours():
    assert _words(Contiguity(), [1, 2]) == pytest.approx(1000 * 2 / 4)
    assert _words(Contiguity(), [0, 1]) == pytest.approx(1000 * 1 / 4)
    assert _words(Contiguity(), [0, 2, 4]) == pytest.approx(1000.0)
    assert _words(Contiguity(), [0], text="a") == 0.0


def test_neighbours_are_of_one_text():
    example = Example(("a b", "c d"))
    trial = make_bench([example]).trial("m", [select_words(example, [0, 1])])
    assert Contiguity().score(trial).value == 0.0


SHAPES = {
    # What is on in a table of five by five, and how many windows are broken.
    "nothing": (np.zeros((5, 5)), 0),
    "everything": (np.ones((5, 5)), 0),
    "rectangle": (np.pad(np.ones((2, 3)), ((1, 2), (1, 1))), 0),
    "diagonal": (np.eye(5), 0),
    "corner": (np.pad([[1, 1], [1, 0]], ((1, 2), (1, 2))), 1),
    "plus": (np.pad([[0, 1, 0], [1, 1, 1], [0, 1, 0]], 1), 4),
    "hole": (1 - np.pad([[1]], 2), 4),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_contiguity_of_alignments_counts_windows_with_three(shape):
    table, broken = SHAPES[shape]
    bench = pair_bench([("a b c d e", "f g h i j")])
    share = table.sum() / 25
    metric = Contiguity(top=float(share)) if share else Contiguity(top=0.01, rounding="floor")
    got = metric.score(bench.trial("m", [align(bench.examples[0], table)]))
    assert got.value == pytest.approx(1000 * broken / 16)


def test_one_row_has_no_windows():
    bench = pair_bench([("a", "b c d")])
    assert Contiguity(top=0.5).score(bench.trial("m", [align(bench.examples[0], [[1, 0, 1]])])).value == 0.0


def test_alignments_that_do_not_fit():
    bench = pair_bench([("a b", "c d")])
    (example,) = bench.examples
    with pytest.raises(InputError, match="2 x 2 words"):
        Contiguity().score(bench.trial("m", [align(example, [[1, 2, 3], [1, 2, 3]])]))
    with pytest.raises(InputError, match="'b' and 'c' is nan"):
        Contiguity().score(bench.trial("m", [align(example, [[1, 2], [float("nan"), 3]])]))
    with pytest.raises(OptionError, match="scores of alignments, but m gives word-scores"):
        Contiguity().score(bench.trial("m", [score_words(example, [1, 2, 3, 4])]))
    with pytest.raises(OptionError, match="over words, but m gives alignments"):
        Contiguity().score(make_bench([example]).trial("m", [align(example, [[1, 2], [3, 4]])]))
