from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import saywhy
from saywhy.errors import InputError, SayWhyWarning
from saywhy.models.tasks import SpanQA, make_task
from saywhy.types import Example, Span, as_example
from tests import zoo

EXAMPLES = [Example((text,), label=label) for text, label in zip(zoo.TEXTS, zoo.LABELS, strict=True)]
QUESTIONS = [as_example(q) for q in zoo.QUESTIONS]
CONTEXTS = [Example(c) for c in zoo.CONTEXTS]


@pytest.mark.parametrize("architecture", ["gpt2", "llama"])
def test_decoders_read_the_last_real_token(architecture: str) -> None:
    network, tokenizer = zoo.network_and_tokenizer(architecture)
    network.config.pad_token_id = 1
    model = zoo.shared(architecture)
    together = model.task.raw(model.module, model.task.collate(model.encode(EXAMPLES)))
    for row, example in zip(together, EXAMPLES, strict=True):
        ids = torch.tensor([tokenizer(example.texts[0])["input_ids"]])
        with torch.no_grad():
            torch.testing.assert_close(row, network(input_ids=ids).logits[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ["bart", "t5"])
def test_rows_with_different_numbers_of_end_tokens(architecture: str) -> None:
    """transformers refuses such a batch; a user who writes one into a text must not stop the others."""
    model = zoo.shared(architecture)
    examples = [*EXAMPLES, Example(("Dull </s> film",)), Example(zoo.PAIR)]
    together = model.scores(model.encode(examples))
    for example, row in zip(examples, together, strict=True):
        torch.testing.assert_close(model.scores(model.encode([example]))[0], row, atol=1e-5, rtol=1e-5)
    why = saywhy.explain(model, examples, "gradient", target=0)
    alone = saywhy.explain(model, examples[3], "gradient", target=0)
    assert why[3].scores == pytest.approx(alone.scores, abs=1e-4)  # type: ignore[attr-defined]


def test_windows_vote_with_the_mean_of_their_logits() -> None:
    task = make_task("text", ["a", "b"], 0)
    raw = torch.tensor([[1.0, 0.0], [3.0, 1.0], [0.0, 5.0], [8.0, 2.0]])
    found = task.combine(raw, torch.tensor([0, 0, 1, 0]), 2)
    torch.testing.assert_close(found, torch.tensor([[4.0, 1.0], [0.0, 5.0]]))


def test_rows_may_come_in_another_order_than_their_examples() -> None:
    raw = torch.tensor([[1.0, 0.0], [3.0, 1.0], [0.0, 5.0]])
    for name in ("text", "span-qa"):
        found = make_task(name, ["a", "b"], 0).combine(raw, torch.tensor([2, 0, 1]), 3)
        torch.testing.assert_close(found, raw[[1, 2, 0]])
    found = make_task("choices", [], 0).combine(raw[:, :1], torch.tensor([1, 0, 1]), 2)
    torch.testing.assert_close(found, torch.tensor([[3.0, -torch.inf], [1.0, 0.0]]))


def test_loss_is_the_cross_entropy_of_the_gold_labels() -> None:
    model = zoo.shared()
    batch = model.task.collate(model.encode(EXAMPLES))
    logits = model.module(**batch.inputs).logits
    expected = F.cross_entropy(logits, torch.tensor([0, 1, 2]))
    torch.testing.assert_close(model.task.loss(model.module, batch, EXAMPLES), expected)
    for label in (None, "nothing", 1):
        with pytest.raises(InputError, match="label"):
            model.task.gold(Example(("a",), label=label))


def test_choices_of_different_number_in_one_batch() -> None:
    model = zoo.shared_chooser()
    batch = model.task.collate(model.encode(QUESTIONS))
    found = model.task.scores(model.module, batch)
    assert found.shape == (2, 3)
    assert found[1, 2] == -torch.inf
    for example, row in zip(QUESTIONS, found, strict=True):
        given = model.tokenizer(
            [example.texts[0]] * len(example.choices), list(example.choices), padding=True, return_tensors="pt"
        )
        own = model.module(**{k: v.unsqueeze(0) for k, v in given.items()}).logits[0]
        torch.testing.assert_close(row[: len(own)], own, atol=1e-5, rtol=1e-5)
    labelled = [Example(q.texts, choices=q.choices, label=q.choices[1]) for q in QUESTIONS]
    expected = torch.stack([-found[0].log_softmax(-1)[1], -found[1].log_softmax(-1)[1]]).mean()
    torch.testing.assert_close(model.task.loss(model.module, batch, labelled), expected)
    assert model.task.gold(Example(("q",), choices=("a", "b"), label=1)) == 1
    for label in (None, 2, -1, "c"):
        with pytest.raises(InputError, match="choices"):
            model.task.gold(Example(("q",), choices=("a", "b"), label=label))


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_a_reader_finds_the_likeliest_span_of_the_context(architecture: str) -> None:
    model = zoo.shared_reader(architecture)
    for item in model.prepare(CONTEXTS):
        (row,) = item.rows
        with torch.no_grad():
            out = model.module(**model.task.collate([item]).inputs)
        inside = torch.tensor([field == 1 for field in row.fields])
        start = out.start_logits[0].masked_fill(~inside, -torch.inf).softmax(-1)
        end = out.end_logits[0].masked_fill(~inside, -torch.inf).softmax(-1)
        best = max(
            ((i, j) for i in range(len(row)) for j in range(i, min(len(row), i + 30))),
            key=lambda span: float(start[span[0]] * end[span[1]]),
        )
        assert row.span == best
        prediction = model.predict(item.example)[0]
        assert prediction.probability == pytest.approx(float(start[best[0]] * end[best[1]]), rel=1e-4)
        assert prediction.label in item.example.texts[1]
        assert prediction.label == item.example.texts[1][row.offsets[best[0]][0] : row.offsets[best[1]][1]]


def test_answers_are_no_longer_than_allowed() -> None:
    length = 40
    start, end = torch.full((length,), -9.0), torch.full((length,), -9.0)
    start[0] = end[39] = 0.0
    end[29] = -1.0
    assert SpanQA((), 0)._best(start, end) == (0, 29)
    end[0] = -0.5
    assert SpanQA((), 0)._best(start, end) == (0, 0)


def test_a_reader_learns_start_and_end_of_the_answer() -> None:
    model = zoo.shared_reader()
    example = Example(zoo.CONTEXTS[1], answers=(Span(1, 0, 10),))
    encoded = model.encode([example])
    batch = model.task.collate(encoded)
    row = encoded[0].rows[0]
    pieces = [i for i, (field, o) in enumerate(zip(row.fields, row.offsets, strict=True)) if field == 1 and o[0] < 10]
    start, end = model.task._log_probabilities(model.module, batch)  # type: ignore[attr-defined]
    expected = -(start[0, pieces[0]] + end[0, pieces[-1]]) / 2
    torch.testing.assert_close(model.task.loss(model.module, batch, [example]), expected)
    with pytest.raises(InputError, match="no answer"):
        model.task.loss(model.module, batch, [Example(zoo.CONTEXTS[1])])


def test_answers_that_were_cut_off_do_not_count() -> None:
    model = zoo.shared_reader()
    text = zoo.CONTEXTS[1][1]
    known = Example(zoo.CONTEXTS[1], answers=(Span(1, 0, 10),))
    longer = text + " and then it went on" * 100
    # One beyond the cut, one that begins before it and ends behind it.
    lost = [
        Example((zoo.CONTEXTS[1][0], longer), answers=(Span(1, len(longer) - 2, len(longer)),)),
        Example((zoo.CONTEXTS[1][0], longer), answers=(Span(1, 0, len(longer)),)),
    ]
    with pytest.warns(SayWhyWarning, match="cut to the first"):
        encoded = model.encode([known, *lost], "head")
    assert [model.task.teaches(item) for item in encoded] == [True, False, False]
    together = model.task.loss(model.module, model.task.collate(encoded), [known, *lost])
    alone = model.task.loss(model.module, model.task.collate(encoded[:1]), [known])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)
    nothing = model.task.loss(model.module, model.task.collate(encoded[1:]), lost)
    gradients = torch.autograd.grad(nothing, list(model.module.parameters()), allow_unused=True)
    assert nothing == 0
    assert all(bool((g == 0).all()) for g in gradients if g is not None)


def test_an_answer_may_have_space_around_it() -> None:
    model = zoo.shared_reader()
    example = Example(("who ?", "it was  the king  of old"), answers=(Span(1, 6, 18),))
    (item,) = model.encode([example])
    assert model.task.teaches(item)


def test_scores_of_a_reader_are_logarithms_of_a_probability_and_its_complement() -> None:
    model = zoo.shared_reader()
    scores = model.scores(model.prepare(CONTEXTS))
    torch.testing.assert_close(scores.exp().sum(1), torch.ones(2))
    torch.testing.assert_close(model.task.probabilities(scores), scores.exp())
    assert model.task.predicted(scores).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("task", "example", "message"),
    [
        ("text", Example(("q",), choices=("a", "b")), "not choices"),
        ("pair", Example(("one",)), "pair of texts"),
        ("choices", Example(("q",), choices=("a",)), "at least two"),
        ("choices", Example(("q", "c")), "choices"),
        ("span-qa", Example(("q",)), "question and a context"),
        ("span-qa", Example(("q",), choices=("a", "b")), "question and a context"),
    ],
)
def test_examples_of_another_shape_are_refused(task: str, example: Example, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_task(task, ["a", "b"], 0).check(example)


def test_unknown_task() -> None:
    with pytest.raises(InputError, match="unknown task 'tagging'; known: text, pair, choices, span-qa"):
        make_task("tagging", [], 0)
