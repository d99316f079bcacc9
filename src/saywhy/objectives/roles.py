"""Training a tagger of semantic roles on PropBank-style data."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from saywhy.data import Dataset, load_dataset
from saywhy.errors import OptionError
from saywhy.loop import LoopObjective, LoopSettings, OptimiserSettings, Phase, Step, close_run, fit
from saywhy.models.role_tagger import PREDICATE, RoleTagger, Tagged, role_spans
from saywhy.types import Example

__all__ = ["role_f1", "tagged_sentences", "train_roles"]

_RARE = 50  # roles seen less often are not learnt


class _Roles(LoopObjective):
    """Cross-entropy of the tags."""

    def __init__(self, tagger: RoleTagger, rule: OptimiserSettings) -> None:
        self.tagger, self.rule = tagger, rule
        self.players = {"tagger": tagger.network}

    def optimisers(self) -> dict[str, OptimiserSettings]:
        return {"tagger": self.rule}

    def phases(self, batch: tuple[dict[str, Tensor], Tensor, Any], step: Step) -> Iterator[Phase]:
        inputs, gold, _ = batch
        network = self.players["tagger"]

        def loss() -> Tensor:
            logits = network(**inputs).logits
            return nn.functional.cross_entropy(logits.flatten(0, 1), gold.flatten(), ignore_index=-100)

        yield Phase(("tagger",), loss)


def tagged_sentences(examples: Sequence[Example]) -> list[Tagged]:
    """What the tagger is asked about sentences of `ewt-srl`: their predicates, and the roles of each."""
    found = []
    for example in examples:
        if "predicates" not in example.meta:
            continue
        text, words = example.texts[0], tuple(example.meta["places"])
        # Auxiliaries and other predicates without roles are none here.
        frames = [p for p in example.meta["predicates"] if any(role != PREDICATE for role, _, _ in p["args"])]
        tags = ["O"] * len(words)
        for frame in frames:
            tags[frame["token"]] = f"B-{PREDICATE}"
        found.append(Tagged(text, words, None, tuple(tags)))
        for frame in frames:
            tags = ["O"] * len(words)
            for role, start, end in frame["args"]:
                tags[start:end] = [f"B-{role}", *[f"I-{role}"] * (end - start - 1)]
            found.append(Tagged(text, words, int(frame["token"]), tuple(tags)))
    return found


def role_f1(tagger: RoleTagger, items: Sequence[Tagged], batch_size: int = 64) -> Mapping[str, float]:
    """F1 of predicates, of the roles of gold predicates, and of the roles of those that the tagger finds itself.

    A role is right where its name and both its ends are; the predicate itself is not counted. ``end-to-end`` is what
    guidance works with: roles of words that are no predicates are wrong, and those of missed predicates are missed.

    Args:
        tagger: what is measured.
        items: questions as `tagged_sentences` makes them: those about its predicates come behind a sentence.
        batch_size: questions the network sees at a time.

    Returns:
        ``predicates``, ``roles`` with their ``precision`` and ``recall``, and ``end-to-end``, between 0 and 1.
    """
    counts: Counter[str] = Counter()
    answers = tagger.tag(items, batch_size)
    for item, made in zip(items, answers, strict=True):
        kind = "predicates" if item.predicate is None else "roles"
        gold, said = (
            {span for span in role_spans(tags) if (span[0] == PREDICATE) == (item.predicate is None)}
            for tags in (item.tags, made)
        )
        counts.update({f"{kind}/hit": len(gold & said), f"{kind}/gold": len(gold), f"{kind}/said": len(said)})
    precision, recall = (counts["roles/hit"] / max(1, counts[f"roles/{of}"]) for of in ("said", "gold"))
    return {
        "predicates": _f1(counts, "predicates"),
        "roles": _f1(counts, "roles"),
        "precision": precision,
        "recall": recall,
        "end-to-end": _end_to_end(tagger, items, answers, batch_size),
    }


def _end_to_end(
    tagger: RoleTagger, items: Sequence[Tagged], answers: Sequence[Sequence[str]], batch_size: int
) -> float:
    """F1 of the roles of predicates that the tagger finds; ``answers`` are its own to ``items``."""
    sentence = -1
    known: dict[tuple[int, int | None], Sequence[str]] = {}
    gold: set[tuple[int, int | None, str, int, int]] = set()
    found: list[tuple[int, Tagged]] = []
    for item, made in zip(items, answers, strict=True):
        if item.predicate is None:
            sentence += 1
            places = [at for at, tag in enumerate(made) if tag == f"B-{PREDICATE}"]
            found += [(sentence, replace(item, predicate=at, tags=())) for at in places]
        else:
            known[sentence, item.predicate] = made
            gold |= {(sentence, item.predicate, *span) for span in role_spans(item.tags) if span[0] != PREDICATE}
    # Those that are gold predicates have been asked about already.
    new = [(number, own) for number, own in found if (number, own.predicate) not in known]
    for (number, own), made in zip(new, tagger.tag([own for _, own in new], batch_size), strict=True):
        known[number, own.predicate] = made
    said = {
        (number, own.predicate, *span)
        for number, own in found
        for span in role_spans(known[number, own.predicate])
        if span[0] != PREDICATE
    }
    return 2 * len(gold & said) / max(1, len(gold) + len(said))


def _f1(counts: Counter[str], kind: str) -> float:
    return 2 * counts[f"{kind}/hit"] / max(1, counts[f"{kind}/gold"] + counts[f"{kind}/said"])


def train_roles(
    data: str | Dataset = "ewt-srl",
    *,
    out: str | os.PathLike[str],
    epochs: int = 2,
    learning_rate: float = 1e-4,
    batch_size: int = 32,
    seed: int = 0,
    limit: int | None = None,
    resume: bool = True,
    encoder: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    **data_options: Any,
) -> RoleTagger:
    """Train a tagger of semantic roles, keep what is best on ``dev``, and write it to a folder.

    Args:
        data: a dataset with PropBank-style frames in ``meta``, such as `ewt-srl`: its name, or as it was read.
        out: folder for the tagger; a run that was killed goes on there.
        epochs: times through the data.
        learning_rate: highest learning rate.
        batch_size: questions a step sees: sentences, or sentences with a predicate.
        seed: of the new head, the order and dropout.
        limit: at most so many sentences a split; like the dataset's options, only where ``data`` is a name.
        resume: go on with the run in ``out``; False starts again.
        encoder: folder or hub name of a pretrained encoder with token types; MiniLM by default.
        progress: show the progress bar; None shows it on a terminal.
        data_options: of the dataset.

    Example:
        >>> train_roles("ewt-srl", out="runs/roles")                                         # doctest: +SKIP
    """
    if isinstance(data, Dataset):
        if limit is not None or data_options:
            raise OptionError("limit and the dataset's options go with its name, not with one that is already read")
        found = data
    else:
        found = load_dataset(data, limit=limit, seed=seed, **data_options)
    items, held_out = (tagged_sentences(list(found[split])) for split in ("train", "dev"))
    counts = Counter(tag[2:] for item in items for tag in item.tags if tag.startswith("B-"))
    least = min(_RARE, max(1, len(items) // 100))
    tagger = RoleTagger.build([role for role, count in counts.items() if count >= least], seed, encoder)
    result = fit(
        _Roles(tagger, OptimiserSettings(learning_rate=learning_rate)),
        items,
        collate=tagger.collate,
        settings=LoopSettings(epochs=epochs, batch_size=batch_size, seed=seed),
        lengths=[len(item.words) for item in items],
        validate=lambda: role_f1(tagger, held_out)["roles"],
        out=Path(out),
        config={"data": found.name, "limit": limit, "tags": list(tagger.tags)},
        resume=resume,
        progress=progress,
    )
    if result.reused:
        return RoleTagger.load(out)
    tagger.network.eval()
    tagger.save(out)
    close_run(Path(out), result)
    return tagger
