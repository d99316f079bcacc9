from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from saywhy.errors import InputError, OptionError, UnknownNameError
from saywhy.explainers import LeaveOneOut, run
from saywhy.explainers.run import make_explainer
from saywhy.types import Example
from tests import zoo


def test_one_in_one_out_list_in_list_out() -> None:
    model = zoo.shared()
    assert not isinstance(saywhy.explain(model, "Dull film", "random"), list)
    assert len(saywhy.explain(model, ["Dull film"], "random")) == 1
    assert saywhy.explain(model, [], "gradient") == []
    assert saywhy.explain(model, ("Dull", "film"), "random").header.texts == ("Dull", "film")
    assert len(saywhy.explain(model, (t for t in zoo.TEXTS), "random")) == 3  # type: ignore[arg-type]


@pytest.mark.parametrize("target", [1, -2, "neutral", "NEUTRAL", "1", np.int64(1)])
def test_targets_by_index_and_name(target: Any) -> None:
    assert saywhy.explain(zoo.shared(), "Dull film", "random", target=target).target == "neutral"


def test_a_target_for_each_input() -> None:
    made = saywhy.explain(zoo.shared(), zoo.TEXTS, "gradient", target=["negative", None, 2])
    predicted = zoo.shared().predict(zoo.TEXTS[1])[0].label
    assert [why.target for why in made] == ["negative", predicted, "positive"]
    made = saywhy.explain(zoo.shared(), zoo.TEXTS, "gradient", target=np.asarray([2, 1, 0]))
    assert [why.target for why in made] == ["positive", "neutral", "negative"]
    made = saywhy.explain(zoo.shared(), zoo.TEXTS, "gradient", target=0, against=[1, None, "positive"])
    assert [why.header.against for why in made] == ["neutral", None, "positive"]


def test_labels_that_are_not_there() -> None:
    for options in ({"target": "nice"}, {"target": 3}, {"against": "nice"}, {"target": ["nice"]}):
        with pytest.raises(InputError, match=r"no label .*; the labels are negative, neutral, positive"):
            saywhy.explain(zoo.shared(), "Dull film", "gradient", **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the labels are sleep, eat, run away"):
        saywhy.explain(zoo.shared_chooser(), zoo.QUESTIONS[0], "gradient", target="walk")
    with pytest.raises(OptionError, match="2 values of target for 3 inputs"):
        saywhy.explain(zoo.shared(), zoo.TEXTS, "gradient", target=[0, 1])
    with pytest.raises(InputError, match="a contrast needs two labels"):
        saywhy.explain(zoo.shared(), "Dull film", "gradient", target=0, against="negative")


@pytest.mark.parametrize("text", ["", "  \n", "\u200b"])
def test_texts_without_words(text: str) -> None:
    with pytest.raises(InputError, match="the text has no words to explain"):
        saywhy.explain(zoo.shared(), text, "gradient")
    with pytest.raises(InputError, match="input 1 has no words"):
        saywhy.explain(zoo.shared(), ["film", text], "gradient")


def test_mistakes_are_found_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.classifier()
    monkeypatch.setattr(type(model.module), "forward", None)
    for options in ({"target": "nice"}, {"method": "nonsense"}, {"aggregation_": 1}, {"batch_size": 0}):
        with pytest.raises(saywhy.SayWhyError):
            saywhy.explain(model, ["film", "dull"], **{"method": "gradient", **options})  # type: ignore[arg-type]


def test_unknown_methods_and_options() -> None:
    with pytest.raises(UnknownNameError, match="unknown method 'gradiant'; did you mean 'gradient'"):
        saywhy.explain(zoo.shared(), "film", "gradiant")
    with pytest.raises(OptionError, match="'gradient' has no option 'layers'; its options: aggregation, erasure, out"):
        saywhy.explain(zoo.shared(), "film", "gradient", layers="last")
    with pytest.raises(OptionError, match="unknown space 'phrases'; use one of words, alignments"):
        saywhy.explain(zoo.shared(), "film", "gradient", space="phrases")
    with pytest.raises(OptionError, match="'attention' does not explain alignments; these do: arec, "):
        saywhy.explain(zoo.shared(), "film", "attention", space="alignments")
    with pytest.raises(OptionError, match="'random' has no option 'x-y'; its options: space"):
        saywhy.explain(zoo.shared(), "film", "random", x_y=1)
    with pytest.raises(OptionError, match="unknown truncation 'tail'"):
        saywhy.explain(zoo.shared(), "film", "random", truncation="tail")
    with pytest.raises(OptionError, match="batch_size must be at least 1, not 0"):
        saywhy.explain(zoo.shared(), "film", "random", batch_size=0)


def test_the_only_space_of_a_method_may_be_named() -> None:
    why = saywhy.explain(zoo.shared(), "film", "attention", space="words")
    assert why == saywhy.explain(zoo.shared(), "film", "attention")
    assert make_explainer("arec", {"space": "alignments"}) == make_explainer("arec")


def test_an_explainer_may_be_given() -> None:
    explainer = LeaveOneOut(erasure="pad")
    why = saywhy.explain(zoo.shared(), "Dull film", explainer)
    assert why == saywhy.explain(zoo.shared(), "Dull film", "leave-one-out", erasure="pad")
    with pytest.raises(OptionError, match="already has its own"):
        make_explainer(explainer, {"output": "logit"})
    assert make_explainer("integrated-gradients", {"max-points": 9}) == make_explainer(
        "integrated-gradients", {"max_points": 9}
    )


def test_models_are_loaded_on_the_way() -> None:
    network, tokenizer = zoo.network_and_tokenizer("bert")
    why = saywhy.explain((network, tokenizer), "Dull film", "gradient")
    assert why.header.labels == ("LABEL_0", "LABEL_1", "LABEL_2")


def test_many_inputs_go_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [Example((text,)) for text in zoo.TEXTS * 3]
    targets = [0, 1, 2] * 3
    whole = saywhy.explain(zoo.shared(), inputs, "gradient", target=targets)
    monkeypatch.setattr(run, "_BLOCK_TEXTS", 2)
    monkeypatch.setattr(run, "_BLOCK_WORDS", 9)
    blocks = [list(range(len(inputs)))[b] for b in run._blocks(inputs, "unicode")]
    assert [i for block in blocks for i in block] == list(range(9))
    assert max(map(len, blocks)) == 2
    for one, other in zip(whole, saywhy.explain(zoo.shared(), inputs, "gradient", target=targets), strict=True):
        assert one.target == other.target
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-5)  # type: ignore[attr-defined]


def test_the_header_says_how_it_was_made() -> None:
    why = saywhy.explain(zoo.shared(), zoo.TEXTS[0], "leave-one-out", target="neutral", seed=5, output="logit")
    header = why.header
    assert (header.method, header.target, header.output, header.erasure, header.seed) == (
        "leave-one-out", "neutral", "logit", "delete", 5,
    )  # fmt: skip
    assert header.version == saywhy.__version__
    assert header.model == zoo.shared().fingerprint
    assert header.texts == (zoo.TEXTS[0],)
    assert sum(header.probabilities) == pytest.approx(1)
