"""`mixture`: several corpora of one task as one, to train on all there is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from saywhy.data.corpus import Corpus, datasets, register
from saywhy.errors import OptionError
from saywhy.types import Example

__all__ = ["Mixture"]

# No split that a study reports, but for one sweep on snli:dev by other models. The dev split of cad-snli is left out
# because it rewrites pairs of esnli-highlights.
_NLI = ("snli:dev", "snli:train", "multinli:train", "cad-snli:train", "sick:train", "sick:dev")


class Mixture(Corpus):
    """Splits of several corpora, one after the other, as ``train``; they must agree in their task and labels.

    Give ``dev_share=`` for a ``dev`` split, and ``exclude=`` for what must not be trained on. The default is what there
    is of natural language inference to train on: load it without ``esnli-highlights``, which is part of ``snli:dev``.

    Args:
        name: as registered.
        seed: of corpora that are drawn.
        parts: names of datasets, each with its split behind a colon (``train`` if there is none).
        root: folder of the normalised files; see `data_root`.

    Example:
        >>> load_dataset("mixture", exclude="esnli-highlights", dev_share=0.05)              # doctest: +SKIP
    """

    def __init__(
        self,
        name: str = "mixture",
        *,
        seed: int = 0,
        parts: Sequence[str] = _NLI,
        root: str | os.PathLike[str] | None = None,
    ) -> None:
        if isinstance(parts, str) or not parts:
            raise OptionError(f"{name}: parts must be a list of datasets, such as [snli:dev, sick], not {parts!r}")
        self.name = name
        self.parts: list[tuple[Corpus, str]] = []
        for part in parts:
            source, _, split = part.partition(":")
            options = {} if root is None else {"root": root}
            corpus = datasets[source].value(source, seed=seed, **options)
            split = split or "train"
            if split not in corpus.splits():
                raise OptionError(f"{name}: {source} has no split {split!r}; it has {', '.join(corpus.splits())}")
            self.parts.append((corpus, split))
        first = self.parts[0][0]
        for corpus, _ in self.parts:
            if (corpus.task, corpus.labels) != (first.task, first.labels):
                raise OptionError(f"{name}: {corpus.name} and {first.name} differ in task or labels")
        self.task, self.labels = first.task, first.labels
        spaces = {corpus.id_space for corpus, _ in self.parts}
        self.id_space = spaces.pop() if len(spaces) == 1 else ""

    def splits(self) -> tuple[str, ...]:
        """``train`` only."""
        return ("train",)

    def read(self, split: str) -> Iterator[Example]:
        """All examples, corpus by corpus."""
        for corpus, own in self.parts:
            yield from corpus.read(own)


register(
    Mixture,
    "mixture",
    tasks=("text", "pair"),
    family="composed",
    summary="Several corpora as one; by default all inference pairs there are to train on.",
)
