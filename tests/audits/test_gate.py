from __future__ import annotations

import json
from importlib.metadata import entry_points
from xml.etree import ElementTree

import pytest
from tests.audits.test_corpus import HONEST, corpus, judge

from saywhy.audits import check, read_requirement
from saywhy.errors import OptionError, UnknownNameError
from saywhy.models import TextModel, load
from saywhy.types import Example

pytest_plugins = ["pytester"]

TEXTS = [
    "a good film with good songs", "the plot was thin and dull", "one good idea", "some good days and long nights",
    "nothing here to like", "what a long and dull day", "good actors in a thin plot", "a day that nobody will miss",
]  # fmt: skip


@pytest.fixture
def fan() -> TextModel:
    return load(lambda ts: [[0.9, 0.1] if "good" in t else [0.2, 0.8] for t in ts], labels=["yes", "no"])


@pytest.fixture
def examples() -> list[Example]:
    return [Example((text,), "yes" if "good" in text else "no") for text in TEXTS]


def test_numbers_methods_and_the_model(fan: TextModel, examples: list[Example]) -> None:
    report = check(
        fan,
        examples,
        ["accuracy>=0.99", "comprehensiveness>=0.2", "random:comprehensiveness>=0.2", "comprehensiveness>random"],
        "leave-one-out",
    )
    titles = {each.title: each.passed for each in report.checked}
    assert titles == {
        "accuracy>=0.99": True,
        "leave-one-out:comprehensiveness>=0.2": True,
        "random:comprehensiveness>=0.2": False,
        "leave-one-out:comprehensiveness>random": titles["leave-one-out:comprehensiveness>random"],
    }
    assert not report
    assert "FAIL random:comprehensiveness>=0.2" in str(report)


def test_possible_shortcuts() -> None:
    caught, honest = judge(HONEST | {"zygo": 6.0}), judge(HONEST)
    report = check(caught, corpus(), ["shortcuts<=0", "accuracy>=0.1"], "leave-one-out")
    assert [each.passed for each in report.checked] == [False, True]
    assert "'zygo'" in report.checked[0].detail
    assert check(honest, corpus(), "shortcuts<=0", "leave-one-out").passed
    with pytest.raises(OptionError, match="of the model"):
        check(honest, corpus(5), "lime:shortcuts<=0")


def test_an_interval_is_harder_to_keep_than_a_value(fan: TextModel, examples: list[Example]) -> None:
    wrong = [Example(examples[0].texts, "no"), *examples[1:]]
    assert check(fan, wrong, "accuracy>=0.8")
    assert not check(fan, wrong, "accuracy>=0.8", confident=True)


def test_as_junit_and_json(fan: TextModel, examples: list[Example]) -> None:
    report = check(fan, examples, ["accuracy>=0.5", "accuracy<0.5"])
    suite = ElementTree.fromstring(report.to_junit())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["accuracy<0.5"]
    made = json.loads(report.to_json())
    assert made["passed"] is False
    assert [each["passed"] for each in made["checked"]] == [True, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sufficiency", "cannot read"),
        ("sufficiency=0.5", "cannot read"),
        ("sufficiency<random", "compared by >"),
        (">=3", "cannot read"),
    ],
)
def test_what_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        read_requirement(text)


def test_what_cannot_be_asked(fan: TextModel, examples: list[Example]) -> None:
    with pytest.raises(UnknownNameError, match="sufficency"):
        check(fan, examples, "sufficency>=0.5")
    with pytest.raises(OptionError, match="of the model"):
        check(fan, examples, "lime:accuracy>=0.5")
    with pytest.raises(OptionError, match="no requirement"):
        check(fan, examples, [])
    with pytest.raises(OptionError, match="itself"):
        check(fan, examples, "sufficiency>leave-one-out", "leave-one-out")


def test_not_worse_than_is_weaker_than_better_than(fan: TextModel, examples: list[Example]) -> None:
    assert check(fan, examples, "comprehensiveness>=occlusion", "leave-one-out")
    assert not check(fan, examples, "comprehensiveness>occlusion", "leave-one-out")


def test_the_plugin(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import saywhy

        def liking(texts):
            return [[0.9, 0.1] if "good" in text else [0.2, 0.8] for text in texts]

        model = saywhy.load(liking, labels=["yes", "no"])
        texts = ["a good film", "one good day", "no thanks", "a bad day"]

        def test_met(assert_faithful):
            assert_faithful(model, texts, "leave-one-out", require="comprehensiveness>=0.1")

        def test_missed(assert_faithful):
            assert_faithful(model, texts, "leave-one-out", require=["comprehensiveness>=0.99"])
        """
    )
    # Where the package is installed with its entry point, pytest knows the plugin already.
    known = any(entry.value == "saywhy.pytest_plugin" for entry in entry_points(group="pytest11"))
    named = [] if known else ["-p", "saywhy.pytest_plugin"]
    result = pytester.runpytest(*named, "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*do not meet*", "*FAIL leave-one-out:comprehensiveness>=0.99*"])
