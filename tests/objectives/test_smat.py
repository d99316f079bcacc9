from __future__ import annotations

import torch

import saywhy
from saywhy.objectives import train

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
