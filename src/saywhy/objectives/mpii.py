"""MPII: train a network to decide and to explain, each helping the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Phase, Step
from saywhy.models import TextModel
from saywhy.models.mpii import MpiiNetwork
from saywhy.models.sentences import of_one_length
from saywhy.models.stepwise import Memory
from saywhy.objectives.afire import AFIRE, WganGp, make_game
from saywhy.objectives.base import TrainingBatch, objectives
from saywhy.objectives.explaining import Explaining, Lesson

__all__ = ["Mpii"]


@objectives.register("mpii", family="sentences", tasks=Explaining.tasks, paper="MPII")
class Mpii(Explaining):
    """The label and the sentence that grow together: stepwise integration, learned from gold labels and sentences.

    Reference: MPII, sections 2.2 and 2.3. The loss is the negative log-likelihood of the sentence, - log P(L, E | X),
    which is that of its words plus the cross-entropy of the label after the last one, and the cross-entropy of the
    label before the first one. The ablations of Table 1 are options of the network (``integration``); the games of
    adversarial fidelity are the option ``afire``.

    Departures: the cross-entropy of the first label (``start_weight``) is an option that is off in the released code. A
    gold sentence gives the label away, so without it the label that the first words are written by is never learned.
    For the same reason the label after the last word is also learned behind the model's own sentence, from ``own_from``
    of the run on: it would trust what it writes as if people had written it.

    Args:
        model: an ``mpii`` network; trained in place.
        optimiser: how it is optimised.
        per_word: whether the sentence counts as its mean word does, instead of as the sum of its words. The encoder
            then learns the label ten times as strongly as the words.
        label_weight: weight of the label after the last word.
        start_weight: weight of the label before the first word; it does not count where words do not move the label.
        afire: ``none``; ``ami``, the paper's game with a backward network; ``wgan-gp``, the released code's with a
            critic.
        afire_weight: weight of what the model gains in the game.
        afire_start: share of the steps after which the model plays.
        afire_width: size of the other player's states; 128 for ``ami`` and 256 for ``wgan-gp`` unless given.
        afire_rate: its learning rate; 1e-3 for ``ami`` and 1e-5 for ``wgan-gp``, as released, unless given.
        own_from: share of the run after which the final label is learned behind the model's own sentence, too; 1 is
            never. With soft feedback that sentence is read as the words it is printed as.
        explanations: how many of an example's explanations are learned; one at random each time if None.
        decoder_rate: learning rate of what was not trained before.

    Example:
        >>> model = saywhy.train("mpii", data="esnli", model="mpii")                           # doctest: +SKIP
        >>> saywhy.explain(model, ("People walk.", "People sit."), method="sentence").sentence   # doctest: +SKIP
        'People cannot walk and sit at the same time .'
    """

    network: ClassVar[str | None] = "mpii"

    def __init__(
        self,
        model: TextModel,
        optimiser: OptimiserSettings,
        *,
        per_word: bool = False,
        label_weight: float = 1.0,
        start_weight: float = 1.0,
        afire: str = "none",
        afire_weight: float = 0.1,
        afire_start: float = 0.5,
        afire_width: int | None = None,
        afire_rate: float | None = None,
        own_from: float = 0.5,
        explanations: int | None = None,
        decoder_rate: float | None = None,
    ) -> None:
        if not isinstance(model.network, MpiiNetwork):
            raise OptionError("this objective trains the network mpii; give model='mpii'")
        super().__init__(model, optimiser, explanations=explanations, decoder_rate=decoder_rate)
        if min(label_weight, start_weight) < 0:
            raise OptionError("label_weight and start_weight must not be negative")
        if not 0 <= own_from <= 1:
            raise OptionError(f"own_from is a share of the run, not {own_from}")
        self.per_word, self.own_from = per_word, own_from
        self.label_weight, self.start_weight = label_weight, start_weight
        if afire not in ("none", *AFIRE):
            raise OptionError(f"unknown afire {afire!r}; use one of none, {', '.join(AFIRE)}")
        if not 0 <= afire_start < 1 or afire_weight < 0:
            raise OptionError("afire_start is a share from 0 to less than 1, and afire_weight must not be negative")
        if min(1 if afire_width is None else afire_width, 1 if afire_rate is None else afire_rate) <= 0:
            raise OptionError("afire_width and afire_rate must be above 0")
        self._afire = (afire, model, afire_weight, afire_start, afire_width)
        self._afire_rate = afire_rate
        self.begin(0)

    def begin(self, seed: int) -> None:
        """The other player is drawn by the run's seed."""
        self.game = make_game(*self._afire, seed)
        if self.game is not None:
            self.players[self.game.player] = self.game.opponent

    def optimisers(self) -> dict[str, OptimiserSettings]:
        """Those of all objectives that explain; the other player has its own rate."""
        rules = super().optimisers()
        if self.game is not None:
            rate = self.game.rate if self._afire_rate is None else self._afire_rate
            rules[self.game.player] = replace(self.optimiser, learning_rate=rate, rates={})
        return rules

    def phases(self, batch: TrainingBatch, step: Step) -> Iterator[Phase]:
        """The other player, where there is one; then the model by gold label and sentence, and by what it gains."""
        lesson = self.lesson(batch, step)
        if self.game is not None:
            yield from self.game.phases(lesson, step)
        yield Phase(("model",), lambda: self._moved(lesson, step))

    @property
    def changes_at(self) -> tuple[float, ...]:
        """Where the label begins to be learned behind own sentences, and where the game begins."""
        own = (self.own_from,) if self.speaker.integration.informs_label else ()
        return own if self.game is None else (*own, self.game.start)

    @property
    def judged_from(self) -> float:
        """The best epoch is one that has played, where there is a game."""
        return 0.0 if self.game is None else self.game.start

    @property
    def period(self) -> int:
        """Steps differ where a critic has most of the turns."""
        return WganGp.critic_batches + 2 if isinstance(self.game, WganGp) else 1

    def state(self) -> dict[str, Any]:
        """What the game must remember."""
        return {} if self.game is None else self.game.state()

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave."""
        if self.game is not None:
            self.game.load_state(state)

    def supervised(self, lesson: Lesson) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        """Words, final label and first label of gold."""
        return self._supervised(lesson, self.speaker.read(**lesson.batch.inputs), own=False)

    def _supervised(self, lesson: Lesson, memory: Memory, own: bool) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        """The final label also behind the model's ``own`` sentence."""
        count, ids = len(lesson.ids), lesson.ids
        if own:
            with torch.no_grad():
                written = self.speaker.write(memory).ids
            # Read in one go with the gold ones: a step costs little more for twice as many rows.
            ids = torch.cat(of_one_length(ids, written, int(self.speaker.config.pad_id)))
            memory = memory.select(torch.arange(count, device=ids.device).repeat(2))
        hidden, steps = self.speaker.states(memory, ids)
        # Half of a batch is padding: only true words are looked for in the vocabulary.
        true = ids[:count] != int(self.speaker.config.pad_id)
        words = F.cross_entropy(self.speaker.word_scores(hidden[:count][true]), ids[:count][true])
        sentence = words if self.per_word else words * true.sum() / count
        final = self._final(steps, ids)
        last = F.cross_entropy(final, lesson.gold.repeat(len(ids) // count))
        first = F.cross_entropy(steps[:count, 0], lesson.gold)
        # A label that the words do not move is the same first and last, and counts once.
        start_weight = self.start_weight if self.speaker.integration.informs_label else 0.0
        loss = sentence + self.label_weight * last + start_weight * first
        numbers = {"words": words.detach(), "label": last.detach(), "first-label": first.detach()}
        return loss, numbers

    def _moved(self, lesson: Lesson, step: Step) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        """One loss for all: two steps a batch would be twice the decay, and each would be clipped by itself."""
        own = step.progress >= self.own_from and self.speaker.integration.informs_label
        # Read once: the encoder is most of a step.
        memory = self.speaker.read(**lesson.batch.inputs)
        loss, numbers = self._supervised(lesson, memory, own)
        gained = None if self.game is None else self.game.gain(lesson, step, memory)
        return (loss, numbers) if gained is None else (loss + gained[0], {**numbers, **gained[1]})

    def _final(self, steps: Tensor, ids: Tensor) -> Tensor:
        """The label's scores behind the last words of sentences N x T, N x K, from N x (T + 1) x K."""
        ends = (ids != int(self.speaker.config.pad_id)).sum(1)
        return steps[torch.arange(len(ends), device=ends.device), ends]
