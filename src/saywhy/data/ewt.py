"""English Web Treebank with semantic roles: to train taggers, parsers and role labellers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from saywhy.data.corpus import FileCorpus, register
from saywhy.data.rows import Row
from saywhy.types import Example

__all__ = ["EwtSrl"]


class EwtSrl(FileCorpus):
    """Sentences with tokens, universal dependencies and PropBank roles, all in ``meta``; there is no label.

    ``meta`` has ``tokens``, ``places`` (their characters in the text), ``lemmas``, ``upos``, ``xpos``, ``heads`` (from
    1; 0 is the root), ``deprels``; for 99 % of the sentences ``predicates``: ``token``, ``frame`` and ``args`` as
    ``[role, start, end]`` over tokens; and ``constituency``.
    """

    files: ClassVar[Mapping[str, str]] = {
        "train": "ewt_syntax_srl/train",
        "dev": "ewt_syntax_srl/dev",
        "test": "ewt_syntax_srl/test",
    }
    missing = "Roles of 122 sentences whose tokens could not be aligned."

    def example(self, row: Row) -> Example:
        """One sentence."""
        text, tokens = row.text("text"), row.texts("tokens")
        places, at = [], 0
        for token in tokens:
            start = text.find(token, at)
            if start < 0:
                raise row.error(f"the token {token!r} is not in the rest of the text", "tokens")
            at = start + len(token)
            places.append((start, at))
        meta = {"tokens": tokens, "places": tuple(places)}
        for field in ("lemmas", "upos", "xpos", "heads", "deprels"):
            values = row.sequence(field)
            if len(values) != len(tokens):
                raise row.error(f"expected one for each of the {len(tokens)} tokens, found {len(values)}", field)
            meta[field] = tuple(values)
        meta |= {field: row.values[field] for field in ("predicates", "constituency") if row.has(field)}
        return Example((text,), id=row.text("id"), source=row.source, line=row.line, meta=meta)


register(
    EwtSrl,
    "ewt-srl",
    tasks=("text",),
    family="syntax",
    paper="Silveira et al. (2014), A Gold Standard Dependency Corpus for English, LREC; "
    "Palmer et al. (2005), The Proposition Bank, Computational Linguistics",
    summary="Sentences of the web with dependencies and semantic roles.",
)
