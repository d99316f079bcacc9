from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import saywhy
from saywhy.errors import CapabilityError, OptionError
from saywhy.loop import OptimiserSettings, Step, read_run
from saywhy.loop.optimisers import make_optimiser
from saywhy.models import TextModel, load
from saywhy.models.attention_module import attach, attached, explained_forward
from saywhy.models.encoding import content_mask
from saywhy.models.interpretable_attention import InterpretableAttention
from saywhy.objectives import train
from saywhy.objectives.ivra import CRITERIA, Ivra
from saywhy.objectives.smat import Smat
from saywhy.types import Example, Span
from tests import zoo

from .test_training import SMALL, reviews, same

STEP = Step(index=0, total=10, epoch=0, seed=0)
EXAMPLES = [Example((text,), label=zoo.LABELS[i % 3]) for i, text in enumerate(zoo.TEXTS)]
QUESTIONS = [Example((q["question"],), choices=tuple(q["choices"]), label=0) for q in zoo.QUESTIONS]
CONTEXTS = [Example(texts, answers=(Span(1, 0, 9),)) for texts in zoo.CONTEXTS]


def made(model: TextModel, examples: list[Example] | None = None, **options: Any) -> tuple[Ivra, Any, Any]:
    objective = Ivra(model, OptimiserSettings(), **options)
    batch, items = objective.anchored(objective.collate(objective.items(examples or EXAMPLES, "error")))
    return objective, batch, items


def loss(objective: Ivra, batch: Any, items: Any, share: float = 0.2, unrolled: bool = False) -> tuple[Tensor, Any]:
    return objective.loss(batch, items, (share,), unrolled=unrolled)  # type: ignore[return-value]


def quick(objective: str = "ivra", **options: Any) -> TextModel:
    given = {"epochs": 2, "batch_size": 8, "learning_rate": 3e-3, "model_options": SMALL, **options}
    return train(objective, reviews(24), "text-transformer", **given)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("norm", ["softmax", "sparsemax"])
def test_every_criterion_reaches_every_coefficient_and_the_network(criterion: str, norm: str) -> None:
    model = zoo.classifier()
    objective, batch, items = made(model, criteria=criterion, norm=norm)
    model.module.zero_grad()
    total, terms = loss(objective, batch, items, unrolled=criterion == "sim")
    assert set(terms) == {"classify", criterion}
    assert float(terms[criterion]) > 0
    (total - objective._supervised(model.task.scores(model.module, batch), items)).backward()
    for name, parameter in objective.module.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.isfinite().all()), name
        assert float(parameter.grad.abs().max()) > 0, name
    query = model.module.bert.encoder.layer[0].attention.self.query.weight.grad
    assert float(query.abs().max()) > 0


@pytest.mark.parametrize("architecture", ["roberta", "electra", "distilbert", "modernbert", "gpt2", "llama", "bart"])
def test_all_criteria_on_other_architectures(architecture: str) -> None:
    model = zoo.classifier(architecture)
    objective, batch, items = made(model, criteria=CRITERIA, norm="sparsemax")
    total, terms = loss(objective, batch, items, unrolled=True)
    total.backward()
    assert set(terms) == {"classify", *CRITERIA}
    for name, parameter in objective.module.named_parameters():
        assert parameter.grad is not None
        assert bool(parameter.grad.isfinite().all())
        assert float(parameter.grad.abs().max()) > 0, name


@pytest.mark.parametrize(("maker", "examples"), [(zoo.chooser, QUESTIONS), (zoo.reader, CONTEXTS)])
def test_all_criteria_on_other_tasks(maker: Any, examples: list[Example]) -> None:
    model = maker()
    objective, batch, items = made(model, examples, criteria="sim,comp,suff,cons")
    total, terms = loss(objective, batch, items, unrolled=True)
    total.backward()
    assert all(bool(value.isfinite()) for value in terms.values())
    assert float(objective.module.head.grad.abs().max()) > 0  # type: ignore[union-attr]
    assert np.isfinite(objective.score(objective.items(examples, "error"), 2))


def test_faithfulness_is_measured_by_erasing_the_top_words() -> None:
    model = zoo.classifier()
    objective, batch, items = made(model, criteria="comp,suff")
    _, terms = loss(objective, batch, items, share=0.2)
    with torch.no_grad():
        raw, found = explained_forward(model.module, model.task, batch, objective.module)
    labels, whole = raw.argmax(-1), F.cross_entropy(raw, raw.argmax(-1), reduction="none")
    comp, suff = [], []
    for i, item in enumerate(items):
        inside = torch.nonzero(content_mask(batch)[i]).squeeze(1)
        count = max(1, round(0.2 * len(inside)))
        top = inside[found[i, inside].argsort(descending=True, stable=True)[:count]]
        for gone, collected, sign in ((top, comp, -1), (sorted(set(inside.tolist()) - set(top.tolist())), suff, 1)):
            # By the network's own mask: this one pools at its first position, so that both are the same.
            mask = batch.inputs["attention_mask"][i : i + 1].clone()
            mask[0, list(gone)] = 0
            inputs = {k: v[i : i + 1] for k, v in batch.inputs.items()} | {"attention_mask": mask}
            with torch.no_grad():
                out = F.cross_entropy(model.module(**inputs).logits, labels[i : i + 1])
            margin = 1.0 if sign < 0 else 0.1
            collected.append(margin + max(-margin, sign * float(out - whole[i])))
        assert len(item.rows) == 1
    assert float(terms["comp"]) == pytest.approx(np.mean(comp), rel=1e-3)
    assert float(terms["suff"]) == pytest.approx(np.mean(suff), rel=1e-3)


@pytest.mark.parametrize("criterion", ["comp", "suff"])
def test_heads_that_look_at_one_word_do_not_drown_the_task(criterion: str) -> None:
    model = zoo.classifier()
    with torch.no_grad():
        for name, parameter in model.module.named_parameters():
            if "query.weight" in name or "key.weight" in name:
                parameter.mul_(60.0)
    objective, batch, items = made(model, criteria=criterion)
    given = [p for p in model.module.parameters() if p.requires_grad]

    def size(weight: float) -> float:
        """Of the gradient of the task and so much of the criterion."""
        objective.weights[criterion] = weight
        grads = torch.autograd.grad(loss(objective, batch, items, share=0.5)[0], given, allow_unused=True)
        return float(torch.stack([g.square().sum() for g in grads if g is not None]).sum().sqrt())

    assert size(1.0) < 20 * size(0.0)


def test_other_losses_and_margins() -> None:
    model = zoo.classifier()
    values = {}
    for name, options in {
        "margin": {},
        "wide": {"suff_margin": 0.5},
        "mae": {"suff_loss": "mae"},
        "kl": {"suff_loss": "kl"},
    }.items():
        objective, batch, items = made(model, criteria="suff", **options)
        values[name] = float(loss(objective, batch, items)[1]["suff"])
    assert len({round(v, 5) for v in values.values()}) == 4
    assert min(values.values()) >= 0
    for name in ("cluster", "correlation"):
        objective, batch, items = made(model, criteria="cons", cons_loss=name)
        assert float(loss(objective, batch, items)[1]["cons"]) != 0


def test_weights_count() -> None:
    model = zoo.classifier()
    objective, batch, items = made(model, criteria="comp,suff,cons", comp_weight=2.0, suff_weight=0.5, cons_weight=3.0)
    total, terms = loss(objective, batch, items)
    expected = terms["classify"] + 2 * terms["comp"] + 0.5 * terms["suff"] + 3 * terms["cons"]
    torch.testing.assert_close(total.detach(), expected)


@pytest.mark.parametrize(
    ("given", "expected"),
    [(0.1, (0.1,)), (1, (1.0,)), ("0.1, 0.2", (0.1, 0.2)), ("0.5", (0.5,)), ([0.1, 0.5], (0.1, 0.5))],
)
def test_shares_as_a_number_or_with_commas(given: Any, expected: tuple[float, ...]) -> None:
    objective = Ivra(zoo.classifier(), OptimiserSettings(), shares=given)
    assert (objective.shares, objective.all_shares) == (expected, False)


@pytest.mark.parametrize("none", ["", None])
def test_without_criteria_it_is_plain_training(none: str | None) -> None:
    plain, bare = quick("plain", epochs=1), quick(criteria=none, epochs=1)
    assert attached(bare.module, InterpretableAttention) is not None
    own = {k: v for k, v in bare.module.state_dict().items() if not k.startswith("interpretable")}
    assert all(torch.equal(own[k], v) for k, v in plain.module.state_dict().items())


def test_training_saves_and_resumes_to_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"criteria": "sim,comp", "norm": "sparsemax", "checkpoint_every": 1, "batch_size": 12}
    whole = quick(**options, out=tmp_path / "whole")
    loaded = load(tmp_path / "whole")
    assert loaded.fingerprint == whole.fingerprint
    text = reviews(1)[0].texts[0]
    one, other = (saywhy.explain(m, text, "ivra") for m in (loaded, whole))
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)  # type: ignore[attr-defined]
    maps = (read_run(tmp_path / "whole") or {})["report"]["maps"]
    assert any(value != 1.0 for row in maps["head coefficients"]["values"] for value in row)

    def stopped(self: Ivra, batch: Any, step: Step) -> Any:
        if step.index == 3:
            raise KeyboardInterrupt
        return phases(self, batch, step)

    phases = Ivra.phases
    monkeypatch.setattr(Ivra, "phases", stopped)
    with pytest.raises(KeyboardInterrupt):
        quick(**options, out=tmp_path / "part")
    monkeypatch.setattr(Ivra, "phases", phases)
    assert same(quick(**options, out=tmp_path / "part"), whole)


def test_frozen_training_moves_the_coefficients_only() -> None:
    start = quick("plain")
    model = train("ivra", reviews(24), start, epochs=1, batch_size=8, criteria="comp,suff", frozen=True)
    before = start.module.state_dict()
    for name, value in model.module.state_dict().items():
        assert name.startswith("interpretable") or torch.equal(value, before[name])
    assert float((model.module.interpretable_attention.head.detach() - 1).abs().max()) > 1e-3  # type: ignore[union-attr]
    assert all(p.requires_grad for p in model.module.parameters())


def test_frozen_training_for_simulatability_alone_may_skip_the_model() -> None:
    start = quick("plain")
    options: dict[str, Any] = {"criteria": "sim", "frozen": True, "sim_every": 2, "student_rate": 0.5}
    model = train("ivra", reviews(24), start, epochs=1, batch_size=8, **options)
    assert float((model.module.interpretable_attention.head.detach() - 1).abs().max()) > 1e-4  # type: ignore[union-attr]
    objective = Ivra(zoo.classifier(), OptimiserSettings(), **options)
    batch = objective.collate(objective.items(EXAMPLES, "error"))
    steps = [[p.players[0] for p in objective.phases(batch, Step(i, 10, 0, 0))] for i in range(2)]
    assert steps == [["student"], ["student", "model"]]
    with pytest.raises(OptionError, match="no criterion asks them"):
        Ivra(zoo.classifier(), OptimiserSettings(), criteria="", frozen=True)


@pytest.mark.parametrize("kind", [partial(Ivra, frozen=True), Smat])
def test_what_was_frozen_before_stays_frozen(kind: Any) -> None:
    model = zoo.classifier()
    vectors = model.module.get_input_embeddings().weight  # type: ignore[operator, union-attr]
    vectors.requires_grad_(False)
    objective = kind(model, OptimiserSettings())
    own = {id(p) for p in objective.module.parameters()}
    assert {id(p) for p in model.module.parameters() if p.requires_grad} == own
    objective.train_mode(False)
    assert [p is vectors for p in model.module.parameters()] == [not p.requires_grad for p in model.module.parameters()]


def test_coefficients_are_not_pulled_to_zero() -> None:
    model = zoo.classifier()
    objective = Ivra(model, OptimiserSettings(weight_decay=0.5))
    optimiser = make_optimiser(model.module, objective.optimisers()["model"])
    assert optimiser is not None
    decays = {id(p): g["weight_decay"] for g in optimiser.param_groups for p in g["params"]}
    assert {decays[id(p)] for p in objective.module.parameters()} == {0.0}
    assert 0.5 in decays.values()


@pytest.mark.slow
def test_training_for_a_criterion_lowers_its_loss() -> None:
    start = train("plain", reviews(48), "text-transformer", epochs=20, learning_rate=1e-2, model_options=SMALL)
    losses = {}
    for criteria in ("", "comp"):
        model = train(
            "ivra", reviews(48), start, epochs=10, batch_size=8, learning_rate=3e-3, criteria=criteria,
            shares=[0.2], coefficient_rate=0.05,
        )  # fmt: skip
        objective, batch, items = made(model, reviews(48), criteria="comp")
        with torch.no_grad():
            losses[criteria] = float(loss(objective, batch, items, share=0.2)[1]["comp"])
    assert losses["comp"] < 0.8 * losses[""]


# -- students ---------------------------------------------------------------------------------------------------------


def test_simulatability_may_come_every_few_batches() -> None:
    objective = Ivra(zoo.classifier(), OptimiserSettings(), criteria="sim", sim_every=3)
    batch = objective.collate(objective.items(EXAMPLES, "error"))
    steps = [[p.players[0] for p in objective.phases(batch, Step(i, 10, 0, 0))] for i in range(3)]
    assert steps == [["student", "model"]] * 3
    last = [list(objective.phases(batch, Step(i, 10, 0, 0)))[-1] for i in range(3)]
    assert ["sim" in phase.loss()[1] for phase in last] == [False, False, True]  # type: ignore[index]
    assert objective.period == 3


def test_mistakes(tmp_path: Path) -> None:
    def start(**options: Any) -> Ivra:
        return Ivra(zoo.classifier(), OptimiserSettings(), **options)

    for options, message in {
        ("criteria", "truth"): "unknown criteria truth; known: sim, comp, suff, cons",
        ("suff_loss", "l2"): "suff_loss must be margin, mae or kl",
        ("cons_loss", "l2"): "cons_loss must be one of kl, cluster, correlation",
        ("criteria", 5): "unknown criteria 5",
        ("criteria", ("comp", None)): "unknown criteria None",
        ("shares", "some"): "shares must be",
        ("shares", "0.1,some"): "shares must be",
        ("shares", True): "shares must be",
        ("shares", None): "shares must be",
        ("shares", 2): "shares must be",
        ("levels", 5): "levels must be some of",
        ("comp_weight", -1.0): "must not be negative",
        ("comp_weight", "much"): "must be numbers: comp_weight='much'",
        ("suff_margin", None): "must be numbers: suff_margin=None",
        ("cons_weight", float("nan")): "must be numbers: cons_weight=nan",
        ("coefficient_rate", "high"): "must be numbers: coefficient_rate='high'",
        ("student_rate", 0): "student_rate must be above 0",
        ("student_rate", "0.1"): "must be numbers: student_rate='0.1'",
        ("frozen", "no"): "frozen must be true or false, not 'no'",
        ("sim_every", 0): "sim_every must be at least 1",
        ("sim_every", 1.5): "sim_every must be at least 1 and a whole number, not 1.5",
        ("sim_every", True): "sim_every must be at least 1 and a whole number",
        ("norm", "l2"): "norm must be one of",
    }.items():
        with pytest.raises(OptionError, match=message):
            start(**dict([options]))
    with pytest.raises(OptionError, match="compares classes, and this task has none"):
        Ivra(zoo.shared_reader(), OptimiserSettings(), criteria="cons", cons_loss="cluster")
    with pytest.raises(CapabilityError, match="attention cannot be trained"):
        Ivra(zoo.classifier("mpnet"), OptimiserSettings())
    with pytest.raises(CapabilityError, match="attention cannot be trained"):
        Smat(zoo.classifier("mpnet"), OptimiserSettings())
    model = zoo.classifier()
    attach(model.module, InterpretableAttention.of(model, norm="sparsemax"))
    Ivra(model, OptimiserSettings(), norm="sparsemax", levels="head,layer,feature")
    with pytest.raises(OptionError, match="has another norm"):
        Ivra(model, OptimiserSettings(), norm="softmax")
    with pytest.raises(OptionError, match="is made for its data"):
        start(criteria="sim", student="gru")
    zoo.classifier("gpt2").save(tmp_path)
    with pytest.raises(OptionError, match="other pieces than the model"):
        start(criteria="sim", student=str(tmp_path))
