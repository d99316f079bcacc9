"""Label-kept: does the model still say the same when only what the explanation selects is left?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saywhy.errors import OptionError
from saywhy.metrics.base import register
from saywhy.metrics.erasing import Keeping
from saywhy.metrics.parts import Contributions, Parts
from saywhy.metrics.trial import Trial, Workbench

__all__ = ["LabelKept"]


@register
@dataclass(frozen=True, kw_only=True)
class LabelKept(Keeping):
    """Share of the examples whose predicted label stays when only the selection is kept.

    Unlike `fidelity` it has no unit, so that models may be compared. A label may stay even if nothing is left, where a
    model leans to one class: a note gives this share, the same for all methods. Larger selections keep more labels:
    read it beside `compactness`.

    Reference: AREC, equation 12, there of sampled masks while they are optimised, and footnote 3 (label equality, after
    Feng et al., Pathologies of Neural Models Make Interpretations Difficult, EMNLP 2018); the selection of scores:
    section 4.1.2 and footnote 9.

    Departures: the paper reports no such share, and its rationales need not keep the label.

    Edge cases: everything selected has 1; nothing selected has the share of the empty input.

    Example:
        >>> LabelKept(until="arec").higher_is_better
        True
    """

    name: ClassVar[str] = "label-kept"
    family: ClassVar[str] = "erasure"
    paper: ClassVar[str] = "AREC, equation 12"

    def check_model(self, bench: Workbench) -> None:
        """Raise an error for models whose answer is not one of several classes."""
        super().check_model(bench)
        if bench.task == "span-qa":
            raise OptionError(f"{self.name} needs classes, and span QA follows one span; use fidelity instead")

    def measure(self, trial: Trial) -> Parts:
        """Keep the selection, ask the model, and see whether it says the same."""
        kept, empty = self._answers(trial)
        columns = {
            "same": np.asarray([answer.same for answer in kept], dtype=np.float64),
            "empty": np.asarray([answer.same for answer in empty], dtype=np.float64),
        }
        return Parts(np.arange(len(kept)), columns, len(kept))

    def contributions(self, parts: Parts) -> Contributions:
        """The share of labels that stay."""
        empty = parts.columns["empty"].mean()
        notes = (f"with nothing selected the label of {empty:.1%} of the examples is kept",)
        return Contributions.mean(parts.columns["same"], notes=notes)
