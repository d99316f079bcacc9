"""The front door to attention: read it, weigh it or edit it in any model that goes through transformers' interface.

One function stands in for SDPA. With no tap open it *is* SDPA, so logits keep their bits. A tap asks for queries and
keys (still SDPA), or for probabilities, edits, key weights or second derivatives, which take an explicit computation
that is equal to about 1e-6: SDPA has no second derivative on the CPU and hides its probabilities.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from saywhy.errors import CapabilityError

__all__ = [
    "AttentionCall",
    "AttentionTap",
    "attention_kinds",
    "open_attention_door",
    "tap_attention",
    "weigh_pieces",
]

DOOR = "saywhy"
_LARGEST_EXPONENT = 60.0

# Arguments that change neither the scores nor the mask, so that the explicit computation may leave them out.
_HARMLESS = {
    "cache_position",
    "cu_seq_lens_k",
    "cu_seq_lens_q",
    "deterministic",
    "is_causal",
    "max_length_k",
    "max_length_q",
    "num_items_in_batch",
    "output_attentions",
    "output_hidden_states",
    "position_ids",
    "return_dict",
    "sliding_window",  # transformers puts the window into the mask that it builds for SDPA
    "use_cache",
}


@dataclass
class AttentionCall:
    """One use of attention in a forward pass; ``number`` counts them in the order in which they happen.

    ``kind`` is ``self`` in an encoder or a decoder-only model; in an encoder-decoder it is ``encoder``, ``decoder`` or
    ``cross``. Shapes: query rows x heads x Lq x d; key rows x heads x Lk x d, key heads repeated to the number of the
    query's; probabilities rows x heads x Lq x Lk.
    """

    number: int
    kind: str
    query: Tensor
    key: Tensor
    mask: Tensor | None
    scaling: float
    causal: bool
    probabilities: Tensor | None = None

    def softmax(self, weights: Tensor | None = None, *, secant: bool = False) -> Tensor:
        """The attention probabilities, computed now from queries and keys.

        ``weights`` (rows x 1 x 1 x Lk) multiply the exponentials before they are normalised: 0 removes a key, and the
        derivative there is finite; with ``secant`` it is what putting the key back would change.
        """
        scores = (self.query @ self.key.transpose(-1, -2)) * self.scaling
        lowest = torch.finfo(scores.dtype).min
        if self.mask is not None:
            hides = self.mask.dtype == torch.bool
            scores = scores.masked_fill(~self.mask, lowest) if hides else scores + self.mask
        elif self.causal and scores.shape[-2] > 1:
            allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
            scores = scores.masked_fill(~allowed, lowest)
        return scores.softmax(dim=-1) if weights is None else _weighted_softmax(scores, weights, secant)


def _weighted_softmax(scores: Tensor, weights: Tensor, secant: bool = False) -> Tensor:
    dtype = scores.dtype
    hidden = scores <= torch.finfo(dtype).min / 2
    scores = scores.to(torch.promote_types(dtype, torch.float32))
    weights = weights.to(scores.dtype)
    with torch.no_grad():
        # The largest of what is kept, so that a removed key with a high score does not drown the others.
        level = (scores.masked_fill(hidden, -torch.inf) + weights.log()).amax(dim=-1, keepdim=True)
        level = torch.where(level.isfinite(), level, scores.amax(dim=-1, keepdim=True))
    # What is removed may be larger still: it counts nothing, and is bounded for the sake of its derivative.
    exponentials = (scores - level).clamp_max(_LARGEST_EXPONENT).exp().masked_fill(hidden, 0.0)
    if secant:
        with torch.no_grad():
            total = (exponentials * weights).sum(dim=-1, keepdim=True)
            # All of it is there already for a key that is kept; a key that is not would raise the total.
            grown = (total + (1 - weights) * exponentials).clamp_min(torch.finfo(scores.dtype).tiny)
            share = total / grown
        weights = weights.detach() + share * (weights - weights.detach())
    exponentials = exponentials * weights
    total = exponentials.sum(dim=-1, keepdim=True)
    # A query whose keys are all removed (the first word of a decoder) attends to nothing, as in SDPA.
    return (exponentials / torch.where(total > 0, total, torch.ones_like(total))).to(dtype)


@dataclass
class AttentionTap:
    """What to do with attention during the forward passes inside ``tap_attention``.

    Args:
        layers: numbers of the calls to tap; None taps all.
        probabilities: keep the probabilities in the graph (so that gradients for them can be asked for).
        edit: called with each tapped call, its probabilities filled in; what it returns is used instead.
        weigh: called with each tapped call; returns key weights (rows x 1 x 1 x Lk) or None.
        secant: the derivative for a weight below 1 is the change up to 1, in proportion, instead of the slope.
        explicit: use explicit maths even where nothing else asks for it (second derivatives).
    """

    layers: frozenset[int] | None = None
    probabilities: bool = False
    edit: Callable[[AttentionCall], Tensor] | None = None
    weigh: Callable[[AttentionCall], Tensor | None] | None = None
    secant: bool = False
    explicit: bool = False
    calls: list[AttentionCall] = field(default_factory=list)
    kinds: dict[int, str] = field(default_factory=dict)
    count: int = 0

    @property
    def needs_probabilities(self) -> bool:
        """Whether SDPA is not enough."""
        return self.probabilities or self.explicit or self.edit is not None or self.weigh is not None


_tap: ContextVar[AttentionTap | None] = ContextVar("saywhy_attention_tap", default=None)


@contextlib.contextmanager
def tap_attention(network: nn.Module, tap: AttentionTap) -> Iterator[AttentionTap]:
    """Open a tap on a network's attention for the forward passes of this thread or task.

    Raises:
        CapabilityError: the network is not behind the door, checkpoints its gradients, or no call came through.
    """
    if network.training and getattr(network, "is_gradient_checkpointing", False):
        raise CapabilityError("attention cannot be tapped under gradient checkpointing; switch it off first")
    tap.kinds = attention_kinds(network)
    token = _tap.set(tap)
    try:
        yield tap
    finally:
        _tap.reset(token)
    if tap.count == 0:
        raise CapabilityError(
            f"{type(network).__name__} does not send its attention through transformers' attention interface"
        )


def weigh_pieces(
    network: nn.Module, keep: Tensor, *, secant: bool = False
) -> contextlib.AbstractContextManager[AttentionTap]:
    """A tap under which each piece is attended to as far as it is kept (rows x L): 0 erases it.

    Not through the network's own attention mask: some networks also pool or count positions by it.

    Where a head looks at one piece only, the slope at 0 of that piece's weight is thousands of times the change that
    the piece makes when it comes back, since a trace of it is enough for the whole change. ``secant`` has this change
    instead: bounded, and the slope for what is kept. For those who learn which pieces to erase.
    """

    def weigh(call: AttentionCall) -> Tensor | None:
        if call.kind == "written":
            return None  # the words of an explanation are not those of the input
        weights = keep
        if call.kind == "decoder":
            # The decoder of an encoder-decoder reads the same text one place to the right.
            weights = torch.cat([torch.ones_like(keep[:, :1]), keep[:, :-1]], dim=1)
        return weights[:, None, None, :]

    return tap_attention(network, AttentionTap(weigh=weigh, secant=secant))


def attention_kinds(network: nn.Module) -> dict[int, str]:
    """For each module of a network, by id, what kind of attention a call from it would be.

    A network that speaks has an encoder like any other; its decoder attends to what was ``written`` and, ``reading``,
    to the input.
    """
    if getattr(network, "speaks", False):
        return {
            id(module): "reading" if "encoder_attn" in name else "written"
            for name, module in network.named_modules()
            if name.startswith("decoder.")
        }
    if not getattr(getattr(network, "config", None), "is_encoder_decoder", False):
        return {}
    kinds = {}
    for name, module in network.named_modules():
        if "decoder" not in name:
            kinds[id(module)] = "encoder"
        else:
            crossing = any(part in name for part in ("encoder_attn", "EncDecAttention", "crossattention"))
            kinds[id(module)] = "cross" if crossing else "decoder"
    return kinds


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """The function behind the door; its signature is that of transformers' attention functions."""
    from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward

    def sdpa() -> tuple[Tensor, Tensor | None]:
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )

    tap = _tap.get()
    if tap is None:
        return sdpa()
    number, tap.count = tap.count, tap.count + 1
    if tap.layers is not None and number not in tap.layers:
        return sdpa()
    for name, given in kwargs.items():
        if given is not None and name not in _HARMLESS:
            raise CapabilityError(
                f"{type(module).__name__} passes {name!r} to its attention, which cannot be tapped yet"
            )
    groups = getattr(module, "num_key_value_groups", 1)
    causal = kwargs.get("is_causal")
    call = AttentionCall(
        number=number,
        kind=tap.kinds.get(id(module), "self"),
        query=query,
        key=repeat_kv(key, groups),
        mask=attention_mask,
        scaling=query.shape[-1] ** -0.5 if scaling is None else scaling,
        causal=bool(getattr(module, "is_causal", True) if causal is None else causal),
    )
    tap.calls.append(call)
    if not tap.needs_probabilities:
        return sdpa()
    probabilities = call.softmax(tap.weigh(call) if tap.weigh is not None else None, secant=tap.secant)
    if tap.probabilities or tap.edit is not None:
        call.probabilities = probabilities
    if tap.edit is not None:
        probabilities = tap.edit(call)
    probabilities = nn.functional.dropout(probabilities, p=dropout, training=module.training)
    mixed = probabilities @ repeat_kv(value, groups)
    return mixed.transpose(1, 2).contiguous(), None


def open_attention_door(network: nn.Module, probe: Callable[[], Tensor]) -> tuple[str, ...] | str:
    """Send a network's attention through the door, and check that it works there.

    Args:
        network: a transformers model, in evaluation mode.
        probe: runs a small padded batch and returns its logits; called before and after the switch, and under a tap.

    Returns:
        The kinds of its attention calls in order; or, where the network cannot be tapped and was left as it was, a
        phrase that says why.
    """
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    # Without a mask function of the same name transformers would silently drop the padding mask.
    AttentionInterface.register(DOOR, _attention)
    AttentionMaskInterface.register(DOOR, sdpa_mask)
    config = getattr(network, "config", None)
    before = getattr(config, "_attn_implementation", None)
    switch = getattr(network, "set_attn_implementation", None)
    if switch is None or before is None:
        return f"{type(network).__name__} is not a transformers model with attention"
    if before == DOOR:
        before = "sdpa"
    reason = f"{type(network).__name__} does not send its attention through transformers' attention interface"
    can = getattr(network, "_can_set_attn_implementation", None)
    if can is not None and not can():
        return reason
    expected = probe()
    try:
        switch(DOOR)
    except ValueError as error:
        return f"{type(network).__name__} refuses another attention implementation: {error}"
    try:
        plain = probe()
        with tap_attention(network, AttentionTap(explicit=True)) as tap:
            tapped = probe()
    except CapabilityError as error:
        switch(before)
        return str(error)
    scale = expected.abs().max().clamp_min(1.0)
    tolerance = max(1e-4, 10 * torch.finfo(expected.dtype).eps)  # half precision has few digits to agree in
    if not all(torch.allclose(logits / scale, expected / scale, atol=tolerance) for logits in (plain, tapped)):
        switch(before)
        warnings.warn(f"{reason} faithfully: its logits change there", RuntimeWarning, stacklevel=2)
        return reason
    return tuple(call.kind for call in tap.calls)
