from __future__ import annotations

import numpy as np
import pytest

import saywhy
from saywhy.errors import OptionError
from saywhy.explainers import inquiry as module
from saywhy.explainers.base import Request
from saywhy.explainers.inquiry import Inquiry, open_space
from saywhy.models import TextModel
from saywhy.types import Example, as_example
from tests import zoo

EXAMPLES = tuple(Example((text,)) for text in zoo.TEXTS)


class Counter:
    """A black box that counts what it reads: P(yes) is the share of words with an e."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.read += texts
        shares = [np.mean([("e" in w) for w in t.split()] or [0.5]) for t in texts]
        return [[float(s), 1 - float(s)] for s in shares]


def ask(model: TextModel, examples: tuple[Example, ...] = EXAMPLES, **options: object) -> Request:
    n = len(examples)
    given = {"target": (None,) * n, "against": (None,) * n, **options}
    return Request(model, examples, **given)  # type: ignore[arg-type]


def masks(sizes: np.ndarray, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return draw.integers(0, len(sizes), count), draw.integers(0, 2, (count, int(sizes.max()))).astype(bool)


@pytest.mark.parametrize("output", ["probability", "logit"])
@pytest.mark.parametrize("against", [None, 0])
def test_values_are_those_of_the_space(output: str, against: int | None) -> None:
    request = ask(zoo.shared(), target=(2, 2, 2), against=(against,) * 3)
    space = open_space(request, "words")
    inquiry = Inquiry(request, space, output)
    owner, keep = masks(inquiry.sizes, 15)
    table = space.outputs(owner, keep).double()
    table = table.softmax(dim=1) if output == "probability" else table
    expected = table[:, 2] - (table[:, against] if against is not None else 0)
    np.testing.assert_allclose(inquiry.values(owner, keep), expected.numpy(), atol=1e-5)  # of float32


def test_the_label_is_that_of_the_whole_input_even_when_other_masks_are_asked_first() -> None:
    box = Counter()
    request = ask(saywhy.load(box, labels=["yes", "no"]), (Example(("here we see a cat",)),))
    inquiry = Inquiry(request, open_space(request, "words"), "probability")
    # Without its words with an e the text is a "no"; the question stays why it is a "yes".
    values = inquiry.values([0], [[False, False, False, True, True]])
    assert values.tolist() == pytest.approx([0.0], abs=1e-6)
    assert inquiry.whole().tolist() == pytest.approx([0.6], abs=1e-6)


def test_equal_masks_are_asked_once_also_in_later_calls() -> None:
    box = Counter()
    request = ask(saywhy.load(box, labels=["yes", "no"]), (Example(("one two three",)), Example(("four five",))))
    inquiry = Inquiry(request, open_space(request, "words"), "probability")
    # The third column does not exist in the second text.
    keep = [[True, False, True], [True, False, True], [True, False, True], [True, False, False]]
    first = inquiry.values([0, 0, 1, 1], keep)
    assert first[0] == first[1]
    assert first[2] == first[3]
    read = len(box.read)
    assert read == 4  # two wholes and two masks
    again = inquiry.values([1, 0, 0], [[True, False], [True, True], [False, True]] @ np.eye(2, 3, dtype=bool))
    assert len(box.read) == read + 2
    assert again[0] == first[2]
    assert inquiry.costs() == [{"forwards": 4}, {"forwards": 2}]
    inquiry.values([1], [[False, True, False]])
    assert len(box.read) == read + 3
    inquiry.values([1], [[False, True, True]])
    assert len(box.read) == read + 3
    np.testing.assert_allclose(inquiry.whole(), [2 / 3, 1 / 2], atol=1e-6)
    assert len(box.read) == read + 3


def test_masks_are_asked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    request = ask(zoo.shared())
    whole = Inquiry(request, open_space(request, "words"), "logit")
    owner, keep = masks(whole.sizes, 25)
    expected = whole.values(owner, keep)
    monkeypatch.setattr(module, "_CELLS", 40)
    parts = Inquiry(request, open_space(request, "words"), "logit", remember=False)
    np.testing.assert_allclose(parts.values(owner, keep), expected, atol=1e-5)
    np.testing.assert_allclose(parts.whole(), whole.whole(), atol=1e-5)


def test_alignments_have_a_space_too() -> None:
    request = ask(zoo.pair_classifier(), (as_example(zoo.PAIR),))
    inquiry = Inquiry(request, open_space(request, "alignments"), "logit")
    assert inquiry.sizes.tolist() == [36]
    empty, whole = inquiry.values([0, 0], [[False] * 36, [True] * 36])
    assert whole == pytest.approx(inquiry.whole()[0], abs=1e-6)
    assert abs(empty - whole) > 1e-6
    with pytest.raises(OptionError, match="unknown space 'letters'"):
        open_space(request, "letters")
