from __future__ import annotations

from typing import Any

import pytest
import torch

import saywhy
from saywhy.data import load_dataset
from saywhy.errors import DataError, OptionError
from saywhy.loop import OptimiserSettings, Step
from saywhy.models import TextModel
from saywhy.objectives import train
from saywhy.objectives.mpii import Mpii
from saywhy.types import Example
from tests import zoo
from tests.models.test_minilm import needs_minilm

TINY: dict[str, Any] = {
    "layers": 1,
    "width": 32,
    "heads": 2,
    "longest": 8,
    "encoder_options": {"layers": 1, "width": 32, "heads": 2, "vocabulary_size": 200, "dropout": 0.0},
    "dropout": 0.0,
}


def pets(n: int = 36) -> list[Example]:
    """A pair whose first words decide, and why."""
    animals, things = ["dog", "cat", "fox"], ["lamp", "cup", "book"]
    made = []
    for i in range(n):
        one = (animals if i % 2 else things)[i // 2 % 3]
        why = f"a {one} is {'an animal' if i % 2 else 'no animal'}"
        made.append(Example((f"it is a {one}", "is it alive ?"), ("no", "yes")[i % 2], explanations=(why, "because")))
    return made


def learn(data: Any = None, objective: str = "mpii", model: Any = None, **options: Any) -> TextModel:
    given = {"epochs": 16, "batch_size": 12, "learning_rate": 5e-3, "quiet": True, "explanations": 1}
    given = {**given, "model_options": TINY, **options}
    return train(objective, data or pets(), model, **given)


def test_it_learns_label_and_sentence() -> None:
    model = learn()
    for example in pets(6):
        why: Any = saywhy.explain(model, example)
        assert why.prediction.label == example.label
        assert why.sentence == example.explanations[0]


def test_every_explanation_is_learned_if_asked_for() -> None:
    model = learn(epochs=1)
    once, twice = (Mpii(model, OptimiserSettings(), explanations=n).items(pets(4), "error") for n in (1, 3))
    assert [len(once), len(twice)] == [4, 8]
    assert twice[1].example.explanations == ("because",)
    with pytest.raises(OptionError, match="explanations must be at least 1"):
        Mpii(model, OptimiserSettings(), explanations=0)


def test_one_explanation_is_drawn_each_time() -> None:
    objective = Mpii(learn(epochs=1), OptimiserSettings())
    batch = objective.collate(objective.items(pets(12), "error"))
    assert len(batch[1]) == 12
    first = objective.lesson(batch).ids
    drawn = [objective.lesson(batch, Step(i, 10, 0, 0)).ids for i in (0, 0, 1)]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    short = {int((ids[row] != 0).sum()) for ids in drawn for row in range(12)}
    assert len(short) > 1  # "because" is among them
    assert all(int((ids != 0).sum()) > 2 for ids in first)


def test_what_was_trained_before_has_its_own_rate() -> None:
    objective = Mpii(learn(epochs=1), OptimiserSettings(learning_rate=1e-5), decoder_rate=1e-3)
    rules = objective.optimisers()
    assert rules["model"].learning_rate == 1e-3
    assert rules["model"].rates == {"encoder.": 1e-5}
    objective.speaker.config.pretrained_decoder = True
    assert objective.optimisers()["model"].rates == {"encoder.": 1e-5, "decoder.": 1e-5}


def test_the_loss_is_the_likelihood_of_whole_sentences() -> None:
    model = learn(epochs=1)
    by_sentence, by_word = (Mpii(model, OptimiserSettings(), per_word=mean) for mean in (False, True))
    lesson = by_sentence.lesson(by_sentence.collate(by_sentence.items(pets(12), "error")))
    by_sentence.train_mode(False)
    with torch.no_grad():
        gold = by_sentence.speaker.follow(lesson.ids, **lesson.batch.inputs)
        (whole, numbers), (mean, _) = (one.supervised(lesson) for one in (by_sentence, by_word))
    labels = float(numbers["label"]) + float(numbers["first-label"])
    # - log P(E | X) of a sentence, the mean over sentences; and that of a word, the mean over words.
    assert float(whole) - labels == pytest.approx(-float(gold.log_probability.mean()), rel=1e-5)
    assert float(mean) - labels == pytest.approx(-float(gold.log_probability.sum()) / int(gold.lengths.sum()), rel=1e-5)


def test_the_label_is_also_learned_behind_its_own_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = Mpii(learn(epochs=1), OptimiserSettings(), own_from=0.5)
    batch = objective.collate(objective.items(pets(12), "error"))
    lesson = objective.lesson(batch)
    with torch.no_grad():
        objective.train_mode(False)
        ids = objective.speaker.generate(**lesson.batch.inputs).ids
        own = objective.speaker.follow(ids, **lesson.batch.inputs).logits
        behind = float(torch.nn.functional.cross_entropy(own, lesson.gold))
        memory = objective.speaker.read(**lesson.batch.inputs)
        alone, both = (objective._supervised(lesson, memory, own)[1] for own in (False, True))
    assert float(both["label"]) == pytest.approx((float(alone["label"]) + behind) / 2, abs=1e-5)
    asked: list[bool] = []
    monkeypatch.setattr(
        objective, "_supervised", lambda lesson, memory, own: (asked.append(own), (torch.zeros(()), {}))[1]
    )
    for index in (4, 5):
        (phase,) = objective.phases(batch, Step(index, 10, 0, 0))
        phase.loss()
    assert asked == [False, True]
    with pytest.raises(OptionError, match="own_from is a share of the run"):
        Mpii(objective.model, OptimiserSettings(), own_from=2.0)


def test_mistakes_are_named() -> None:
    with pytest.raises(DataError, match="has no explanation in words"):
        learn([*pets(8), Example(("a", "b"), "yes")])
    with pytest.raises(OptionError, match="trains the network mpii"):
        Mpii(zoo.shared("bert"), OptimiserSettings())
    with pytest.raises(OptionError, match="must not be negative"):
        learn(start_weight=-1.0)


def test_choices_are_learned() -> None:
    animals = ["dog", "cat", "fox"]
    data = [
        Example((f"who is a {a} ?",), i % 3, choices=tuple(animals), explanations=(f"it is the {a}",))
        for i, a in enumerate(animals * 12)
    ]
    model = learn(data)
    assert [p.label for p in model.predict(data[:3])] == animals


@pytest.mark.slow
@needs_minilm
@pytest.mark.parametrize("data", ["planted-nli", "planted-choices"])
def test_planted_reasons_are_named(data: str) -> None:
    """Over 95 % of the labels, and over 90 % of the sentences word for word."""
    options = {"encoder": "minilm"} | ({"choice_states": "pooled"} if data == "planted-choices" else {})
    model = train("mpii", data, "mpii", epochs=4, learning_rate=1e-4, quiet=True, model_options=options)
    test = list(load_dataset(data)["test"])
    said: Any = saywhy.explain(model, test, "sentence")
    right = [p.index == model.task.gold(e) for p, e in zip(model.predict(test), test, strict=True)]
    assert sum(right) / len(right) > 0.95
    exact = [w.sentence == e.explanations[0] for w, e in zip(said, test, strict=True)]
    assert sum(exact) / len(exact) > 0.9


def test_transformer_mlp_has_no_integration() -> None:
    model = learn(objective="transformer-mlp", epochs=8)
    network: Any = model.module
    assert network.config.integration == "none"
    why: Any = saywhy.explain(model, pets(1)[0])
    assert len(set(why.steps)) == 1
    assert why.sentence.startswith("a ")


def test_e_infersent_learns_and_explains_the_label_it_predicts(tmp_path: Any) -> None:
    options = {"hidden_size": 16, "decoder_size": 32, "embedding_size": 16, "longest": 8, "dropout": 0.0}
    model = learn(objective="e-infersent", model_options=options, epochs=40, learning_rate=1e-2, out=tmp_path)
    for example in pets(4):
        why: Any = saywhy.explain(model, example)
        assert why.prediction.label == example.label
        assert why.sentence == example.explanations[0]
        assert len(set(why.steps)) == 1
    with pytest.raises(OptionError, match="beams are for mpii"):
        saywhy.explain(model, pets(1)[0], "sentence", beams=4)
    assert saywhy.load(tmp_path).fingerprint == model.fingerprint
    whole = model.predict(pets(4))
    network: Any = model.module
    network.head.bias.data[network.config.words.index("<unk>")] = 100.0
    assert "<unk>" not in saywhy.explain(model, pets(1)[0]).sentence  # type: ignore[attr-defined]
    for one, example in zip(whole, pets(4), strict=True):  # padding does not matter
        assert one.probabilities == pytest.approx(model.predict(example)[0].probabilities, abs=1e-5)
    with pytest.raises(OptionError, match="label_share must lie between 0 and 1"):
        learn(objective="e-infersent", model_options=options, label_share=2.0)
