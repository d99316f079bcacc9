"""The one wrapper: whatever a model is, here it has words, scores, capabilities and a fingerprint."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xxhash
from torch import Tensor, nn

from saywhy.data.words import example_words, map_pieces
from saywhy.errors import CapabilityError, InputError, OptionError, SayWhyWarning
from saywhy.models.attention_door import AttentionTap, open_attention_door, tap_attention
from saywhy.models.embedding_door import embedding_modules, walk
from saywhy.models.encoding import Batch, Encoded, Encoder, Row, collate
from saywhy.models.selecting import Selector, keep_words
from saywhy.models.tasks import Task, make_task
from saywhy.ops.batching import length_batches
from saywhy.types import Example, Prediction, TextInput, Word, as_examples

__all__ = ["SETTINGS", "TextModel", "longest_input", "quiet"]

SETTINGS = "saywhy.json"


class TextModel:
    """A text model: a transformers network with its tokenizer and task.

    Use `saywhy.load` to make one. The network itself is not changed, except that its attention is sent through a
    function that is SDPA unless somebody taps it.

    Args:
        network: a transformers model with a head for the task.
        tokenizer: its fast tokenizer.
        task: ``text``, ``pair``, ``choices`` or ``span-qa``.
        labels: names of the classes.
        splitter: how texts are cut into words.
        max_length: the most pieces it reads; found out if None.
    """

    def __init__(
        self,
        network: nn.Module,
        tokenizer: Any,
        task: str = "text",
        labels: Sequence[str] = (),
        *,
        splitter: str = "unicode",
        max_length: int | None = None,
    ) -> None:
        self.network: nn.Module | None = network
        self.tokenizer = tokenizer
        self.splitter = splitter
        if max_length is None:
            max_length = longest_input(network, tokenizer)
        self.encoder = Encoder(tokenizer, max_length, splitter)
        accepted = inspect.signature(network.forward).parameters
        self.encoder.type_ids = self.encoder.type_ids and "token_type_ids" in accepted
        self.encoder.word_ids = "word_ids" in accepted
        joint = bool(getattr(network, "joint_choices", False))
        config: Any = getattr(network, "config", None)
        self.encoder.joint_choices = int(config.num_choices) if joint else 0
        self.task: Task = make_task(task, labels, self.encoder.pad_id, joint_choices=joint)
        self.labels = self.task.labels
        self.attention_kinds: tuple[str, ...] = ()
        self.no_attention = ""
        self.reads_padding = ""
        """Says so where the network's scores depend on the padding of a batch; `load` refuses such networks."""
        self.selector: Selector | None = None
        """Where the model reads only a part of its input: what chooses that part."""
        self._fingerprint: tuple[tuple[Any, ...], str] | None = None
        self._probes: tuple[list[int], list[Tensor]] | None = None
        door = self._open_door()
        if isinstance(door, str):
            self.no_attention = door
        else:
            self.attention_kinds = door

    @property
    def capabilities(self) -> frozenset[str]:
        """What explainers can ask of it: outputs, gradients, embeddings, attention, alignments, its own rationale.

        ``pooling``: not a transformer, but one that pools its states by attention.
        """
        found = {"outputs", "gradients"}
        if self.encoder.word_ids:
            found.add("rationale")
        if getattr(self.network, "speaks", False):
            found.add("sentences")
        if self.network is not None and embedding_modules(self.network):
            found.add("embeddings")
        if self.attention_kinds:
            found.add("attention")
        if getattr(self.network, "pools_by_attention", False):
            found.add("pooling")
        if self.task.name == "pair" and (self.attention_kinds or getattr(self.network, "co_attends", False)):
            found.add("alignments")
        return frozenset(found)

    @property
    def device(self) -> torch.device:
        """Where the network's parameters are."""
        return next(self.module.parameters()).device

    @property
    def module(self) -> nn.Module:
        """The network; an error for a black box."""
        if self.network is None:
            raise CapabilityError("a black box has no network inside")
        return self.network

    @contextlib.contextmanager
    def evaluation(self) -> Iterator[nn.Module]:
        """The network in evaluation mode, for the time being."""
        network = self.module
        # Module by module: somebody may train a network with parts of it in evaluation mode.
        training = [module for module in walk(network) if module.training]
        if training:
            network.eval()
        try:
            yield network
        finally:
            for module in training:
                module.training = True

    def attention_shapes(self) -> list[tuple[int, int]]:
        """Heads and width of a head, for each of the attention calls that ``attention_kinds`` lists."""
        with self.evaluation() as network, torch.no_grad(), tap_attention(network, AttentionTap()) as tap:
            self.task.raw(network, self._probe()[0])
        return [(call.query.shape[1], call.query.shape[3]) for call in tap.calls]

    def words(self, example: TextInput) -> tuple[Word, ...]:
        """The words of an example, all fields."""
        return example_words(as_examples(example)[0][0], self.splitter)

    def encode(self, examples: Sequence[Example], truncation: str = "error") -> list[Encoded]:
        """Encode examples of this task's shape."""
        if truncation == "window" and not self.task.windows:
            raise OptionError(f"task {self.task.name!r} cannot be read in windows; use truncation='head'")
        for example in examples:
            self.task.check(example)
        encoded = [self.encoder.encode(example, truncation) for example in examples]
        noted = [item for item in encoded if item.notes]
        if noted:
            # One warning, however many long texts: of a thousand nobody reads the one that matters.
            others = f", and {len(noted) - 1} of the other {len(encoded) - 1} likewise" if len(noted) > 1 else ""
            warnings.warn(f"{noted[0].example.where()}: {noted[0].notes[0]}{others}", SayWhyWarning, stacklevel=4)
        if self.selector is None or not examples:
            return encoded
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SayWhyWarning)  # of cut texts, which were warned of just now
            chosen = self.selector.select(examples, truncation)
        return [
            replace(item, rows=tuple(keep_words(row, keep) for row in item.rows))
            for item, keep in zip(encoded, chosen, strict=True)
        ]

    def prepare(self, examples: Sequence[Example], truncation: str = "error", batch_size: int = 32) -> list[Encoded]:
        """Encode examples and fix what each is asked about, where that depends on the model's own answer."""
        if batch_size < 1:
            raise OptionError(f"batch_size must be at least 1, not {batch_size}")
        encoded = self.encode(examples, truncation)
        if not self.task.anchors:
            return encoded
        with self.evaluation() as network, torch.no_grad():
            made: list[Encoded] = []
            for start in range(0, len(encoded), batch_size):
                made.extend(self.task.anchored(network, encoded[start : start + batch_size]))
        return made

    def raw(self, rows: Sequence[Row], batch_size: int = 32) -> Tensor:
        """Scores of rows, rows x C, without gradients: shortest first, at most batch_size at a time."""
        batches = length_batches([len(row) for row in rows], batch_size)
        parts = []
        with self.evaluation() as network, torch.no_grad():
            for some in batches:
                batch = collate([rows[i] for i in some], range(len(some)), self.task.pad_id).to(self.device)
                parts.append(self.task.raw(network, batch).float().cpu())
        return torch.cat(parts)[np.argsort(np.concatenate(batches))]

    def scores(self, encoded: Sequence[Encoded], batch_size: int = 32) -> Tensor:
        """Scores of encoded examples, N x K; softmax gives probabilities."""
        owner = torch.tensor([i for i, item in enumerate(encoded) for _ in item.rows])
        raw = self.raw([row for item in encoded for row in item.rows], batch_size)
        return self.task.combine(raw, owner, len(encoded))

    def predict(
        self, inputs: TextInput | Sequence[TextInput], *, batch_size: int = 32, truncation: str = "error"
    ) -> list[Prediction]:
        """Predict one input or a list of them; always returns a list."""
        examples, _ = as_examples(inputs)
        if not examples:
            return []
        encoded = self.prepare(examples, truncation, batch_size)
        table = self.task.probabilities(self.scores(encoded, batch_size))
        return [self.prediction(item, row) for item, row in zip(encoded, table, strict=True)]

    def prediction(self, encoded: Encoded, probabilities: Tensor | np.ndarray) -> Prediction:
        """A prediction from a row of probabilities."""
        names = self.task.names(encoded)
        values = tuple(float(p) for p in probabilities[: len(names)])
        best = max(range(len(values)), key=values.__getitem__)
        return Prediction(names[best], values[best], names, values)

    def label_index(self, label: str | int | np.integer[Any], example: Example | None = None) -> int:
        """Index of a label given by name or by index; for choices, of the choice."""
        names = example.choices if example is not None and example.choices else self.labels
        if self.task.name == "span-qa":
            names = ("answer",)
        if isinstance(label, int | np.integer) and not isinstance(label, bool):
            if -len(names) <= label < len(names):
                return int(label) % len(names)
        elif isinstance(label, str):
            for fold in (str, str.casefold):
                found = [i for i, name in enumerate(names) if fold(name) == fold(label)]
                if found:
                    return found[0]
            if label.isdecimal() and int(label) < len(names):
                return int(label)
        raise InputError(f"no label {label!r}; the labels are {', '.join(names)}")

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits of the weights, the configuration, the tokenizer and the labels.

        Asked for again, the weights are read again if any tensor was replaced, written to, or differs in a sample of
        its numbers, so that it also follows training and `parameter.data` assignments. Only a write through
        `parameter.data` to a few numbers outside the sample can escape it.
        """
        owners = [m for m in walk(self.module) if m._parameters or m._buffers]
        tensors = [t for m in owners for t in (*m._parameters.values(), *m._buffers.values()) if t is not None]
        places = [t.data_ptr() for t in tensors]
        if self._probes is None or self._probes[0] != places:
            # Views of a few numbers of each tensor: they show what is written there later, whoever writes it.
            self._probes = (
                places,
                [t.detach()[tuple(slice(None, None, max(1, n // 3)) for n in t.shape)] for t in tensors],
            )
        sample = torch.cat([probe.reshape(-1).float() for probe in self._probes[1]])
        # Configuration and vocabulary are long: their raw state and size stand in for them.
        config = getattr(self.module, "config", None)
        chooser = "" if self.selector is None else self.selector.fingerprint
        facts = (repr(getattr(config, "__dict__", None)), self.labels, len(self.tokenizer), chooser)
        key = (facts, places, [t._version for t in tensors], sample.cpu().numpy().tobytes())
        if self._fingerprint is None or self._fingerprint[0] != key:
            digest = xxhash.xxh3_64()
            for name, tensor in self.module.state_dict().items():
                digest.update(name.encode())
                digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
            digest.update((self._facts() + self._vocabulary()).encode())
            self._fingerprint = (key, digest.hexdigest())
        return self._fingerprint[1]

    def _facts(self) -> str:
        config = getattr(self.module, "config", None)
        # What the labels are called is ours to say; the others change when a model is saved and loaded.
        left_out = {"_name_or_path", "architectures", "dtype", "id2label", "label2id", "transformers_version"}
        facts = {k: v for k, v in (config.to_dict() if config is not None else {}).items() if k not in left_out}
        known = [facts, self.task.name, self.labels, self.splitter]
        if self.selector is not None:
            known.append(self.selector.fingerprint)
        return json.dumps(known, default=str, sort_keys=True)

    def _vocabulary(self) -> str:
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            return ""
        # Truncation and padding are settings of the last call, not of the tokenizer.
        state = json.loads(backend.to_str())
        return json.dumps({k: v for k, v in state.items() if k not in ("truncation", "padding")}, sort_keys=True)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a folder that `saywhy.load` and transformers read: safetensors, tokenizer files and saywhy.json."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        with quiet(), self._named_labels():
            self.module.save_pretrained(path)  # type: ignore[operator]
        self.tokenizer.save_pretrained(path)
        settings: dict[str, Any] = {
            "schema": 1,
            "task": self.task.name,
            "labels": list(self.labels),
            "splitter": self.splitter,
            "max_length": self.encoder.max_length,
            "fingerprint": self.fingerprint,
        }
        if self.selector is not None:
            settings["selector"] = self.selector.save(path)
        (path / SETTINGS).write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @contextlib.contextmanager
    def _named_labels(self) -> Iterator[None]:
        """Our names of the labels in the network's configuration, for the time being."""
        config: Any = getattr(self.module, "config", None)
        if config is None or not self.labels:
            yield
            return
        before = config.id2label, config.label2id
        config.id2label = dict(enumerate(self.labels))
        config.label2id = {name: i for i, name in enumerate(self.labels)}
        try:
            yield
        finally:
            config.id2label, config.label2id = before

    def __repr__(self) -> str:
        name = type(self.network).__name__ if self.network is not None else "black box"
        return f"TextModel({name}, task={self.task.name!r}, labels={list(self.labels)})"

    def _probe(self) -> tuple[Batch, Batch]:
        """A small padded batch, and its shorter row alone."""
        rows = []
        for size in (3, 2):
            # Two rows of different length, so that a padding mask that went missing would show.
            fields = (None,) * size if self.task.name != "span-qa" else (0, *(1,) * (size - 1))
            types = np.zeros(size, dtype=np.int64) if self.encoder.type_ids else None
            pieces = map_pieces((), ((0, 0),) * size, (None,) * size)
            rows.append(Row(self._some_ids(size), types, pieces, ((0, 0),) * size, fields))
        both, short = (collate(some, range(len(some)), self.task.pad_id).to(self.device) for some in (rows, rows[1:]))
        return both, short

    def _open_door(self) -> tuple[str, ...] | str:
        both, short = self._probe()
        with self.evaluation() as network, torch.no_grad():
            alone, beside = self.task.raw(network, short)[0], self.task.raw(network, both)[1]
            if not torch.allclose(alone, beside, atol=1e-2 * float(alone.abs().max().clamp_min(1.0))):
                self.reads_padding = (
                    f"{type(network).__name__} reads the padding behind a text: in a batch its scores change from "
                    f"{alone.tolist()} to {beside.tolist()}"
                )
            return open_attention_door(network, lambda: self.task.raw(network, both))

    def _some_ids(self, size: int) -> np.ndarray:
        # An encoder-decoder classifier wants an end token in every row.
        end = self.tokenizer.eos_token_id
        ids = np.arange(size) + 5
        if end is not None:
            ids[ids == end] += 1
            ids[-1] = end
        return ids % max(6, len(self.tokenizer))


def longest_input(network: nn.Module, tokenizer: Any) -> int | None:
    """The most pieces a network can read, or None where nothing limits it."""
    limits = []
    declared = getattr(tokenizer, "model_max_length", None)
    if declared is not None and declared < 10**6:
        limits.append(int(declared))
    config = getattr(network, "config", None)
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if positions and positions > 0:
        table = next(
            (
                m
                for n, m in network.named_modules()
                if n.endswith("position_embeddings") and isinstance(m, nn.Embedding)
            ),
            None,
        )
        if isinstance(table, nn.Embedding) and table.padding_idx is not None:
            # RoBERTa counts positions from behind its padding id.
            positions = table.num_embeddings - table.padding_idx - 1
        limits.append(int(positions))
    return min(limits) if limits else None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hold back transformers' progress bars and notes while it loads or saves; errors come as exceptions anyway."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
