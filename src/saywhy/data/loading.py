"""`load_dataset`: a registered name, a file or a folder in, a `Dataset` out."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, overload

from saywhy.data.corpus import Corpus, datasets, hash_split, text_key
from saywhy.data.dataset import Dataset, Splits, take
from saywhy.data.files import format_of
from saywhy.data.tables import TableCorpus
from saywhy.errors import DataError, OptionError, UnknownNameError
from saywhy.types import Example

__all__ = ["load_dataset"]

Excluded: TypeAlias = "str | Dataset | Iterable[str | Dataset | Example]"


@overload
def load_dataset(
    name_or_path: str | os.PathLike[str],
    *,
    split: None = None,
    limit: int | None = None,
    seed: int = 0,
    exclude: Excluded = (),
    only: Mapping[str, Any] | None = None,
    dev_share: float = 0.0,
    train_share: float = 0.0,
    **options: Any,
) -> Dataset: ...


@overload
def load_dataset(
    name_or_path: str | os.PathLike[str],
    *,
    split: str,
    limit: int | None = None,
    seed: int = 0,
    exclude: Excluded = (),
    only: Mapping[str, Any] | None = None,
    dev_share: float = 0.0,
    train_share: float = 0.0,
    **options: Any,
) -> list[Example]: ...


def load_dataset(
    name_or_path: str | os.PathLike[str],
    *,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    exclude: Excluded = (),
    only: Mapping[str, Any] | None = None,
    dev_share: float = 0.0,
    train_share: float = 0.0,
    **options: Any,
) -> Dataset | list[Example]:
    """A dataset by its registered name, or a user's own file or folder.

    Args:
        name_or_path: a name out of `datasets`, or a CSV, TSV, JSON Lines, JSON or Parquet file (also ``.gz``), or a
            folder with ``train``, ``dev`` and ``test`` files.
        split: gives the list of its examples instead of the `Dataset`.
        limit: at most so many examples a split, drawn evenly by ``seed`` and left in their order.
        seed: of planted and composed corpora, of splits that are drawn, and of ``limit``.
        exclude: what must not be in the result: a dataset's name (``"esnli-highlights"``), one of its splits
            (``"esnli-highlights:dev"``), a `Dataset`, examples, or several of these. Examples are recognised by their
            ids where both datasets use the same ones, and by their texts whatever case, spacing and tokenisation.
        only: keep the examples that have these values: of ``label``, or of a field of their ``meta``; a list means
            any of its values. ``{"heuristic": "lexical_overlap", "label": "non-entailment"}`` is a sixth of ``hans``.
        dev_share: for a dataset with ``train`` but without ``dev`` or ``test``: the share of ``train`` to use as
            ``dev``; a ``dev`` that it has is then its ``test``, so that nothing is selected on what is reported.
        train_share: for a dataset with ``dev`` but without ``train``: the share of ``dev`` to use as ``train``.
        options: of the dataset; a named corpus takes ``path=``, ``rows=``, ``hub=``, ``root=``, ``max_line_bytes=``; a
            file takes ``columns=``, ``labels=`` and others: see `TableCorpus`.

    Returns:
        A `Dataset` whose splits are read when first looked up; or with ``split``, its examples.

    Raises:
        DataError: a file that is missing or has something wrong in it.
        OptionError: an unknown option or split.
        UnknownNameError: neither a name nor a file.

    Example:
        >>> data = load_dataset("planted-reviews", size="demo", limit=2)
        >>> len(data["train"]), data.labels
        (2, ('negative', 'positive'))
        >>> load_dataset("reviews.csv", columns={"text": "review", "label": "stars"})       # doctest: +SKIP
        >>> load_dataset("snli", exclude="esnli-highlights", split="dev")                   # doctest: +SKIP
    """
    if limit is not None and limit < 1:
        raise OptionError(f"limit must be at least 1, not {limit}")
    for name, share in (("dev_share", dev_share), ("train_share", train_share)):
        if not 0 <= share < 1:
            raise OptionError(f"{name} must be at least 0 and below 1, not {share}")
    shares = {"dev_share": dev_share, "train_share": train_share}
    corpus, summary = _corpus(name_or_path, seed, options, shares)
    dev_share, train_share = shares["dev_share"], shares["train_share"]
    names = corpus.splits()
    read: Callable[[str], Iterator[Example]] = corpus.read
    if dev_share > 0 and {"train", "dev"} <= set(names) and "test" not in names:
        names = tuple({"train": "train", "dev": "test"}.get(name, name) for name in names)
        read = partial(_renamed, corpus)
    for whole, share in (("train", 1 - dev_share), ("dev", train_share)):
        if 0 < share < 1 and {"train", "dev"} & set(names) == {whole}:
            names = tuple(n for name in names for n in (("train", "dev") if name == whole else (name,)))
            read = partial(_divided, read, whole, share, seed)
            break
    unwanted: list[str | Dataset | Example] = [exclude] if isinstance(exclude, str | Dataset) else list(exclude)
    if unwanted:
        read = partial(_without, read, _Unwanted(unwanted, corpus.id_space, options.get("root")))
    if only:
        read = partial(_having, read, dict(only))
    if limit is not None:
        read = partial(_limited, read, limit, seed)
    data = Dataset(
        name=corpus.name,
        task=corpus.task,
        splits=Splits(names, read),
        known_labels=corpus.labels,
        summary=summary,
        missing=corpus.missing,
        id_space=corpus.id_space,
    )
    return data if split is None else list(data[split])


def _corpus(
    name_or_path: str | os.PathLike[str], seed: int, options: dict[str, Any], shares: dict[str, float]
) -> tuple[Corpus, str]:
    """The corpus and what it is; one that cuts its own source takes the shares, which are then 0."""
    given = os.fspath(name_or_path)
    if given in datasets:
        entry = datasets[given]
        own = _option_names(entry.value) & shares.keys()
        taken = {name: shares[name] for name in own if shares[name]}
        shares.update(dict.fromkeys(own, 0.0))
        return _make(entry.value, given, seed, {**options, **taken}), entry.summary
    path = Path(given).expanduser()
    if path.exists() or format_of(path) is not None or os.sep in given:
        if not path.exists():
            raise DataError("no such file or folder", file=given)
        return _make(TableCorpus, given, seed, options), f"the table {path.name}"
    raise UnknownNameError("dataset", given, datasets.names())


def _make(factory: Callable[..., Corpus], name: str, seed: int, options: dict[str, Any]) -> Corpus:
    known = _option_names(factory)
    unknown = sorted(set(options) - known)
    if unknown:
        raise OptionError(f"{name} has no option {unknown[0]!r}; it has {', '.join(sorted(known))}")
    return factory(name, seed=seed, **options)


def _option_names(factory: Callable[..., Corpus]) -> set[str]:
    """Names of the keyword options, through all the constructors that hand the rest on to their base class."""
    found: set[str] = set()
    for cls in inspect.getmro(factory) if inspect.isclass(factory) else [factory]:
        function = cls.__dict__.get("__init__") if inspect.isclass(cls) else cls
        if function is None:
            continue
        parameters = inspect.signature(function).parameters.values()
        found |= {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            break
    return found - {"seed"}


def _renamed(corpus: Corpus, split: str) -> Iterator[Example]:
    """A corpus whose ``dev`` is its ``test``."""
    return corpus.read("dev" if split == "test" else split)


def _divided(
    read: Callable[[str], Iterator[Example]], whole: str, train: float, seed: int, split: str
) -> Iterator[Example]:
    """A corpus one of whose splits is cut into ``train`` and ``dev``."""
    if split not in ("train", "dev"):
        yield from read(split)
        return
    for example in read(whole):
        if hash_split(example, seed, {"train": train, "dev": 1 - train}) == split:
            yield example


def _without(read: Callable[[str], Iterator[Example]], unwanted: _Unwanted, split: str) -> Iterator[Example]:
    return (example for example in read(split) if example not in unwanted)


def _having(read: Callable[[str], Iterator[Example]], only: Mapping[str, Any], split: str) -> Iterator[Example]:
    wanted = {field: value if isinstance(value, list | tuple) else [value] for field, value in only.items()}
    seen: set[str] = {"label"}
    found = False
    for example in read(split):
        seen |= example.meta.keys()
        if all((example.label if f == "label" else example.meta.get(f)) in values for f, values in wanted.items()):
            found = True
            yield example
    unknown = sorted(wanted.keys() - seen)
    if unknown and not found:
        raise OptionError(f"only: no example has a field {unknown[0]!r}; they have {', '.join(sorted(seen))}")


def _limited(read: Callable[[str], Iterator[Example]], limit: int, seed: int, split: str) -> Iterator[Example]:
    return take(read(split), limit, seed)


class _Unwanted:
    """The ids and texts of what is excluded; read on first use, so that `load_dataset` stays lazy."""

    def __init__(self, given: list[str | Dataset | Example], id_space: str, root: Any) -> None:
        self._given, self._id_space, self._root = given, id_space, root
        self._keys: tuple[frozenset[str], frozenset[str]] | None = None

    def __contains__(self, example: Example) -> bool:
        if self._keys is None:
            self._keys = self._read()
        ids, texts = self._keys
        return (bool(example.id) and example.id in ids) or text_key(example) in texts

    def _read(self) -> tuple[frozenset[str], frozenset[str]]:
        ids: set[str] = set()
        texts: set[str] = set()
        for item in self._given:
            if isinstance(item, Example):
                texts.add(text_key(item))
                continue
            data, splits = self._dataset(item)
            for split in splits:
                for example in data.stream(split):
                    texts.add(text_key(example))
                    if self._id_space and data.id_space == self._id_space and example.id:
                        ids.add(example.id)
        return frozenset(ids), frozenset(texts)

    def _dataset(self, item: str | Dataset) -> tuple[Dataset, list[str]]:
        if isinstance(item, Dataset):
            return item, list(item.splits)
        # A path may hold a colon; a split is what follows the last one, if the rest is a name or a file.
        name, _, split = item.rpartition(":")
        named = bool(name) and (name in datasets or Path(name).exists())
        data = load_dataset(name if named else item, **({"root": self._root} if self._root is not None else {}))
        if named and split not in data.splits:
            raise OptionError(f"exclude={item!r}: {name} has no split {split!r}; it has {', '.join(data.splits)}")
        return data, [split] if named else list(data.splits)
