"""The examples an evaluation sees: read as they are needed, drawn where there is a limit, handed out in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from saywhy.data import Dataset, load_dataset
from saywhy.data.dataset import take
from saywhy.data.words import example_words
from saywhy.errors import OptionError
from saywhy.types import Example, as_example

__all__ = ["Numbered", "Source", "open_source"]

# As `explain` cuts its inputs, so that a method sees the same blocks here and there.
_BLOCK_TEXTS = 256
_BLOCK_WORDS = 8192

Numbered = tuple[int, Example]


class Source:
    """Examples with their places in what was given.

    Args:
        read: starts to read; called once for each pass.
        title: a name for the data.
        again: whether there may be more than one pass; an iterator can be read once.
    """

    def __init__(self, read: Callable[[], Iterator[Numbered]], title: str = "", again: bool = True) -> None:
        self._read = read
        self.title = title
        self.again = again

    def __iter__(self) -> Iterator[Numbered]:
        return self._read()

    def blocks(self, splitter: str) -> Iterator[list[Numbered]]:
        """The examples in blocks of a bounded number of texts and words."""
        block: list[Numbered] = []
        words = 0
        for place, example in self:
            size = len(example_words(example, splitter))
            if block and (len(block) >= _BLOCK_TEXTS or words + size > _BLOCK_WORDS):
                yield block
                block, words = [], 0
            block.append((place, example))
            words += size
        if block:
            yield block


def open_source(
    data: Any,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Source:
    """Where the examples come from, without reading more than a limit asks for.

    Args:
        data: a dataset's name or file, a `Dataset`, a list of examples, or any iterable of them.
        split: of a dataset; by default its evaluation split.
        limit: at most so many examples, drawn by the seed and left in their order; these are kept in memory.
        seed: of the draw.
        options: for a dataset that is given by name.
    """
    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, not {limit}")
    if isinstance(data, str):
        data = load_dataset(data, **(options or {}))
    elif options:
        raise OptionError(f"data_options {', '.join(options)} go with a dataset's name, and examples were given")
    title, again = "", True
    if isinstance(data, Dataset):
        title = data.name
        dataset, name = data, split or data.evaluation_split

        def items() -> Iterator[Any]:
            return dataset.stream(name)

        if name not in dataset.splits:
            items()  # says which splits there are
    else:
        if split is not None:
            raise OptionError(f"split {split!r} goes with a dataset, and a list of examples was given")
        given: Iterable[Any] = [data] if isinstance(data, Mapping | Example) else data
        again = iter(given) is not given

        def items() -> Iterator[Any]:
            return iter(given)

    def numbered() -> Iterator[Numbered]:
        return enumerate(as_example(item) for item in items())

    if limit is None:
        return Source(numbered, title, again)
    # The draw of `load_dataset(limit=...)`, made over examples with their places so that explanations can follow it.
    drawn = cast("list[Numbered]", list(take(cast(Any, numbered()), limit, seed)))
    return Source(lambda: iter(drawn), title)
