"""`planted-nli`: pairs of sentences that differ in one place, or in who does what to whom, by known rules."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from saywhy.data.corpus import Corpus, register
from saywhy.data.nli import NLI_LABELS
from saywhy.data.planted_text import article, capitalise, check_counts
from saywhy.errors import OptionError
from saywhy.types import Example, Span

__all__ = ["RULES", "PlantedNli"]


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(text.split(", "))


KINDS = {
    "animal": ("dog", "cat", "horse", "rabbit", "goat", "duck", "fox", "donkey"),
    "musician": ("pianist", "drummer", "violinist", "guitarist", "cellist", "trumpeter", "flautist", "harpist"),
    "athlete": ("runner", "swimmer", "boxer", "skater", "cyclist", "rower", "gymnast", "wrestler"),
    "scientist": ("chemist", "physicist", "biologist", "astronomer", "geologist", "botanist", "linguist", "geneticist"),
    "worker": ("carpenter", "plumber", "tailor", "baker", "welder", "miner", "gardener", "electrician"),
    "relative": ("uncle", "aunt", "cousin", "nephew", "niece", "grandmother", "brother", "sister"),
}
# Verbs by what becomes of the sentence when the two who take part change places.
SYMMETRIC = _phrases("met, married, sat next to, resembled, collided with, shook hands with, argued with, lived with")
ONE_WAY = _phrases(
    "outran, was older than, was taller than, defeated, gave birth to, outlived, was louder than, outscored"
)
OPEN = _phrases("thanked, phoned, scolded, trusted, envied, noticed, paid, photographed, thought of, waited for")
# Verbs in fours: the broad one, its synonym, a narrower one, and an opposite of all three.
FAMILIES = tuple(
    _phrases(family)
    for family in (
        "helped, assisted, nursed, hindered",
        "praised, commended, applauded, criticised",
        "watched, observed, stared at, looked away from",
        "greeted, said hello to, waved hello to, ignored",
        "talked to, spoke with, whispered to, kept silent towards",
        "injured, hurt, scratched, left unharmed",
        "went after, followed, tiptoed after, ran away from",
        "carried, bore, piggybacked, left behind",
        "fed, gave food to, spoon-fed, starved",
        "moved towards, approached, crept towards, backed away from",
    )
)
PLACES = _phrases(
    "in the kitchen, in the garden, at the station, on the beach, in the library, at the market, in the attic"
)
TIMES = _phrases("at noon, at midnight, on Monday, on Friday, in April, in October, before sunrise, after sunset")
COLOURS = _phrases("red, green, blue, yellow, white, black, brown, purple")

BROAD, SYNONYM, NARROW, OPPOSITE = range(4)
RULES: Mapping[str, Sequence[str]] = {
    "entailment": ("hypernym", "verb", "swap-symmetric"),
    "neutral": ("hyponym", "verb", "swap-open"),
    "contradiction": ("other-kind", "other-place", "other-time", "other-colour", "verb", "swap-one-way"),
}
# How often a noun that does not change is a broad one. With the changed ones, broad nouns are then about as frequent
# in the hypotheses of all labels, so that one tells little without its premise.
_BROAD_SHARE = {"entailment": 0.14, "neutral": 0.6, "contradiction": 0.43}
# Places, times and colours that stand in the hypothesis without deciding; a contradiction has some that do.
_DETAIL_SHARE = {"entailment": 0.4, "neutral": 0.4, "contradiction": 0.3}


class _Scene(NamedTuple):
    """Who did what to whom, where and when; empty for what is not said."""

    agent: str
    verb: str
    patient: str
    colour: str = ""
    place: str = ""
    time: str = ""


class _Change(NamedTuple):
    """The second scene, the slots that correspond and decide, and why."""

    scene: _Scene
    pairs: tuple[tuple[str, str], ...]
    reason: str


class PlantedNli(Corpus):
    """Made-up sentence pairs; which phrases must be compared to see the label is known exactly.

    The hypothesis is the premise with one change, and with other details left out at random. By rule, the change makes
    the hypothesis follow (a broader noun or verb, a synonym, a symmetric verb turned round), stay open (a narrower one;
    an ordinary verb turned round) or be false (another thing of the kind, an opposite, a one-way verb turned round). As
    in SNLI, both sentences are taken to be about the same event. Gold: ``alignments`` of the phrases, the same as a
    rationale, and a sentence that gives the reason. ``meta["rule"]`` names the rule.

    Args:
        name: as registered.
        seed: the same seed, the same pairs.
        swapped: share of the pairs in which the two who take part change places, 0 to 1/3.
        n: examples in ``train``, or a mapping with the numbers for ``train``, ``dev`` and ``test`` (4000, 500, 500).
    """

    task = "pair"
    labels: tuple[str, ...] = NLI_LABELS

    def __init__(
        self,
        name: str = "planted-nli",
        *,
        seed: int = 0,
        swapped: float = 0.2,
        n: int | Mapping[str, int] | None = None,
    ) -> None:
        if not 0 <= swapped <= 1 / 3:
            raise OptionError(f"{name}: swapped must be 0 to 1/3, not {swapped}")
        self.name, self.seed, self.swapped = name, seed, swapped
        self.counts = check_counts(name, n)

    def splits(self) -> tuple[str, ...]:
        """``train``, ``dev`` and ``test``."""
        return tuple(self.counts)

    def read(self, split: str) -> Iterator[Example]:
        """The pairs of a split; every three neighbours have the three labels."""
        for i in range(self.counts[split]):
            order = random.Random(f"{self.seed}/{self.name}/{split}/triple/{i // 3}").sample(self.labels, 3)
            yield self._example(random.Random(f"{self.seed}/{self.name}/{split}/{i}"), order[i % 3], split, i)

    def _example(self, rng: random.Random, label: str, split: str, i: int) -> Example:
        premise, rule, change = self._draw(rng, label)
        hypothesis = change.scene
        decided = {slot for pair in change.pairs for slot in pair}
        for slot in ("colour", "place", "time"):
            if slot not in decided and rng.random() >= _DETAIL_SHARE[label]:
                hypothesis = hypothesis._replace(**{slot: ""})
        first, first_places = _write(premise, 0)
        second, second_places = _write(hypothesis, 1)
        alignments = tuple((first_places[a], second_places[b]) for a, b in change.pairs)
        return Example(
            (first, second),
            label,
            alignments=alignments,
            rationales=(tuple(sorted({span for pair in alignments for span in pair})),),
            explanations=(capitalise(change.reason) + ".",),
            truth=True,
            id=f"{split}-{i}",
            source=f"{self.name}/{split}",
            line=i + 1,
            meta={"rule": rule},
        )

    def _draw(self, rng: random.Random, label: str) -> tuple[_Scene, str, _Change]:
        """A premise, the rule that makes its hypothesis, and the change.

        The verb of the hypothesis is drawn first, in the same way for all labels: it tells nothing by itself.
        """
        swaps = {"entailment": SYMMETRIC, "neutral": OPEN, "contradiction": ONE_WAY}
        if rng.random() < 3 * self.swapped:
            verbs = rng.choice((SYMMETRIC, ONE_WAY, OPEN))
            scene = self._scene(rng, label, rng.choice(verbs))
            if verbs is swaps[label]:
                rule = next(r for r in RULES[label] if r.startswith("swap"))
                return scene, rule, _swap(rule, scene)
        else:
            family, place = rng.choice(FAMILIES), rng.randrange(4)
            deciding = {"entailment": (BROAD, SYNONYM), "neutral": (NARROW,)}
            if place in deciding.get(label, ()) or (label == "contradiction" and rng.random() < 0.5):
                return self._verb(rng, label, family, place)
            scene = self._scene(rng, label, family[place])
        rule = rng.choice([r for r in RULES[label] if r != "verb" and not r.startswith("swap")])
        if rule.removeprefix("other-") in _DETAILS:
            slot = rule.removeprefix("other-")
            scene = scene._replace(**{slot: rng.choice(_DETAILS[slot])})
            return scene, rule, _change_detail(rng, slot, scene)
        # The noun that changes must have something broader, narrower or beside it.
        slot = rng.choice(("agent", "patient"))
        kind = _kind(getattr(scene, slot))
        scene = scene._replace(**{slot: kind if rule == "hyponym" else rng.choice(KINDS[kind])})
        return scene, rule, _change_noun(rng, rule, slot, scene)

    def _verb(self, rng: random.Random, label: str, family: Sequence[str], place: int) -> tuple[_Scene, str, _Change]:
        premises = {
            "entailment": [p for p in (BROAD, SYNONYM, NARROW) if p != place],
            "neutral": [BROAD, SYNONYM],
            "contradiction": [BROAD, SYNONYM, NARROW] if place == OPPOSITE else [OPPOSITE],
        }[label]
        old, new = family[rng.choice(premises)], family[place]
        scene = self._scene(rng, label, old)
        reason = {
            "entailment": f"who {old} somebody has also {new} them",
            "neutral": f"who {old} somebody may or may not have {new} them",
            "contradiction": f"who {old} somebody cannot at once have {new} them",
        }[label]
        return scene, "verb", _Change(scene._replace(verb=new), (("verb", "verb"),), reason)

    def _scene(self, rng: random.Random, label: str, verb: str) -> _Scene:
        kinds = rng.sample(list(KINDS), 2)
        nouns = [kind if rng.random() < _BROAD_SHARE[label] else rng.choice(KINDS[kind]) for kind in kinds]
        details = {slot: rng.choice(options) for slot, options in _DETAILS.items() if rng.random() < 0.8}
        return _Scene(nouns[0], verb, nouns[1], **details)


_DETAILS = {"colour": COLOURS, "place": PLACES, "time": TIMES}


def _kind(noun: str) -> str:
    return noun if noun in KINDS else next(kind for kind, members in KINDS.items() if noun in members)


def _swap(rule: str, scene: _Scene) -> _Change:
    # The hat stays with its owner, so it is not spoken of again.
    turned = scene._replace(agent=scene.patient, patient=scene.agent, colour="")
    said = f"the {scene.agent} {scene.verb} the {scene.patient}"
    back = f"the {scene.patient} {scene.verb} the {scene.agent}"
    ending = {"swap-symmetric": "so", "swap-one-way": "so it is false that", "swap-open": "which does not tell whether"}
    # The same person stands in another role: the first one's agent is the second one's patient.
    pairs = (("agent", "patient"), ("verb", "verb"), ("patient", "agent"))
    return _Change(turned, pairs, f"{said}, {ending[rule]} {back}")


def _change_detail(rng: random.Random, slot: str, scene: _Scene) -> _Change:
    old = getattr(scene, slot)
    new = rng.choice([o for o in _DETAILS[slot] if o != old])
    return _Change(scene._replace(**{slot: new}), ((slot, slot),), f"what is {old} is not {new}")


def _change_noun(rng: random.Random, rule: str, slot: str, scene: _Scene) -> _Change:
    old = getattr(scene, slot)
    kind = _kind(old)
    if rule == "hypernym":
        new, reason = kind, f"{article(old)} {old} is {article(kind)} {kind}"
    elif rule == "hyponym":
        new = rng.choice(KINDS[kind])
        reason = f"not every {old} is {article(new)} {new}"
    else:
        new = rng.choice([m for m in KINDS[kind] if m != old])
        reason = f"{article(old)} {old} is not {article(new)} {new}"
    return _Change(scene._replace(**{slot: new}), ((slot, slot),), reason)


def _write(scene: _Scene, field: int) -> tuple[str, dict[str, Span]]:
    parts = [
        ("", "The"),
        ("agent", scene.agent),
        ("", "with the") if scene.colour else ("", ""),
        ("colour", scene.colour),
    ]
    parts += [("", "hat") if scene.colour else ("", ""), ("verb", scene.verb), ("", "the"), ("patient", scene.patient)]
    parts += [("place", scene.place), ("time", scene.time)]
    text, places = "", {}
    for slot, words in parts:
        if words:
            start = len(text) + bool(text)
            text += (" " if text else "") + words
            if slot:
                places[slot] = Span(field, start, len(text))
    return text + ".", places


register(
    PlantedNli,
    "planted-nli",
    tasks=("pair",),
    family="planted",
    summary="Made-up sentence pairs; which phrases decide, and why, is known by the rule that made them.",
)
