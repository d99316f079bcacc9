"""What is special about each of the family: METHODS, section 7 (7-10), and what their players may see and move."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from saywhy.errors import DataError, OptionError
from saywhy.models import load
from saywhy.models.intervention import Intervention
from saywhy.objectives.a2i import A2I, bounded_attack
from saywhy.objectives.a2r import A2R, jensen_shannon
from saywhy.objectives.cr import Cr
from saywhy.objectives.dmr import Dmr
from saywhy.objectives.invrat import Invrat
from saywhy.objectives.nir import Nir, replacement_rates
from saywhy.types import Example
from tests.objectives.rationalizers import batch_of, make, quick, reviews, step

pytestmark = pytest.mark.filterwarnings("ignore::saywhy.errors.SayWhyWarning")


def test_the_attack_is_bounded_by_a_guess_and_has_no_gradient_beyond_it() -> None:
    scores = torch.tensor([[5.0, -5.0], [0.3, 0.1]], requires_grad=True)
    found = bounded_attack(scores, torch.tensor([1, 1]))
    found.backward()
    assert float(found.detach()) <= math.log(2) + 1e-6
    assert scores.grad is not None
    assert scores.grad[0].tolist() == [0, 0]  # already worse than a guess
    sure = torch.tensor([[-1.0, 2.0]], requires_grad=True)
    bounded_attack(sure, torch.tensor([1])).backward()
    assert sure.grad is not None
    assert sure.grad.abs().min() > 0


def test_the_attacker_wants_a_wrong_label_and_moves_alone() -> None:
    objective = make("a2i")
    assert isinstance(objective, A2I)
    gold = torch.tensor([0, 1, 1, 0])
    assert objective.wrong(gold, step()).tolist() == [1, 0, 0, 1]
    phases = list(objective.phases(batch_of(objective), step()))
    assert [phase.players for phase in phases] == [("selector", "predictor"), ("attacker",)]
    (gradient,) = torch.autograd.grad(
        objective.attack_loss(batch_of(objective), step()), objective.attacker.head.weight
    )
    assert gradient.abs().max() > 0
    game = objective.play(batch_of(objective), step())
    extra = objective.extra(game)
    assert -math.log(2) - 1e-6 <= float(extra) <= 0
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(extra, objective.attacker.head.weight)


def test_pieces_are_replaced_as_often_as_asked_and_never_what_is_fixed() -> None:
    generator = torch.Generator().manual_seed(0)
    scores, real = torch.rand(8, 30, generator=generator), torch.arange(30) < torch.tensor([[30], [12]] * 4)
    rates = replacement_rates(scores, real, 0.1)
    mean = rates.sum(1) / real.sum(1)
    torch.testing.assert_close(mean, torch.full((8,), 0.1))
    assert not rates[~real].any()
    best = scores.masked_fill(~real, -1).argmax(1)
    assert not rates[torch.arange(8), best].any()
    even = replacement_rates(torch.ones(1, 4), torch.ones(1, 4, dtype=torch.bool), 0.3)
    assert even.tolist() == [pytest.approx([0.3] * 4)]
    objective = make("nir", noise=0.5)
    assert isinstance(objective, Nir)
    rows, _ = batch_of(objective, 40)
    ids, other = rows.inputs["input_ids"], objective.replaced(rows, step())
    changed = ids != other
    assert 0.2 < float(changed[rows.inputs["word_ids"] > 0].float().mean()) < 0.6
    assert not changed[rows.inputs["word_ids"] == 0].any()
    assert torch.equal(objective.replaced(rows, step()), other)


def test_noise_reaches_the_predictor_in_training_only_and_the_gradient_the_selector() -> None:
    noisy, plain = make("nir", noise=1.0), make("rnp")
    for objective in (noisy, plain):
        for part in objective.model.module.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        objective.train_mode(True)
    one, other = noisy.play(batch_of(noisy), step()), plain.play(batch_of(plain), step())
    assert torch.equal(one.mask, other.mask)
    assert not torch.allclose(one.scores, other.scores)
    (gradient,) = torch.autograd.grad(one.cross_entropy, noisy.rationalizer.selector.head.weight)
    assert gradient.abs().max() > 0
    for objective in (noisy, plain):
        objective.train_mode(False)
    one, other = noisy.play(batch_of(noisy), step()), plain.play(batch_of(plain), step())
    torch.testing.assert_close(one.scores, other.scores)


def test_every_example_counts_in_the_necessity_of_words() -> None:
    objective = make("cr", tried=0.2, alpha=0.5)
    assert isinstance(objective, Cr)
    objective.train_mode(False)
    with torch.no_grad():
        objective.rationalizer.selector.head.bias.copy_(torch.tensor([-4.0, 4.0]))
    game = objective.play(batch_of(objective, 6), step())
    (gradient,) = torch.autograd.grad(objective.extra(game), game.mask)
    assert (gradient.abs().sum(1) > 0).sum() >= 4  # the last example alone in the released code
    assert float(objective.extra(game)) <= 0
    assert float(make("cr", necessity=0.0).extra(game)) == 0


def test_the_divergence_is_zero_for_equals_and_at_most_log_two() -> None:
    one = torch.tensor([[2.0, -1.0], [0.0, 0.5]])
    assert float(jensen_shannon(one, one)) == pytest.approx(0, abs=1e-7)
    far = torch.tensor([[40.0, -40.0]])
    assert float(jensen_shannon(far, -far)) == pytest.approx(math.log(2), abs=1e-5)
    p, q = one.softmax(-1).numpy(), one.flip(1).softmax(-1).numpy()
    from scipy.spatial.distance import jensenshannon

    expected = sum(jensenshannon(a, b) ** 2 for a, b in zip(p, q, strict=True)) / 2
    assert float(jensen_shannon(one, one.flip(1))) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("name", ["a2r", "cr"])
def test_the_top_share_is_selected_and_stays_so_when_loaded(name: str, tmp_path: Path) -> None:
    quick(name, alpha=0.2, max_steps=1, out=tmp_path)
    model = load(tmp_path)
    assert (model.module.config.selection, model.module.config.share) == ("top", 0.2)
    import saywhy

    for example in reviews(4):
        why: Any = saywhy.explain(model, example, method="rationale", verdict=False)
        assert sum(why.selected) == round(0.2 * len(why.words))


def test_the_soft_reading_trains_the_selector() -> None:
    objective = make("a2r", tie=0.0, lambda1=0.0, lambda2=0.0)
    assert isinstance(objective, A2R)
    loss, _ = objective.loss(batch_of(objective), step())
    (gradient,) = torch.autograd.grad(loss, objective.rationalizer.selector.head.weight)
    assert gradient.abs().max() > 0


def test_a_teacher_that_agrees_adds_nothing() -> None:
    objective = make("dmr", match=1.0, features=0.0)
    assert isinstance(objective, Dmr)
    objective.train_mode(False)
    game = objective.play(batch_of(objective), step())
    with torch.no_grad():
        taught = objective.read(game.batch, objective._whole(game.batch.inputs), objective.teacher).softmax(-1)
    expected = -(taught * game.scores.log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(game.cross_entropy + objective.extra(game), expected)
    more = make("dmr", match=0.0, features=1.0)
    more.train_mode(False)
    assert float(more.extra(more.play(batch_of(more), step()))) > 0
    # Reading everything looks like reading everything.
    whole = more.play(batch_of(more), step())
    same = type(whole)(**{**vars(whole), "shown": torch.ones_like(whole.mask)})
    assert float(more.extra(same)) == pytest.approx(0, abs=1e-6)


def test_environments_are_needed_and_told_to_one_predictor_only() -> None:
    with pytest.raises(DataError, match="needs environments"):
        quick("invrat", data=[Example(e.texts, e.label) for e in reviews(20)], max_steps=1)
    objective = make("invrat")
    phases = [phase.players for phase in objective.phases(batch_of(objective), step())]
    assert phases == [("predictor", "aware"), ("selector",)]
    objective.items([Example(e.texts, e.label) for e in reviews(2)], "head")  # nothing is asked of held-out texts


def test_an_environment_that_says_nothing_costs_nothing_and_one_that_turns_a_word_is_found() -> None:
    objective = make("invrat")
    assert isinstance(objective, Invrat)
    items = objective.items(reviews(60), "head")
    gold = objective.gold(items)
    turned = torch.tensor([item.example.meta["environment"] for item in items])
    assert turned.any()
    assert not turned.all()
    right = 2.0 * torch.nn.functional.one_hot(gold, 2).float()
    # What was read tells the label in one environment, and its opposite in the other.
    scores = {"same": right, "turns": torch.where(turned.unsqueeze(1), 2 - right, right)}
    gaps = {}
    for name, given in scores.items():
        torch.nn.init.zeros_(objective.aware.weight)
        assert float(objective.informed(given, gold, items).detach()) == float(F.cross_entropy(given, gold))
        optimiser = torch.optim.Adam(objective.aware.parameters(), lr=0.1)
        for _ in range(100):
            optimiser.zero_grad()
            objective.informed(given, gold, items).backward()
            optimiser.step()
        # Stretching all environments alike is no news of the environment: it is what the predictor itself would learn.
        even = objective.aware.weight[:2, 0]
        gaps[name] = float((even[0] - even[1]).abs().detach())
    assert gaps["same"] < 0.1 * gaps["turns"]


def test_one_encoder_for_both() -> None:
    objective = make("fr")
    assert objective.rationalizer.selector.encoder is None
    game = objective.play(batch_of(objective), step())
    weight = objective.rationalizer.predictor.rightward[0].weight_hh_l0
    (gradient,) = torch.autograd.grad(game.choice.logits.sum(), weight)
    assert gradient.abs().max() > 0


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a2i", {"adversary": -1.0}),
        ("a2r", {"tie": -1.0}),
        ("cr", {"tried": 0.0}),
        ("dmr", {"match": 2.0}),
        ("invrat", {"invariance": -1.0}),
        ("nir", {"noise": 1.5}),
    ],
)
def test_mistakes(name: str, options: dict[str, float]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        make(name, **options)


def test_labels_have_as_much_of_a_say_as_the_prior_gives_them() -> None:
    made = Intervention(3, [0.2, 0.8], width=2, dropout=0.0)
    with torch.no_grad():
        made.labels.weight.copy_(torch.eye(2))
    states = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    attention = (states @ made.chooses.weight).softmax(-1)  # with vectors of unit length W e_y is a column of W
    torch.testing.assert_close(made.context(states, made.chooses), attention * torch.tensor([0.2, 0.8]))
    # The predictor reads the sum of states for each selected word, then its context, in one linear layer.
    rows, mask = torch.randn(2, 5, 3), torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    pooled = rows.sum(1) / torch.tensor([[2.0], [1.0]])
    both = torch.cat([pooled, made.context(pooled, made.predicts)], -1)
    torch.testing.assert_close(made.predict(rows, mask), made.prediction(both))


def test_an_intervention_is_loaded_with_its_prior(tmp_path: Path) -> None:
    prior = [0.05, 0.95]
    model = quick("inter-rat", prior=prior, max_steps=2, out=tmp_path)
    again = load(tmp_path)
    assert again.module.config.prior == prior
    torch.testing.assert_close(again.module.state_dict()["intervention.prior"], torch.tensor(prior))
    items = model.encode(reviews(4))
    torch.testing.assert_close(again.scores(items), model.scores(items))
    for wrong in ([0.5, 0.6], [1.0]):
        with pytest.raises(OptionError, match="prior has"):
            make("inter-rat", prior=wrong)


def test_what_the_labels_say_reaches_both_players() -> None:
    objective = make("inter-rat")
    loss, _ = objective.loss(batch_of(objective), step())
    loss.backward()
    slopes = {name: p.grad for name, p in objective.players["intervention"].named_parameters()}
    assert all(grad is not None and grad.abs().max() > 0 for grad in slopes.values()), slopes.keys()


def test_random_masks_teach_the_predictor_and_then_only_the_selector_moves() -> None:
    objective = make("random-masks", first=0.5)
    batch = batch_of(objective)
    (early,), (late,) = (list(objective.phases(batch, step(index))) for index in (49, 50))
    assert (early.players, late.players) == (("predictor",), ("selector",))
    objective.train_mode(False)
    # Nothing that the selector says matters in the first half, and every step draws other words.
    losses = [float(objective.predictor_loss(batch, step(index)).detach()) for index in (0, 0, 1)]
    assert losses[0] == losses[1] != losses[2]
    with torch.no_grad():
        for weight in objective.players["selector"].head.parameters():  # type: ignore[union-attr]
            weight.add_(1.0)
    assert float(objective.predictor_loss(batch, step(0)).detach()) == losses[0]
    # With every word drawn it reads the whole text.
    whole = make("random-masks", drawn=1.0)
    whole.train_mode(False)
    rows, items = batch
    ones = torch.ones(len(items), int(rows.inputs["word_ids"].max()))
    expected = torch.nn.functional.cross_entropy(whole.read(rows, ones), whole.gold(items))
    torch.testing.assert_close(whole.predictor_loss(batch, step()), expected)
    with pytest.raises(OptionError, match="shares above 0"):
        make("random-masks", first=1.0)


def test_the_epoch_that_is_kept_is_one_of_the_selectors(tmp_path: Path) -> None:
    # Before, the predictor alone has learned, and what an untrained selector selects may score as well by chance.
    for seed in range(3):
        quick("random-masks", epochs=4, seed=seed, out=tmp_path / str(seed))
        result = json.loads((tmp_path / str(seed) / "run.json").read_text())["result"]
        assert result["best_step"] > result["steps"] / 2


@pytest.mark.parametrize("name", ["a2r", "cr"])
def test_the_best_epoch_is_chosen_where_the_top_of_short_texts_is_more_than_was_asked_for(name: str) -> None:
    # One word of four is a quarter, whatever was asked for; every epoch must not score alike for it.
    objective = make(name, target_sparsity=0.05)
    examples = [Example((f"it was {word} there",), gold) for word, gold in (("great", "good"), ("awful", "bad"))]
    items = objective.items(examples, "head")
    objective.control.update(step(99))
    score, facts = objective.score(items, 8)
    assert facts["selected"] == 0.25
    assert score == facts["accuracy"]


def test_texts_without_words_are_no_reason_to_stop() -> None:
    empty = [Example(("",), label) for label in ("good", "bad")]
    for name in ("cr", "nir", "ver"):
        objective = make(name)
        objective.items(reviews(6), "head")
        batch = objective.collate(objective.items(empty, "head"))
        total, _ = objective.loss(batch, step())
        assert torch.isfinite(total)


def test_only_words_that_are_selected_count_in_their_necessity() -> None:
    # A mean over the words that were tried and selected: those below the bar must not thin it out.
    objective = make("cr", tried=1.0)
    objective.train_mode(False)
    batch = batch_of(objective, 2)
    game = objective.play(batch, step())
    mask = torch.zeros_like(game.mask)
    mask[:, 0] = 1.0
    game = dataclasses.replace(game, mask=mask, shown=mask, scores=objective.read(game.batch, mask))
    whole = game.scores.softmax(-1).gather(1, game.gold.unsqueeze(1))
    without = objective.read(game.batch, torch.zeros_like(mask)).softmax(-1).gather(1, game.gold.unsqueeze(1))
    expected = (whole - without).clamp_min(0).log1p().mean()
    assert float(objective.extra(game).detach()) == pytest.approx(-float(expected.detach()), abs=1e-6)
    assert float(expected.detach()) > 0


def test_texts_that_are_all_alike_have_words_to_put_in() -> None:
    objective = make("nir", noise=0.5)
    assert isinstance(objective, Nir)
    items = objective.items([Example(("great soup",), "good"), Example(("great soup",), "bad")], "head")
    rows, _ = objective.collate(items)
    assert objective.replaced(rows, step()).shape == rows.inputs["input_ids"].shape
