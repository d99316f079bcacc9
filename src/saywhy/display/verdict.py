"""The verdict in plain sentences: what the named words do, what random ones do, and whether that differs."""

from __future__ import annotations

from collections.abc import Sequence

from saywhy.display.parts import quoted
from saywhy.types import Alignments, Explanation, Verdict

__all__ = ["judgement", "verdict_sentences"]

NAMED = 5
# The explainers' verdict counts less as no difference.
MARGIN = 0.01


def verdict_sentences(explanation: Explanation) -> list[str]:
    """What happens when the named features are kept, when they are removed, and with other seeds.

    The first reads "keeping these 2 words (gripping, fine): 0.97 → 0.94 (2 random words: 0.55, 0.31 to 0.77; no words:
    0.50)". Without a verdict there are none.
    """
    verdict = explanation.verdict
    if verdict is None:
        return []
    many = len(verdict.features)
    start = f"{_subject(explanation)}{_value(verdict.whole)} → "
    beside = [f"no {_things(explanation, 0)}: {_value(verdict.empty)}"]
    kept = f"keeping {_named(explanation, verdict)}: {start}{_value(verdict.kept)}"
    removed = f"without {'it' if many == 1 else 'them'}: {start}{_value(verdict.removed)}"
    if verdict.random_kept:
        some = f"{many} random {_things(explanation, many)}"
        beside.insert(0, f"{some}: {_spread(verdict.random_kept)}")
        removed += f" (without {some}: {_spread(verdict.random_removed)})"
    lines = [f"{kept} ({'; '.join(beside)})", removed]
    if verdict.agreement is not None:
        seeds = f"{verdict.seeds} other seed{'' if verdict.seeds == 1 else 's'}"
        stay = "the same" if verdict.agreement == 1 else f"{verdict.agreement:.0%} the same (mean Jaccard index)"
        lines.append(f"{_things(explanation, 2)} named with {seeds}: {stay}")
    return lines


def judgement(explanation: Explanation) -> str:
    """Better than random words, or not, and by what; empty without a verdict."""
    verdict = explanation.verdict
    if verdict is None:
        return ""
    things = _things(explanation, 2)
    if verdict.better is None:
        which = f"no {things} are" if not verdict.features else f"all {things} are"
        if len(verdict.features) == verdict.total == 1:
            which = f"the only {_things(explanation, 1)} is"
        return f"nothing to compare with: {which} named"
    draws = len(verdict.random_effects)
    as_good = sum(effect >= verdict.effect for effect in verdict.random_effects)
    some = f"{as_good} of {draws} random sets {'does' if as_good == 1 else 'do'} as well"
    if verdict.better:
        return (
            f"better than random {things}: {f'only {some}' if as_good else f'none of {draws} random sets does as well'}"
        )
    return f"no better than random {things}: {some if as_good else f'the difference is below {MARGIN}'}"


def _things(explanation: Explanation, many: int) -> str:
    name = "word pair" if isinstance(explanation, Alignments) else "word"
    return name if many == 1 else f"{name}s"


def _subject(explanation: Explanation) -> str:
    """What the numbers are of, where it is not the probability of the prediction."""
    header = explanation.header
    if header.against:
        return f"{header.target} less {header.against} "
    if header.probabilities and header.target == header.prediction.label:
        return ""
    return f"{header.target} "


def _named(explanation: Explanation, verdict: Verdict) -> str:
    many = len(verdict.features)
    if not many:
        return f"no {_things(explanation, 0)}"
    names = [_name(explanation, place) for place in verdict.features[:NAMED]]
    more = f" and {many - NAMED} more" if many > NAMED else ""
    these = f"this {_things(explanation, 1)}" if many == 1 else f"these {many} {_things(explanation, many)}"
    return f"{these} ({', '.join(names)}{more})"


def _name(explanation: Explanation, place: int) -> str:
    if isinstance(explanation, Alignments):
        row, column = divmod(place, len(explanation.hypothesis))
        return f"{explanation.premise[row].text} ↔ {explanation.hypothesis[column].text}"
    return quoted(str(getattr(explanation, "words", ())[place]))


def _spread(values: Sequence[float]) -> str:
    mean, low, high = _value(sum(values) / len(values)), _value(min(values)), _value(max(values))
    return mean if low == high else f"{mean}, {low} to {high}"


def _value(value: float) -> str:
    return f"{value:z.2f}".replace("-", "−")
