from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import saywhy
from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, read_run
from saywhy.objectives import train
from saywhy.objectives.smat import Smat
from tests import zoo

from .test_ivra import quick
from .test_training import reviews


def test_smat_leaves_the_model_as_it_is() -> None:
    start = quick("plain")
    model = train("smat", reviews(24), start, epochs=2, batch_size=8, coefficient_rate=0.05)
    before = start.module.state_dict()
    for name, value in model.module.state_dict().items():
        assert name.startswith("smat") or torch.equal(value, before[name])
    head = model.module.smat_attention.head  # type: ignore[union-attr]
    assert float((head.detach() - head.detach().mean()).abs().max()) > 1e-3  # type: ignore[arg-type]
    assert all(p.requires_grad for p in model.module.parameters())
    assert len(saywhy.explain(model, "it was great", "smat").scores) == 3  # type: ignore[attr-defined]


def test_the_coefficients_are_reported_as_a_heat_map(tmp_path: Path) -> None:
    train("smat", reviews(24), quick("plain"), epochs=1, batch_size=8, coefficient_rate=0.05, out=tmp_path)
    ((title, drawn),) = (read_run(tmp_path) or {})["report"]["maps"].items()
    assert title == "head coefficients"
    assert any(value != drawn["middle"] for row in drawn["values"] for value in row)


@pytest.mark.parametrize("option", [{"schedule": "step"}, {"decay": 0.9}, {"warmup": 0.0}, {"weight_decay": 0.5}])
def test_settings_that_would_do_nothing_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=f"leave out {next(iter(option))}"):
        Smat(zoo.classifier(), OptimiserSettings(**option))
