from __future__ import annotations

import math

import numpy as np
import pytest

from saywhy.errors import OptionError
from saywhy.metrics import Aorc, Compactness, Fidelity
from saywhy.metrics.erasures import Erasures
from saywhy.types import Example

from .stubs import align, contributions, make_bench, pair_bench, score_words, select_words, sigmoid


def distance(a, b):
    """Between the logarithms of the probabilities for the sums a and b."""
    return math.hypot(*(math.log(sigmoid(s * a)) - math.log(sigmoid(s * b)) for s in (1, -1)))


def test_by_hand():
    bench = make_bench(["a great film so bad"])
    got = Fidelity(top=0.4).score(bench.trial("hand", contributions(bench)))
    assert got.value == pytest.approx(distance(1.1, 3.1))
    assert "keep the label of 100.0%" in got.notes[0]
    assert f"nothing selected has {distance(1.1, 0):.3f}" in got.notes[0]
    assert math.isinf(got.range[1])
    assert got.to_dict()["range"] == [0.0, None]


def test_logits_are_taken_where_the_space_has_them():
    class Space:
        features = (("x", "y", "z"),)
        asked = 0

        def outputs(self, owner, keep):
            self.asked += 1
            scores = {3: [1.0, 5.0, -np.inf], 1: [4.0, 1.0, -np.inf]}
            return np.asarray([scores[int(row.sum())] for row in keep])

        def probabilities(self, owner, keep):
            raise AssertionError("the model would be asked twice")

    def softmax(scores):
        e = np.exp(scores)
        return e / e.sum(axis=1, keepdims=True)

    space = Space()
    erasures = Erasures(space, to_probabilities=softmax)
    answer = erasures.answer(0, np.asarray([True, False, False]))
    assert answer.distance == pytest.approx(5.0)
    assert not answer.same
    assert answer.probability == pytest.approx(math.exp(1) / (math.exp(1) + math.exp(4)))
    assert space.asked == 1


def test_until_keeps_the_best_words_until_the_output_is_close():
    bench = make_bench(["great good x y film", "x y z u v"])
    trial = bench.trial("hand", contributions(bench))
    # Sums: 5.1 for all; 3, 5, 5.1 for the first one, two, three words by score. The second text needs nothing.
    bound = distance(5.1, 5.0) + 1e-9
    for metric, expected in ((Compactness(until=bound), [40.0, 0.0]), (Fidelity(until=bound), [bound - 1e-9, 0.0])):
        got = metric.score(trial)
        assert got.values == pytest.approx(expected)
        assert got.erasure == "delete"
    assert Compactness(until=0.0).score(trial).values == pytest.approx([60.0, 0.0])
    assert Compactness().score(trial).erasure is None


def test_until_takes_the_first_size_that_fits_even_if_later_ones_do_not():
    # One word leaves the sum at 3, like all of them; two words do not.
    example = Example(("great bad good",))
    trial = make_bench([example]).trial("m", [score_words(example, [3, 2, 1])])
    assert Compactness(until=1e-9).score(trial).value == pytest.approx(100 / 3)


def test_until_finds_long_rationales_too():
    words = [f"w{i}" for i in range(40)]
    example = Example((" ".join(words),))
    bench = make_bench([example], weights=dict.fromkeys(words, 0.1))
    trial = bench.trial("m", [score_words(example, range(40))])
    for wanted in (1, 4, 5, 23, 39, 40):
        bound = distance(4.0, 0.1 * wanted) + 1e-9
        assert Compactness(until=bound).score(trial).value == pytest.approx(100 * wanted / 40)


def test_a_rationale_is_its_own_selection_whatever_until_says():
    example = Example(("a great film",))
    trial = make_bench([example]).trial("m", [select_words(example, [1])])
    assert Compactness(until=0.0).score(trial).value == pytest.approx(100 / 3)


@pytest.mark.parametrize("options", [{"top": 0}, {"top": 1.5}, {"until": -1.0}, {"rounding": "up"}])
def test_options_are_checked(options):
    with pytest.raises(OptionError, match=f"fidelity: {next(iter(options))}"):
        Fidelity(**options)


def test_aorc_by_hand():
    bench = make_bench(["great bad"])
    got = Aorc(bins=(0, 0.5, 1)).score(bench.trial("hand", contributions(bench)))
    expected = [distance(1, 0), distance(1, 3), 0.0]
    assert list(got.bins.values()) == pytest.approx(expected)
    assert got.value == pytest.approx(np.mean(expected))


def test_aorc_has_the_papers_grid_and_ends_at_zero():
    bench = make_bench(["a great film so bad"])
    got = Aorc().score(bench.trial("hand", contributions(bench)))
    assert list(got.bins)[:3] == ["0", "0.05", "0.1"]
    assert len(got.bins) == 21
    assert got.bins["1"] == 0.0


def test_aorc_ranks_rationales_by_their_scores():
    example = Example(("great bad good",))
    trial = make_bench([example]).trial("m", [select_words(example, [1], scores=(3, 1, 2))])
    assert Aorc(bins=(0.33,)).score(trial).value == pytest.approx(distance(3, 3), abs=1e-12)


def test_alignments():
    bench = pair_bench([("a red car", "one red bus")])
    (example,) = bench.examples
    right, wrong = (np.zeros((3, 3)), np.zeros((3, 3)))
    right[1, 1], wrong[0, 0] = 1.0, 1.0
    values = {}
    for name, table in (("right", right), ("wrong", wrong)):
        trial = bench.trial(name, [align(example, table)])
        values[name] = Fidelity(top=1 / 9).score(trial).value, Aorc().score(trial).value
    assert values["right"][0] == 0.0
    assert values["wrong"][0] == pytest.approx(distance(2, 0))
    assert values["right"][1] < values["wrong"][1]
