"""Networks that can be trained by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from saywhy.models import diffmask, smat_attention  # noqa: F401 - what a saved network may hold
from saywhy.models.cage import build_cage
from saywhy.models.decomposable_attention import build_decomposable_attention
from saywhy.models.esim import build_esim
from saywhy.models.infersent import build_infersent
from saywhy.models.interpretable_attention import build_interpretable_attention
from saywhy.models.minilm import build_minilm
from saywhy.models.mpii_building import build_mpii
from saywhy.models.rationalizer import build_rationalizer
from saywhy.models.recurrent import build_recurrent
from saywhy.models.text_transformer import build_text_transformer
from saywhy.registry import Registry

__all__ = ["Builder", "networks"]

Builder: TypeAlias = Callable[..., tuple[Any, Any]]
"""``build(examples, task, labels, seed, **options)`` gives a network and its tokenizer."""

networks: Registry[Builder] = Registry("model", "saywhy.models.networks")
"""Builders by name; their facts hold the training settings that suit them."""

_ALL = ("text", "pair", "choices", "span-qa")

networks.register(
    "text-transformer",
    family="from scratch",
    tasks=_ALL,
    facts={"epochs": 4, "learning_rate": 1e-3, "batch_size": 32},
)(build_text_transformer)
networks.register(
    "gru",
    summary="A bidirectional GRU over GloVe vectors, or over vectors of its own.",
    family="from scratch",
    tasks=_ALL[:3],
    facts={"epochs": 10, "learning_rate": 2e-3, "batch_size": 32},
)(partial(build_recurrent, cell="gru"))
networks.register(
    "lstm",
    summary="A bidirectional LSTM over GloVe vectors, or over vectors of its own.",
    family="from scratch",
    tasks=_ALL[:3],
    facts={"epochs": 10, "learning_rate": 2e-3, "batch_size": 32},
)(partial(build_recurrent, cell="lstm"))
networks.register(
    "rationalizer",
    family="self-explaining",
    tasks=_ALL[:2],
    facts={"epochs": 10, "learning_rate": 1e-3, "batch_size": 64},
)(build_rationalizer)
networks.register(
    "e-infersent",
    family="self-explaining",
    tasks=_ALL[:2],
    facts={"epochs": 10, "learning_rate": 1e-3, "batch_size": 32},
)(build_infersent)
networks.register(
    "mpii",
    family="self-explaining",
    tasks=_ALL[:3],
    facts={"epochs": 10, "learning_rate": 1e-3, "batch_size": 32},
)(build_mpii)
networks.register(
    "cage",
    family="self-explaining",
    tasks=_ALL[:3],
    paper="Rajani et al. 2019",
    facts={"epochs": 10, "learning_rate": 1e-3, "batch_size": 32},
)(build_cage)
networks.register(
    "minilm",
    family="pretrained",
    tasks=_ALL,
    facts={"epochs": 2, "learning_rate": 5e-5, "batch_size": 32},
)(build_minilm)
networks.register(
    "interpretable-attention",
    family="pretrained",
    tasks=_ALL,
    paper="IvRA, section 2.1",
    facts={"epochs": 2, "learning_rate": 5e-5, "batch_size": 32},
)(build_interpretable_attention)
networks.register(
    "decomposable-attention",
    family="from scratch",
    tasks=("pair",),
    paper="Parikh et al. 2016",
    facts={"epochs": 12, "learning_rate": 2e-3, "batch_size": 32},
)(build_decomposable_attention)
networks.register(
    "esim",
    family="from scratch",
    tasks=("pair",),
    paper="Chen et al. 2017",
    facts={"epochs": 8, "learning_rate": 1e-3, "batch_size": 32},
)(build_esim)
