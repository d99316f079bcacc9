"""IvRA's interpretable attention: one distribution over the pieces of a text from all queries and keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saywhy.errors import OptionError
from saywhy.models.attention_door import AttentionCall
from saywhy.models.attention_module import AttentionModule, attach, kept_in, spread_over_queries
from saywhy.models.text_model import TextModel
from saywhy.ops.simplex import check_norm, deviation, normalise, project
from saywhy.types import Example

__all__ = ["LEVELS", "READINGS", "InterpretableAttention", "build_interpretable_attention", "chosen_levels"]

LEVELS = ("feature", "head", "layer")
READINGS = ("joint", "coefficients", "layers")
_SMALL_VARIANCE = 1e-12


@kept_in("interpretable_attention")
class InterpretableAttention(AttentionModule):
    """Coefficients for features, heads and layers that join attention into one distribution over pieces.

    Reference: IvRA, section 2.1, equations 1 to 5. Queries and keys are taken as attention sees them (behind rotary
    positions); the causal mask of a decoder is not applied.

    The paper does not say what NORM runs over. ``reading`` names three answers: ``joint``, all words of all heads of a
    layer, then all layers together, and the sum over both, the literal one under which the result is a distribution;
    ``coefficients``, heads and layers each by themselves, and the weighted sum over words at the end; ``layers``, the
    words of each layer, and layers by themselves.

    Departures: with softmax the literal formula is uniform to the sixth digit, because it takes the softmax of numbers
    around 1/n; with sparsemax it is so at first and sudden later. Here the spread over words of each head has mean 0
    and variance 1, and every NORM over words reads its argument against an equal share (`saywhy.ops.simplex`), so that
    a coefficient of 1 means the same for every norm and length: a standard deviation above the mean is a share larger
    by about e. The NORM of a distribution with coefficient 1 is that distribution. Padding and special tokens are no
    queries, and get no weight.

    Args:
        calls: numbers of the attention calls that are read, one a layer.
        heads: of a layer.
        width: of a head.
        norm: ``softmax``, ``sparsemax`` or ``entmax15``.
        levels: which coefficients are trained, of ``feature``, ``head`` and ``layer``, as a list or with commas; the
            others stay at 1.
        reading: ``joint``, ``coefficients`` or ``layers``.

    Example:
        >>> module = InterpretableAttention([0, 1], heads=4, width=8, norm="sparsemax")
        >>> sorted(name for name, _ in module.named_parameters())
        ['head', 'key', 'layer', 'query']
    """

    query: Tensor
    key: Tensor
    head: Tensor
    layer: Tensor

    def __init__(
        self,
        calls: Sequence[int],
        heads: int,
        width: int,
        *,
        norm: str = "softmax",
        levels: str | Sequence[str] = LEVELS,
        reading: str = "joint",
    ) -> None:
        super().__init__(calls, heads, width)
        check_norm(norm)
        if reading not in READINGS:
            raise OptionError(f"reading must be one of {', '.join(READINGS)}, not {reading!r}")
        self.norm, self.levels, self.reading = norm, chosen_levels(levels), reading
        layers = len(self.calls)
        for name, level, shape in (
            ("query", "feature", (layers, heads, width)),
            ("key", "feature", (layers, heads, width)),
            ("head", "head", (layers, heads)),
            ("layer", "layer", (layers,)),
        ):
            if level in self.levels:
                self.register_parameter(name, nn.Parameter(torch.ones(shape)))
            else:
                self.register_buffer(name, torch.ones(shape), persistent=False)

    @property
    def options(self) -> dict[str, Any]:  # noqa: D102 - as in the base class
        return {"norm": self.norm, "levels": list(self.levels), "reading": self.reading}

    def forward(self, calls: Sequence[AttentionCall], content: Tensor) -> Tensor:
        """The explanation, rows x L: each row sums to 1, or to 0 where it has no piece of a word."""
        spreads = torch.stack([self._spread(i, call, content) for i, call in enumerate(calls)], dim=1)
        rows, layers, heads, length = spreads.shape
        inside = content[:, None, None, :]
        if self.reading == "coefficients":
            weights = project(self.head, self.norm) * project(self.layer, self.norm).unsqueeze(-1)
            return normalise(torch.einsum("rlhn,lh->rn", spreads, weights), content, self.norm)
        weighed = spreads * self.head[..., None]
        if self.reading == "layers":
            each = normalise(weighed.mean(2), content[:, None, :], self.norm)
            return torch.einsum("rln,l->rn", each, project(self.layer, self.norm))
        within = inside.expand(rows, layers, heads, length).flatten(2)
        shares = normalise(weighed.flatten(2), within, self.norm)
        above = deviation(shares, within, self.norm) * self.layer[:, None]
        joint = normalise(above.flatten(1), within.flatten(1), self.norm)
        return joint.reshape(rows, layers * heads, length).sum(1)

    def maps(self) -> dict[str, dict[str, Any]]:
        """The trained coefficients as heat maps, layers by heads; those of features as the mean of each head.

        Reference: IvRA, figure 3. Each has ``rows``, ``columns``, ``values`` and the ``middle`` that all began at.
        """
        tables = (
            ("query", "feature", self.query.mean(-1)),
            ("key", "feature", self.key.mean(-1)),
            ("head", "head", self.head),
            ("layer", "layer", self.layer[:, None]),
        )
        return {
            f"{name} coefficients": {
                "rows": [f"layer {i + 1}" for i in range(len(table))],
                "columns": ["all heads"] if name == "layer" else [f"{i + 1}" for i in range(table.shape[1])],
                "values": table.detach().cpu().double().tolist(),
                "middle": 1.0,
            }
            for name, level, table in tables
            if level in self.levels
        }

    def _spread(self, number: int, call: AttentionCall, content: Tensor) -> Tensor:
        """Equation 4 for all heads of a layer, rows x heads x L, with mean 0 and variance 1 over the content."""
        query = self._features(call.query, self.query[number])
        key = self._features(call.key, self.key[number])
        given = spread_over_queries(query, key, content)
        weights = content.to(given.dtype).unsqueeze(1)
        size = weights.sum(-1, keepdim=True).clamp_min(1.0)
        centred = (given - (given * weights).sum(-1, keepdim=True) / size) * weights
        return centred * (centred.square().sum(-1, keepdim=True) / size + _SMALL_VARIANCE).rsqrt()

    def _features(self, given: Tensor, coefficients: Tensor) -> Tensor:
        """Queries or keys, rows x heads x L x d, as distributions over their features."""
        # Heads are split off the last dimension of a layer's output: in this order the memory is in one piece.
        weighed = given.float().transpose(1, 2) * coefficients
        return project(weighed, self.norm).transpose(1, 2)


def chosen_levels(given: str | Sequence[str]) -> tuple[str, ...]:
    """Levels of coefficients from a list or from names with commas, in one order.

    Example:
        >>> chosen_levels("head, feature")
        ('feature', 'head')
    """
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
    wanted = list(names) if isinstance(names, Iterable) else [names]
    unknown = [str(name) for name in wanted if name not in LEVELS]
    if unknown or not wanted:
        raise OptionError(
            f"levels must be some of {', '.join(LEVELS)}, not {', '.join(filter(None, unknown)) or 'none'}"
        )
    return tuple(level for level in LEVELS if level in wanted)


def build_interpretable_attention(
    examples: Sequence[Example],
    task: str,
    labels: Sequence[str],
    seed: int,
    *,
    base: str = "minilm",
    base_options: Mapping[str, Any] | None = None,
    norm: str = "softmax",
    levels: str | Sequence[str] = LEVELS,
    reading: str = "joint",
) -> tuple[Any, Any]:
    """A network with attention, and IvRA's coefficients that turn its attention into explanations.

    Args:
        examples: for networks that are made for their data.
        task: ``text``, ``pair``, ``choices`` or ``span-qa``.
        labels: names of the classes.
        seed: of new weights.
        base: the network: a name out of `saywhy list models`, or a folder or hub name.
        base_options: its options, if it has a name.
        norm: ``softmax``, ``sparsemax`` or ``entmax15``.
        levels: which coefficients are trained: any of ``feature``, ``head`` and ``layer``, as a list or with commas.
        reading: of the paper's formula; see `InterpretableAttention`.

    Returns:
        The network and its tokenizer.
    """
    from saywhy.models.minilm import pretrained_with_head
    from saywhy.models.networks import networks

    if base in networks:
        network, tokenizer = networks[base].value(examples, task, labels, seed, **(base_options or {}))
    elif base_options:
        raise OptionError(f"base_options go with a name out of `saywhy list models`, which {base!r} is not")
    else:
        network, tokenizer = pretrained_with_head(base, task, labels, seed)
    model = TextModel(network, tokenizer, task, labels)
    attach(network, InterpretableAttention.of(model, norm=norm, levels=levels, reading=reading))
    return network, tokenizer
