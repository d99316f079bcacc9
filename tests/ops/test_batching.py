from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from saywhy.ops.batching import length_batches, rows_that_fit


@given(st.lists(st.integers(1, 600), max_size=40), st.integers(1, 40))
def test_batches_hold_every_row_once_and_no_more_than_fits(lengths: list[int], size: int) -> None:
    batches = length_batches(lengths, size)
    flat = [i for batch in batches for i in batch]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[i] for i in flat] == sorted(lengths)
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) <= size
        assert len(batch) == 1 or len(batch) * longest <= size * 128


@given(st.lists(st.tuples(st.integers(1, 200), st.integers(1, 9)), max_size=30), st.integers(1, 40), st.booleans())
def test_inputs_may_bring_several_rows(inputs: list[tuple[int, int]], size: int, square: bool) -> None:
    lengths, rows = [length for length, _ in inputs], [own for _, own in inputs]
    batches = length_batches(lengths, size, rows=rows, square=square)
    assert sorted(i for batch in batches for i in batch) == list(range(len(inputs)))
    for batch in batches:
        fits = rows_that_fit(size, max(lengths[i] for i in batch), square=square)
        assert len(batch) == 1 or sum(rows[i] for i in batch) <= fits


def test_padding_costs_more_the_more_rows_there_are() -> None:
    assert length_batches([10, 12, 20], 99) == [[0, 1, 2]]
    assert length_batches([10, 12, 20], 99, rows=[8, 8, 8]) == [[0, 1], [2]]
