"""Models that judge sentences by a word in them, to be loaded as file.py:name."""

from __future__ import annotations


class _Judge:
    word = ""
    labels: tuple[str, ...] = ()

    def predict_proba(self, texts):
        found = [self.word in " ".join(t if isinstance(t, tuple) else (t,)) for t in texts]
        return [[0.1, 0.9] if there else [0.9, 0.1] for there in found]


class _Critic(_Judge):
    """Says yes to what speaks of a film."""

    word = "film"
    labels = ("no", "yes")


class _Reader(_Judge):
    """Takes what is great for positive."""

    word = "great"
    labels = ("negative", "positive")


class _Positive(_Critic):
    """Says yes to what is called positive."""

    word = "positive"


Critic, Reader, Positive = _Critic(), _Reader(), _Positive()
