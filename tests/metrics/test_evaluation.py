from __future__ import annotations

import gc
import json
import weakref
from io import StringIO

import pytest
from rich.console import Console

import saywhy
from saywhy.data import Dataset
from saywhy.errors import CapabilityError, DataError, InputError, OptionError, UnknownNameError
from saywhy.metrics import Sufficiency, evaluate, evaluation, source
from saywhy.types import Example, Rationale, Span, WordScores
from tests import zoo

from .stubs import LABELS, WEIGHTS, header, marked, sigmoid


class Counting:
    """A black box of weighted words that counts its calls and the texts it reads."""

    def __init__(self) -> None:
        self.read = self.calls = 0

    def __call__(self, texts):
        self.read += len(texts)
        self.calls += 1
        p = [sigmoid(sum(WEIGHTS.get(word, 0.0) for word in text.split())) for text in texts]
        return [[1 - x, x] for x in p]


@pytest.fixture
def box():
    return Counting()


@pytest.fixture
def model(box):
    return saywhy.load(box, labels=list(LABELS), mask_token="_")


def _examples(n=12):
    texts = ["a great film about us all", "this awful story never ends", "we saw a good one", "so very bad it hurts"]
    gold = [(1, 2), (1, 2), (3, 4), (2, 3)]
    labels = ["positive", "negative", "positive", "negative"]
    return [marked(texts[i % 4], [gold[i % 4]], truth=True, label=labels[i % 4], id=str(i)) for i in range(n)]


def test_methods_by_metrics(model):
    table = evaluate(model, _examples(), ["random", "leave-one-out"], ["faithfulness", "truth", "accuracy"])
    assert table.methods == ("random", "leave-one-out")
    assert len(table) == 2 * 3 + 1
    assert table["accuracy"].value == 1.0
    assert table["leave-one-out", "truth"].value == 1.0
    assert table["leave-one-out", "comprehensiveness"].value > table["random", "comprehensiveness"].value + 0.1
    assert table["leave-one-out", "sufficiency"].value < table["random", "sufficiency"].value
    result = table["leave-one-out", "sufficiency"]
    assert (result.method, result.erasure, result.model) == ("leave-one-out", "delete", model.fingerprint)
    assert table.n == 12
    assert table.erasure == "delete"


def test_model_calls_are_shared_between_metrics_methods_and_scores(box, model):
    examples = [Example(("a great film about us all",))]
    words = model.words(examples[0])
    why = WordScores(header(examples[0]), words=words, scores=(0, 9, 5, 0, 0, 0))
    other = WordScores(header(examples[0]), words=words, scores=(0, 3, 0, 2, 0, 0))
    box.read = box.calls = 0
    bins = (0.1, 0.2, 0.4)
    both = [Sufficiency(score=s, bins=bins) for s in ("eraser", "normalised")]
    table = evaluate(model, examples, {"a": [why], "b": [other]}, [*both, "comprehensiveness"], bins=bins)
    # Cuts at 1, 2 and 3 words, kept and removed, the smallest the same for both methods; the full and the empty text;
    # three texts for the fingerprint.
    assert box.read == 3 * 2 + 2 * 2 + 2 + 3
    assert box.calls == 2 + 1  # one for each method, and the fingerprint
    assert len(table) == 6


def test_same_seed_same_table(model):
    first, second = (evaluate(model, _examples(), "random", "faithfulness", limit=5, seed=3) for _ in range(2))
    assert first == second
    assert first.to_json() == second.to_json()
    assert evaluate(model, _examples(), "random", "faithfulness", limit=5, seed=4) != first
    values = [evaluate(model, _examples(), "random", "truth", seed=s)["random", "truth"].values for s in (3, 4)]
    assert values[0] != values[1]


def test_limit_draws_a_subset_in_order_and_ready_explanations_follow(model):
    examples = _examples()
    ready = [
        WordScores(header(e), words=model.words(e), scores=tuple(float(w.text in WEIGHTS) for w in model.words(e)))
        for e in examples
    ]
    table = evaluate(model, examples, {"mine": ready}, "truth", limit=5, seed=1)
    assert (table.n, table["mine", "truth"].n) == (5, 5)
    data = Dataset.from_examples("mine", {"train": examples[:1], "test": examples})
    named = evaluate(model, data, {"mine": ready}, "truth", limit=5, seed=1)
    assert named.data == "mine"
    assert named.n == 5
    assert evaluate(model, data, {"mine": ready[:1]}, "truth", split="train").n == 1


def test_a_registered_dataset(model):
    table = evaluate(
        model, "planted-reviews", "random", ["truth"], limit=4, data_options={"size": "demo"}, truncation="head"
    )
    assert table.data == "planted-reviews"
    assert table["random", "truth"].n == 4


def test_metric_and_method_options(model):
    table = evaluate(
        model,
        _examples(4),
        ["leave-one-out"],
        "faithfulness",
        score="normalised",
        aopc="n-plus-1",
        erasure="mask-token",
        method_options={"leave-one-out": {"erasure": "mask-token"}},
    )
    assert {r.variant["score"] for r in table} == {"normalised"}
    assert {r.erasure for r in table} == {"mask-token"}
    assert all(r.higher_is_better for r in table)


def test_mistakes_are_found_before_any_work(box, model):
    examples = _examples(2)
    unlabelled = [Example(("so bad",))]
    box.read = 0
    cases = [
        (UnknownNameError, "did you mean 'leave-one-out'", (examples, "leave-one", "faithfulness"), {}),
        (UnknownNameError, "did you mean", (examples, "random", "sufficency"), {}),
        (CapabilityError, "gradients", (examples, ["random", "integrated-gradients"], "faithfulness"), {}),
        (OptionError, "at least one method", (examples, [], "faithfulness"), {}),
        (OptionError, "option scor;", (examples, "random", "faithfulness"), {"scor": "normalised"}),
        (OptionError, "not one of the methods", (examples, "random"), {"method_options": {"lime": {}}}),
        (OptionError, "no option 'size'", (examples, "random"), {"method_options": {"random": {"size": 1}}}),
        (OptionError, "unknown erasure", (examples, "random", "faithfulness"), {"erasure": "melt"}),
        (OptionError, "limit", (examples, "random"), {"limit": 0}),
        (OptionError, "split", (examples, "random"), {"split": "test"}),
        (OptionError, "data_options", (examples, "random"), {"data_options": {"size": "demo"}}),
        (OptionError, "1 explanations", (examples, {"mine": [None]}), {}),
        (DataError, "gold rationale", (unlabelled, "random", ["faithfulness", "token-f1"]), {}),
        (DataError, "planted reasons", (unlabelled, "random", "truth"), {}),
        (DataError, "has a label", (unlabelled, [], "accuracy"), {}),
        (InputError, "example 9: no label 'great'.*labels=", ([Example(("x",), "great", id="9")], [], "accuracy"), {}),
        (saywhy.SayWhyError, "no example", ([], "random"), {}),
    ]
    for error, message, arguments, options in cases:
        with pytest.raises(error, match=message):
            evaluate(model, *arguments, **options)
    assert box.read == 0


def test_only_the_model(model):
    table = evaluate(model, _examples(), metrics="performance")
    assert table.metrics == ("accuracy", "macro-f1")
    assert table.methods == ()
    assert "accuracy 1.000" in _printed(table)


def _printed(table):
    console = Console(file=StringIO(), width=160)
    console.print(table)
    return console.file.getvalue()


def test_what_a_person_sees(model):
    table = evaluate(model, _examples(), ["random", "leave-one-out"], ["faithfulness", "accuracy"])
    for shown in (_printed(table), table._repr_html_()):
        for part in (
            "sufficiency ↓",
            "comprehensiveness ↑",
            "leave-one-out",
            "accuracy 1.000",
            "erasure: delete",
            "95%",
        ):
            assert part in shown
        result = table["random", "sufficiency"]
        assert f"[{result.low:.3f}, {result.high:.3f}]" in shown
    assert "random: sufficiency" in str(table)


def test_variants_are_told_apart(model):
    both = [Sufficiency(), Sufficiency(score="normalised")]
    table = evaluate(model, _examples(4), "random", both)
    shown = _printed(table)
    assert "sufficiency (score=eraser) ↓" in shown
    assert "sufficiency (score=normalised) ↑" in shown
    with pytest.raises(OptionError, match="2 variants"):
        table["random", "sufficiency"]
    with pytest.raises(OptionError, match="no auprc of 'random'"):
        table["random", "auprc"]


def test_names_are_escaped_in_html(model):
    examples = _examples(2)
    ready = [WordScores(header(e), words=model.words(e), scores=(0.0,) * len(model.words(e))) for e in examples]
    assert "<script>" not in evaluate(model, examples, {"<script>": ready}, "auroc")._repr_html_()


def test_json(model):
    data = json.loads(evaluate(model, _examples(4), "random", ["sufficiency", "accuracy"]).to_json())
    assert (data["kind"], data["schema"], data["n"]) == ("evaluation", 1, 4)
    assert [r["name"] for r in data["results"]] == ["accuracy", "sufficiency"]
    assert data["results"][1]["bins"].keys() == {"0.01", "0.05", "0.1", "0.2", "0.5"}


def test_pairs(model):
    def overlap(pairs):
        share = [0.9 if set(a.split()) & set(b.split()) else 0.1 for a, b in pairs]
        return [[1 - x, x] for x in share]

    nli = saywhy.load(overlap, labels=["no", "yes"], task="pair")
    example = Example(("a red car", "one red bus"), label="yes")
    table = evaluate(nli, [example], "leave-one-out", "comprehensiveness", bins=(0.3,))
    assert table["leave-one-out", "comprehensiveness"].value == pytest.approx(0.8)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(source, "_BLOCK_TEXTS", 5)


EVERYTHING = ["faithfulness", "erasure", "readability", "agreement", "robustness", "plausibility", "truth", "accuracy"]
EVERYTHING_ON_PAIRS = ["faithfulness", "erasure", "readability", "truth", "token-f1", "method-jaccard"]


def test_blocks_change_nothing(model, monkeypatch):
    methods = ["random", "leave-one-out"]
    whole = evaluate(model, _examples(), methods, [*EVERYTHING, "macro-f1"], until=0.1)
    monkeypatch.setattr(source, "_BLOCK_TEXTS", 5)
    parts = evaluate(model, _examples(), methods, [*EVERYTHING, "macro-f1"], until=0.1)
    assert parts == whole
    assert [c.to_dict() for c in parts.comparisons()] == [c.to_dict() for c in whole.comparisons()]


def test_iterators_are_read_as_they_are_needed(box, model, small_blocks):
    read = []

    def stream():
        for i, example in enumerate(_examples()):
            read.append((i, box.read))
            yield example

    table = evaluate(model, stream(), ["random", "leave-one-out"], ["sufficiency", "accuracy"])
    assert table == evaluate(model, _examples(), ["random", "leave-one-out"], ["sufficiency", "accuracy"])
    work = dict(read)
    assert work[5] == 0  # a block ends when the next example would not fit
    assert work[6] > 0
    assert work[11] > work[6]


def test_what_an_iterator_lacks_is_known_in_the_end(model):
    with pytest.raises(DataError, match="token-f1 needs examples with a gold rationale, and none of the 2"):
        evaluate(model, iter(["so bad", "so great"]), "random", "token-f1")
    with pytest.raises(InputError, match="no example"):
        evaluate(model, iter([]), "random")


def test_gold_that_comes_late_counts(model, small_blocks):
    plain = [Example(("so very bad it hurts",), id=str(i)) for i in range(7)]
    table = evaluate(model, [*plain, *_examples(2)], "leave-one-out", ["token-f1", "truth"])
    assert (table["leave-one-out", "token-f1"].n, table.n) == (2, 9)
    assert any("7 of 9" in note for note in table["leave-one-out", "token-f1"].notes)


def test_memory_does_not_grow_with_the_data(model, small_blocks, monkeypatch):
    """What is alive while the data is read is no more than two blocks and their explanations."""
    made, alive = [], []
    explain = evaluation._explain

    def explain_and_watch(*arguments):
        found = explain(*arguments)
        made.extend(weakref.ref(why) for why in found)
        return found

    monkeypatch.setattr(evaluation, "_explain", explain_and_watch)

    def stream(n):
        for i in range(n):
            example = Example((f"a great film number {i}",), id=str(i))
            made.append(weakref.ref(example))
            gc.collect(0)
            alive.append(sum(ref() is not None for ref in made))
            yield example

    metrics = ["faithfulness", "loo-correlation", "sensitivity"]
    table = evaluate(model, stream(60), ["random", "leave-one-out"], metrics, keep=2)
    assert table.n == 60
    # Five examples, their explanations by two methods, and three more of each for sensitivity; and what is kept.
    assert len(made) == 60 * (1 + 2 * 4)
    assert max(alive) <= 2 * 5 * (1 + 2 * 4) + 2 * 3


def test_the_first_examples_can_be_kept(model, small_blocks):
    table = evaluate(model, _examples(), ["random", "leave-one-out"], "sufficiency", keep=7)
    assert [e.id for e in table.examples] == [str(i) for i in range(7)]
    assert len(table.explanations) == 14
    assert {(w.method, w.header.texts) for w in table.explanations} == {
        (m, e.texts) for m in table.methods for e in table.examples
    }
    none = evaluate(model, _examples(), ["random", "leave-one-out"], "sufficiency")
    assert (none.examples, none.explanations) == ((), ())
    assert none == table
    shown = evaluate(model, _examples(), ["random"], "accuracy", keep=2)
    assert [w.method for w in shown.explanations] == ["random"] * 2
    with pytest.raises(OptionError, match="keep"):
        evaluate(model, _examples(), "random", keep=-1)


def test_ready_explanations_of_two_kinds_are_not_mixed_across_blocks(model, small_blocks):
    examples = _examples(6)
    words = [model.words(e) for e in examples]
    scored = [WordScores(header(e), words=w, scores=(0.0,) * len(w)) for e, w in zip(examples, words, strict=True)]
    last = Rationale(header(examples[5]), words=words[5], selected=(True,) * len(words[5]))
    with pytest.raises(InputError, match="mix"):
        evaluate(model, examples, {"mine": [*scored[:5], last]}, "sufficiency")


def test_metrics_that_compare_methods_or_explain_again(model, box):
    both = evaluate(model, _examples(8), ["random", "leave-one-out"], ["method-jaccard", "sensitivity"])
    one, other = (both[m, "method-jaccard"] for m in both.methods)
    assert one.bins == {"leave-one-out": one.value}
    assert one.values == other.values
    assert both["leave-one-out", "sensitivity"].value < both["random", "sensitivity"].value
    box.read = 0
    with pytest.raises(OptionError, match="at least two"):
        evaluate(model, _examples(2), "random", "method-jaccard")
    ready = {"mine": [None, None]}
    with pytest.raises(OptionError, match="name methods instead"):
        evaluate(model, _examples(2), ready, "sensitivity")
    assert box.read == 0


def test_alignments_of_a_network():
    model = zoo.pair_classifier()
    gold = ((Span(0, 0, 6), Span(1, 0, 10)),)
    examples = [Example(zoo.PAIR, alignments=gold, truth=True), Example(("A film.", "Dull and lifeless"))]
    table = evaluate(
        model, examples, ["leave-one-out", "gradient"], [*EVERYTHING_ON_PAIRS, "loo-correlation"], space="alignments"
    )
    assert table.erasure == "co-attention"
    assert table["leave-one-out", "loo-correlation"].value == pytest.approx(1.0)
    assert table["leave-one-out", "truth"].n == 1
    full, aorc = table["gradient", "fidelity"], table["gradient", "aorc"]
    assert aorc.bins["1"] == 0.0
    assert aorc.bins["0.2"] == pytest.approx(full.value)


def test_spaces_are_checked_before_any_work(model, box):
    box.read = 0
    pair = zoo.pair_classifier()
    cases = [
        (model, "leave-one-out", "sufficiency", {"space": "cells"}, "unknown space 'cells'"),
        (model, "leave-one-out", "sufficiency", {"space": "alignments"}, "between two texts"),
        (pair, "attention", "sufficiency", {"space": "alignments"}, "'attention' does not explain alignments; these"),
        (pair, "gradient", "iou-f1", {"space": "alignments"}, "iou-f1 measures explanations over words"),
        (pair, "gradient", "aorc", {"space": "alignments", "erasure": "delete"}, "co-attention"),
        (
            pair,
            "gradient",
            "aorc",
            {"method_options": {"gradient": {"space": "alignments"}}},
            "the metrics measure words",
        ),
    ]
    for given, method, metric, options, said in cases:
        with pytest.raises(saywhy.SayWhyError, match=said):
            evaluate(given, [Example(zoo.PAIR)] if given is pair else _examples(2), method, metric, **options)
    assert box.read == 0
