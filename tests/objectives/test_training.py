from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from saywhy.data import Dataset, load_dataset
from saywhy.errors import CapabilityError, DataError, OptionError, SayWhyWarning, UnknownNameError
from saywhy.loop import Estimate
from saywhy.models import TextModel, load
from saywhy.objectives import accuracy, objectives, train
from saywhy.types import Example, Span

SMALL = {"layers": 1, "width": 32, "heads": 2, "vocabulary_size": 300}


def reviews(n: int = 60) -> list[Example]:
    fill = ["we came", "it rained", "the room was there", "I had soup", "they said so"]
    return [
        Example(
            (f"{fill[i % 5]} and it was {'great' if i % 2 else 'awful'} {fill[(i * 7) % 5]}",),
            label=("bad", "good")[i % 2],
        )
        for i in range(n)
    ]


def quick(data: Any = None, model: Any = "text-transformer", **options: Any) -> Any:
    if model == "text-transformer":
        options.setdefault("model_options", SMALL)
    return train("plain", data or reviews(), model, **{"epochs": 2, "batch_size": 8, "learning_rate": 3e-3, **options})


def weights(model: TextModel) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.module.state_dict().items()}


def same(a: TextModel, b: TextModel) -> bool:
    return all(torch.equal(x, y) for x, y in zip(weights(a).values(), weights(b).values(), strict=True))


@pytest.mark.parametrize("name", ["text-transformer", "gru", "lstm"])
def test_it_learns_and_the_folder_loads(tmp_path: Path, name: str) -> None:
    options = {"model_options": SMALL} if name == "text-transformer" else {"model_options": {"hidden_size": 16}}
    model = quick(model=name, epochs=8, out=tmp_path, learning_rate=1e-2, **options)
    assert not model.module.training
    assert accuracy(model, model.encode(reviews())) > 0.95
    assert load(tmp_path).fingerprint == model.fingerprint
    assert [p.label for p in load(tmp_path).predict(["it was awful", "it was great"])] == ["bad", "good"]
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["config"]["model"]["name"] == name
    assert record["result"]["best_score"] > 0.95
    assert record["environment"]["threads"] == torch.get_num_threads()
    assert (tmp_path / "log.jsonl").read_text().count("score") == 8
    assert not (tmp_path / "checkpoints").exists()


def test_seed_decides_everything() -> None:
    first, second, other = quick(seed=1), quick(seed=1), quick(seed=2)
    assert same(first, second)
    assert not same(first, other)


def test_a_finished_run_is_loaded(tmp_path: Path) -> None:
    model = quick(out=tmp_path)
    before = (tmp_path / "log.jsonl").stat().st_mtime_ns
    assert quick(out=tmp_path).fingerprint == model.fingerprint
    assert (tmp_path / "log.jsonl").stat().st_mtime_ns == before
    with pytest.raises(OptionError, match=r"data\.train was .*loop\.seed was 0 and is 1"):
        quick(reviews(70), out=tmp_path, seed=1)
    assert quick(out=tmp_path, seed=1, resume=False).fingerprint != model.fingerprint


def test_an_interrupted_run_goes_on_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from saywhy.objectives.plain import Plain

    whole = quick(out=tmp_path / "whole", checkpoint_every=3)
    original, count = Plain.collate, [0]

    def failing(self: Plain, items: Any) -> Any:
        count[0] += 1
        if count[0] == 9:
            raise KeyboardInterrupt
        return original(self, items)

    monkeypatch.setattr(Plain, "collate", failing)
    with pytest.raises(KeyboardInterrupt):
        quick(out=tmp_path / "cut", checkpoint_every=3)
    assert same(quick(out=tmp_path / "cut", checkpoint_every=3), whole)


def test_dev_split_is_used_or_drawn(tmp_path: Path) -> None:
    wrong = [Example(e.texts, label="bad" if e.label == "good" else "good") for e in reviews(20)]
    data = Dataset.from_examples("mine", {"train": reviews(), "dev": wrong}, labels=("bad", "good"))
    quick(data, out=tmp_path / "a", epochs=6)
    history = json.loads((tmp_path / "a/run.json").read_text())["result"]["history"]
    assert min(h["score"] for h in history) < 0.3  # dev is labelled the wrong way round
    quick(out=tmp_path / "b")
    config = json.loads((tmp_path / "b/run.json").read_text())["config"]
    assert config["examples"] == 54


def test_limit_and_dry_run() -> None:
    guess = quick("planted-reviews", data_options={"size": "demo"}, limit=40, dry_run=True)
    assert isinstance(guess, Estimate)
    assert guess.steps == 10
    assert quick(limit=30, dry_run=True).steps == 8  # 27 of 30 to train on, in batches of 8, twice


def test_a_text_model_is_copied() -> None:
    model = quick(epochs=1)
    before = weights(model)
    again = quick(model=model, epochs=1)
    assert all(torch.equal(before[name], value) for name, value in weights(model).items())
    assert not same(model, again)


def test_a_folder_keeps_its_head_or_gets_a_new_one(tmp_path: Path) -> None:
    model = quick(epochs=6, out=tmp_path / "first")
    kept = quick(model=str(tmp_path / "first"), epochs=1, learning_rate=1e-6)
    torch.testing.assert_close(kept.module.classifier.weight, model.module.classifier.weight, rtol=0, atol=1e-3)
    three = [Example(e.texts, label=("x", "y", "z")[i % 3]) for i, e in enumerate(reviews())]
    new = quick(three, model=tmp_path / "first", epochs=1, learning_rate=1e-6)
    assert new.labels == ("x", "y", "z")
    assert new.module.classifier.weight.shape[0] == 3
    torch.testing.assert_close(
        new.module.bert.pooler.dense.weight, model.module.bert.pooler.dense.weight, rtol=0, atol=1e-3
    )


def test_pairs_choices_and_spans() -> None:
    texts = [e.texts[0] for e in reviews(24)]
    pairs = [Example((t, "it was great"), label=("no", "yes")[i % 2]) for i, t in enumerate(texts)]
    assert quick(pairs, epochs=1).task.name == "pair"
    choices = [Example((t,), choices=("awful", "great", "so so"), label=i % 2) for i, t in enumerate(texts)]
    assert quick(choices, epochs=1).task.name == "choices"
    assert quick(choices, model="gru", epochs=1).task.name == "choices"
    words = ["great" if "great" in t else "awful" for t in texts]
    spans = [
        Example(("how was it", t), answers=(Span(1, t.index(w), t.index(w) + len(w)),))
        for t, w in zip(texts, words, strict=True)
    ]
    data = Dataset("mine", "span-qa", {"train": spans, "dev": spans}, known_labels=())
    model = quick(data, epochs=30, learning_rate=1e-2)
    assert accuracy(model, model.encode(spans)) > 0.9


def test_cut_texts_are_reported_once() -> None:
    long = [Example((e.texts[0] + " so" * 50,), label=e.label) for e in reviews(20)]
    with pytest.warns(SayWhyWarning, match=r"18 of 18 training texts are longer") as caught:
        quick(long, model_options={**SMALL, "max_length": 20}, epochs=1)
    assert len(caught) == 1
    quick(long, model_options={**SMALL, "max_length": 20}, epochs=1, quiet=True)


def far_away(text: str, start: int) -> Example:
    return Example(("how was it", text), answers=(Span(1, start, start + 5),))


def test_answers_that_are_cut_off_are_counted_and_teach_nothing(tmp_path: Path) -> None:
    texts = [e.texts[0] for e in reviews(24)]
    spans = [far_away(t, t.index("it")) for t in texts[:20]]
    spans += [far_away(t + " so" * 40 + " great", len(t) + 121) for t in texts[20:]]
    data = Dataset("mine", "span-qa", {"train": spans, "dev": spans[:4]}, known_labels=())
    with pytest.warns(SayWhyWarning) as caught:
        quick(data, model_options={**SMALL, "max_length": 40}, epochs=2, out=tmp_path)
    assert [str(w.message).split(" are ")[0] for w in caught] == ["4 of 24 training texts"] * 2
    assert "before their answer" in str(caught[1].message)
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    assert losses
    assert all(loss < 100 for loss in losses)
    with pytest.raises(DataError, match="the answers of all 4 training texts lie beyond"):
        quick(
            Dataset("mine", "span-qa", {"train": spans[20:], "dev": spans[:4]}, known_labels=()),
            model_options={**SMALL, "max_length": 40},
            quiet=True,
        )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": "nosuchmodel"}, Exception, "nosuchmodel"),
        ({"temperature": 3}, OptionError, "objective 'plain' has no option temperature; it has none"),
        ({"model_options": {"depth": 3}}, OptionError, "'text-transformer' has no option depth; it has architecture"),
        ({"data_options": {"size": "demo"}}, OptionError, "data_options go with"),
        ({"data": "nosuchdata"}, UnknownNameError, "nosuchdata"),
        ({"data": reviews(1)}, DataError, "0 examples to train on"),
    ],
)
def test_mistakes(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        quick(**options)


def test_more_mistakes(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'plain'"):
        train("plainly", reviews())
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(OptionError, match="not a training run"):
        quick(out=tmp_path)
    with pytest.raises(OptionError, match="is a file"):
        quick(out=tmp_path / "letter.txt")
    box = load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["bad", "good"])
    with pytest.raises(CapabilityError, match="black box cannot be trained"):
        quick(model=box)
    with pytest.raises(OptionError, match="with labels x, y"):
        quick(model=load(lambda texts: [[0.5, 0.5]] * len(texts), labels=["x", "y"]))


def test_registry() -> None:
    assert objectives["plain"].to_dict()["family"] == "supervised"
    assert "plain" in objectives.names()


@pytest.mark.slow
def test_planted_reviews_are_learned() -> None:
    model = train("plain", "planted-reviews", "text-transformer", data_options={"size": "demo"})
    test = load_dataset("planted-reviews", size="demo", split="test")
    assert accuracy(model, model.encode(test)) > 0.95
