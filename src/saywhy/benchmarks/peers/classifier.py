"""The model as the peers' users have it: transformers' own classes, nothing of saywhy's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["BATCH", "Classifier", "Item"]

BATCH = 32


@dataclass(frozen=True)
class Item:
    """A text, where its words are (n x 2 offsets), and the label that is explained."""

    text: str
    words: tuple[tuple[int, int], ...]
    target: int


class Classifier:
    """A sequence classifier of transformers, with the few things that every peer's user writes around it."""

    def __init__(self, folder: str) -> None:
        import transformers

        torch.set_num_threads(1)
        transformers.logging.set_verbosity_error()
        self.network: Any = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        self.items: list[Item] = []

    def take(self, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The texts that later requests name by number."""
        self.items = [Item(i["text"], tuple((a, b) for a, b in i["words"]), i["target"]) for i in items]
        return {}

    def probabilities(self, texts: Sequence[str]) -> np.ndarray:
        """N x K, in batches, each padded to its longest text."""
        parts = []
        with torch.inference_mode():
            for start in range(0, len(texts), BATCH):
                inputs = self.tokenizer(list(texts[start : start + BATCH]), padding=True, return_tensors="pt")
                parts.append(self.network(**inputs).logits.softmax(-1))
        return torch.cat(parts).numpy()

    def pieces(self, item: Item) -> tuple[Tensor, np.ndarray]:
        """The ids of a text (1 x L), and for each piece the number of its word, -1 for special tokens."""
        made = self.tokenizer(item.text, return_offsets_mapping=True)
        word = np.full(len(made["input_ids"]), -1)
        for place, (start, end) in enumerate(made["offset_mapping"]):
            if end > start:
                word[place] = next((n for n, (a, b) in enumerate(item.words) if a <= start < b), -1)
        return torch.tensor(made["input_ids"])[None], word
