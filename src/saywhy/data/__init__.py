"""Text in, `Example` out: named corpora, a user's own files, planted and composed truth.

`load_dataset(name_or_path)` gives a `Dataset`; its splits are read when first looked up. ``split="test"`` gives that
split's examples instead. `datasets` is the registry of names.

Example:
    >>> from saywhy.data import load_dataset
    >>> data = load_dataset("planted-reviews", size="demo")
    >>> example = data["train"][0]
    >>> [example.texts[s.field][s.start:s.end] for s in example.rationales[0]]       # what decided  # doctest: +SKIP
"""

from __future__ import annotations

from saywhy.data import (  # noqa: F401 - these register their datasets
    amazon,
    aspects,
    composed,
    comve,
    cose,
    critic,
    eraser,
    esnli,
    ewt,
    imdb,
    mixture,
    nli,
    planted_choices,
    planted_nli,
    planted_reviews,
    sentences,
    squad,
    sst,
    toxicity,
    yelp,
)
from saywhy.data.corpus import Corpus, FileCorpus, datasets
from saywhy.data.dataset import Dataset, Splits
from saywhy.data.home import data_root
from saywhy.data.loading import load_dataset
from saywhy.data.tables import TableCorpus

__all__ = ["Corpus", "Dataset", "FileCorpus", "Splits", "TableCorpus", "data_root", "datasets", "load_dataset"]
