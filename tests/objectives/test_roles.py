from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.cli.app import main
from saywhy.data import Dataset
from saywhy.data.frames import Frame
from saywhy.errors import LoadError, OptionError
from saywhy.metrics import Accuracy
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.models.guidance import GuidedModel
from saywhy.models.role_tagger import RoleTagger, Tagged, role_spans
from saywhy.objectives.roles import role_f1, tagged_sentences, train_roles
from saywhy.types import Example
from tests import zoo


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """A tiny encoder with the zoo's tokenizer."""
    return zoo.save_encoder(tmp_path / "encoder")


def sentence(agent: str, verb: str, patient: str) -> Example:
    text = f"{agent} {verb} {patient}"
    starts = (0, len(agent) + 1, len(agent) + len(verb) + 2)
    places = tuple((a, a + len(w)) for a, w in zip(starts, (agent, verb, patient), strict=True))
    frame = {"token": 1, "frame": f"{verb}.01", "args": [["ARG0", 0, 1], ["V", 1, 2], ["ARG1", 2, 3]]}
    return Example((text,), meta={"places": places, "predicates": [frame]})


SENTENCES = [
    sentence(a, v, p) for a in ("people", "passengers") for v in ("walk", "eat", "run") for p in ("car", "film")
]


def test_questions_of_a_sentence() -> None:
    predicates, roles = tagged_sentences(SENTENCES[:1])
    assert (predicates.predicate, predicates.tags) == (None, ("O", "B-V", "O"))
    assert (roles.predicate, roles.tags) == (1, ("B-ARG0", "B-V", "B-ARG1"))
    assert tagged_sentences([Example(("No frames",), meta={"places": ()})]) == []
    assert role_spans(["I-A", "I-A", "B-A", "O"]) == [("A", 0, 1), ("A", 2, 2)]


def test_scores_of_a_tagger() -> None:
    class Fixed:
        """A tagger that answers by the predicate it is asked about."""

        def __init__(self, made: dict[int | None, list[str]]) -> None:
            self.made = made

        def tag(self, items: Any, batch_size: int = 64) -> list[list[str]]:
            return [self.made[item.predicate] for item in items]

    def scores(made: dict[int | None, list[str]]) -> Any:
        return role_f1(Fixed(made), tagged_sentences(SENTENCES[:1]))  # type: ignore[arg-type]

    right = {None: ["O", "B-V", "O"], 1: ["B-ARG0", "B-V", "B-ARG1"]}
    assert set(scores(right).values()) == {1.0}
    half = scores({None: ["B-V", "B-V", "O"], 1: ["B-ARG0", "B-V", "B-ARG2"], 0: ["B-V", "B-ARG0", "B-ARG1"]})
    assert half["predicates"] == pytest.approx(2 / 3)
    assert (half["roles"], half["precision"], half["recall"]) == (0.5, 0.5, 0.5)
    # One of four roles that are said is one of the two that there are.
    assert half["end-to-end"] == pytest.approx(2 * 1 / (4 + 2))
    missed = scores({**right, None: ["O", "O", "O"]})
    assert (missed["roles"], missed["end-to-end"]) == (1.0, 0.0)


def test_a_tagger_learns_and_guides(encoder: Path, tmp_path: Path) -> None:
    data = Dataset.from_examples("sentences", {"train": SENTENCES * 8, "dev": SENTENCES})
    tagger = train_roles(data, out=tmp_path / "roles", epochs=6, learning_rate=3e-3, encoder=encoder, progress=False)
    with pytest.raises(OptionError, match="limit"):
        train_roles(data, out=tmp_path / "few", limit=2, encoder=encoder)
    assert role_f1(tagger, tagged_sentences(SENTENCES))["roles"] > 0.9
    again = RoleTagger.load(tmp_path / "roles")
    text = SENTENCES[0].texts[0]
    expected = (Frame((7, 11), (("ARG0", 0, 6), ("ARG1", 12, 15))),)
    assert tagger.frames([text])[0] == again.frames([text, text])[1] == expected
    model = zoo.pair_classifier("decomposable-attention")
    pair = Example((text, "passengers walk film"), "neutral")
    space = AlignmentSpace(model, [pair])
    guided = GuidedModel(model, again.frames)
    masked = space.probabilities(np.zeros(1, dtype=int), np.eye(3).reshape(1, -1))[0]
    assert guided.predict([pair])[0].probabilities == pytest.approx(masked.tolist(), abs=1e-6)
    assert guided.predict([pair])[0].probabilities != model.predict([pair])[0].probabilities
    assert guided.fingerprint != model.fingerprint
    right = float(masked.argmax() == model.labels.index("neutral"))
    metric = Accuracy(guide=str(tmp_path / "roles"))
    assert saywhy.evaluate(model, [pair], metrics=metric).results[0].value == right


def test_the_command(
    encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = Dataset.from_examples("sentences", {"train": SENTENCES * 8, "dev": SENTENCES, "test": SENTENCES[:4]})
    for place in ("saywhy.objectives.roles.load_dataset", "saywhy.data.load_dataset"):
        monkeypatch.setattr(place, lambda *_, **__: data)
    arguments = ["train", "roles", "--data", "sentences", "--model", str(encoder), "--out", str(tmp_path / "roles")]
    arguments += ["--epochs", "6", "--learning-rate", "3e-3", "--option", "progress=false", "--json"]
    for _ in range(2):  # trained, and then found finished
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == 0
        scores = json.loads(capsys.readouterr().out)["test"]
        assert scores["roles"] > 0.9
        assert scores["end-to-end"] > 0.9
    assert RoleTagger.load(tmp_path / "roles").frames([SENTENCES[0].texts[0]])[0]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--dry-run"])
    assert ended.value.code == 2


@pytest.mark.filterwarnings("ignore::saywhy.errors.SayWhyWarning")
def test_guided_pairs_are_cut_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    unguided = SimpleNamespace(frames=lambda texts: [() for _ in texts])
    monkeypatch.setattr("saywhy.metrics.accuracy._tagger", lambda folder: unguided)
    model = zoo.pair_classifier("bert")
    long = Example((" ".join(zoo.TEXTS * 6), "A film"), "neutral")
    plain, guided = (
        saywhy.evaluate(model, [long], metrics=Accuracy(guide=guide), truncation="head").results[0].value
        for guide in (None, "roles")
    )
    assert plain == guided


def test_the_predicate_is_marked(encoder: Path) -> None:
    tagger = RoleTagger.build(["ARG0"], encoder=encoder)
    words = ((0, 6), (7, 11))
    plain, _, _ = tagger.collate([Tagged("people walk", words)])
    asked, gold, first = tagger.collate([Tagged("people walk", words, 1, ("B-ARG0", "B-V"))])
    assert plain["token_type_ids"].sum() == 0
    marked = asked["token_type_ids"][0].nonzero().flatten().tolist()
    assert marked[0] == first[0][1]
    assert [tagger.tags[int(gold[0, at])] for at in first[0]] == ["B-ARG0", "B-V"]


def test_a_folder_without_a_tagger(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="holds no tagger of roles"):
        RoleTagger.load(tmp_path)
