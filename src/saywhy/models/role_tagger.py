"""A tagger of semantic roles: which words are predicates, and which phrases play their roles."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from saywhy.data.frames import Frame
from saywhy.data.words import split_words
from saywhy.errors import LoadError
from saywhy.models.minilm import minilm_folder
from saywhy.models.text_model import quiet
from saywhy.ops.randomness import global_seed

__all__ = ["PREDICATE", "RoleTagger", "Tagged", "role_spans", "tag_names"]

PREDICATE = "V"
_FILE = "roles.json"


@dataclass(frozen=True)
class Tagged:
    """A sentence as the network reads it: its words, the predicate that is asked about (or None), and gold tags.

    Without a predicate the question is which words are predicates.
    """

    text: str
    words: tuple[tuple[int, int], ...]
    predicate: int | None = None
    tags: tuple[str, ...] = ()


def tag_names(roles: Iterable[str]) -> tuple[str, ...]:
    """Names of the tags: outside, and the beginning and inside of each role."""
    return ("O", *(f"{part}-{role}" for role in sorted({PREDICATE, *roles}) for part in "BI"))


class RoleTagger:
    """A token classifier that is asked about one predicate at a time.

    Reference: Shi, Lin: Simple BERT Models for Relation Extraction and Semantic Role Labeling, 2019: tags B, I and O of
    each word's first piece. The predicate is marked by the type of its pieces; without one the network tags predicates.

    Args:
        network: a token classifier of transformers.
        tokenizer: its fast tokenizer.
        tags: names of its classes.
    """

    def __init__(self, network: Any, tokenizer: Any, tags: Sequence[str]) -> None:
        self.network, self.tokenizer, self.tags = network, tokenizer, tuple(tags)

    @classmethod
    def build(cls, roles: Iterable[str], seed: int = 0, encoder: str | os.PathLike[str] | None = None) -> RoleTagger:
        """A pretrained encoder (MiniLM by default) with a new head for these roles."""
        import transformers

        folder, tags = encoder or minilm_folder(), tag_names(roles)
        with quiet(), global_seed(seed, "roles"):  # that the head is new is the point, not worth a warning
            network = transformers.AutoModelForTokenClassification.from_pretrained(folder, num_labels=len(tags))
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        tokenizer.backend_tokenizer.no_truncation()
        tokenizer.backend_tokenizer.no_padding()
        return cls(network, tokenizer, tags)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> RoleTagger:
        """Read back what `save` wrote."""
        import transformers

        path = Path(folder)
        if not (path / _FILE).is_file():
            raise LoadError(f"{folder} holds no tagger of roles; make one with `saywhy train roles`")
        tags = json.loads((path / _FILE).read_text(encoding="utf-8"))["tags"]
        with quiet():
            network = transformers.AutoModelForTokenClassification.from_pretrained(path, use_safetensors=True)
        return cls(network.eval(), transformers.AutoTokenizer.from_pretrained(path), tags)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder: safetensors, tokenizer files and the names of the tags."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        with quiet():
            self.network.save_pretrained(path)
        self.tokenizer.save_pretrained(path)
        (path / _FILE).write_text(json.dumps({"schema": 1, "tags": list(self.tags)}) + "\n", encoding="utf-8")

    def collate(self, items: Sequence[Tagged]) -> tuple[dict[str, Tensor], Tensor, list[list[int]]]:
        """A padded batch, its gold tags (-100 where none is asked for), and the first piece of each word."""
        limit = self.network.config.max_position_embeddings
        encoded = self.tokenizer([item.text for item in items], truncation=True, max_length=limit, verbose=False)
        length = max(len(ids) for ids in encoded["input_ids"])
        inputs = {name: torch.zeros(len(items), length, dtype=torch.long) for name in ("input_ids", "attention_mask")}
        inputs["token_type_ids"] = torch.zeros(len(items), length, dtype=torch.long)
        gold = torch.full((len(items), length), -100)
        firsts = []
        for i, item in enumerate(items):
            encoding = encoded.encodings[i]
            inputs["input_ids"][i, : len(encoding.ids)] = torch.tensor(encoding.ids)
            inputs["attention_mask"][i, : len(encoding.ids)] = 1
            starts = np.asarray([start if end > start else -1 for start, end in encoding.offsets])
            first = []
            for number, (start, end) in enumerate(item.words):
                pieces = np.flatnonzero((starts >= start) & (starts < end))
                first.append(int(pieces[0]) if len(pieces) else -1)
                if number == item.predicate:
                    inputs["token_type_ids"][i, pieces] = 1
                if item.tags and first[-1] >= 0:
                    gold[i, first[-1]] = self.tags.index(item.tags[number]) if item.tags[number] in self.tags else 0
            firsts.append(first)
        return inputs, gold, firsts

    def tag(self, items: Sequence[Tagged], batch_size: int = 64) -> list[list[str]]:
        """The tags of each word of each sentence."""
        found: list[list[str]] = [[] for _ in items]
        order = sorted(range(len(items)), key=lambda i: len(items[i].words))
        self.network.eval()
        with torch.no_grad():
            for start in range(0, len(order), batch_size):
                some = order[start : start + batch_size]
                inputs, _, firsts = self.collate([items[i] for i in some])
                best = self.network(**inputs).logits.argmax(-1)
                for row, i in enumerate(some):
                    found[i] = [self.tags[int(best[row, at])] if at >= 0 else "O" for at in firsts[row]]
        return found

    def frames(self, texts: Sequence[str], batch_size: int = 64) -> list[tuple[Frame, ...]]:
        """The frames of each text; predicates to which the tagger gives no role are left out."""
        different = list(dict.fromkeys(texts))
        words = {text: tuple((w.start, w.end) for w in split_words(text, 0)) for text in different}
        asked = self.tag([Tagged(text, words[text]) for text in different], batch_size)
        questions = [
            Tagged(text, words[text], place)
            for text, tags in zip(different, asked, strict=True)
            for place, tag in enumerate(tags)
            if tag == f"B-{PREDICATE}"
        ]
        made: dict[str, list[Frame]] = {text: [] for text in different}
        for question, tags in zip(questions, self.tag(questions, batch_size), strict=True):
            spans = role_spans(tags)
            roles = tuple(
                (role, question.words[first][0], question.words[last][1])
                for role, first, last in spans
                if role != PREDICATE
            )
            if roles and question.predicate is not None:
                made[question.text].append(Frame(question.words[question.predicate], roles))
        return [tuple(made[text]) for text in texts]


def role_spans(tags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Roles with their first and last word, from tags; an inside without its beginning begins a role.

    Example:
        >>> role_spans(["B-ARG0", "I-ARG0", "B-V", "O", "I-ARG1"])
        [('ARG0', 0, 1), ('V', 2, 2), ('ARG1', 4, 4)]
    """
    spans: list[tuple[str, int, int]] = []
    for at, tag in enumerate(tags):
        if tag == "O":
            continue
        part, role = tag.split("-", 1)
        if part == "I" and spans and spans[-1][0] == role and spans[-1][2] == at - 1:
            spans[-1] = (role, spans[-1][1], at)
        else:
            spans.append((role, at, at))
    return spans
