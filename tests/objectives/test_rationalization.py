"""What holds for every objective that trains rationalizers, and the game itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import CapabilityError, OptionError, SayWhyWarning
from saywhy.loop import OptimiserSettings
from saywhy.models import TextModel, load
from saywhy.models.rationales import rationalizer_of, read_rationales
from saywhy.models.rationalizer import build_rationalizer
from saywhy.objectives import objectives
from saywhy.objectives.rationalization import Rationalization
from saywhy.ops.rationales import selection_penalty
from tests import zoo
from tests.objectives.rationalizers import SMALL, batch_of, make, quick, reviews, step

NAMES = [entry.name for entry in objectives if issubclass(entry.value, Rationalization)]
pytestmark = pytest.mark.filterwarnings("ignore::saywhy.errors.SayWhyWarning")


@pytest.mark.parametrize("name", NAMES)
def test_every_objective_trains_and_its_model_explains_itself(name: str, tmp_path: Path) -> None:
    model = quick(name, out=tmp_path)
    again = load(tmp_path)
    assert again.fingerprint == model.fingerprint
    why: Any = saywhy.explain(again, reviews(1)[0], method="rationale", verdict=False)
    assert why.kind == "rationale"
    report = json.loads((tmp_path / "run.json").read_text())["report"]
    assert 0 <= report["sparsity"] <= 1
    assert report["seed"] == 0
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert all("selected" in line for line in log if "score" in line)


@pytest.mark.parametrize("name", NAMES)
def test_every_objective_moves_all_its_players_and_the_seed_decides(name: str) -> None:
    models = [quick(name, seed=seed, max_steps=2) for seed in (1, 1, 2)]
    weights = [model.module.state_dict() for model in models]
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])
    assert any(not torch.equal(weights[0][key], weights[2][key]) for key in weights[0])
    objective = make(name)
    before = {key: value.clone() for key, value in objective.model.module.state_dict().items()}
    trained = quick(name, model=objective.model, model_options=None, max_steps=3).module.state_dict()
    reads_out = "intervention.prediction.weight" if name == "inter-rat" else "predictor.classifier.weight"
    for part in ("selector.head.weight", reads_out):
        assert not torch.equal(trained[part], before[part])


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_run_goes_on_exactly(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"checkpoint_every": 1, "target_sparsity": 0.2}
    whole = quick(name, out=tmp_path / "whole", **options)
    kind = objectives[name].value
    original, count = kind.collate, [0]

    def failing(self: Any, items: Any) -> Any:
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt
        return original(self, items)

    monkeypatch.setattr(kind, "collate", failing)
    with pytest.raises(KeyboardInterrupt):
        quick(name, out=tmp_path / "cut", **options)
    assert quick(name, out=tmp_path / "cut", **options).fingerprint == whole.fingerprint


@pytest.mark.parametrize("name", ["a2i", "a2r", "dmr", "inter-rat"])
@pytest.mark.parametrize("encoder", ["gru", "text-transformer"])
def test_the_seed_draws_the_further_players(name: str, encoder: str) -> None:
    small = {"layers": 1, "width": 16, "heads": 2, "vocabulary_size": 200}
    options = SMALL if encoder == "gru" else {"encoder": encoder, "encoder_options": small}
    labels = ("bad", "good")
    found = []
    for seed in (1, 1, 2):
        model = TextModel(*build_rationalizer(reviews(24), "text", labels, 0, **options), "text", labels)  # type: ignore[arg-type]
        objective = objectives[name].value(model, OptimiserSettings())
        objective.begin(seed)
        (extra,) = (p for key, p in objective.players.items() if key not in ("selector", "predictor", "shift"))
        found.append({key: value.clone() for key, value in extra.named_parameters()})
    assert all(torch.equal(found[0][key], found[1][key]) for key in found[0])
    heads = [key for key in found[0] if key.split(".")[0] in ("head", "classifier", "labels", "prediction")]
    assert heads
    assert all(not torch.equal(found[0][key], found[2][key]) for key in heads)


@pytest.mark.parametrize("name", NAMES)
def test_transformers_and_pairs_with_a_query(name: str) -> None:
    encoder = {"layers": 1, "width": 16, "heads": 2, "vocabulary_size": 200}
    pairs = [
        saywhy.types.Example(("How was it?", e.texts[0]), e.label, meta={**e.meta, "fixed": (0,)}) for e in reviews(16)
    ]
    model = quick(name, data=pairs, model="text-transformer", model_options={"encoder_options": encoder}, max_steps=1)
    (reading,) = read_rationales(model, model.encode(pairs[:1]))
    assert not reading.free[:4].any()


@pytest.mark.parametrize("name", ["rnp", "ver"])
def test_the_game_is_won(name: str) -> None:
    model = quick(name, data=reviews(), epochs=14, target_sparsity=0.15, lambda2=0.2, anneal=0.5)
    test = reviews(60)
    readings = read_rationales(model, model.encode(test))
    words = [[w.text for w in model.words(e)] for e in test]
    deciding = [[w in ("great", "lovely", "superb", "awful", "dreadful", "nasty") for w in some] for some in words]
    hits = np.mean([r.selected[np.asarray(d)].all() for r, d in zip(readings, deciding, strict=True)])
    assert hits > 0.8  # of 15 % drawn at random, 0.15
    assert np.mean([r.selected.mean() for r in readings]) < 0.3
    assert saywhy.objectives.accuracy(model, model.encode(test)) > 0.9


def test_only_the_predictor_sees_what_ver_exchanges() -> None:
    plain, disturbed = make("rnp"), make("ver", rate=0.9)
    for objective in (plain, disturbed):
        objective.train_mode(False)
    one, other = plain.play(batch_of(plain), step()), disturbed.play(batch_of(disturbed), step())
    assert torch.equal(one.mask, other.mask)
    assert torch.equal(one.shown, one.mask)
    assert not torch.equal(other.shown, other.mask)
    assert torch.equal(plain.penalty(one.mask, one.choice), disturbed.penalty(other.mask, other.choice))
    assert not torch.allclose(one.scores, other.scores)
    loss, logged = disturbed.loss(batch_of(disturbed), step())
    expected = other.cross_entropy + selection_penalty(
        other.mask, other.choice.real, alpha=0.15, lambda1=3.0, lambda2=1.0
    )
    torch.testing.assert_close(loss, expected)
    assert logged["alpha"] == 0.15


def test_ver_without_a_rate_is_rnp() -> None:
    one, other = quick("rnp", max_steps=2), quick("ver", rate=0.0, max_steps=2)
    for a, b in zip(one.module.parameters(), other.module.parameters(), strict=True):
        assert torch.equal(a, b)


def test_evaluation_is_deterministic_and_undisturbed() -> None:
    objective = make("ver", rate=1.0)
    items = objective.items(reviews(12), "head")
    objective.train_mode(False)
    torch.manual_seed(0)
    first = objective.score(items, 4)
    torch.manual_seed(1)
    assert objective.score(items, 4) == first
    readings = read_rationales(objective.model, items)
    network = rationalizer_of(objective.model)
    rows = objective.collate(items)[0]
    with torch.no_grad():
        choice = network.choose(rows.inputs)
        scores = objective.read(rows, (choice.logits.argmax(-1) * choice.real).float())
    np.testing.assert_allclose([r.scores for r in readings], scores, atol=1e-6)


@pytest.mark.parametrize("target", [0.1, 0.4])
def test_so_much_is_selected_as_was_asked_for_and_the_model_keeps_it(target: float, tmp_path: Path) -> None:
    model = quick("rnp", data=reviews(120), target_sparsity=target, epochs=2, out=tmp_path)
    report = json.loads((tmp_path / "run.json").read_text())["report"]
    assert report["sparsity"] == pytest.approx(target, abs=0.02)
    assert report["threshold"] == float(rationalizer_of(load(tmp_path)).selector.threshold) != 0
    readings = read_rationales(load(tmp_path), model.encode(reviews(60)))
    assert np.mean([r.selected.mean() for r in readings]) == pytest.approx(target, abs=0.08)


def test_the_encoder_is_named_by_the_model(tmp_path: Path) -> None:
    encoder = {"encoder_options": {"layers": 1, "width": 16, "heads": 2, "vocabulary_size": 200}}
    model = quick("rnp", model="text-transformer", model_options=encoder, max_steps=1, out=tmp_path)
    assert model.module.config.encoder["model_type"] == "bert"
    further = quick("ver", model=tmp_path, model_options=None, max_steps=1)
    assert further.module.config.encoder["model_type"] == "bert"
    data = [saywhy.types.Example((t,), zoo.LABELS[i % 3]) for i, t in enumerate(zoo.TEXTS * 4)]
    with pytest.raises(CapabilityError, match="is no rationalizer"):
        quick("rnp", data=data, model=zoo.shared(), model_options=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 1.5}, "alpha is a share"),
        ({"target_sparsity": 0.0}, "target_sparsity is a share"),
        ({"lambda1": -1.0}, "must not be negative"),
        ({"reduction": "sum"}, "unknown reduction"),
        ({"anneal": 1.0}, "anneal is a share"),
        ({"rate": 2.0}, "rate is a probability"),
        ({"count": "all"}, "unknown count"),
        ({"speed": 3}, "objective 'ver' has no option speed; it has rate, count, alpha, target_sparsity"),
    ],
)
def test_mistakes(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        quick("ver", max_steps=1, **options)


@pytest.mark.filterwarnings("default::saywhy.errors.SayWhyWarning")
def test_a_collapse_is_reported_with_its_seed(tmp_path: Path) -> None:
    with pytest.warns(SayWhyWarning, match=r"collapsed with seed 7: nearly everything is selected"):
        quick("rnp", seed=7, alpha=0.99, lambda1=50.0, epochs=4, out=tmp_path)
    report = json.loads((tmp_path / "run.json").read_text())["report"]
    assert "everything" in report["collapse"]
    assert report["seed"] == 7


def test_the_options_of_an_objective_are_all_listed() -> None:
    names = objectives["ver"].value.option_names()
    assert names[:2] == ["rate", "count"]
    assert {"alpha", "lambda1", "lambda2", "reduction", "target_sparsity", "temperature"} <= set(names)
    assert SMALL
