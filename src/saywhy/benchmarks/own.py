"""The worker that runs saywhy itself, makes the texts, and runs the bare model calls: the floor."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import torch

from saywhy.benchmarks.texts import texts_of
from saywhy.benchmarks.workers import Handlers, serve, timed
from saywhy.errors import OptionError
from saywhy.explainers import explain
from saywhy.metrics import evaluate
from saywhy.models import TextModel, load
from saywhy.types import Example, WordScores

__all__ = ["Desk", "open_desk"]

# A call of the network: what it was given, and whether gradients were asked for.
Call = tuple[dict[str, Any], bool]


class Desk:
    """saywhy's side of the comparison.

    A floor is made of the very calls of the network that saywhy made for the same work: they are written down once
    and then made again with nothing around them, on the network as transformers loads it.
    """

    def __init__(self, folder: str) -> None:
        import transformers

        torch.set_num_threads(1)
        transformers.logging.set_verbosity_error()
        self.model: TextModel = load(folder)
        if self.model.task.name != "text" or self.model.network is None:
            raise OptionError(f"peers are compared on classifiers of one text; {folder} is {self.model!r}")
        self.plain: Any = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.examples: list[Example] = []
        self.explanations: list[WordScores] = []
        self._calls: dict[str, list[Call]] = {}

    def texts(self, data: str, tokens: int, count: int, seed: int) -> dict[str, Any]:
        """Make the texts, which later requests name by number."""
        self.examples = texts_of(self.model, data, tokens, count, seed)
        made = explain(self.model, self.examples, "input-x-gradient")
        self.explanations = [why for why in made if isinstance(why, WordScores)]
        self._calls.clear()
        items = [
            {
                "text": example.texts[0],
                "words": [[word.start, word.end] for word in why.words],
                "target": self.model.label_index(why.header.target),
                "scores": list(why.scores),
            }
            for example, why in zip(self.examples, self.explanations, strict=True)
        ]
        return {"items": items, "fingerprint": self.model.fingerprint}

    def run(self, work: str, texts: Sequence[int], **options: Any) -> dict[str, Any]:
        """Do some work on texts and time it."""
        made, seconds = timed(self._work(work, texts, options))
        return {"seconds": seconds, **made()}

    def floor(self, work: str, texts: Sequence[int], **options: Any) -> dict[str, Any]:
        """Time the calls of the network that this work makes."""
        key = json.dumps([work, list(texts), options], sort_keys=True)
        if key not in self._calls:
            self._calls[key] = self._record(self._work(work, texts, options))
        calls = self._calls[key]
        _, seconds = timed(lambda: self._replay(calls))
        rows = sum(len(inputs["input_ids"]) for inputs, _ in calls)
        pieces = sum(inputs["input_ids"].numel() for inputs, _ in calls)
        return {"seconds": seconds, "calls": len(calls), "rows": rows, "pieces": pieces}

    def forward(self, rows: int) -> dict[str, Any]:
        """Time one call on so many copies of the first text, for estimates."""
        ids = torch.from_numpy(self.model.encode(self.examples[:1])[0].rows[0].ids)[None].repeat(rows, 1)
        call: Call = ({"input_ids": ids, "attention_mask": torch.ones_like(ids)}, False)
        self._replay([call])
        _, seconds = timed(lambda: self._replay([call]))
        return {"seconds": seconds}

    def _work(
        self, work: str, texts: Sequence[int], options: dict[str, Any]
    ) -> Callable[[], Callable[[], dict[str, Any]]]:
        """Something to call and time, which gives something to call for what it made."""
        examples = [self.examples[i] for i in texts]

        def explained() -> Callable[[], dict[str, Any]]:
            # A list, be it of one: a text given by itself also gets its verdict, which no peer has.
            whys = explain(self.model, examples, work, **options)
            return lambda: {
                "scores": [list(why.scores) for why in whys if isinstance(why, WordScores)],
                "errors": [why.error for why in whys if isinstance(why, WordScores)],
                "costs": [dict(why.cost) for why in whys if isinstance(why, WordScores)],
            }

        def measured() -> Callable[[], dict[str, Any]]:
            given = {"given": [self.explanations[i] for i in texts]}
            table = evaluate(self.model, examples, given, **options)
            return lambda: {"scores": [result.value for result in table.results]}

        return measured if work == "faithfulness" else explained

    def _record(self, work: Callable[[], Any]) -> list[Call]:
        calls: list[Call] = []

        def write_down(network: Any, args: tuple[Any, ...], inputs: dict[str, Any]) -> None:
            kept = {k: v.detach().clone() for k, v in inputs.items() if isinstance(v, torch.Tensor)}
            calls.append((kept, torch.is_grad_enabled()))

        hook = self.model.module.register_forward_pre_hook(write_down, with_kwargs=True)
        try:
            work()
        finally:
            hook.remove()
        return calls

    def _replay(self, calls: Sequence[Call]) -> None:
        for inputs, graded in calls:
            if not graded:
                with torch.inference_mode():
                    self.plain(**inputs)
                continue
            others = {k: v for k, v in inputs.items() if k != "input_ids"}
            with torch.no_grad():
                leaf = self.plain.get_input_embeddings()(inputs["input_ids"])
            leaf.requires_grad_()
            torch.autograd.grad(self.plain(inputs_embeds=leaf, **others).logits[:, 0].sum(), leaf)


def open_desk(folder: str) -> Handlers:
    """The jobs of this worker."""
    desk = Desk(folder)
    return {"texts": desk.texts, "run": desk.run, "floor": desk.floor, "forward": desk.forward}


if __name__ == "__main__":
    serve(open_desk)
