"""INVRAT: rationales that predict alike in every environment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saywhy.errors import DataError, OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import TextModel
from saywhy.models.encoding import Encoded
from saywhy.objectives.base import TrainingBatch, objectives
from saywhy.objectives.rationalization import Rationalization
from saywhy.types import Example

__all__ = ["Invrat"]


@objectives.register("invrat", family="rationalisation", tasks=Rationalization.tasks, paper="Chang et al. 2020")
class Invrat(Rationalization):
    """RNP whose selection must not predict better once the environment is known.

    Reference: Chang et al.: Invariant Rationalization, ICML 2020, section 3.3.

    Two phases a step. A predictor, and one that is told the environment, minimise their cross-entropies L_i and L_e;
    then the selector minimises L_i + ``invariance`` max(0, L_i - L_e) and the regulariser. Without environments in the
    data nothing distinguishes them.

    Departures: the predictor that is told the environment stretches and shifts the other's logits by what it learned
    for each environment, instead of reading by itself. A spurious word whose meaning turns with the environment is
    found so, and where the environment says nothing the two agree. Two networks never do: what a batch makes of their
    difference is noise, and ten times over it drowned the game on documents of sixty words.

    Args:
        model: a rationalizer.
        optimiser: of all players.
        environment: the key of ``Example.meta`` that names an example's environment.
        invariance: weight of what the environment adds.
        options: as for `saywhy.objectives.rationalization.Rationalization`.
    """

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        environment: str = "environment",
        invariance: float = 10.0,
        **options: Any,
    ) -> None:
        super().__init__(model, optimiser, **options)
        if invariance < 0:
            raise OptionError(f"invariance must not be negative, not {invariance}")
        self.environment, self.invariance = environment, invariance
        # For each environment how far logits are stretched, and the shift of each; nothing at first.
        self.aware = nn.Embedding(_MOST, 1 + len(model.labels), device=model.device)
        nn.init.zeros_(self.aware.weight)
        self.players["aware"] = self.aware
        self._numbers: dict[str, int] = {}

    def items(self, examples: Sequence[Example], truncation: str) -> list[Encoded]:
        """The examples; the first ones, which are those of training, must have environments."""
        if not self._numbers:
            for example in examples:
                self._number(example)
        return super().items(examples, truncation)

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """The predictors' turn, then the selector's."""
        yield Phase(("predictor", "aware"), lambda: self.predictors_loss(batch, step))
        yield Phase(("selector",), lambda: self.selector_loss(batch, step))
        self.control.update(step)

    def predictors_loss(self, batch: TrainingBatch, step: Step) -> Tensor:
        """Both cross-entropies on the drawn words; the predictor itself learns nothing of environments."""
        game = self.play(batch, step)
        return game.cross_entropy + self.informed(game.scores.detach(), game.gold, batch[1])

    def selector_loss(self, batch: TrainingBatch, step: Step) -> tuple[Tensor, dict[str, float | Tensor]]:
        """The plain cross-entropy, what the environment takes off it, and the regulariser."""
        game = self.play(batch, step)
        plain = game.cross_entropy
        gap = (plain - self.informed(game.scores, game.gold, batch[1])).clamp_min(0)
        loss = plain + self.invariance * gap + self.penalty(game.mask, game.choice)
        return loss, {"cross-entropy": plain.detach(), "gap": gap.detach()}

    def informed(self, scores: Tensor, gold: Tensor, items: Sequence[Encoded]) -> Tensor:
        """Cross-entropy of scores, examples x K, once the environments are known."""
        numbers = torch.tensor([self._number(item.example) for item in items], device=gold.device)
        stretch, shift = self.aware(numbers).split([1, scores.shape[-1]], dim=-1)
        return F.cross_entropy(scores * (1 + stretch) + shift, gold)

    def _number(self, example: Example) -> int:
        if self.environment not in example.meta:
            raise DataError(f"{example.where()} has no meta[{self.environment!r}]: invrat needs environments")
        name = str(example.meta[self.environment])
        number = self._numbers.setdefault(name, len(self._numbers))
        if number >= _MOST:
            raise DataError(f"more than {_MOST} different environments; is {self.environment!r} the right key?")
        return number

    def state(self) -> dict[str, Any]:
        """The controller's, and the environments' numbers."""
        return {**super().state(), "environments": self._numbers}

    def load_state(self, state: Any) -> None:
        """Take it back."""
        super().load_state(state)
        self._numbers = dict(state["environments"])


_MOST = 64
