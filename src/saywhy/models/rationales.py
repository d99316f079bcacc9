"""What rationalizers made of examples: labels, selected words, and how likely each was selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from saywhy.errors import CapabilityError
from saywhy.models.encoding import Encoded, Row, collate
from saywhy.models.rationalizer import Rationalizer
from saywhy.models.text_model import TextModel
from saywhy.ops.batching import length_batches

__all__ = ["Reading", "rationalizer_of", "read_rationales"]


@dataclass(frozen=True)
class Reading:
    """What a rationalizer made of one example: its scores (K,), and of each word whether and how likely it is selected.

    Words that may not be left out, or that were cut off, are not selected and have probability 0.
    """

    scores: np.ndarray
    selected: np.ndarray
    probabilities: np.ndarray
    free: np.ndarray


def rationalizer_of(model: TextModel) -> Rationalizer:
    """The rationalizer inside a model; an error if it is something else."""
    if not isinstance(model.network, Rationalizer):
        raise CapabilityError(f"{model!r} is no rationalizer; train one, for instance by the objective 'ver'")
    return model.network


def read_rationales(
    model: TextModel, encoded: Sequence[Encoded], batch_size: int = 32, masks: Sequence[np.ndarray] | None = None
) -> list[Reading]:
    """What a rationalizer selects and predicts, in one pass.

    A word that several windows show is selected if one of them selects it; its probability is the mean.

    Args:
        model: a `TextModel` around a rationalizer.
        encoded: examples as the model encodes them.
        batch_size: the most rows at a time.
        masks: for each example the words (words,) to read instead of those selected, such as gold rationales.
    """
    network = rationalizer_of(model)
    rows = [row for item in encoded for row in item.rows]
    owner = [i for i, item in enumerate(encoded) for _ in item.rows]
    raw: list[Tensor] = [torch.empty(0)] * len(rows)
    shown: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [(np.empty(0),) * 3] * len(rows)
    with model.evaluation(), torch.no_grad():
        for some in length_batches([len(row) for row in rows], batch_size):
            batch = collate([rows[i] for i in some], range(len(some)), model.task.pad_id).to(model.device)
            choice = network.choose(batch.inputs)
            mask = network.select(choice)
            if masks is not None:
                given = torch.zeros(mask.shape)
                for place, i in enumerate(some):
                    numbers, words = _numbered(rows[i])
                    given[place, numbers - 1] = torch.from_numpy(np.asarray(masks[owner[i]], dtype=np.float32)[words])
                mask = given.to(mask)
            logits = network.predict(batch.inputs, mask).float().cpu()
            taken, likely = mask.cpu().numpy() > 0, choice.probabilities.float().cpu().numpy()
            for place, i in enumerate(some):
                numbers, words = _numbered(rows[i])
                raw[i] = logits[place]
                shown[i] = (words, taken[place, numbers - 1], likely[place, numbers - 1])
    scores = model.task.combine(torch.stack(raw), torch.tensor(owner), len(encoded)).numpy()
    readings = []
    for number, item in enumerate(encoded):
        seen, selected = np.zeros(len(item.words)), np.zeros(len(item.words), dtype=bool)
        probabilities = np.zeros(len(item.words))
        for i in (i for i, own in enumerate(owner) if own == number) if len(rows) > len(encoded) else (number,):
            words, taken_words, likely_words = shown[i]
            seen[words] += 1
            selected[words] |= taken_words
            probabilities[words] += likely_words
        readings.append(Reading(scores[number], selected, probabilities / np.maximum(seen, 1), seen > 0))
    return readings


def _numbered(row: Row) -> tuple[np.ndarray, np.ndarray]:
    """The numbers from 1 of a row's words that may be left out, and their places among the example's words."""
    first = np.full(len(row), -1, dtype=np.int64)
    pieces = row.pieces
    first[pieces.piece[::-1]] = pieces.word[::-1]
    assert row.word_ids is not None
    numbers, places = np.unique(row.word_ids, return_index=True)
    free = numbers > 0
    return numbers[free], first[places[free]]
