from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import saywhy
from saywhy.errors import OptionError
from saywhy.explainers import removal
from saywhy.models import TextModel
from saywhy.types import Example
from tests import zoo


def occlusion(model: Any, inputs: Any, **options: Any) -> Any:
    return saywhy.explain(model, inputs, "occlusion", **options)


def either(texts: list[str]) -> list[list[float]]:
    """Satisfied as long as one of two words is there: leaving one out shows nothing."""
    found = [0.9 if "good" in t.split() or "great" in t.split() else 0.2 for t in texts]
    return [[1 - p, p] for p in found]


MODEL = saywhy.load(either, labels=["no", "yes"])


def test_windows_see_what_single_words_hide() -> None:
    text = "a good great film indeed"
    assert max(occlusion(MODEL, text, unit="word").scores) == pytest.approx(0.0)
    # Windows of two: (a good) (good great) (great film) (film indeed); only the second matters.
    scores = occlusion(MODEL, text, window=2).scores
    assert scores == pytest.approx((0, 0.35, 0.35, 0, 0))
    # A stride of two: (a b) (good great), and (great film), with which the text ends.
    assert occlusion(MODEL, "a b good great film", window=2, stride=2).scores == pytest.approx((0, 0, 0.7, 0.35, 0))
    assert occlusion(MODEL, text, window=99).scores == pytest.approx((0.7,) * 5)


@pytest.mark.parametrize("options", [{"unit": "word"}, {"window": 1}])
@pytest.mark.parametrize("space", ["words", "alignments"])
def test_windows_of_one_are_leave_one_out(options: dict[str, Any], space: str) -> None:
    model = zoo.pair_classifier()
    found: Any = occlusion(model, zoo.PAIR, space=space, **options)
    expected: Any = saywhy.explain(model, zoo.PAIR, "leave-one-out", space=space)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)
    assert found.cost == expected.cost


def ablation(model: TextModel, text: str, groups: list[int]) -> list[float]:
    """Captum's drop for each word, whose group is ablated with it."""
    captum = pytest.importorskip("captum.attr")
    row = model.encode([Example((text,))])[0].rows[0]
    ids = torch.from_numpy(row.ids)[None]
    feature = torch.full(ids.shape, max(groups) + 1)
    feature[0, row.pieces.piece] = torch.tensor(groups)[torch.from_numpy(row.pieces.word)]

    def forward(given: torch.Tensor) -> torch.Tensor:
        return model.module(input_ids=given, attention_mask=torch.ones_like(given)).logits.softmax(-1)

    own = captum.FeatureAblation(forward).attribute(
        ids, baselines=model.tokenizer.mask_token_id, target=1, feature_mask=feature
    )
    return [float(own[0, feature[0] == group][0]) for group in groups]


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_equals_captums_feature_ablation(architecture: str) -> None:
    model = zoo.shared(architecture)
    text = "It isn't great. The score is lovely!"
    words = [w.text for w in model.words(text)]
    for options, groups in (
        ({"window": 1}, list(range(len(words)))),
        ({"unit": "sentence"}, [0] * 4 + [1] * (len(words) - 4)),
        ({"window": 3, "stride": 3}, [i // 3 for i in range(len(words))]),
    ):
        if "stride" in options and len(words) % 3:
            continue
        found = occlusion(model, text, erasure="mask-token", target=1, **options)
        np.testing.assert_allclose(found.scores, ablation(model, text, groups), atol=1e-5)
    assert len(words) == 9


def cuts(text: str, meta: dict[str, Any] | None = None) -> list[str]:
    """The sentences of a text, told from each other by the model's answer."""
    numbers: dict[str, float] = {}

    def predict(texts: list[str]) -> list[list[float]]:
        return [[1 - numbers.setdefault(t, 0.001 * len(numbers)), numbers[t]] for t in texts]

    model = saywhy.load(predict, labels=["a", "b"])
    why = occlusion(model, Example((text,), meta=meta or {}), unit="sentence", target="b")
    groups: dict[float, list[str]] = {}
    for word, score in zip(why.words, why.scores, strict=True):
        groups.setdefault(round(score, 9), []).append(word.text)
    return [" ".join(group) for group in groups.values()]


def test_sentences() -> None:
    assert cuts('It is 3.5 times. Really? "Yes!" Oh... well e.g. this') == [
        "It is 3.5 times .", "Really ?", '" Yes ! "', "Oh ... well e . g . this",
    ]  # fmt: skip
    assert cuts("one line\nand another") == ["one line", "and another"]
    assert cuts("no end") == ["no end"]
    given = {"sentences": ((0, 5), (6, 11))}
    assert cuts("a. b. c d.e", given) == ["a . b .", "c d . e"]


def test_sentences_of_the_data_belong_to_the_text_that_is_not_fixed() -> None:
    model = zoo.pair_classifier()
    texts = ("What lets go?", "Dull film that never lets go")
    meta = {"fixed": (0,), "sentences": ((0, 9), (10, 28))}
    why = occlusion(model, Example(texts, meta=meta), unit="sentence")
    scores = np.round(why.scores, 9)
    assert len(set(scores[:4])) == 1
    assert len(set(scores[4:6])) == len(set(scores[6:])) == 1
    assert scores[4] != scores[6]
    # The input and its two sentences; the question stays, so without it is the input again.
    assert why.cost == {"forwards": 3}


def test_blocks_of_alignments() -> None:
    why: Any = occlusion(zoo.pair_classifier(), ("Dull film sleeps", "It eats most"), space="alignments", window=2)
    assert why.cost == {"forwards": 1 + 4}
    scores = np.asarray(why.scores)
    corners = scores[[0, 0, 2, 2], [0, 2, 0, 2]].reshape(2, 2)
    assert scores[1, 1] == pytest.approx(corners.mean())
    assert scores[0, 1] == pytest.approx(corners[0].mean())


def test_many_windows_are_evaluated_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = occlusion(zoo.shared(), zoo.TEXTS, target=1)
    monkeypatch.setattr(removal, "_CELLS", 60)
    parts = occlusion(zoo.shared(), zoo.TEXTS, target=1)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"unit": "page"}, "use one of window, sentence, word"),
        ({"window": 0}, "window must be at least 1"),
        ({"window": 2, "stride": 3}, "between 1 and the window of 2"),
        ({"stride": 0}, "between 1"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        occlusion(MODEL, "good", **options)
