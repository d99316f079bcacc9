"""Our ERASER variants are ERASER's: the same numbers for its own example."""

from __future__ import annotations

import numpy as np
import pytest

from saywhy.metrics import (
    Auprc,
    Auroc,
    Comprehensiveness,
    IouF1,
    Sufficiency,
    TokenF1,
    TokenPrecision,
    TokenRecall,
    Workbench,
)
from saywhy.metrics.selection import words_of
from tests import golden_eraser as golden

EXACT = {"rel": 0, "abs": 1e-15}


class SubmittedSpace:
    """Answers with the submitted probabilities: masks are known by how many words they keep."""

    def __init__(self, bench, parts, thresholds):
        self.rows = golden.predictions()
        self.features = [words_of(bench.trial("submitted", golden.explanations("hard")), i) for i in (0, 1)]
        self.table = []
        for i, row in enumerate(self.rows):
            n = len(self.features[i])
            answers = {n: row["classification_scores"]}
            for mask, kind, scores in parts(i, row, thresholds, n):
                answers[int(mask)] = scores[f"{kind}_classification_scores"]
            self.table.append(answers)

    def probabilities(self, owner, keep):
        labels = list(self.rows[0]["classification_scores"])
        answers = [self.table[o][int(k.sum())] for o, k in zip(owner, keep, strict=True)]
        return np.asarray([[a[label] for label in labels] for a in answers])


def _bench(make_space=None):
    class Submitted:
        fingerprint = "submitted"

    return Workbench(Submitted(), golden.documents(), make_space=make_space)


def _trial(kind):
    return _bench().trial("submitted", golden.explanations(kind))


@pytest.mark.parametrize(("average", "key"), [("macro", "instance_macro"), ("micro", "instance_micro")])
def test_token_scores(average, key):
    expected = golden.scores()["token_prf"][key]
    for metric, part in ((TokenPrecision, "p"), (TokenRecall, "r"), (TokenF1, "f1")):
        assert metric(average=average).score(_trial("hard")).value == pytest.approx(expected[part], **EXACT)


@pytest.mark.parametrize(("average", "key"), [("instance", "instance_macro"), ("micro", "instance_micro")])
def test_exact_rationale_match(average, key):
    expected = golden.scores()["rationale_prf"][key]
    got = IouF1(threshold=1.0, average=average).score(_trial("hard"))
    assert got.value == pytest.approx(expected["f1"], **EXACT)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_iou_f1(average):
    (expected,) = golden.scores()["iou_scores"]
    got = IouF1(threshold=expected["threshold"], average=average).score(_trial("hard"))
    assert got.value == pytest.approx(expected[average]["f1"], **EXACT)


def test_soft_scores():
    expected = golden.scores()["token_soft_metrics"]
    trial = _trial("soft")
    assert Auprc().score(trial).value == pytest.approx(expected["auprc"], **EXACT)
    assert Auprc(variant="average-precision").score(trial).value == pytest.approx(
        expected["average_precision"], **EXACT
    )
    assert Auroc().score(trial).value == pytest.approx(expected["roc_auc_score"], **EXACT)


@pytest.mark.parametrize("metric", [Sufficiency, Comprehensiveness])
def test_faithfulness_of_rationales(metric):
    kind = metric.name

    def parts(i, row, thresholds, n):
        size = sum(golden.explanations("hard")[i].selected)
        yield (size if kind == "sufficiency" else n - size), kind, row

    bench = _bench(lambda b: SubmittedSpace(b, parts, ()))
    got = metric().score(bench.trial("submitted", golden.explanations("hard")))
    assert got.value == pytest.approx(golden.scores()["classification_scores"][kind], **EXACT)


@pytest.mark.parametrize("metric", [Sufficiency, Comprehensiveness])
def test_aopc(metric):
    kind = metric.name
    expected = golden.scores()["classification_scores"]
    thresholds = tuple(expected["aopc_thresholds"])

    def parts(i, row, thresholds, n):
        for t, scores in zip(thresholds, row["thresholded_scores"], strict=True):
            assert scores["threshold"] == t
            size = int(np.ceil(t * n))
            yield (size if kind == "sufficiency" else n - size), kind, scores

    bench = _bench(lambda b: SubmittedSpace(b, parts, thresholds))
    got = metric(bins=thresholds).score(bench.trial("submitted", golden.explanations("soft")))
    assert list(got.bins.values()) == pytest.approx(expected[f"{kind}_aopc_points"], **EXACT)
    assert got.value == pytest.approx(expected[f"{kind}_aopc"], **EXACT)
