"""saywhy makes text models say why, and checks that what they say is true.

Example:
    >>> import saywhy
    >>> model = saywhy.load("my-sst-model")                                          # doctest: +SKIP
    >>> why = saywhy.explain(model, "A gripping film.", method="leave-one-out")      # doctest: +SKIP
    >>> why.top(1)                                                                   # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from saywhy.lazy import lazy_names

if TYPE_CHECKING:
    from saywhy.audits import check, counterfactual, diff, overview, sanity
    from saywhy.data import load_dataset
    from saywhy.errors import SayWhyError
    from saywhy.explainers import explain
    from saywhy.metrics import evaluate
    from saywhy.models import TextModel, load
    from saywhy.objectives import train
    from saywhy.types import Example

__version__ = "0.1.0"

__all__ = [
    "Example",
    "SayWhyError",
    "TextModel",
    "check",
    "counterfactual",
    "diff",
    "evaluate",
    "explain",
    "load",
    "load_dataset",
    "overview",
    "sanity",
    "train",
]

# Names are looked up on first use, so that `import saywhy` and `saywhy --help` need neither torch nor transformers.
_HOMES = {
    "Example": "saywhy.types",
    "SayWhyError": "saywhy.errors",
    "TextModel": "saywhy.models",
    "check": "saywhy.audits",
    "counterfactual": "saywhy.audits",
    "diff": "saywhy.audits",
    "evaluate": "saywhy.metrics",
    "explain": "saywhy.explainers",
    "load": "saywhy.models",
    "load_dataset": "saywhy.data",
    "overview": "saywhy.audits",
    "sanity": "saywhy.audits",
    "train": "saywhy.objectives",
}

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
