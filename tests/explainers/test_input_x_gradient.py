from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import saywhy
from tests import zoo
from tests.explainers.test_gradient import REDUCE, gradient_and_input, words_of


@pytest.mark.parametrize("aggregation", sorted(REDUCE))
def test_embedding_times_gradient(aggregation: str) -> None:
    made: Any = saywhy.explain(zoo.shared(), zoo.TEXTS, "input-x-gradient", target=2, aggregation=aggregation)
    for text, why in zip(zoo.TEXTS, made, strict=True):
        grad, vectors = gradient_and_input(text, 2)
        np.testing.assert_allclose(
            why.scores, words_of(text, REDUCE[aggregation](grad * vectors)), atol=2e-5, rtol=1e-4
        )


def test_the_default_keeps_signs() -> None:
    why: Any = saywhy.explain(zoo.shared(), zoo.TEXTS[2], "input-x-gradient")
    assert why.header.parameters == {"aggregation": "sum"}
    assert min(why.scores) < 0 < max(why.scores)
