"""What a worker needs before it can begin, imported once by the server that workers are forked from."""

from __future__ import annotations

import transformers.models.bert.modeling_bert  # noqa: F401

import saywhy.explainers
import saywhy.metrics
import saywhy.models
import saywhy.objectives  # noqa: F401

__all__: list[str] = []
