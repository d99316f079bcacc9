from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import OptionError, UnknownNameError
from saywhy.explainers import SaliencySelector
from saywhy.models import TextModel, load
from saywhy.objectives import train
from saywhy.types import Example
from tests.zoo import TEXTS, classifier

from .test_training import SMALL, reviews


@pytest.fixture(scope="module")
def support() -> TextModel:
    return train(
        "plain", reviews(), "text-transformer", epochs=8, batch_size=8, learning_rate=1e-2, model_options=SMALL
    )


def fresh(support: Any, data: Any = None, **options: Any) -> TextModel:
    given = {"epochs": 6, "batch_size": 8, "learning_rate": 1e-2, "model_options": SMALL, "method": "leave-one-out"}
    return train("fresh", data or reviews(), "text-transformer", support=support, **{**given, **options})


def words_read(model: TextModel, item: Any) -> list[str]:
    return [item.words[i].text for i in dict.fromkeys(item.rows[0].pieces.word.tolist())]


def test_only_the_selected_words_are_read_in_the_order_of_the_text(support: TextModel) -> None:
    model = fresh(support, top=0.3)
    for example in reviews(8):
        (item,) = model.encode([example])
        why = saywhy.explain(support, example, "leave-one-out", verdict=False)
        best = np.argsort(-np.asarray(why.scores), kind="stable")[: int(np.ceil(0.3 * len(why.words)))]
        assert words_read(model, item) == [why.words[i].text for i in sorted(best)]
        shown = model.tokenizer.decode(item.rows[0].ids, skip_special_tokens=True)
        assert shown.split() == " ".join(words_read(model, item)).lower().split()
        assert len(item.words) == len(why.words)  # the words are those of the whole text


def test_it_learns_from_the_selection_alone(support: TextModel) -> None:
    model = fresh(support, top=0.1)
    assert saywhy.evaluate(model, reviews(), (), "accuracy")["", "accuracy"].value > 0.95
    text = "we came and it was great they said so"
    (chosen,) = model.selector.select([Example((text,))], "error")  # type: ignore[union-attr]
    (item,) = model.encode([Example((text,))])
    hidden = [w for w, keep in zip(item.words, chosen, strict=True) if not keep]
    assert hidden
    # A word it does not read has no score, by any method.
    scores = saywhy.explain(model, text, "gradient", verdict=False).scores
    assert [s == 0 for s in scores] == [not keep for keep in chosen]


def test_contiguous_and_fixed(support: TextModel) -> None:
    example = Example(("we came and it was great they said so",))
    selector = SaliencySelector(support, "leave-one-out", top=0.3, contiguous=True)
    (chosen,) = selector.select([example], "error")
    places = np.flatnonzero(chosen)
    assert len(places) == 3
    assert (np.diff(places) == 1).all()
    pair = Example(("what was great", "we came and it was awful"), meta={"fixed": (0,)})
    (chosen,) = SaliencySelector(support, "leave-one-out", top=0.3).select([pair], "error")
    assert chosen[:3].all()
    assert chosen[3:].sum() == 2
    assert selector.select([Example(("",))], "error")[0].size == 0


@pytest.mark.filterwarnings("ignore::saywhy.errors.SayWhyWarning")  # of texts that are cut
def test_words_beyond_the_end_are_not_chosen() -> None:
    model = classifier("bert")
    example = Example(("film " * 100,))
    (item,) = model.encode([example], "head")
    read = len(np.unique(item.rows[0].pieces.word))
    for contiguous in (False, True):
        # Words that were cut have a score of zero, which may be more than that of words that were not.
        selector = SaliencySelector(model, "input-x-gradient", top=0.9, contiguous=contiguous)
        (chosen,) = selector.select([example], "head")
        assert chosen.sum() == int(np.ceil(0.9 * read))
        assert not chosen[read:].any()


def test_the_folder_carries_the_support(support: TextModel, tmp_path: Path) -> None:
    model = fresh(support, out=tmp_path / "run", epochs=1)
    again = load(tmp_path / "run")
    assert again.selector is not None
    assert again.fingerprint == model.fingerprint
    assert (tmp_path / "run" / "support" / "config.json").is_file()
    texts = [e.texts[0] for e in reviews(6)]
    assert [p.probabilities for p in again.predict(texts)] == [p.probabilities for p in model.predict(texts)]
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["config"]["options"]["support"] == support.fingerprint
    assert fresh(support, out=tmp_path / "run", epochs=1).fingerprint == model.fingerprint  # finished: it is loaded
    other = SaliencySelector(support, "leave-one-out", top=0.5)
    assert again.selector.fingerprint != other.fingerprint
    again.selector = other
    assert again.fingerprint != model.fingerprint


def test_pieces_of_a_word_go_together() -> None:
    model = classifier("bert")
    model.selector = SaliencySelector(classifier("electra"), "gradient", top=0.5)
    for item in model.encode([Example((text,)) for text in TEXTS]):
        row = item.rows[0]
        assert len(row.ids) == len(row.offsets) == len(row.fields) == row.pieces.pieces
        assert row.fields[0] is None
        assert row.fields[-1] is None
        for place, word in zip(row.pieces.piece, row.pieces.word, strict=True):
            start, end = row.offsets[place]
            assert item.words[word].start <= start < end <= item.words[word].end


def test_mistakes(support: TextModel) -> None:
    with pytest.raises(OptionError, match=r"support=FOLDER"):
        fresh(None)
    with pytest.raises(OptionError, match="top must lie"):
        fresh(support, top=0)
    with pytest.raises(UnknownNameError, match="nosuch"):
        fresh(support, method="nosuch")


def test_a_text_without_words_is_read_as_nothing(support: TextModel) -> None:
    model = fresh(support, epochs=1)
    (item,) = model.encode([Example(("",))])
    assert item.words == ()
    assert set(item.rows[0].ids) <= set(model.tokenizer.all_special_ids)
    (prediction,) = model.predict([""])
    assert prediction.label in model.labels
