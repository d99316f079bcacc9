"""Shapley values: exact ones from the values of all subsets, and of functions that cost nothing to ask."""

from __future__ import annotations

from math import comb

import numpy as np

from saywhy.ops.surrogate import Surrogate

__all__ = ["random_orders", "shapley_of_surrogate", "shapley_values", "size_weights"]


def shapley_values(values: np.ndarray) -> np.ndarray:
    """Exact Shapley values (n,) from the value of every subset (2^n,).

    Reference: Shapley: A Value for n-Person Games, 1953. Entry i of ``values`` is the subset of the bits of i, the
    lowest bit the first player, as `saywhy.ops.subsets.every_subset` lists them.

    Example:
        >>> shapley_values(np.array([0.0, 1.0, 2.0, 4.0])).tolist()
        [1.5, 2.5]
    """
    values = np.asarray(values, dtype=np.float64)
    n = len(values).bit_length() - 1
    if len(values) != 2**n:
        raise ValueError(f"{len(values)} values; all subsets of n players are 2^n")
    numbers = np.arange(2**n)
    sizes = np.asarray([int(i).bit_count() for i in numbers])
    # What joining a subset of size s counts: 1 / (n C(n - 1, s)).
    counts = np.asarray([1 / (n * comb(n - 1, s)) for s in range(n)])
    found = np.zeros(n)
    for player in range(n):
        without = numbers[(numbers >> player & 1) == 0]
        found[player] = counts[sizes[without]] @ (values[without | 1 << player] - values[without])
    return found


def size_weights(n: int) -> np.ndarray:
    """What all subsets of a size together weigh in the Shapley kernel, sizes 1 to n - 1, (n - 1,), sum 1.

    Reference: Lundberg and Lee: A Unified Approach to Interpreting Model Predictions, NeurIPS 2017, theorem 2.
    """
    sizes = np.arange(1, n)
    weights = 1 / (sizes * (n - sizes))
    return np.asarray(weights / max(weights.sum(), 1e-300))


def random_orders(rng: np.random.Generator, n: int, count: int) -> np.ndarray:
    """Random orders of n things, count x n: every second one is the reverse of the one before it."""
    half = rng.random(((count + 1) // 2, n)).argsort(axis=1)
    return np.stack([half, half[:, ::-1]], axis=1).reshape(-1, n)[:count]


def shapley_of_surrogate(
    surrogate: Surrogate, rng: np.random.Generator, orders: int = 4000
) -> tuple[np.ndarray, np.ndarray]:
    """Shapley values (n,) of a stand-in and their standard errors (n,), from orders in which its features join.

    Args:
        surrogate: the stand-in.
        rng: draws the orders.
        orders: how many, an even number: each comes with its reverse.
    """
    n = len(surrogate.gains)
    order = random_orders(rng, n, orders)
    gains = surrogate.gains[order]
    if len(surrogate.pairs):
        # A pair's gain comes with the later of the two.
        rank = order.argsort(axis=1)
        later = rank[:, surrogate.pairs].max(axis=2)
        places = (np.arange(len(order))[:, None] * n + later).ravel()
        together = np.bincount(places, np.tile(surrogate.pair_gains, len(order)), minlength=len(order) * n)
        gains = gains + together.reshape(len(order), n)
    start = np.full((len(order), 1), surrogate.bias)
    logits = np.concatenate([start, surrogate.bias + np.cumsum(gains, axis=1)], axis=1)
    joined = np.diff(surrogate.at(logits), axis=1)
    added = np.empty_like(joined)
    np.put_along_axis(added, order, joined, axis=1)
    pairs = added.reshape(-1, 2, n).mean(axis=1)
    return pairs.mean(axis=0), pairs.std(axis=0) / np.sqrt(len(pairs))
