from __future__ import annotations

from collections import Counter

import pytest

from saywhy.data import load_dataset
from saywhy.data.planted_nli import FAMILIES, KINDS, ONE_WAY, OPEN, RULES, SYMMETRIC
from saywhy.errors import OptionError
from saywhy.types import Example

PAIRS = load_dataset("planted-nli", split="train", n=1800)


def aligned(example: Example) -> list[tuple[str, str]]:
    return [
        (example.texts[a.field][a.start : a.end], example.texts[b.field][b.start : b.end])
        for a, b in example.alignments
    ]


def kind(noun: str) -> str:
    return noun if noun in KINDS else next(k for k, members in KINDS.items() if noun in members)


def test_labels_and_rules_are_all_there() -> None:
    assert Counter(e.label for e in PAIRS) == {"entailment": 600, "neutral": 600, "contradiction": 600}
    found = {label: {e.meta["rule"] for e in PAIRS if e.label == label} for label in RULES}
    assert found == {label: set(rules) for label, rules in RULES.items()}


def test_verbs_belong_to_one_list() -> None:
    verbs = [*SYMMETRIC, *ONE_WAY, *OPEN, *(verb for family in FAMILIES for verb in family)]
    assert len(verbs) == len(set(verbs))


def test_the_label_follows_from_the_aligned_phrases() -> None:
    """Read back from the gold alone, by the rules written down here a second time."""
    for example in PAIRS:
        pairs = aligned(example)
        if example.meta["rule"].startswith("swap"):
            (first, _), (verb, again), (second, _) = pairs
            assert verb == again
            label = {SYMMETRIC: "entailment", OPEN: "neutral", ONE_WAY: "contradiction"}
            assert example.label == next(v for verbs, v in label.items() if verb in verbs)
            premise, hypothesis = example.texts
            assert "hat" not in hypothesis.replace(first, "").replace(second, "").split()
            assert premise.index(first) < premise.index(second)
            assert hypothesis.index(second) < hypothesis.index(first)
            continue
        ((old, new),) = pairs
        assert old != new
        family = next((f for f in FAMILIES if old in f), None)
        if family:
            a, b = family.index(old), family.index(new)
            expected = "contradiction" if 3 in (a, b) else "neutral" if b == 2 else "entailment"
        elif old in KINDS:
            expected = "neutral" if kind(new) == old else ""
        elif any(old in members for members in KINDS.values()):
            expected = "entailment" if new == kind(old) else "contradiction"
            assert kind(new) == kind(old)
        else:
            expected = "contradiction"
        assert example.label == expected


def test_nothing_else_contradicts() -> None:
    """All words of the hypothesis outside the aligned phrases stand in the premise as well."""
    for example in PAIRS:
        rest = example.texts[1]
        for _, span in sorted(example.alignments, key=lambda pair: -pair[1].start):
            rest = rest[: span.start] + rest[span.end :]
        premise = set(example.texts[0].rstrip(".").split())
        assert set(rest.rstrip(".").split()) <= premise


def test_gold_is_exact_and_has_a_reason() -> None:
    for example in PAIRS:
        assert example.truth
        assert set(example.rationales[0]) == {span for pair in example.alignments for span in pair}
        assert len(example.explanations) == 1
        assert example.explanations[0].endswith(".")


def test_swapped_share_and_seed() -> None:
    share = sum(e.meta["rule"].startswith("swap") for e in PAIRS) / len(PAIRS)
    assert 0.16 < share < 0.24
    assert not any(e.meta["rule"].startswith("swap") for e in load_dataset("planted-nli", split="dev", swapped=0.0))
    assert load_dataset("planted-nli", split="dev", seed=1) == load_dataset("planted-nli", split="dev", seed=1)
    assert load_dataset("planted-nli", split="dev", seed=1) != load_dataset("planted-nli", split="dev", seed=2)
    with pytest.raises(OptionError, match="swapped must be 0 to 1/3"):
        load_dataset("planted-nli", swapped=0.5)


def test_the_hypothesis_alone_tells_little() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression

    data = load_dataset("planted-nli")
    counts = CountVectorizer(token_pattern=r"[\w-]+")
    train = counts.fit_transform([e.texts[1] for e in data["train"]])
    model = LogisticRegression(C=0.1, max_iter=300).fit(train, [e.label for e in data["train"]])
    assert model.score(counts.transform([e.texts[1] for e in data["test"]]), [e.label for e in data["test"]]) < 0.45
