"""AREC: the few phrase pairs whose alignment is enough for the model's output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from saywhy.errors import OptionError
from saywhy.explainers.alignments import Found, Pairs, alignment_rationales, pair_groups
from saywhy.explainers.base import Explainer, Request, register
from saywhy.models.alignment_space import AlignmentSpace
from saywhy.ops.hard_concrete import HardConcrete
from saywhy.ops.mask_loss import mask_loss
from saywhy.ops.randomness import derive_seed
from saywhy.types import Explanation

__all__ = ["Arec"]

# Random numbers are drawn for so many steps at a time: drawing them pair by pair would otherwise take longer than using
# them. Pairs that are done leave the batch when a check finds some.
_BLOCK = 10


@register
@dataclass(frozen=True)
class Arec(Explainer):
    """Few alignments, in rectangles, that keep the model's logits: a mask optimised for each pair of texts.

    Reference: Jiang, Zhang, Yang, Zhao, Liu: Alignment Rationale for Natural Language Inference, ACL 2021, section 3.

    Each word pair has a HardConcrete variable. Its parameter is moved so that the logits under sampled masks stay where
    they are (equation 8), few variables are on, and those that are form rectangles (equation 9); the last two count in
    proportion to how often samples keep the label (equations 11 and 12). A pair is selected where 1 is likelier than 0;
    its score is the share of samples above one half. Which label is asked about does not matter.

    All pairs of texts of a batch are optimised together, each with random numbers of its own, so that the result does
    not depend on its company; a pair leaves when its selection has not changed for ``patience`` steps.

    Options:
        lambda: weight of readability against fidelity, in units of logits; the paper's 0.15 suits models with logits
            several units apart. Compare ``fidelity`` with ``empty`` (nothing selected): where they are close, lower it.
        steps: most steps of the optimiser.
        samples: masks sampled in a step.
        patience: steps without a change after which a pair is done; None takes all steps.
        learning_rate: of Adam.
        start: parameter of every variable before the first step. Above 1.17 the loss would pull all cells open.

    Departures: P(Z = 1) as it should be, see `HardConcrete`; word pairs instead of pairs of pieces. The paper does not
    state start, samples, steps and optimiser.
    """

    name: ClassVar[str] = "arec"
    family: ClassVar[str] = "rationale"
    needs: ClassVar[tuple[str, ...]] = ("gradients", "alignments")
    tasks: ClassVar[tuple[str, ...]] = ("pair",)
    spaces: ClassVar[tuple[str, ...]] = ("alignments",)
    paper: ClassVar[str] = "Jiang et al. 2021"

    lambda_: float = 0.15
    steps: int = 300
    samples: int = 8
    patience: int | None = 50
    learning_rate: float = 0.1
    start: float = 0.0

    @property
    def space(self) -> str:
        """Alignments; there is no choice."""
        return "alignments"

    def explain(self, request: Request) -> list[Explanation]:  # noqa: D102
        self._check()
        space = AlignmentSpace(
            request.model, request.examples, batch_size=request.batch_size, encoded=request.prepare()
        )
        found: dict[int, Found] = {}
        with request.model.evaluation() as network, torch.inference_mode(False), torch.enable_grad():
            for group in pair_groups(space, self.samples):
                search = _Search(self, request, space, network, group)
                for number, log_alpha, steps in search.run():
                    found[number] = search.pairs.judge(number, log_alpha > 0, log_alpha.sigmoid())
                    found[number].cost["gradients"] = steps * self.samples * len(space.encoded[number].rows)
        return alignment_rationales(self, request, space, [found[i] for i in range(len(found))])

    def _check(self) -> None:
        for name in ("steps", "samples", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise OptionError(f"{name} must be at least 1, not {value}")
        if self.lambda_ < 0:
            raise OptionError(f"lambda must be at least 0, not {self.lambda_}")
        if self.learning_rate <= 0:
            raise OptionError(f"learning-rate must be above 0, not {self.learning_rate}")


class _Search:
    """The optimisation of the masks of some pairs at once."""

    def __init__(
        self, options: Arec, request: Request, space: AlignmentSpace, network: nn.Module, group: Sequence[int]
    ) -> None:
        self.options = options
        self.pairs = Pairs(space, network, group)
        texts = [space.encoded[number].example.texts for number in group]
        # A pair's random numbers depend on the seed and on itself, not on what else is in the batch.
        self.draws = [np.random.default_rng(derive_seed(request.seed, "arec", *map(ascii, own))) for own in texts]

    def run(self) -> list[tuple[int, Tensor, int]]:
        """The number, the parameters (|p| x |h|) and the steps of each pair."""
        pairs, options = self.pairs, self.options
        waiting = torch.arange(len(pairs.group), device=pairs.device)
        parameter = torch.full(pairs.real.shape, options.start, device=pairs.device).requires_grad_()
        optimiser = torch.optim.Adam([parameter], lr=options.learning_rate)
        changed = torch.zeros(len(waiting), dtype=torch.long, device=pairs.device)
        before = parameter.detach() > 0
        done: list[tuple[int, Tensor, int]] = []
        for step in range(1, options.steps + 1):
            place = (step - 1) % _BLOCK
            if place == 0:
                uniform = self._uniform(waiting.tolist())
            gates = HardConcrete(parameter)
            masks = HardConcrete(parameter.unsqueeze(1)).sample(uniform[:, place])
            loss = mask_loss(
                pairs.whole[waiting], pairs.scores(waiting, masks), gates, pairs.real[waiting], options.lambda_
            )
            (parameter.grad,) = torch.autograd.grad(loss.total.sum(), parameter)
            optimiser.step()
            now = parameter.detach() > 0
            changed = torch.where((now != before).flatten(1).any(1), step, changed)
            before = now
            last = step == options.steps
            if not last and (options.patience is None or step % _BLOCK):
                continue
            leaving = torch.full_like(changed, last, dtype=torch.bool)
            if options.patience is not None:
                leaving |= step - changed >= options.patience
            for at in leaving.nonzero().flatten().tolist():
                number = int(waiting[at])
                height, width = pairs.shapes[number]
                done.append((pairs.group[number], parameter.detach()[at, :height, :width].clone(), step))
            if bool(leaving.all()):
                break
            if bool(leaving.any()):
                rest = (~leaving).nonzero().flatten()
                waiting, changed, before = waiting[rest], changed[rest], before[rest]
                parameter, optimiser = _fewer(parameter, optimiser, rest)
        return done

    def _uniform(self, waiting: Sequence[int]) -> Tensor:
        """Draws for the next steps, pairs x steps x samples x P x H; where there is no cell they are one half."""
        _, height, width = self.pairs.real.shape
        samples = self.options.samples
        table = np.full((len(waiting), _BLOCK, samples, height, width), 0.5, dtype=np.float32)
        for own, number in zip(table, waiting, strict=True):
            p, h = self.pairs.shapes[number]
            own[..., :p, :h] = self.draws[number].random((_BLOCK, samples, p, h), dtype=np.float32)
        edge = np.finfo(np.float32).eps
        return torch.from_numpy(table.clip(edge, 1 - edge)).to(self.pairs.device)


def _fewer(parameter: Tensor, optimiser: torch.optim.Adam, rows: Tensor) -> tuple[Tensor, torch.optim.Adam]:
    """The rows that are left, and Adam as far as it was with them."""
    left = parameter.detach()[rows].requires_grad_()
    again = torch.optim.Adam([left], lr=optimiser.param_groups[0]["lr"])
    state: dict[str, Any] = optimiser.state[parameter]
    again.state[left] = {name: value if value.ndim == 0 else value[rows] for name, value in state.items()}
    return left, again
