"""Models that say why in a sentence: what they share, whatever they are inside.

A network that speaks has ``speaks = True``, `generate`, which decides and writes, and `follow`, which decides about a
sentence that is put into its mouth. Everything else, from `predict` to the metrics of faithfulness, sees a classifier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import regex
import torch
from torch import Tensor

from saywhy.errors import CapabilityError, OptionError
from saywhy.models.encoding import Encoded
from saywhy.models.text_model import TextModel
from saywhy.ops.batching import length_batches

__all__ = [
    "SPECIAL_WORDS",
    "UNKNOWN",
    "Generated",
    "PieceVocabulary",
    "Speaker",
    "Spoken",
    "Vocabulary",
    "WordVocabulary",
    "count_words",
    "decided_once",
    "follow",
    "log_likelihood",
    "of_one_length",
    "pad_sentences",
    "speak",
    "vocabulary_of",
]

UNKNOWN = "<unk>"
SPECIAL_WORDS = ("<pad>", "<s>", "</s>", UNKNOWN)
"""The first words of a decoder's own vocabulary: padding, start, end, unknown. The last is read, but never written."""

_APOSTROPHE = regex.compile(r"(?<=[\p{L}\p{N}]) ['’] ?(?=[\p{L}\p{N}])")
_WORD = regex.compile(r"[\p{L}\p{N}]+(?:['’\-][\p{L}\p{N}]+)*|\S")


@dataclass(frozen=True)
class Generated:
    """What a network wrote and decided, for N rows.

    Attributes:
        ids: N x T ids of words, padded; the end is included where it was reached.
        lengths: (N,) how many of them count.
        logits: N x K, the label's in the end.
        steps: N x (T + 1) x K logits before the first word and after each; beyond a row's length they stay.
        log_probability: (N,) of the sentence.
        chances: N x T x V, the words' distributions, where they were asked for.
    """

    ids: Tensor
    lengths: Tensor
    logits: Tensor
    steps: Tensor
    log_probability: Tensor
    chances: Tensor | None = None


def decided_once(ids: Tensor, logits: Tensor, log_probability: Tensor, pad_id: int) -> Generated:
    """What was written, N x T, by a network whose label, N x K, does not move from word to word."""
    steps = logits.unsqueeze(1).expand(-1, ids.shape[1] + 1, -1)
    return Generated(ids, (ids != pad_id).sum(1), logits, steps, log_probability)


def log_likelihood(scores: Tensor, ids: Tensor, pad_id: int) -> Tensor:
    """Log-probabilities (N,) of sentences ids N x T, from the scores of their words N x T x V."""
    given = scores.log_softmax(-1).gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    return (given * (ids != pad_id)).sum(1)


class Speaker(Protocol):
    """A network that speaks."""

    speaks: bool

    def generate(self, **inputs: Any) -> Generated:
        """Decide and write."""
        ...

    def follow(self, ids: Tensor, **inputs: Any) -> Generated:
        """Decide about sentences that are given."""
        ...


class Vocabulary(Protocol):
    """From sentences to ids and back."""

    def encode(self, sentence: str) -> list[int]:
        """Ids of a sentence, with its end."""
        ...

    def words(self, ids: Sequence[int]) -> list[tuple[str, int]]:
        """The words between spaces of what was written, each with the number of the step that ended it."""
        ...


@dataclass(frozen=True)
class WordVocabulary:
    """A decoder's own words; a mark right behind a word is a word of its own that is written without a space.

    Example:
        >>> known = WordVocabulary.of(["A dog is an animal."], 100)
        >>> ids = known.encode("A cat is an animal.")
        >>> " ".join(word for word, _ in known.words(ids))
        'A <unk> is an animal.'
    """

    table: tuple[str, ...]

    @classmethod
    def of(cls, sentences: Iterable[str], size: int, lower_case: bool = False) -> WordVocabulary:
        """The most frequent words of some sentences, ``size`` with the special ones."""
        if size <= len(SPECIAL_WORDS):
            raise OptionError(f"a vocabulary needs more than {len(SPECIAL_WORDS)} words, not {size}")
        counts = count_words(sentences, lower_case)
        ranked = sorted(counts.keys() - set(SPECIAL_WORDS), key=lambda word: (-counts[word], word))
        return cls((*SPECIAL_WORDS, *ranked[: size - len(SPECIAL_WORDS)]))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.table)}

    def __len__(self) -> int:
        return len(self.table)

    def encode(self, sentence: str) -> list[int]:
        """Ids of a sentence, with its end; what is not known is ``<unk>``."""
        return [*(self._find(word) for word in _cut(sentence)), 2]

    def _find(self, word: str) -> int:
        # In small letters, or with a space before it, is better than not at all.
        apart = word.removeprefix("##") or word
        for form in (word, word.lower(), apart, apart.lower()):
            if form in self._index:
                return self._index[form]
        return 3

    def words(self, ids: Sequence[int]) -> list[tuple[str, int]]:
        """The words that were written, each with the number of the step that ended it."""
        made: list[tuple[str, int]] = []
        for step, number in enumerate(ids):
            if number in (0, 1, 2):
                continue
            word = self.table[number]
            if word.startswith("##") and len(word) > 2:
                before = made.pop()[0] if made else ""
                made.append((before + word[2:], step))
            else:
                made.append((word, step))
        return made


@dataclass(frozen=True)
class PieceVocabulary:
    """The pieces of a tokenizer that the encoder and the decoder share."""

    tokenizer: Any
    end: int

    def encode(self, sentence: str) -> list[int]:
        """Ids of a sentence, with its end."""
        return [*self.tokenizer(sentence, add_special_tokens=False)["input_ids"], self.end]

    def words(self, ids: Sequence[int]) -> list[tuple[str, int]]:
        """The words that were written, each with the number of the step that ended it."""
        made: list[tuple[str, int]] = []
        for step in range(len(ids)):
            words = self._spoken(ids[: step + 1])
            if words and words != [word for word, _ in made]:
                # The piece is a new word, belongs to the last one, or joins it to the one before.
                made = [*made[: len(words) - 1], (words[-1], step)]
        return [(word, step) for word, (_, step) in zip(self._spoken(ids), made, strict=False)]

    def _spoken(self, ids: Sequence[int]) -> list[str]:
        """The words of some pieces; a tokenizer that cuts at apostrophes does not put the parts together again."""
        return _APOSTROPHE.sub("'", self.tokenizer.decode(list(ids), skip_special_tokens=True)).split()


def count_words(sentences: Iterable[str], lower_case: bool = False) -> Counter[str]:
    """How often each word of a decoder's vocabulary occurs in some sentences."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(_cut(sentence.lower() if lower_case else sentence))
    return counts


def _cut(sentence: str) -> list[str]:
    """Words and marks; what follows without a space begins with ``##``."""
    found = []
    for chunk in sentence.split():
        parts = _WORD.findall(chunk)
        found += [part if place == 0 else f"##{part}" for place, part in enumerate(parts)]
    return found


def pad_sentences(sentences: Sequence[Sequence[int]], pad_id: int, longest: int | None = None) -> Tensor:
    """Ids of sentences, N x T, filled up; longer ones are cut, but keep their end."""
    rows = [
        list(ids) if longest is None or len(ids) <= longest else [*ids[: longest - 1], ids[-1]] for ids in sentences
    ]
    table = torch.full((len(rows), max(map(len, rows))), pad_id, dtype=torch.long)
    for i, ids in enumerate(rows):
        table[i, : len(ids)] = torch.tensor(ids)
    return table


def of_one_length(some: Tensor, others: Tensor, pad_id: int) -> tuple[Tensor, Tensor]:
    """Two tables of sentences, N x T and M x S, both filled up to the longer one's length."""
    width = max(some.shape[1], others.shape[1])
    one, other = (torch.nn.functional.pad(ids, (0, width - ids.shape[1]), value=pad_id) for ids in (some, others))
    return one, other


@dataclass(frozen=True)
class Spoken:
    """What a model said about one example.

    ``scores`` (K,) are its label's in the end; ``steps`` its distributions before the first word, after each word, and
    at the end.
    """

    sentence: str
    scores: np.ndarray
    steps: tuple[tuple[float, ...], ...]


def vocabulary_of(model: TextModel) -> Vocabulary:
    """The words a model's sentences are made of.

    Raises:
        CapabilityError: it does not speak.
    """
    network: Any = model.network
    if not getattr(network, "speaks", False):
        raise CapabilityError("this model says nothing: train one with the objective mpii, e-infersent or cage")
    words = getattr(network.config, "words", None)
    return WordVocabulary(tuple(words)) if words else PieceVocabulary(model.tokenizer, int(network.config.end_id))


def speak(model: TextModel, encoded: Sequence[Encoded], batch_size: int = 32, **options: Any) -> list[Spoken]:
    """What a model says about examples, in their order: shortest first, at most ``batch_size`` at a time.

    Args:
        model: one that speaks.
        encoded: examples of one row each.
        batch_size: the most rows at a time.
        options: of the network's `generate`, such as ``beams``.
    """
    return _run(model, encoded, batch_size, lambda network, inputs, _: network.generate(**inputs, **options))


def follow(
    model: TextModel, encoded: Sequence[Encoded], sentences: Sequence[str], batch_size: int = 32
) -> list[Spoken]:
    """What a model decides when these sentences are put into its mouth."""
    known = vocabulary_of(model)
    table = [known.encode(sentence) for sentence in sentences]

    def put(network: Any, inputs: dict[str, Tensor], some: Sequence[int]) -> Generated:
        # A sentence that was cut off at its longest has no end yet.
        ids = pad_sentences([table[i] for i in some], int(network.config.pad_id), int(network.config.longest) + 1)
        return network.follow(ids.to(model.device), **inputs)

    return _run(model, encoded, batch_size, put)


def _run(model: TextModel, encoded: Sequence[Encoded], batch_size: int, work: Any) -> list[Spoken]:
    known = vocabulary_of(model)
    for item in encoded:
        if len(item.rows) != 1:
            raise OptionError(f"{item.example.where()}: a sentence is written about a whole text, not about windows")
    made: dict[int, Spoken] = {}
    with model.evaluation() as network, torch.no_grad():
        for some in length_batches([len(item.rows[0]) for item in encoded], batch_size):
            batch = model.task.collate([encoded[i] for i in some]).to(model.device)
            found = work(network, batch.inputs, some)
            for place, number in enumerate(some):
                made[number] = _spoken(model, known, found, place, encoded[number])
    return [made[number] for number in range(len(encoded))]


def _spoken(model: TextModel, known: Vocabulary, found: Generated, place: int, item: Encoded) -> Spoken:
    size = int(found.lengths[place])
    words = known.words(found.ids[place, :size].tolist())
    # A padded choice has no probability; of the others there are as many as the example has.
    count = len(model.task.names(item))
    table = model.task.probabilities(found.steps[place].double())[:, :count].cpu().numpy()
    ends = [0, *(step + 1 for _, step in words), size]
    return Spoken(
        " ".join(word for word, _ in words),
        found.logits[place].float().cpu().numpy(),
        tuple(tuple(float(p) for p in table[end]) for end in ends),
    )
