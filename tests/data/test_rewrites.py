from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from saywhy.data import attack_words
from saywhy.data.rewrites import KINDS, Rewrite, apply_rewrites, checklist_rewrites, synonym_rewrites

TEXT = (
    "I don't think it's Robert Simpson's best; Sarah was not in Paris in 1998. WE ARE happy: 8/10, two stars, 3 out of "
    "4, but three people left England. "
)


def found(text: str = TEXT, *kinds: str, **options: int) -> list[Rewrite]:
    return checklist_rewrites(text, np.random.default_rng(0), kinds=kinds or KINDS, **options)


def test_forms() -> None:
    assert [(TEXT[r.start : r.end], r.text) for r in found(TEXT, "contract")] == [
        ("was not", "wasn't"),
        ("WE ARE", "WE'RE"),
    ]
    assert [(TEXT[r.start : r.end], r.text) for r in found(TEXT, "extend")] == [("don't", "do not"), ("it's", "it is")]


def test_forms_may_overlap() -> None:
    assert [r.text for r in found("it is not", "contract")] == ["it's", "isn't"]


def test_long_and_short_forms_are_inverse() -> None:
    for long, short in attack_words.CONTRACTIONS.items():
        (contracted,) = found(f"so {long} here", "contract")
        assert contracted.text == short
        (extended,) = found(f"so {short} here", "extend")
        assert extended.text == ("cannot" if long == "can not" else long)


def test_names_places_and_numbers() -> None:
    names = found(TEXT, "names", candidates=2)
    assert [TEXT[r.start : r.end] for r in names] == ["Robert", "Robert", "Simpson", "Simpson", "Sarah", "Sarah"]
    assert {r.text for r in names[:2]} <= set(attack_words.MALE_NAMES) - {"Robert"}
    assert {r.text for r in names[4:]} <= set(attack_words.FEMALE_NAMES) - {"Sarah"}
    places = found(TEXT, "places", candidates=2)
    assert [TEXT[r.start : r.end] for r in places] == ["Paris", "Paris", "England", "England"]
    assert {r.text for r in places[:2]} <= set(attack_words.CITIES)
    numbers = found(TEXT, "numbers")
    assert {TEXT[r.start : r.end] for r in numbers} == {"1998", "three"}  # marks and stars are left alone
    assert all(abs(int(r.text) - 1998) <= 20 for r in numbers if r.text.isdecimal())


def test_capitals_decide_unless_there_are_none() -> None:
    assert found("A film with sarah", "names") == []
    assert len(found("a film with sarah", "names")) == 3
    assert all(r.text.islower() for r in found("a film with sarah", "names"))
    assert all(r.text.isupper() for r in found("SARAH IS HERE", "names"))


def test_the_lists_hold_no_ordinary_word_twice() -> None:
    groups = [attack_words.MALE_NAMES, attack_words.FEMALE_NAMES, attack_words.LAST_NAMES, attack_words.CITIES,
              attack_words.COUNTRIES]  # fmt: skip
    for group in groups:
        assert len(set(group)) == len(group) > 50
        assert all(re.fullmatch("[A-Z][a-z]+", name) for name in group)


@given(st.text(alphabet="abc do not don't isn't Paris 1998 two. ", max_size=60), st.integers(0, 5))
def test_changes_apply_where_they_say(text: str, seed: int) -> None:
    changes = checklist_rewrites(text, np.random.default_rng(seed))
    assert changes == checklist_rewrites(text, np.random.default_rng(seed))
    chosen: list[Rewrite] = []
    for change in changes:
        assert text[change.start : change.end].lower() != change.text.lower()
        if not any(change.overlaps(other) for other in chosen):
            chosen.append(change)
    (made,) = apply_rewrites([text], chosen)
    expected, at = "", 0
    for change in sorted(chosen, key=lambda c: c.start):
        expected += text[at : change.start] + change.text
        at = change.end
    assert made == expected + text[at:]


def test_changes_of_two_fields_do_not_meet() -> None:
    first, second = Rewrite(0, 0, 2, "xyz"), Rewrite(1, 0, 2, "w")
    assert not first.overlaps(second)
    assert apply_rewrites(["ab c", "de f"], [first, second]) == ("xyz c", "w f")


def test_synonyms() -> None:
    known = {
        "film": ("movie", "picture"),
        "dull": ("boring",),
        "robert": ("bob",),
        "good": ("fine", "nice", "great", "ok"),
    }
    text = "Dull film! Robert saw a good film by Dull."
    made = synonym_rewrites(text, lambda word: known.get(word, ()), candidates=3)
    assert [(text[r.start : r.end], r.text) for r in made] == [
        ("Dull", "Boring"), ("film", "movie"), ("film", "picture"),
        ("good", "fine"), ("good", "nice"), ("good", "great"), ("film", "movie"), ("film", "picture"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "   ", "no change at all here"])
def test_nothing_to_change(text: str) -> None:
    assert found(text) == []
