"""What the objectives that train rationalizers share: the game, its regulariser, its score and its report.

To add one, subclass `Rationalization` and override as little as possible:

- `shown`: what the predictor reads instead of the drawn selection (VER, NIR).
- `extra`: a further term of the loss (DMR, CR).
- `phases`: where other players move at other times (A2I, A2R, INVRAT). Put them into ``self.players`` in the
  constructor, made with `fresh_predictor` or `fresh_selector` (or given to `draw_by_seed`, so that the run's seed
  decides what weights they start with); only what lives in the network itself is kept after training.

The network's `choose` gives the selector's logits, its `predict` the logits of what is read; both take another player
in place of the network's own. Everything random is drawn from ``step.generator(name)``.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saywhy.errors import OptionError, SayWhyWarning
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import Batch, TextModel
from saywhy.models.encoding import Encoded
from saywhy.models.intervention import Intervention
from saywhy.models.rationales import Reading, rationalizer_of, read_rationales
from saywhy.models.word_selector import Choice, Selector
from saywhy.objectives.base import Objective, TrainingBatch
from saywhy.objectives.probing import EpochProbe
from saywhy.objectives.sparsity import START, SparsityControl, find_collapse, position_agreement
from saywhy.ops.randomness import global_seed
from saywhy.ops.rationales import REDUCTIONS, sample_selection, selected_share, selection_penalty

__all__ = ["Game", "Rationalization"]


@dataclass(frozen=True)
class Game:
    """One draw of the game: the batch, what the selector said, the words it drew and what the predictor made of them.

    ``mask`` N x W is the draw, ``shown`` what the predictor read, ``scores`` (examples x K) what it said, ``gold``
    (examples,) what is right.
    """

    batch: Batch
    choice: Choice
    mask: Tensor
    shown: Tensor
    scores: Tensor
    gold: Tensor
    step: Step

    @property
    def cross_entropy(self) -> Tensor:
        """Of the gold labels, mean over examples."""
        return F.cross_entropy(self.scores, self.gold)


class Rationalization(Objective):
    """Base of the objectives that train a selector and a predictor.

    Reference: VER, equations 3 and 4; METHODS.

    Args:
        model: a rationalizer; its network is trained in place.
        optimiser: how its players are optimised.
        alpha: share of the words that the regulariser wants selected.
        target_sparsity: share of the words that shall be selected in the end; it takes alpha's place, and a controller
            sets the selector's threshold so that so many are. None leaves it at the likelier choice, as the papers do.
        lambda1: weight of sparsity.
        lambda2: weight of continuity.
        reduction: ``mean`` (a share of the batch, changes per pair of neighbours) or ``paper`` (per text, their sum).
        temperature: of the Gumbel-softmax.
        anneal: share of the steps in which alpha comes down from nine tenths, where the selector then starts too; 0,
            as in the papers, starts it at one half and asks for alpha at once.
        probes: log the probes of VER's Figures 2 to 5 at every validation (`saywhy.objectives.probing`).
    """

    tasks: ClassVar[tuple[str, ...]] = ("text", "pair")
    network: ClassVar[str | None] = "rationalizer"

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        alpha: float = 0.15,
        target_sparsity: float | None = None,
        lambda1: float = 3.0,
        lambda2: float = 1.0,
        reduction: str = "mean",
        temperature: float = 1.0,
        anneal: float = 0.0,
        probes: bool = False,
    ) -> None:
        super().__init__(model, optimiser)
        for name, share in (("alpha", alpha), ("target_sparsity", target_sparsity)):
            if share is not None and not 0 < share < 1:
                raise OptionError(f"{name} is a share of the words, between 0 and 1, not {share}")
        if min(lambda1, lambda2) < 0 or temperature <= 0:
            raise OptionError("lambda1 and lambda2 must not be negative, and temperature must be above 0")
        if reduction not in REDUCTIONS:
            raise OptionError(f"unknown reduction {reduction!r}; use one of {', '.join(REDUCTIONS)}")
        self.rationalizer = rationalizer_of(model)
        self.players: dict[str, nn.Module] = {
            "selector": self.rationalizer.selector,
            "predictor": self.rationalizer.predictor,
        }
        self._drawn: dict[str, nn.Module] = {}
        self.lambda1, self.lambda2, self.reduction, self.temperature = lambda1, lambda2, reduction, temperature
        if not 0 <= anneal < 1:
            raise OptionError(f"anneal is a share of the steps, from 0 to less than 1, not {anneal}")
        asked = alpha if target_sparsity is None else target_sparsity
        self.control = SparsityControl(asked, target_sparsity, anneal)
        self.probe = EpochProbe(model) if probes else None
        if anneal > 0:
            with torch.no_grad():
                self.rationalizer.selector.head.bias.copy_(torch.tensor([1 - START, START]).log())

    # -- a step --------------------------------------------------------------------------------------------------

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """One phase: selector and predictor move together."""
        yield Phase(("selector", "predictor"), lambda: self.loss(batch, step))
        self.control.update(step)

    def loss(self, batch: TrainingBatch, step: Step) -> tuple[Tensor, dict[str, float | Tensor]]:
        """Cross-entropy of what the predictor makes of the words it is shown, and the regulariser of the draw."""
        game = self.play(batch, step)
        entropy, penalty, extra = game.cross_entropy, self.penalty(game.mask, game.choice), self.extra(game)
        logged = {"cross-entropy": entropy.detach(), "sparsity": selected_share(game.mask, game.choice.real).detach()}
        return entropy + penalty + extra, {**logged, "alpha": self.control.alpha}

    def play(self, batch: TrainingBatch, step: Step) -> Game:
        """Choose, draw, show, predict."""
        rows, items = batch
        choice = self.rationalizer.choose(rows.inputs)
        mask = sample_selection(
            choice.logits, choice.real, temperature=self.temperature, generator=step.generator("selection")
        )
        shown = self.shown(mask, choice, step)
        return Game(rows, choice, mask, shown, self.read(rows, shown), self.gold(items), step)

    def shown(self, mask: Tensor, choice: Choice, step: Step) -> Tensor:
        """What the predictor reads, N x W: the drawn selection."""
        return mask

    def extra(self, game: Game) -> Tensor:
        """A further term of the loss."""
        return game.scores.new_zeros(())

    def penalty(self, mask: Tensor, choice: Choice) -> Tensor:
        """The regulariser, equation 4."""
        return selection_penalty(
            mask,
            choice.real,
            alpha=self.control.alpha,
            lambda1=self.lambda1,
            lambda2=self.lambda2,
            reduction=self.reduction,
        )

    def read(self, rows: Batch, mask: Tensor, predictor: nn.Module | None = None) -> Tensor:
        """What a predictor says about a batch of which it reads the words in a mask, examples x K."""
        raw = self.rationalizer.predict(rows.inputs, mask, predictor)
        return self.model.task.combine(raw, rows.owner, rows.size)

    def gold(self, items: Sequence[Encoded]) -> Tensor:
        """Indices of the gold labels, (examples,)."""
        return torch.tensor([self.model.task.gold(item.example) for item in items], device=self.model.device)

    # -- further players -----------------------------------------------------------------------------------------

    def fresh_predictor(self, name: str) -> nn.Module:
        """Another predictor of the same kind, with new weights where the network was not pretrained."""
        return self.draw_by_seed(name, copy.deepcopy(self.rationalizer.predictor))

    def fresh_selector(self, name: str) -> Selector:
        """Another selector of the same kind, likewise."""
        made = self.draw_by_seed(name, copy.deepcopy(self.rationalizer.selector))
        assert isinstance(made, Selector)
        return made

    def draw_by_seed(self, name: str, player: nn.Module) -> nn.Module:
        """Have a player's first weights drawn by the run's seed, once that is known; until then seed 0 stands in."""
        self._drawn[name] = player
        _redraw(player, 0, name)
        return player

    def begin(self, seed: int) -> None:
        """Draw the weights of the further players."""
        for name, player in self._drawn.items():
            _redraw(player, seed, name)

    # -- what came of it -----------------------------------------------------------------------------------------

    def score(self, items: Sequence[Encoded], batch_size: int) -> tuple[float, Mapping[str, float]]:
        """The accuracy, and how much was selected; sets the threshold where there is a target.

        With ``target_sparsity`` an epoch whose sparsity is more than two points off scores below all others: a model
        that reads twice as much is no better for being right more often. Where the top words of every text are taken,
        each epoch selects the same number, and only the accuracy counts.
        """
        readings = read_rationales(self.model, items, batch_size)
        if self.control.target is not None and self._likelier:
            likely = np.concatenate([reading.probabilities[reading.free] for reading in readings])
            self.rationalizer.selector.threshold.fill_(self.control.threshold(likely))
            readings = read_rationales(self.model, items, batch_size)
        facts = {"accuracy": self._accuracy(readings, items), "selected": _share(readings)}
        if self.probe is not None:
            facts |= self.probe.look(items, readings, batch_size)
        return self.control.score(facts["accuracy"], facts["selected"] if self._likelier else None), facts

    def report(self, items: Sequence[Encoded], batch_size: int, seed: int) -> dict[str, Any]:
        """What share of the words is selected on held-out examples, and whether the selection collapsed."""
        readings = read_rationales(self.model, items, batch_size)
        share = _share(readings)
        agreement = position_agreement([reading.selected[reading.free] for reading in readings])
        spread = float(np.std(np.concatenate([reading.probabilities[reading.free] for reading in readings])))
        collapse = find_collapse(share, agreement, spread)
        facts = {
            "sparsity": share,
            "target_sparsity": self.control.target,
            "alpha": self.control.alpha,
            "accuracy": self._accuracy(readings, items),
            "position_agreement": agreement,
            "spread": spread,
            "threshold": float(self.rationalizer.selector.threshold),
            "collapse": collapse,
            "seed": seed,
        }
        if collapse:
            warnings.warn(
                f"the selection collapsed with seed {seed}: {collapse}. Try another seed, a smaller lambda1 or "
                "lambda2, or more epochs",
                SayWhyWarning,
                stacklevel=3,
            )
        elif not self.control.reached(share):
            why = (
                "are the held-out texts like those it was trained on?"
                if self._likelier
                else "the top words of each text are, rounded up: of short texts that is more"
            )
            warnings.warn(
                f"{share:.1%} of the words are selected, not the {self.control.target:.1%} asked for (seed {seed}); "
                f"{why}",
                SayWhyWarning,
                stacklevel=3,
            )
        return facts

    @property
    def _likelier(self) -> bool:
        """Whether words are selected by a threshold, not as the top of each text."""
        return self.rationalizer.config.selection == "likelier"

    def _accuracy(self, readings: Sequence[Reading], items: Sequence[Encoded]) -> float:
        right = [
            int(r.scores.argmax()) == self.model.task.gold(item.example)
            for r, item in zip(readings, items, strict=True)
        ]
        return float(np.mean(right))

    def state(self) -> dict[str, Any]:
        """Where the controller and the probes are."""
        return self.control.state() | ({} if self.probe is None else self.probe.state())

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take it back."""
        self.control.load_state(state)
        if self.probe is not None:
            self.probe.load_state(state)


def _share(readings: Sequence[Reading]) -> float:
    words = sum(int(reading.free.sum()) for reading in readings)
    return sum(int(reading.selected.sum()) for reading in readings) / max(1, words)


def _redraw(player: nn.Module, seed: int, name: str) -> None:
    """Draw the weights of layers anew; frozen vectors and transformers keep theirs, under a head that is new."""
    body = getattr(player, "encoder", None) or getattr(player, "base_model", None)
    recurrent = any(isinstance(part, nn.GRU | nn.LSTM) for part in player.modules())
    kept = set() if recurrent or body is None or body is player else set(body.modules())
    with global_seed(seed, "redrawn", name):
        for part in player.modules():
            if part not in kept and isinstance(part, nn.GRU | nn.LSTM | nn.Linear | nn.LayerNorm):
                part.reset_parameters()
            elif isinstance(part, Intervention):
                part.draw()
