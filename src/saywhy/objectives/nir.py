"""NIR: noise in the words that the predictor reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from saywhy.errors import OptionError
from saywhy.loop import OptimiserSettings, Step
from saywhy.models import Batch, TextModel
from saywhy.models.embedding_door import embedding_modules
from saywhy.models.encoding import Encoded
from saywhy.objectives.base import objectives
from saywhy.objectives.rationalization import Rationalization
from saywhy.types import Example

__all__ = ["Nir", "replacement_rates"]


def replacement_rates(scores: Tensor, real: Tensor, rate: float) -> Tensor:
    """How likely each piece is replaced, N x L: the less it says (scores, N x L), the likelier; ``rate`` on average.

    Reference: Storek et al. 2023, section 3; q_i = min(1, p n (max s - s_i) / sum_j (max s - s_j)).
    """
    lowest = torch.finfo(scores.dtype).min
    gaps = (scores.masked_fill(~real, lowest).amax(1, keepdim=True) - scores) * real
    total = gaps.sum(1, keepdim=True)
    # Where all say the same, all are equally likely.
    even = torch.where(total > 0, gaps / total.clamp_min(1e-12), real / real.sum(1, keepdim=True).clamp_min(1))
    return (rate * real.sum(1, keepdim=True) * even).clamp_max(1.0)


@objectives.register("nir", family="rationalisation", tasks=Rationalization.tasks, paper="Storek et al. 2023")
class Nir(Rationalization):
    """RNP, but some of the words that the predictor reads are replaced by others, mostly by such as say little.

    Reference: Storek, Subbiah, McKeown: Unsupervised Selective Rationalization with Noise Injection, ACL 2023; on RNP,
    as VER runs it.

    Departures: the released noise runs on BERT-A2R; here, as in VER, on the plain game: the embedding of a selected
    piece gives way to that of a drawn one, and the gradient still reaches the selector. The code's weights of words to
    put in favour low tf-idf, which the paper's text does not say; so do these. A piece is weighed by the texts of the
    training data.

    Args:
        model: a rationalizer.
        optimiser: of both players.
        noise: share of the pieces that is replaced.
        options: as for `saywhy.objectives.rationalization.Rationalization`.
    """

    def __init__(self, model: TextModel, optimiser: OptimiserSettings, *, noise: float = 0.1, **options: Any) -> None:
        super().__init__(model, optimiser, **options)
        if not 0 <= noise <= 1:
            raise OptionError(f"noise is a share of the words, from 0 to 1, not {noise}")
        self.noise = noise
        self._idf: Tensor | None = None
        self._weights: Tensor | None = None

    def items(self, examples: Sequence[Example], truncation: str) -> list[Encoded]:
        """The examples; the first ones, which are those of training, say how much each piece tells."""
        made = super().items(examples, truncation)
        if self._idf is None:
            size = len(embedding_modules(self.rationalizer)[0].weight)  # type: ignore[arg-type]
            frequency, totals = torch.zeros(size), torch.zeros(size)
            for item in made:
                row = item.rows[0]
                ids = torch.from_numpy(row.ids[row.pieces.owned()])  # special tokens never stand in for a word
                counts = torch.bincount(ids, minlength=size).float()
                frequency += counts > 0
                totals += counts / max(1, len(ids))
            seen = frequency > 0
            self._idf = torch.where(seen, (len(made) / frequency.clamp_min(1)).log(), 0.0)
            scores = totals * self._idf
            weights = (scores.max() - scores) * seen
            # Where all pieces say the same, each is as good as any other.
            self._weights = weights if float(weights.sum()) > 0 else seen.float()
        return made

    def read(self, rows: Batch, mask: Tensor, predictor: Any = None) -> Tensor:
        """In training, with some pieces replaced."""
        if not self.rationalizer.predictor.training or self._step is None:
            return super().read(rows, mask, predictor)
        raw = self.rationalizer.predict(rows.inputs, mask, predictor, words=self.replaced(rows, self._step))
        return self.model.task.combine(raw, rows.owner, rows.size)

    _step: Step | None = None

    def shown(self, mask: Tensor, choice: Any, step: Step) -> Tensor:
        """The selection itself; the step's noise comes when it is read."""
        self._step = step
        return mask

    def replaced(self, rows: Batch, step: Step) -> Tensor:
        """The ids of a batch, N x L, with some replaced."""
        assert self._idf is not None
        assert self._weights is not None
        ids = rows.inputs["input_ids"].cpu()
        word_ids = rows.inputs["word_ids"].cpu()
        generator = torch.Generator().manual_seed(step.generator("noise").initial_seed())
        real = word_ids > 0
        counts = (ids.unsqueeze(2) == ids.unsqueeze(1)).float().sum(2) / real.sum(1, keepdim=True).clamp_min(1)
        rates = replacement_rates(counts * self._idf[ids], real, self.noise)
        chosen = (torch.rand(ids.shape, generator=generator) < rates) & real
        others = torch.multinomial(self._weights, ids.numel(), replacement=True, generator=generator).view_as(ids)
        return torch.where(chosen, others, ids).to(rows.inputs["input_ids"].device)
