"""Adversarial fidelity regularisation: label and sentence must belong to the input, and to each other.

Two games. ``ami`` is the paper's: a backward network recovers the input from label and sentence, and rewards those of
the forward network by how well it can. ``wgan-gp`` is that of the released code: a critic tells gold from generated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
import transformers
from torch import Tensor, nn

from saywhy.loop import Phase, Step
from saywhy.models import TextModel
from saywhy.models.sentences import of_one_length
from saywhy.models.stepwise import Memory
from saywhy.models.text_transformer import draw_linears
from saywhy.objectives.explaining import Lesson
from saywhy.ops.randomness import global_seed

__all__ = ["AFIRE", "Ami", "BackwardNetwork", "Critic", "Game", "WganGp", "make_game"]

MOMENTUM = 0.9
Gain = tuple[Tensor, Mapping[str, float | Tensor]]


class BackwardNetwork(nn.Module):
    """Q(X | L, E): recovers the pieces of the input from a label and a sentence.

    It chooses among the pieces that it has met: a tokenizer has five times as many as a corpus, and scoring them all
    took more time than everything else that the game does.

    Args:
        labels: number of labels, or of choices.
        words: size of the sentences' vocabulary.
        pieces: size of the input's vocabulary.
        width: size of the states.
        pad_piece: id of the input's padding.
    """

    def __init__(self, labels: int, words: int, pieces: int, width: int, pad_piece: int) -> None:
        super().__init__()
        self.label = nn.Embedding(labels, width)
        self.word = nn.Embedding(words, width)
        config = transformers.MBartConfig(
            vocab_size=pieces,
            d_model=width,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=2 * width,
            decoder_ffn_dim=2 * width,
            max_position_embeddings=1024,
            scale_embedding=False,
            pad_token_id=pad_piece,
        )
        self.body = transformers.MBartModel(config)
        draw_linears(self.body)
        nn.init.normal_(self.body.shared.weight, std=width**-0.5)
        nn.init.normal_(self.word.weight, std=width**-0.5)
        nn.init.normal_(self.label.weight, std=width**-0.5)
        self.met: Tensor
        self.register_buffer("met", torch.zeros(pieces, dtype=torch.bool))

    def forward(self, labels: Tensor, ids: Tensor, real: Tensor, pieces: Tensor, mask: Tensor) -> Tensor:
        """Log Q(X | L, E) a piece, (N,); in training the pieces are met for good.

        Args:
            labels: (N,).
            ids: N x T words, of which those that are ``real`` (N x T) count.
            real: N x T.
            pieces: N x L, the input, of which ``mask`` (N x L) counts; the first is given.
            mask: N x L.
        """
        vectors = torch.cat([self.label(labels).unsqueeze(1), self.word(ids)], dim=1)
        seen = torch.cat([torch.ones_like(real[:, :1]), real], dim=1).long()
        out = self.body(inputs_embeds=vectors, attention_mask=seen, decoder_input_ids=pieces[:, :-1], use_cache=False)
        counts = mask[:, 1:] > 0
        wanted = pieces[:, 1:][counts]
        met = self.met.index_fill(0, wanted, True)
        if self.training:
            self.met.copy_(met)
        places = met.cumsum(0) - 1
        scores = F.linear(out.last_hidden_state[counts], self.body.decoder.embed_tokens.weight[met])
        found = scores.new_zeros(counts.shape)
        found[counts] = -F.cross_entropy(scores, places[wanted], reduction="none")
        return found.sum(1) / counts.sum(1).clamp_min(1)


class Critic(nn.Module):
    """D(X, E, L): one number for an input, a sentence and a label, of which the last two may be distributions."""

    def __init__(self, labels: int, words: int, pieces: int, width: int, pad_piece: int) -> None:
        super().__init__()
        self.label = nn.Linear(labels, width, bias=False)
        self.word = nn.Linear(words, width, bias=False)
        self.piece = nn.Embedding(pieces, width, padding_idx=pad_piece)
        config = transformers.BertConfig(
            vocab_size=1,
            hidden_size=width,
            num_hidden_layers=3,
            num_attention_heads=4,
            intermediate_size=2 * width,
            max_position_embeddings=1024,
            type_vocab_size=3,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="eager",  # the gradient penalty is differentiated once more
        )
        self.body = transformers.BertModel(config, add_pooling_layer=False)
        draw_linears(self.body)
        self.out = nn.Linear(width, 1)

    def forward(self, pieces: Tensor, mask: Tensor, words: Tensor, real: Tensor, labels: Tensor) -> Tensor:
        """(N,) from the input N x L, the words' distributions N x T x V and the label's N x K."""
        given = self.piece(pieces)
        vectors = torch.cat([given, self.label(labels).unsqueeze(1), self.word(words)], dim=1)
        seen = torch.cat([mask, torch.ones_like(mask[:, :1]), real.long()], dim=1)
        types = torch.cat([torch.zeros_like(mask), torch.ones_like(mask[:, :1]), 2 * torch.ones_like(real.long())], 1)
        hidden = self.body(inputs_embeds=vectors, attention_mask=seen, token_type_ids=types).last_hidden_state
        return self.out(hidden[:, 0]).squeeze(-1)


class Game(ABC):
    """A second player, and what it and the model do to each other in a step.

    Args:
        model: the one that speaks.
        weight: of what the model gains by it.
        start: share of the steps after which the model plays; the second player learns from gold before.
        width: size of the second player's states; what suits the game unless given.
        seed: of its initial weights.
    """

    player: str
    width: ClassVar[int] = 128
    rate: ClassVar[float] = 1e-3

    def __init__(self, model: TextModel, weight: float, start: float, width: int | None = None, seed: int = 0) -> None:
        speaker: Any = model.module
        self.speaker = speaker
        self.weight, self.start = weight, start
        self.labels = len(model.labels) or int(speaker.config.num_choices)
        words = int(speaker.decoder.config.vocab_size)
        with global_seed(seed, "afire"):
            self.opponent = self.make(
                self.labels, words, len(model.tokenizer), width or self.width, model.encoder.pad_id
            )

    @staticmethod
    @abstractmethod
    def make(labels: int, words: int, pieces: int, width: int, pad_piece: int) -> nn.Module:
        """The second player."""

    @abstractmethod
    def phases(self, lesson: Lesson, step: Step) -> Iterator[Phase]:
        """The second player's part of a step, before the model's."""

    @abstractmethod
    def gain(self, lesson: Lesson, step: Step, memory: Memory) -> Gain | None:
        """What the model's loss has besides gold label and sentence in this step, and numbers for the log.

        ``memory`` is what the model has read of the batch.
        """

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold besides the players' weights."""
        return {}

    def load_state(self, state: Mapping[str, Any]) -> None:  # noqa: B027 - a game may have nothing to remember
        """Take back what `state` gave."""

    def real(self, ids: Tensor) -> Tensor:
        """Which words count, N x T."""
        return ids != self.speaker.config.pad_id


class Ami(Game):
    """The paper's game, played with a backward network.

    Reference: MPII, section 2.3, figure 3; Pan et al. (2020), Adversarial Mutual Information for Text Generation. The
    backward network learns to recover the input from gold label and sentence, and not to from (L', E') and (L, E'). The
    forward network draws L' and E', and is rewarded by log Q(X | L', E') a piece.

    Departures: as printed, the backward network's objective has no lower bound, and it unlearns the input to get there;
    a generated pair counts against it only until it is ``margin`` nats a piece below the gold one. Where what was drawn
    is the gold, it does not count. A reward counts by what it is above that of gold label and sentence, less a moving
    average of this: how well an input can be recovered is mostly a matter of the input.
    """

    player = "backward"
    margin = 1.0

    def __init__(self, model: TextModel, weight: float, start: float, width: int | None = None, seed: int = 0) -> None:
        super().__init__(model, weight, start, width, seed)
        self.baseline: float | None = None

    @staticmethod
    def make(labels: int, words: int, pieces: int, width: int, pad_piece: int) -> nn.Module:
        """The backward network."""
        return BackwardNetwork(labels, words, pieces, width, pad_piece)

    def likelihood(self, lesson: Lesson, labels: Tensor, ids: Tensor) -> Tensor:
        """Log Q(X | L, E) a piece, (N,)."""
        given = lesson.batch.inputs
        return self.opponent(labels, ids, self.real(ids), given["input_ids"], given["attention_mask"])

    def phases(self, lesson: Lesson, step: Step) -> Iterator[Phase]:
        """The backward network's, on gold and on what the model draws."""
        drawn: dict[str, Tensor] = {}
        if step.progress >= self.start:
            with torch.no_grad():
                found = self.speaker.generate(**lesson.batch.inputs, sample=step.generator("backward"))
            drawn = {"ids": found.ids, "labels": _drawn(found.logits, step.generator("drawn-label"))}
        yield Phase(("backward",), lambda: self._learn(lesson, drawn))

    def gain(self, lesson: Lesson, step: Step, memory: Memory) -> Gain | None:
        """The reward of what the model draws, once it plays."""
        return self._reward(lesson, step, memory) if step.progress >= self.start else None

    def _learn(self, lesson: Lesson, drawn: Mapping[str, Tensor]) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        gold = self.likelihood(lesson, lesson.gold, lesson.ids)
        loss = -gold.mean()
        numbers: dict[str, float | Tensor] = {"backward/gold": gold.mean().detach()}
        if drawn:
            one, other = of_one_length(drawn["ids"], lesson.ids, int(self.speaker.config.pad_id))
            new = (one != other).any(1)
            wrong = drawn["labels"] != lesson.gold
            for name, labels, counts in (("both", drawn["labels"], new | wrong), ("sentence", lesson.gold, new)):
                fake = self.likelihood(lesson, labels, drawn["ids"])
                loss = loss + (F.relu(self.margin + fake - gold) * counts).mean()
                numbers[f"backward/{name}"] = fake.mean().detach()
        return loss, numbers

    def _reward(self, lesson: Lesson, step: Step, memory: Memory) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        found = self.speaker.write(memory, sample=step.generator("reward"))
        chances = found.logits.log_softmax(-1)
        labels = _drawn(found.logits, step.generator("label"))
        training = self.opponent.training
        self.opponent.eval()
        with torch.no_grad():
            reward = self.likelihood(lesson, labels, found.ids) - self.likelihood(lesson, lesson.gold, lesson.ids)
        self.opponent.train(training)
        mean = float(reward.mean())
        before = mean if self.baseline is None else self.baseline
        self.baseline = MOMENTUM * before + (1 - MOMENTUM) * mean
        decided = chances.gather(1, labels.unsqueeze(1)).squeeze(1)
        loss = -((reward - before) * (found.log_probability + decided)).mean()
        return self.weight * loss, {"reward": mean}

    def state(self) -> dict[str, Any]:
        """The moving average of what the reward is above that of the gold."""
        return {"baseline": self.baseline}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave."""
        self.baseline = state.get("baseline")


class WganGp(Game):
    """The released code's game, played with a critic that has a gradient penalty.

    Reference: the released trainer of MPII; Gulrajani et al. (2017). The critic lowers D(fake) - D(real) + 10 (|g| -
    1)^2, with the norm of every word's gradient over the vocabulary; the model raises D of its soft words and soft
    label. Ten batches are the critic's, one is the model's, one is nobody's.
    """

    player = "critic"
    width = 256
    rate = 1e-5
    critic_batches = 10
    penalty = 10.0

    @staticmethod
    def make(labels: int, words: int, pieces: int, width: int, pad_piece: int) -> nn.Module:
        """The critic."""
        return Critic(labels, words, pieces, width, pad_piece)

    def phases(self, lesson: Lesson, step: Step) -> Iterator[Phase]:
        """The critic's, if it is its turn."""
        if step.index % (self.critic_batches + 2) < self.critic_batches:
            yield Phase(("critic",), lambda: self._learn(lesson, step))

    def gain(self, lesson: Lesson, step: Step, memory: Memory) -> Gain | None:
        """The critic's opinion, if it is the model's turn."""
        if step.index % (self.critic_batches + 2) != self.critic_batches or step.progress < self.start:
            return None
        loss = self._raise(lesson, memory)
        return loss, {"opinion": -loss.detach() / max(self.weight, 1e-9)}

    def _fake(self, memory: Memory) -> tuple[Tensor, Tensor, Tensor]:
        """Soft words N x T x V, which of them count, and the soft label."""
        found = self.speaker.write(memory, feedback="soft", keep_chances=True)
        return found.chances, self.real(found.ids), found.logits.softmax(-1)

    def _opinion(self, lesson: Lesson, words: Tensor, real: Tensor, labels: Tensor) -> Tensor:
        given = lesson.batch.inputs
        return self.opponent(given["input_ids"], given["attention_mask"], words, real, labels)

    def _learn(self, lesson: Lesson, step: Step) -> tuple[Tensor, Mapping[str, float | Tensor]]:
        with torch.no_grad():
            fake, fake_real, fake_label = self._fake(self.speaker.read(**lesson.batch.inputs))
        size = fake.shape[-1]
        gold = F.one_hot(lesson.ids, size).to(fake.dtype)
        label = F.one_hot(lesson.gold, self.labels).to(fake.dtype)
        real = self.real(lesson.ids)
        gap = self._opinion(lesson, fake, fake_real, fake_label) - self._opinion(lesson, gold, real, label)
        length = min(fake.shape[1], gold.shape[1])
        share = torch.rand(len(gold), 1, 1, generator=step.generator("penalty"), device=gold.device)
        mixed = (share * gold[:, :length] + (1 - share) * fake[:, :length]).requires_grad_(True)
        counts = real[:, :length] | fake_real[:, :length]
        value = self._opinion(lesson, mixed, counts, share[:, 0] * label + (1 - share[:, 0]) * fake_label).sum()
        (slope,) = torch.autograd.grad(value, mixed, create_graph=True)
        norms = (slope.square().sum(-1) + 1e-12).sqrt()
        penalty = ((norms - 1).square() * counts).sum() / counts.sum()
        numbers = {"critic/gap": gap.mean().detach(), "critic/penalty": penalty.detach()}
        return gap.mean() + self.penalty * penalty, numbers

    def _raise(self, lesson: Lesson, memory: Memory) -> Tensor:
        return -self.weight * self._opinion(lesson, *self._fake(memory)).mean()


AFIRE: dict[str, type[Game]] = {"ami": Ami, "wgan-gp": WganGp}


def make_game(
    name: str, model: TextModel, weight: float, start: float, width: int | None = None, seed: int = 0
) -> Game | None:
    """The game of that name, or None for ``none``."""
    return AFIRE[name](model, weight, start, width, seed) if name in AFIRE else None


def _drawn(logits: Tensor, generator: torch.Generator) -> Tensor:
    """A label for each row of logits, by its probability, (N,)."""
    return torch.multinomial(logits.detach().log_softmax(-1).exp(), 1, generator=generator).squeeze(1)
