"""One thread a model: batches, order, counting, stopping, and the twin that shares its weights."""

from __future__ import annotations

import queue
import threading
from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.models import TextModel
from saywhy.server.lanes import Call, Lane, Stopped, Ticket, Watch, twin
from saywhy.server.served import Asked, Question, explain_together, predict_together
from saywhy.types import Example
from tests import zoo


class Gate:
    """Answers calls when it is opened, and remembers who came together."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.batches: list[list[Any]] = []

    def run(self, model: TextModel, calls: list[Call]) -> list[Any]:
        self.open.wait(10)
        self.batches.append([call.payload for call in calls])
        return [call.payload for call in calls]


def box() -> TextModel:
    return saywhy.load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])


def test_equal_calls_go_together_and_urgent_ones_first() -> None:
    gate, answers = Gate(), queue.Queue[Any]()
    sizes: list[int] = []
    lane = Lane("test", box, most=3, seen=sizes.append)
    lane.submit(Call(gate.run, "first", answers.put))
    while len(lane):  # until the thread has taken it and waits at the gate
        pass
    for name, group in [("a1", "a"), ("b1", "b"), ("a2", "a"), ("alone", None), ("a3", "a"), ("a4", "a")]:
        lane.submit(Call(gate.run, name, answers.put, group))
    lane.submit(Call(gate.run, "now", answers.put, "urgent", urgent=True))
    assert len(lane) == 7
    gate.open.set()
    found = [answers.get(timeout=10) for _ in range(8)]
    assert gate.batches == [["first"], ["now"], ["a1", "a2", "a3"], ["b1"], ["alone"], ["a4"]]
    assert sorted(found) == sorted(name for batch in gate.batches for name in batch)
    assert sizes == [1, 1, 3, 1, 1, 1]
    assert lane.close(10)
    with pytest.raises(Stopped):
        lane.submit(Call(gate.run, "late", answers.put))


def test_one_that_fails_does_not_spoil_the_others() -> None:
    answers = queue.Queue[Any]()
    lane = Lane("test", box, most=8)
    hold = Gate()
    lane.submit(Call(hold.run, None, answers.put))
    texts = ["a good film", "", "a bad film"]
    for text in texts:
        question = Question(Example((text,)), "leave-one-out", (), None, None, 0, False, "head")
        lane.submit(Call(explain_together, question, answers.put, "same"))
    hold.open.set()
    answers.get(timeout=10)
    found = [answers.get(timeout=10) for _ in texts]
    assert [type(answer) for answer in found] == [bytes, saywhy.errors.InputError, bytes]
    lane.close(10)


def test_what_nobody_waits_for_is_not_run() -> None:
    gate, answers = Gate(), queue.Queue[Any]()
    lane = Lane("test", box)
    lane.submit(Call(gate.run, "first", answers.put))
    unwanted = Call(gate.run, "unwanted", answers.put)
    lane.submit(unwanted)
    unwanted.ticket.cancelled = True
    assert "unwanted" not in [call.payload for call in lane._waiting if not call.ticket.cancelled]
    gate.open.set()
    assert answers.get(timeout=10) == "first"
    assert isinstance(answers.get(timeout=10), Stopped)
    assert gate.batches == [["first"]]
    lane.close(10)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "bart", "decomposable-attention"])
def test_model_calls_are_counted_once_and_can_be_stopped(architecture: str) -> None:
    pair = architecture in zoo.CO_ATTENTION
    model = zoo.pair_classifier(architecture) if pair else zoo.classifier(architecture)
    example = Example(zoo.PAIR if pair else (zoo.TEXTS[0],))
    watch, ticket = Watch(), Ticket()
    model = watch.on(model)
    watch.begin([ticket])
    model.predict([example, example], batch_size=1)
    assert (ticket.calls, ticket.rows) == (2, 2)
    saywhy.explain(model, example, "leave-one-out", verdict=False)
    words = len(model.words(example))
    assert ticket.rows == 2 + words + 1
    ticket.cancelled = True
    with pytest.raises(Stopped):
        model.predict(example)
    other = Ticket()
    watch.begin([ticket, other])
    model.predict(example)  # somebody else still wants it
    assert other.rows == 0.5
    watch.off()
    watch.begin([ticket])
    model.predict(example)


def test_a_black_box_is_counted_and_stopped_too() -> None:
    watch, ticket = Watch(), Ticket()
    plain = box()
    watched = watch.on(plain)
    watch.begin([ticket])
    watched.predict(["a", "b", "c"])
    assert (ticket.calls, ticket.rows) == (1, 3)
    ticket.cancelled = True
    with pytest.raises(Stopped):
        watched.predict("a")
    assert plain.predict("a")


@pytest.mark.parametrize("architecture", [*zoo.ARCHITECTURES, "rationalizer"])
def test_a_twin_shares_weights_and_nothing_else(architecture: str) -> None:
    if architecture == "rationalizer":
        from saywhy.models.networks import networks

        examples = [Example((line,)) for line in zoo.LINES]
        model = TextModel(*networks["rationalizer"].value(examples, "text", ("a", "b"), 0), "text", ("a", "b"))
    else:
        model = zoo.classifier(architecture)
    watch = Watch()
    watch.on(model)
    stopped = Ticket(cancelled=True)
    watch.begin([stopped])
    other = twin(model)
    watch.off()
    mine, others = (dict(m.module.named_parameters()) for m in (model, other))
    assert all(mine[name].data_ptr() == others[name].data_ptr() for name in mine)
    assert all(mine[name] is not others[name] for name in mine)
    assert other.module is not model.module
    assert other.tokenizer is not model.tokenizer
    assert other.fingerprint == model.fingerprint
    assert other.capabilities == model.capabilities
    text = zoo.TEXTS[0]
    assert other.predict(text)[0].probabilities == pytest.approx(model.predict(text)[0].probabilities)
    method = "gradient"
    one, two = (saywhy.explain(m, text, method, verdict=False).scores for m in (model, other))  # type: ignore[attr-defined]
    assert one == pytest.approx(two)
    with torch.no_grad():
        next(iter(mine.values())).add_(0.1)
    assert other.fingerprint == model.fingerprint  # it follows


@pytest.mark.parametrize("method", ["input-x-gradient", "integrated-gradients", "leave-one-out", "random", "occlusion"])
def test_together_and_alone_are_the_same(method: str) -> None:
    model = zoo.shared()

    def call(text: str, target: str | None) -> Call:
        question = Question(Example((text,)), method, (), target, None, 5, True, "head")
        return Call(explain_together, question, lambda answer: None)

    calls = [call(text, target) for text, target in zip(zoo.TEXTS, ("negative", None, 2), strict=True)]  # type: ignore[arg-type]
    together = explain_together(model, calls)
    alone = [explain_together(model, [each])[0] for each in calls]
    import json

    for one, other in zip(together, alone, strict=True):
        a, b = json.loads(one), json.loads(other)
        assert np.allclose(a["scores"], b["scores"], atol=1e-5)
        assert a["header"]["target"] == b["header"]["target"]
        assert a["verdict"]["features"] == b["verdict"]["features"]


def test_predictions_together_and_alone_are_the_same() -> None:
    model = zoo.shared()
    import json

    asked = [
        Asked(Example((text,)), removed, None) for text, removed in zip(zoo.TEXTS, ((0, 1), (), (3,)), strict=True)
    ]
    calls = [Call(predict_together, each, lambda answer: None) for each in asked]
    for together, call in zip(predict_together(model, calls), calls, strict=True):
        alone = predict_together(model, [call])[0]
        assert np.allclose(json.loads(together)["values"], json.loads(alone)["values"], atol=1e-5)
