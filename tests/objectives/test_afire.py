"""The two games of adversarial fidelity: METHODS 7, number 40."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from saywhy.loop import OptimiserSettings, Step
from saywhy.models import TextModel
from saywhy.objectives.afire import Ami, WganGp
from saywhy.objectives.mpii import Mpii
from tests.objectives.test_mpii import TINY, learn, pets
from tests.objectives.test_training import same


@pytest.fixture(scope="module")
def model() -> TextModel:
    return learn(epochs=1)


def game(model: TextModel, name: str, **options: Any) -> tuple[Mpii, Any, Any]:
    objective = Mpii(model, OptimiserSettings(), afire=name, afire_width=32, **options)
    lesson = objective.lesson(objective.collate(objective.items(pets(12), "error")))
    return objective, objective.game, lesson


def test_the_backward_network_prefers_gold_to_shuffled(model: TextModel) -> None:
    _, ami, lesson = game(model, "ami")
    assert isinstance(ami, Ami)
    optimiser = torch.optim.Adam(ami.opponent.parameters(), 5e-3)
    for _ in range(60):
        optimiser.zero_grad()
        loss, _ = ami._learn(lesson, {})
        loss.backward()
        optimiser.step()
    ami.opponent.eval()
    turn = torch.arange(len(lesson.gold)).roll(1)
    with torch.no_grad():
        gold = ami.likelihood(lesson, lesson.gold, lesson.ids)
        shuffled = ami.likelihood(lesson, lesson.gold[turn], lesson.ids[turn])
    assert bool((gold > shuffled).all())


def test_padding_does_not_matter_to_the_backward_network(model: TextModel) -> None:
    _, ami, lesson = game(model, "ami")
    ami.opponent.eval()
    longer = torch.nn.functional.pad(lesson.ids, (0, 3))
    with torch.no_grad():
        torch.testing.assert_close(
            ami.likelihood(lesson, lesson.gold, lesson.ids), ami.likelihood(lesson, lesson.gold, longer)
        )


def test_the_backward_network_chooses_among_the_pieces_it_has_met(model: TextModel) -> None:
    _, ami, lesson = game(model, "ami")
    given = lesson.batch.inputs
    inside = given["input_ids"][:, 1:][given["attention_mask"][:, 1:] > 0].unique()
    ami.opponent.eval()
    with torch.no_grad():
        among_few = ami.likelihood(lesson, lesson.gold, lesson.ids)
        assert not ami.opponent.met.any()  # to be asked is not to learn
        ami._learn(lesson, {})
        ami.opponent.train()
        ami._learn(lesson, {})
        assert torch.equal(ami.opponent.met.nonzero().squeeze(1), inside)
        ami.opponent.eval()
        assert torch.equal(ami.likelihood(lesson, lesson.gold, lesson.ids), among_few)
        ami.opponent.met.fill_(True)
        among_all = ami.likelihood(lesson, lesson.gold, lesson.ids)
        vectors = ami.opponent.body.decoder.embed_tokens.weight
        assert len(vectors) > len(inside)
        # Where all vectors are the same, a piece has one chance in as many as were met.
        vectors.copy_(torch.zeros_like(vectors))
        even = ami.likelihood(lesson, lesson.gold, lesson.ids)
    assert bool((among_all < among_few).all())
    torch.testing.assert_close(even, torch.full_like(even, -math.log(len(vectors))))
    assert "met" in ami.opponent.state_dict()


def test_what_was_drawn_counts_against_it_only_down_to_the_margin(model: TextModel) -> None:
    _, ami, lesson = game(model, "ami")
    ami.opponent.eval()
    drawn = {"ids": lesson.ids.roll(1, 0), "labels": lesson.gold.roll(1)}
    alone, _ = ami._learn(lesson, {})
    both, numbers = ami._learn(lesson, drawn)
    assert {"backward/gold", "backward/both", "backward/sentence"} == set(numbers)
    assert float(both.detach()) != pytest.approx(float(alone.detach()))
    # The gold itself, drawn, is no evidence against the gold.
    same, _ = ami._learn(lesson, {"ids": lesson.ids, "labels": lesson.gold})
    assert float(same.detach()) == pytest.approx(float(alone.detach()))
    with torch.no_grad():
        gold = ami.likelihood(lesson, lesson.gold, lesson.ids)
        fakes = [ami.likelihood(lesson, labels, drawn["ids"]) for labels in (drawn["labels"], lesson.gold)]
    ami.margin = float(max((gold - fake).min() for fake in fakes))
    expected = sum(float((ami.margin + fake - gold).clamp_min(0).mean()) for fake in fakes)
    assert float(ami._learn(lesson, drawn)[0].detach()) == pytest.approx(float(alone.detach()) + expected, abs=1e-4)


def test_the_backward_network_does_not_unlearn_the_input(model: TextModel) -> None:
    """It must tell gold from drawn by what it knows, not by knowing nothing of either."""
    _, ami, lesson = game(model, "ami")
    optimiser = torch.optim.Adam(ami.opponent.parameters(), 1e-3)
    drawn = {"ids": lesson.ids.roll(2, 0), "labels": lesson.gold}
    found = []
    for step in range(120):
        optimiser.zero_grad()
        loss, numbers = ami._learn(lesson, drawn if step >= 40 else {})
        loss.backward()
        optimiser.step()
        found.append(float(numbers["backward/gold"]))
    assert found[-1] > found[39] - 0.2


def test_both_players_see_labels_drawn_alike(model: TextModel, monkeypatch: pytest.MonkeyPatch) -> None:
    _, ami, lesson = game(model, "ami", afire_start=0.0)
    chances = torch.tensor([[0.7, 0.3]]).expand(len(lesson.gold), 2)
    count = torch.ones(len(lesson.gold))
    spoken = SimpleNamespace(ids=lesson.ids, logits=chances.log(), log_probability=0 * count, lengths=count)
    for verb in ("generate", "write"):
        monkeypatch.setattr(type(ami.speaker), verb, lambda *_, **__: spoken)
    memory = ami.speaker.read(**lesson.batch.inputs)
    seen: dict[str, list[torch.Tensor]] = {"backward": [], "reward": []}

    def told(player: str, labels: torch.Tensor) -> torch.Tensor:
        if labels is not lesson.gold:  # what the reward is compared with
            seen[player].append(labels)
        return torch.zeros(len(labels))

    monkeypatch.setattr(ami, "_learn", lambda lesson, drawn: told("backward", drawn["labels"]))
    monkeypatch.setattr(ami, "likelihood", lambda lesson, labels, ids: told("reward", labels))
    for index in range(100):
        step = Step(index, 100, 0, 0)
        for phase in ami.phases(lesson, step):
            phase.loss()
        ami.gain(lesson, step, memory)
    shares = {player: float(torch.cat(labels).double().mean()) for player, labels in seen.items()}
    assert shares == {"backward": pytest.approx(0.3, abs=0.05), "reward": pytest.approx(0.3, abs=0.05)}
    assert not torch.equal(torch.cat(seen["backward"]), torch.cat(seen["reward"]))
    again = next(iter(ami.phases(lesson, Step(0, 100, 0, 0))))
    again.loss()
    assert torch.equal(seen["backward"][-1], seen["backward"][0])


def test_the_reward_moves_the_model_and_its_baseline(model: TextModel) -> None:
    objective, ami, lesson = game(model, "ami", afire_start=0.0)
    step = Step(5, 10, 0, 0)
    loss, numbers = ami._reward(lesson, step, ami.speaker.read(**lesson.batch.inputs))
    assert numbers["reward"] != 0
    assert objective.state() == {"baseline": pytest.approx(numbers["reward"])}
    model.module.zero_grad()
    loss.backward()
    found: Any = model.module
    assert float(found.decoder.layers[0].fc1.weight.grad.abs().max()) > 0
    assert all(p.grad is None or float(p.grad.abs().max()) == 0 for p in ami.opponent.parameters())
    objective.load_state({"baseline": -3.0})
    assert ami.baseline == -3.0


def test_the_reward_counts_for_the_whole_sentence_and_the_label(
    model: TextModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ami, lesson = game(model, "ami", afire_weight=0.1)
    step = Step(5, 10, 0, 0)
    memory = ami.speaker.read(**lesson.batch.inputs)
    with torch.no_grad():
        found = ami.speaker.write(memory, sample=step.generator("reward"))
    chances = found.logits.log_softmax(-1)
    drawn = torch.multinomial(chances.exp(), 1, generator=step.generator("label"))
    # What was drawn is worth 1, gold nothing, and half of it was to be expected.
    monkeypatch.setattr(ami, "likelihood", lambda _, labels, ids: 0 * labels + float(ids is not lesson.ids))
    ami.load_state({"baseline": 0.5})
    loss, _ = ami._reward(lesson, step, memory)
    whole = (found.log_probability + chances.gather(1, drawn).squeeze(1)).detach().mean()
    assert loss.item() == pytest.approx(-0.1 * 0.5 * whole.item(), rel=1e-4)


def test_the_critic_has_a_penalty_and_the_model_gets_its_gradient(model: TextModel) -> None:
    objective, wgan, lesson = game(model, "wgan-gp", afire_start=0.0)
    assert isinstance(wgan, WganGp)
    assert objective.period == 12
    loss, numbers = wgan._learn(lesson, Step(0, 100, 0, 0))
    assert float(numbers["critic/penalty"]) > 0
    loss.backward()
    assert float(wgan.opponent.word.weight.grad.abs().max()) > 0
    model.module.zero_grad()
    wgan._raise(lesson, wgan.speaker.read(**lesson.batch.inputs)).backward()
    found: Any = model.module
    assert float(found.word_bias.grad.abs().max()) > 0
    steps = [Step(i, 100, 0, 0) for i in (0, 9, 10, 11)]
    assert [[p.title for p in wgan.phases(lesson, step)] for step in steps] == [["critic"], ["critic"], [], []]
    memory = wgan.speaker.read(**lesson.batch.inputs)
    assert [wgan.gain(lesson, step, memory) is not None for step in steps] == [False, False, True, False]


def test_the_model_moves_once_a_step(model: TextModel) -> None:
    objective, _, _ = game(model, "ami", afire_start=0.5)
    batch = objective.collate(objective.items(pets(12), "error"))
    told = []
    for index in (4, 5):
        phases = list(objective.phases(batch, Step(index, 10, 0, 0)))
        assert [phase.players for phase in phases] == [("backward",), ("model",)]
        _, numbers = phases[1].loss()  # type: ignore[misc]
        told.append("reward" in numbers)
    assert told == [False, True]


def test_gold_is_what_a_reward_is_measured_by(model: TextModel, monkeypatch: pytest.MonkeyPatch) -> None:
    _, ami, lesson = game(model, "ami")
    sure = torch.nn.functional.one_hot(lesson.gold, 2) * 100.0
    count = torch.ones(len(lesson.gold))
    spoken = SimpleNamespace(ids=lesson.ids, logits=sure, log_probability=0 * count, lengths=count)
    monkeypatch.setattr(type(ami.speaker), "write", lambda *_, **__: spoken)
    memory = ami.speaker.read(**lesson.batch.inputs)
    ami.opponent.train()
    assert ami._reward(lesson, Step(5, 10, 0, 0), memory)[1]["reward"] == pytest.approx(0, abs=1e-6)
    assert ami.opponent.training


@pytest.mark.parametrize("name", ["ami", "wgan-gp"])
def test_training_with_a_game_resumes_to_the_same_bits(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Enough steps for the critic to have had its ten turns, and for the reward to have an average.
    options = {"epochs": 6, "afire": name, "afire_start": 0.3, "afire_width": 32, "checkpoint_every": 1}
    whole = learn(out=tmp_path / "whole", **options)
    config = json.loads((tmp_path / "whole" / "run.json").read_text())["config"]
    assert config["options"]["afire"] == name
    assert not any("backward" in n or "critic" in n for n in whole.module.state_dict())
    phases = Mpii.phases

    def stopped(self: Mpii, batch: Any, step: Step) -> Any:
        if step.index == 13:
            raise KeyboardInterrupt
        return phases(self, batch, step)

    monkeypatch.setattr(Mpii, "phases", stopped)
    with pytest.raises(KeyboardInterrupt):
        learn(out=tmp_path / "part", **options)
    monkeypatch.setattr(Mpii, "phases", phases)
    assert same(learn(out=tmp_path / "part", **options), whole)


def test_the_other_player_is_drawn_by_the_seed_and_has_its_games_settings(model: TextModel) -> None:
    drawn = {}
    for seed in (0, 1):
        objective = Mpii(model, OptimiserSettings(), afire="ami", afire_width=32)
        objective.begin(seed)
        assert objective.players["backward"] is objective.game.opponent  # type: ignore[union-attr]
        drawn[seed] = objective.game.opponent.word.weight  # type: ignore[union-attr]
    assert not torch.equal(drawn[0], drawn[1])
    for name, width, rate in (("ami", 128, 1e-3), ("wgan-gp", 256, 1e-5)):
        objective = Mpii(model, OptimiserSettings(learning_rate=0.5), afire=name)
        assert objective.game is not None
        assert width in objective.game.opponent.word.weight.shape
        assert objective.optimisers()[objective.game.player].learning_rate == rate
    given = Mpii(model, OptimiserSettings(), afire="wgan-gp", afire_rate=0.1).optimisers()["critic"]
    assert given.learning_rate == 0.1


@pytest.mark.parametrize("integration", ["full", "no-inference", "no-interpretation", "none"])
def test_a_label_that_does_not_move_counts_once(integration: str) -> None:
    untrained = learn(epochs=0, model_options={**TINY, "integration": integration})
    objective, _, lesson = game(untrained, "none", per_word=True)
    loss, terms = objective.supervised(lesson)
    moves = integration in ("full", "no-inference")
    expected = terms["words"] + terms["label"] + (terms["first-label"] if moves else 0.0)
    torch.testing.assert_close(loss.detach(), torch.as_tensor(expected))


@pytest.mark.parametrize("integration", ["full", "none"])
def test_padding_behind_the_end_changes_no_term(integration: str) -> None:
    model = learn(epochs=0, model_options={**TINY, "integration": integration})
    model.module.eval()
    objective, _, lesson = game(model, "none")
    pad_id = int(model.module.config.pad_id)  # type: ignore[union-attr, arg-type]
    longer = replace(lesson, ids=torch.nn.functional.pad(lesson.ids, (0, 2), value=pad_id))
    (loss, terms), (padded, same_terms) = objective.supervised(lesson), objective.supervised(longer)
    assert set(terms) == {"words", "label", "first-label"}
    torch.testing.assert_close(padded, loss)
    for name, value in terms.items():
        torch.testing.assert_close(torch.as_tensor(same_terms[name]), torch.as_tensor(value), msg=name)
