"""Probes of a rationalizer while it is trained: what VER's Figures 2 to 5 are made of, one number an epoch each."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saywhy.models import TextModel
from saywhy.models.encoding import Encoded
from saywhy.models.rationale_probes import estimate_slopes, gold_words, judge_rationales, mean_change
from saywhy.models.rationales import Reading

__all__ = ["EpochProbe"]


class EpochProbe:
    """Looks at a rationalizer at every validation.

    Logged are ``change``, how far the selection differs from that of the validation before (Figure 2, not at the
    first); ``lipschitz``, the steepest slope of the last label's probability (Figure 4); and, if held-out examples have
    gold rationales, the micro F1 of what is selected (Figure 5), and accuracy and median cross-entropy on what is
    selected of these examples and on the gold (Figures 3 and 10). Nothing of it changes what is trained or which epoch
    is kept.
    """

    def __init__(self, model: TextModel) -> None:
        self.model = model
        self._before: NDArray[np.bool_] | None = None

    def look(self, items: Sequence[Encoded], readings: Sequence[Reading], batch_size: int) -> dict[str, float]:
        """The numbers of this validation, by name."""
        found: dict[str, float] = {}
        sizes = np.cumsum([len(reading.selected) for reading in readings])[:-1]
        now = np.concatenate([reading.selected for reading in readings])
        if self._before is not None and len(self._before) == len(now):
            found["change"] = mean_change(np.split(self._before, sizes), np.split(now, sizes))
        self._before = now
        slopes = estimate_slopes(self.model, items, label=len(self.model.labels) - 1, batch_size=batch_size)
        found["lipschitz"] = float(slopes.max())
        marked = [item for item in items if any(item.example.rationales)]
        if marked:
            read = [r.selected for r, item in zip(readings, items, strict=True) if any(item.example.rationales)]
            found["f1"] = _micro_f1(list(zip(read, map(gold_words, marked), strict=True)))
        for name, gold in (("selected", False), ("gold", True)) if marked else ():
            judged = judge_rationales(self.model, marked, gold=gold, batch_size=batch_size)
            found[f"{name}-accuracy"] = float(judged.right.mean())
            found[f"{name}-cross-entropy"] = float(np.median(judged.losses))
        return found

    def state(self) -> dict[str, Any]:
        """The last selection, packed: a run that is resumed logs the same change as one that was not stopped."""
        if self._before is None:
            return {}
        packed = base64.b64encode(np.packbits(self._before).tobytes()).decode("ascii")
        return {"selected": {"words": len(self._before), "bits": packed}}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take it back."""
        kept = state.get("selected")
        if kept is not None:
            bits = np.frombuffer(base64.b64decode(kept["bits"]), dtype=np.uint8)
            self._before = np.unpackbits(bits, count=int(kept["words"])).astype(bool)


def _micro_f1(pairs: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]]) -> float:
    """F1 of selected against gold words, over all words together."""
    both = sum(int((selected & gold).sum()) for selected, gold in pairs)
    either = sum(int(selected.sum()) + int(gold.sum()) for selected, gold in pairs)
    return 2 * both / max(1, either)
