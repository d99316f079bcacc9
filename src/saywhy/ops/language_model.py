"""A small n-gram language model, to say how fluent a sentence is."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

__all__ = ["NgramModel"]

_START, _END, _UNKNOWN = "<s>", "</s>", "<unk>"


class NgramModel:
    """An interpolated Kneser-Ney model of words.

    Reference: Chen and Goodman (1999), An Empirical Study of Smoothing Techniques for Language Modeling, section 2.7.

    Orders below the highest count in how many contexts a word was seen; the lowest is mixed with a uniform one, in
    which every unknown word is one and the same.

    Args:
        sentences: words of the sentences it learns from.
        order: most words that it looks at, the predicted one included.
        discount: what is taken from every count.

    Example:
        >>> model = NgramModel([["a", "b"], ["a", "c"]], order=2)
        >>> model.probability("a", ["<s>"]) > model.probability("b", ["<s>"])
        True
    """

    def __init__(self, sentences: Iterable[Sequence[str]], order: int = 3, discount: float = 0.75) -> None:
        self.order, self.discount = order, discount
        tables: list[dict[tuple[str, ...], Counter[str]]] = [defaultdict(Counter) for _ in range(order)]
        words: set[str] = {_UNKNOWN, _END}
        for sentence in sentences:
            words.update(sentence)
            padded = [_START] * (order - 1) + list(sentence) + [_END]
            for end in range(order - 1, len(padded)):
                tables[-1][tuple(padded[end - order + 1 : end])][padded[end]] += 1
        # Below, a word counts once for each word it was seen behind.
        for size in range(order - 1, 0, -1):
            for context, found in tables[size].items():
                for word in found:
                    tables[size - 1][context[1:]][word] += 1
        self.words = frozenset(words)
        self._tables = [dict(table) for table in tables]
        self._totals = [{context: sum(found.values()) for context, found in table.items()} for table in self._tables]

    def probability(self, word: str, context: Sequence[str]) -> float:
        """Of a word behind others; of an unknown word that of any unknown one."""
        word = word if word in self.words else _UNKNOWN
        chance = 1.0 / len(self.words)
        behind = [_START] * (self.order - 1) + list(context)
        for size in range(self.order):
            key = tuple(behind[len(behind) - size :])
            total = self._totals[size].get(key)
            if not total:
                break  # the longer contexts were not seen either
            found = self._tables[size][key]
            kept = max(found.get(word, 0) - self.discount, 0.0)
            chance = (kept + self.discount * len(found) * chance) / total
        return chance

    def log_probability(self, sentence: Sequence[str]) -> float:
        """Natural logarithm of the probability of a sentence with its end."""
        words = list(sentence)
        return sum(math.log(self.probability(word, words[:i])) for i, word in enumerate([*words, _END]))
