"""Stepwise integration: a label that moves with every word, and words that know where the label stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

__all__ = ["INTEGRATIONS", "ChoiceLabels", "ClassLabels", "Memory", "StepwiseIntegration", "mlp"]

INTEGRATIONS = ("full", "no-inference", "no-interpretation", "none")
"""Which of the two gates are open: both; the words' alone is shut; the label's alone is shut; both are shut."""

GATE_BIAS = -2.0
"""Before training: an eighth of a word's vector is the label's, and an eighth of where a word would move it counts."""


@dataclass(frozen=True)
class Memory:
    """What a network has read.

    Attributes:
        hidden: N x L x d states.
        mask: N x L, 0 at padding.
        first: N x d, the state that stands for the whole.
        choices: N x K x d states of the choices, where there are some.
        present: N x K, which choices there are.
    """

    hidden: Tensor
    mask: Tensor
    first: Tensor
    choices: Tensor | None = None
    present: Tensor | None = None

    def repeat(self, times: int) -> Memory:
        """The same with every row several times."""
        return self._each(lambda value: value.repeat_interleave(times, dim=0))

    def select(self, rows: Tensor | slice) -> Memory:
        """Some of the rows, in the order given."""
        return self._each(lambda value: value[rows])

    def _each(self, change: Callable[[Tensor], Tensor]) -> Memory:
        choices = None if self.choices is None else change(self.choices)
        present = None if self.present is None else change(self.present)
        return Memory(change(self.hidden), change(self.mask), change(self.first), choices, present)

    def masked(self, logits: Tensor) -> Tensor:
        """Logits in which a choice that is not there has none."""
        return logits if self.present is None else logits.masked_fill(~self.present, -torch.inf)

    def masked_steps(self, steps: Sequence[Tensor]) -> Tensor:
        """The same for the labels of several steps, N x steps x K."""
        return torch.stack([self.masked(logits) for logits in steps], dim=1)


def mlp(inputs: int, outputs: int, width: int) -> nn.Sequential:
    """Norm, then three linear layers with ReLUs between them."""
    return nn.Sequential(
        nn.LayerNorm(inputs),
        nn.Linear(inputs, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, outputs),
    )


class ClassLabels(nn.Module):
    """A label out of C classes, or out of C choices that are told apart by their place."""

    def __init__(self, classes: int, width: int) -> None:
        super().__init__()
        self.start = mlp(width, classes, width)
        self.vector = nn.Sequential(
            nn.Linear(classes, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)
        )
        self.change = mlp(width, classes, width)

    def first(self, memory: Memory) -> Tensor:
        """The label before the first word, N x C logits."""
        return self.start(memory.first)

    def project(self, logits: Tensor, memory: Memory) -> Tensor:
        """The label as a vector, N x d."""
        return self.vector(memory.masked(logits).softmax(-1))

    def move(self, hidden: Tensor, memory: Memory) -> Tensor:
        """Where a word moves the label, N x C."""
        return self.change(hidden)


class ChoiceLabels(nn.Module):
    """A label out of any number of choices, each of which has a state of its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.start = mlp(2 * width, 1, width)
        self.vector = mlp(width, width, width)
        self.change = mlp(2 * width, 1, width)

    def first(self, memory: Memory) -> Tensor:
        """The label before the first word, N x K logits."""
        return self._each(self.start, memory.first, memory)

    def project(self, logits: Tensor, memory: Memory) -> Tensor:
        """The choice one would expect, as a vector, N x d."""
        assert memory.choices is not None
        weights = memory.masked(logits).softmax(-1)
        return self.vector((weights.unsqueeze(-1) * memory.choices).sum(1))

    def move(self, hidden: Tensor, memory: Memory) -> Tensor:
        """Where a word moves the label, N x K."""
        return self._each(self.change, hidden, memory)

    @staticmethod
    def _each(layers: nn.Module, state: Tensor, memory: Memory) -> Tensor:
        assert memory.choices is not None
        both = torch.cat([memory.choices, state.unsqueeze(1).expand_as(memory.choices)], dim=-1)
        scored: Tensor = layers(both)
        return scored.squeeze(-1)


class StepwiseIntegration(nn.Module):
    """The two gates between the label and the words.

    Reference: MPII, section 2.2, equations 1 to 3 and 7 to 9.

    Departures: the label is projected from its probabilities; the released code normalises its logits, which of two
    classes leaves only the sign. ``Emb_l'`` of equations 1 to 3 is the projected label, that of equations 8 and 9 the
    logits. Layers are normalised first, as in the released code.

    Args:
        labels: `ClassLabels` or `ChoiceLabels`.
        width: d.
        integration: one of `INTEGRATIONS`.
    """

    def __init__(self, labels: ClassLabels | ChoiceLabels, width: int, integration: str) -> None:
        super().__init__()
        self.labels = labels
        self.integration = integration
        self.word_gate = nn.Sequential(
            nn.LayerNorm(2 * width), nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 1)
        )
        self.reading = mlp(width, width, width)
        self.label_gate = mlp(2 * width, 1, width)

    def begin(self) -> None:
        """Start with gates that are nearly shut and with words that do not move the label.

        A label that is moved about by untrained words is worse than one that stays: training would shut the gate within
        a hundred steps, down to 0.00001, and it would not open again.
        """
        for gate in (self.word_gate, self.label_gate):
            nn.init.constant_(cast(nn.Linear, gate[-1]).bias, GATE_BIAS)
        change = cast(nn.Linear, self.labels.change[-1])
        nn.init.zeros_(change.weight)
        nn.init.zeros_(change.bias)

    @property
    def informs_words(self) -> bool:
        """Whether the label feeds the words."""
        return self.integration in ("full", "no-interpretation")

    @property
    def informs_label(self) -> bool:
        """Whether the words feed the label."""
        return self.integration in ("full", "no-inference")

    def fuse(self, logits: Tensor, words: Tensor, memory: Memory) -> Tensor:
        """What the decoder reads at a step, N x d (or N x T x d for a label that stays): equations 1 to 3."""
        if not self.informs_words:
            return words
        label = self.labels.project(logits, memory)
        if words.ndim == 3:
            label = label.unsqueeze(1).expand_as(words)
        gate = torch.sigmoid(self.word_gate(torch.cat([label, words], dim=-1)))
        return gate * label + (1 - gate) * words

    def move(self, logits: Tensor, hidden: Tensor, memory: Memory) -> Tensor:
        """The label after a step that left the decoder in the state N x d: equations 7 and 8."""
        if not self.informs_label:
            return logits
        label = self.labels.project(logits, memory)
        gate = torch.sigmoid(self.label_gate(torch.cat([label, self.reading(hidden)], dim=-1)))
        return logits + gate * self.labels.move(hidden, memory)
