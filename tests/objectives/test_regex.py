from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Step
from saywhy.models import TextModel
from saywhy.objectives import accuracy, train
from saywhy.objectives.regex import Regex
from saywhy.ops.smoothness import PROJECTIONS, ascend
from saywhy.types import Example
from tests.zoo import LABELS, TEXTS, chooser, classifier

from .test_training import SMALL, reviews, same

TERMS = ("gradient", "adversarial", "guidance")
EXAMPLES = [Example((text,), label=LABELS[i % 3]) for i, text in enumerate(TEXTS)]
ALWAYS = {f"{term}_every": 1 for term in TERMS}
STEP = Step(index=0, total=10, epoch=0, seed=0)


def made(model: TextModel, examples: list[Example] | None = None, **options: Any) -> tuple[Regex, Any]:
    objective = Regex(model, OptimiserSettings(), **{**ALWAYS, **options})
    return objective, objective.collate(objective.items(examples or EXAMPLES, "error"))


def only(term: str, **options: Any) -> dict[str, Any]:
    """Options that leave one term on."""
    return {f"{other}_weight": 0.0 for other in TERMS if other != term} | options


def loss(objective: Regex, batch: Any, step: Step = STEP) -> tuple[torch.Tensor, dict[str, float]]:
    total, terms = objective.loss(*batch, step)  # type: ignore[misc]
    return total, {name: float(value) for name, value in terms.items()}


def quick(objective: str = "regex", **options: Any) -> TextModel:
    given = {"epochs": 2, "batch_size": 8, "learning_rate": 3e-3, "model_options": SMALL, **ALWAYS, **options}
    return train(objective, reviews(24), "text-transformer", **given)


def test_the_loss_is_the_weighted_sum() -> None:
    objective, batch = made(classifier(), gradient_weight=0.3, adversarial_weight=0.7, guidance_weight=0.2)
    total, terms = loss(objective, batch)
    assert set(terms) == {"classify", *TERMS}
    expected = terms["classify"] + 0.3 * terms["gradient"] + 0.7 * terms["adversarial"] + 0.2 * terms["guidance"]
    assert float(total.detach()) == pytest.approx(expected, rel=1e-5)
    assert min(terms.values()) > 0


def test_without_its_terms_it_is_plain() -> None:
    model = classifier()
    objective, (batch, items) = made(model, gradient_weight=0, adversarial_weight=0, guidance_weight=0)
    total, terms = loss(objective, (batch, items))
    assert set(terms) == {"classify"}
    torch.testing.assert_close(total, model.task.loss(model.module, batch, EXAMPLES))
    zero = {f"{term}_weight": 0 for term in TERMS}
    assert same(quick(**zero), train("plain", reviews(24), "text-transformer", epochs=2, batch_size=8,
                                     learning_rate=3e-3, model_options=SMALL))  # fmt: skip


@pytest.mark.parametrize("architecture", ["bert", "roberta", "electra", "albert", "distilbert", "modernbert", "gpt2"])
def test_every_term_moves_the_weights(architecture: str) -> None:
    model = classifier(architecture)
    for term in TERMS:
        objective, batch = made(model, **only(term, mask="random"), classify_weight=0.0)
        total, terms = loss(objective, batch)
        assert terms[term] > 0
        model.module.zero_grad()
        total.backward()
        norms = [float(p.grad.norm()) for p in model.module.parameters() if p.grad is not None]
        assert np.isfinite(norms).all()
        assert max(norms) > 0, term


def test_the_gradient_term_is_the_norm_by_finite_differences() -> None:
    model = classifier()
    model.module.double()
    objective, (batch, items) = made(model, **only("gradient"))
    network, table = model.module, model.module.get_input_embeddings()
    _, terms = loss(objective, (batch, items))
    # The gradient by an embedding of which the text has one copy is that by its row of the table.
    gold = torch.tensor([model.task.gold(e) for e in EXAMPLES])
    squares = np.zeros(len(items))
    hook: list[torch.Tensor] = []
    handle = table.register_forward_hook(lambda m, a, out: hook.append(out.requires_grad_()) or None)
    losses = F.cross_entropy(model.task.scores(network, batch), gold, reduction="none")
    handle.remove()
    for i, own in enumerate(losses):
        (g,) = torch.autograd.grad(own, hook[0], retain_graph=True)
        squares[i] = float(g.square().sum())
        assert float(g[[j for j in range(len(items)) if j != i]].abs().max()) == 0
    assert terms["gradient"] == pytest.approx(float(np.sqrt(squares).mean()), rel=1e-6)


def test_the_literal_norm_of_parameters_is_added() -> None:
    model = classifier()
    _, without = loss(*made(model, **only("gradient")))
    _, literal = loss(*made(model, **only("gradient", parameter_norm=True)))
    norm = torch.cat([p.detach().reshape(-1) for p in model.module.parameters()]).norm()
    assert literal["gradient"] - without["gradient"] == pytest.approx(float(norm), rel=1e-4)


def test_a_constant_model_has_nothing_to_smooth() -> None:
    model = classifier()
    with torch.no_grad():
        model.module.classifier.weight.zero_()
    _, terms = loss(*made(model, **only("adversarial")))
    assert terms["adversarial"] == pytest.approx(0, abs=1e-9)
    _, terms = loss(*made(model, **only("gradient")))
    assert terms["gradient"] == 0


def test_the_adversary_finds_more_than_noise_and_a_ball_finds_nothing() -> None:
    model = classifier()
    model.module.eval()
    found = {}
    for name, options in {
        "adversary": {},
        # Its largest entry is 1 by default, times the radius: random entries of that size are larger on the whole.
        "noise": {"ascent_steps": 0, "noise": 1.0},
        "literal": {"projection": "ball", "noise": 1e-5},
        "smart": {"projection": "normalise", "noise": 1e-5},
    }.items():
        _, terms = loss(*made(model, **only("adversarial", **options)))
        found[name] = terms["adversarial"]
    assert found["adversary"] > 3 * found["noise"]
    assert found["literal"] < 1e-6
    assert found["smart"] > 1e-3


def test_the_adversarial_term_holds_what_dropout_does_and_says_so() -> None:
    # Its passes draw their dropout apart: without a perturbation that counts, what is left in training is dropout's.
    model, found = classifier(), {}
    for training in (False, True):
        model.module.train(training)
        _, terms = loss(*made(model, **only("adversarial", projection="ball", noise=1e-5)))
        found[training] = terms["adversarial"]
    assert found[False] < 1e-6
    assert found[True] > 1e-3


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_the_adversary_leaves_padding_alone(monkeypatch: pytest.MonkeyPatch, projection: str) -> None:
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []

    def watched(divergence: Any, start: torch.Tensor, real: torch.Tensor, **options: Any) -> torch.Tensor:
        change = ascend(divergence, start, real, **options)
        seen.append((real, change))
        return change

    monkeypatch.setattr("saywhy.objectives.regex.ascend", watched)
    objective, (batch, items) = made(classifier(), **only("adversarial", projection=projection))
    loss(objective, (batch, items))
    ((real, change),) = seen
    assert real.sum(1).tolist() == batch.lengths.tolist()
    assert not real.all()
    assert (change[~real] == 0).all()
    assert (change[real].abs().amax(-1) > 0).all()


def test_smarts_adversary_is_its_random_start_and_says_so() -> None:
    # Why it is not the default: with a gradient that counts for nothing it finds the same.
    model = classifier()
    model.module.eval()
    found = []
    for size in (1e-3, 1e-30):
        options = {"projection": "normalise", "noise": 1e-5, "step_size": size}
        found.append(loss(*made(model, **only("adversarial", **options)))[1]["adversarial"])
    assert found[0] == pytest.approx(found[1], rel=0.05)


def test_an_empty_text_is_trained_on_like_any_other() -> None:
    model = classifier()
    total, terms = loss(*made(model, [*EXAMPLES, Example(("",), label=LABELS[0])], mask="random"))
    assert torch.isfinite(total)
    assert set(terms) == {"classify", *TERMS}


def test_guidance_is_zero_only_where_both_attentions_are_the_attribution(monkeypatch: pytest.MonkeyPatch) -> None:
    model = classifier()
    model.module.eval()
    objective, (batch, items) = made(model, **only("guidance", mask_ratio=0.3))
    guide = objective.guide
    assert guide is not None
    _, calls = objective._forward(batch, None, attention=True)
    with torch.no_grad():
        own = guide.attention(calls[-1], batch)
    as_attention = [(own[i, : len(item.rows[0])].numpy(),) for i, item in enumerate(items)]
    assert float(objective.divergence(batch, calls[-1], as_attention).detach()) == pytest.approx(0, abs=1e-6)
    monkeypatch.setattr(guide, "targets", lambda items, epoch=0: as_attention)
    _, terms = loss(objective, (batch, items))
    assert terms["guidance"] > 1e-4  # the masked text's attention is another
    monkeypatch.setattr(guide, "masked", lambda items, targets, rng=None: list(items))
    _, terms = loss(objective, (batch, items))
    assert terms["guidance"] == pytest.approx(0, abs=1e-6)


def by_hand(attention: torch.Tensor, targets: list[Any]) -> float:
    """KL(attention || attribution), mean over rows, in the precision of Python's own numbers."""
    made = []
    for row, target in zip(attention.detach().double().numpy(), targets, strict=True):
        p, q = row[: len(target[0])], target[0].astype(np.float64)
        there = p > 0
        made.append(float(np.sum(p[there] * np.log(p[there] / (q / q.sum())[there]))))
    return float(np.mean(made))


def test_guidance_is_both_divergences_by_hand() -> None:
    model = classifier()
    model.module.eval()
    objective, (batch, items) = made(model, **only("guidance", mask_ratio=0.3))
    guide = objective.guide
    assert guide is not None
    _, terms = loss(objective, (batch, items))
    targets = guide.targets(items, STEP.epoch)
    masked = model.task.collate(guide.masked(items, targets, STEP.numpy("mask")))
    expected = [
        by_hand(guide.attention(objective._forward(rows, None, attention=True)[1][-1], rows), targets)
        for rows in (batch, masked)
    ]
    assert min(expected) > 0.01
    assert terms["guidance"] == pytest.approx(sum(expected), rel=1e-3)


def test_the_attribution_is_a_fixed_target() -> None:
    model = classifier()
    objective, (batch, items) = made(model, **only("guidance"), classify_weight=0.0)
    total, _ = loss(objective, (batch, items))
    model.module.zero_grad()
    total.backward()
    # Attention of the last layer does not depend on the head, and the attribution, which does, gives no gradient.
    assert model.module.classifier.weight.grad is None or float(model.module.classifier.weight.grad.abs().max()) == 0


def test_terms_come_every_so_often_with_more_weight() -> None:
    objective, batch = made(classifier(), gradient_every=2, adversarial_every=3, guidance_weight=0, gradient_weight=0.5)
    assert objective.period == 6
    seen = []
    for index in range(6):
        total, terms = loss(objective, batch, Step(index=index, total=10, epoch=0, seed=0))
        seen.append(set(terms) - {"classify"})
        if index == 1:
            assert float(total.detach()) == pytest.approx(terms["classify"] + 0.5 * 2 * terms["gradient"], rel=1e-5)
    assert seen == [set(), {"gradient"}, {"adversarial"}, {"gradient"}, set(), {"gradient", "adversarial"}]


def test_choices_with_different_numbers() -> None:
    examples = [
        Example(("Dull film?",), choices=("You sleep", "run"), label=1),
        Example(("What do you do?",), choices=("sleep", "eat", "run away"), label=0),
    ]
    objective, batch = made(chooser(), examples)
    total, terms = loss(objective, batch)
    total.backward()
    assert all(np.isfinite(v) and v > 0 for v in terms.values())
    assert all(p.grad is None or p.grad.isfinite().all() for p in objective.model.module.parameters())


@pytest.mark.parametrize("network", ["gru", "lstm"])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_recurrent_network_can_be_made_robust(network: str, frozen: bool) -> None:
    # Word vectors that are not trained, as those of GloVe, are a place like any other to be smooth around.
    options = {"hidden_size": 8, "freeze_embeddings": frozen}
    model = train("regex", reviews(24), network, epochs=1, batch_size=8, guidance_weight=0, model_options=options,
                  gradient_every=1, adversarial_every=1)  # fmt: skip
    assert model.task.name == "text"


@pytest.mark.parametrize("frozen", [False, True])
def test_the_gradient_term_is_the_same_with_frozen_embeddings(frozen: bool) -> None:
    model = classifier()
    model.module.eval()
    _, free = loss(*made(model, **only("gradient")))
    model.module.get_input_embeddings().weight.requires_grad_(not frozen)
    total, terms = loss(*made(model, **only("gradient")))
    assert terms["gradient"] == pytest.approx(free["gradient"], rel=1e-6)
    total.backward()
    assert (model.module.get_input_embeddings().weight.grad is None) == frozen
    assert float(model.module.classifier.weight.grad.abs().max()) > 0


def test_it_learns_and_logs_its_terms(tmp_path: Path) -> None:
    model = quick(epochs=8, out=tmp_path, gradient_every=2, learning_rate=1e-2)
    assert accuracy(model, model.encode(reviews(24))) > 0.9
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert any({"classify", *TERMS} <= set(line) for line in lines)


def test_an_interrupted_run_goes_on_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"refresh": 2, "checkpoint_every": 2, "guidance_weight": 1.0, "guidance_every": 1}
    whole = quick(out=tmp_path / "whole", **options)
    original, count = Regex.collate, [0]

    def failing(self: Regex, items: Any) -> Any:
        count[0] += 1
        if count[0] == 5:
            raise KeyboardInterrupt
        return original(self, items)

    monkeypatch.setattr(Regex, "collate", failing)
    with pytest.raises(KeyboardInterrupt):
        quick(out=tmp_path / "cut", **options)
    assert same(quick(out=tmp_path / "cut", **options), whole)


def test_an_estimate_sees_every_kind_of_step(monkeypatch: pytest.MonkeyPatch) -> None:
    original, seen = Regex.loss, []

    def watched(self: Regex, batch: Any, items: Any, step: Step) -> Any:
        seen.append(frozenset(term for term in TERMS if self.due(term, step)))
        return original(self, batch, items, step)

    monkeypatch.setattr(Regex, "loss", watched)
    quick(gradient_every=4, adversarial_every=2, guidance_every=4, dry_run=True)
    timed = seen[1:]  # the first is for warming up
    assert sorted(map(len, timed)) == [0, 0, 1, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gradient_weight": -1}, "gradient_weight must not be negative"),
        ({"guidance_every": 0}, "guidance_every must be at least 1"),
        ({"projection": "sphere"}, "projection must be one of power, normalise, ball"),
        ({"ascent_steps": -1}, "ascent_steps"),
        ({"radius": 0}, "radius must be above 0"),
        ({"lambda_1": 1}, "has no option lambda_1; it has classify_weight"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        quick(**options)
