"""The words and sentence frames that `planted-reviews` is made of."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ASPECTS", "FILLERS", "FRAMES", "NEGATIONS", "NEGATIVE", "POSITIVE", "SLOTS", "Aspect"]


def _words(text: str, separator: str | None = None) -> tuple[str, ...]:
    return tuple(text.split(separator))


# Opinion words go with any aspect: which aspect one belongs to is told by its sentence alone.
POSITIVE = _words(
    """
    admirable agreeable alluring amazing appealing astonishing astounding attractive awesome beautiful beguiling
    brilliant captivating charming cheerful classy commendable compelling convincing dazzling decent delightful
    dependable desirable distinguished enchanting endearing enjoyable enticing enviable excellent exceptional
    exciting exemplary exquisite extraordinary fabulous fantastic faultless favourable fine first-rate flawless
    glorious good gorgeous graceful gratifying great heavenly honest impeccable impressive incredible inspiring
    inviting irresistible joyful laudable likeable lovely magical magnificent marvellous masterful memorable
    nice outstanding peerless perfect phenomenal pleasant pleasing praiseworthy precious refined refreshing
    reliable remarkable satisfying sensational solid splendid stellar striking stunning stylish sublime superb
    superior tasteful terrific thoughtful top-notch unbeatable unforgettable unmatched unrivalled uplifting
    wonderful
    """
)
NEGATIVE = _words(
    """
    abominable abysmal aggravating annoying appalling atrocious awful bad baffling bland bleak boring careless
    cheerless clumsy confusing contemptible crude deficient deplorable depressing despicable dire disagreeable
    disappointing disastrous discouraging disgraceful disgusting dismal displeasing dissatisfying distasteful
    drab dreadful dreary dubious dull embarrassing exasperating faulty flawed forgettable frightful frustrating
    ghastly gloomy gruesome hideous hopeless horrendous horrible horrid inadequate inconsistent inept
    inexcusable inferior infuriating insipid intolerable irritating joyless lacklustre lame lamentable lifeless
    lousy mediocre messy miserable monotonous nasty obnoxious off-putting outrageous painful pathetic pitiful
    pointless poor questionable regrettable repellent repulsive revolting rotten second-rate shabby shameful
    shocking shoddy sloppy soulless substandard tacky tedious terrible tiresome troubling ugly unacceptable
    unattractive unbearable uninspired unpleasant unsatisfactory upsetting vile woeful worthless wretched
    """
)
NEGATIONS = ("not", "never", "hardly", "far from", "anything but", "by no means", "not at all", "not even remotely")


class Aspect(NamedTuple):
    """Nouns that name an aspect, with the verb form they take, and the sentence frames only it has."""

    nouns: tuple[tuple[str, str], ...]
    frames: tuple[str, ...]


def _nouns(singular: str, plural: str) -> tuple[tuple[str, str], ...]:
    return tuple((n, "was") for n in _words(singular)) + tuple((n, "were") for n in _words(plural))


# {noun} names the aspect, {be} is was or were, {op} the opinion phrase with its negation.
FRAMES = (
    "the {noun} {be} {op}",
    "we thought the {noun} {be} {op}",
    "in my opinion the {noun} {be} {op}",
    "to my mind, the {noun} {be} {op}",
    "I found the {noun} {op}",
    "everyone at our table called the {noun} {op}",
    "as for the {noun}, I would say {op}",
    "the {noun}, I must say, {be} {op}",
    "{op} is the word for the {noun}",
    "my friends considered the {noun} {op}",
    "compared with last time, the {noun} {be} {op}",
    "from start to finish the {noun} {be} {op}",
)
ASPECTS = {
    "food": Aspect(
        _nouns(
            "food meal cooking soup pasta dessert salad steak menu curry bread seafood", "dishes starters vegetables"
        ),
        (
            "the {noun} that came from the kitchen {be} {op}",
            "once on the plate, the {noun} looked and tasted {op}",
        ),
    ),
    "service": Aspect(
        _nouns(
            "service staff waiter waitress hostess manager bartender crew welcome attention", "waiters servers manners"
        ),
        ("the {noun} we had that evening {be} {op}", "from the first minute to the bill, the {noun} seemed {op}"),
    ),
    "room": Aspect(
        _nouns(
            "room decor lighting furniture music atmosphere ambience terrace interior layout garden",
            "tables chairs toilets",
        ),
        ("the {noun} around us {be} {op}", "once we sat down, the {noun} felt {op}"),
    ),
    "price": Aspect(
        _nouns("price bill value discount total cost deal tariff surcharge offer", "prices rates fees charges"),
        ("when we paid, the {noun} {be} {op}", "for this part of town the {noun} seemed {op}"),
    ),
    "location": Aspect(
        _nouns(
            "location neighbourhood street view parking area address setting district square",
            "surroundings streets views",
        ),
        ("as we walked up, the {noun} {be} {op}", "on foot or by car, the {noun} proved {op}"),
    ),
    "drinks": Aspect(
        _nouns(
            "wine beer coffee tea cocktail champagne cider lemonade espresso sherry", "drinks cocktails juices wines"
        ),
        ("the {noun} they poured {be} {op}", "by the second glass the {noun} seemed {op}"),
    ),
}
SLOTS = {
    "day": _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
    "month": _words("January March April June August September October December"),
    "who": _words("my sister|my brother|two colleagues|an old friend|my parents|our neighbours|a cousin|my team", "|"),
    "number": _words("two three four five six seven eight nine"),
    "why": _words("a birthday|an anniversary|a late lunch|a farewell|a quick bite|a work event|a family visit", "|"),
    "how": _words("by train|by bus|on foot|by taxi|by bike|by car", "|"),
    "time": _words("noon|one o'clock|six|half past six|seven|eight|nine in the evening", "|"),
}
FILLERS = (
    "we came on a {day} in {month} with {who}",
    "the booking was for {number} people at {time}",
    "it was {why}, so there were {number} of us",
    "we arrived {how} a little before {time}",
    "I had read about this place in a newspaper in {month}",
    "{who} had been here {number} times before",
    "it opened about {number} years ago",
    "there are {number} branches of it in the city",
    "we stayed until about {time}",
    "outside it was raining, as it often does in {month}",
    "{who} joined us at {time}",
    "we talked about work, school and the plans for {month}",
    "on the way home we stopped for {number} minutes at a kiosk",
    "the place is open from {day} to {day}",
    "I live about {number} kilometres away and went there {how}",
    "this was for {why}, and we had picked the day weeks ahead",
    "at the next table sat a group of {number}",
    "they asked us to leave our coats at the door",
    "there is a second floor, which was closed that {day}",
    "I wrote this review on the {day} after our visit",
    "{who} took {number} photographs",
    "we had to be back by {time} because of the children",
    "in {month} they close for {number} weeks",
    "somebody was celebrating {why} behind us",
    "my last visit was in {month}, {how} and with {who}",
    "a phone rang {number} times during the evening",
    "we had walked for {number} hours and sat down at {time}",
    "they have room for about {number} dozen guests",
)
