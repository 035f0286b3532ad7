"""The players' own sentences, and the slips of their typing. All of it is ours.

How long and how frequent they are follows the benchmark's logs: most answers keep to the form that
was asked for, every few one rambles on.
"""

from pipeline.simulate.dice import Dice
from pipeline.simulate.players import SEATED

MORE, LESS, SAME = "more suspicious", "less suspicious", "no change"
VERDICTS = (MORE, LESS, SAME)

WHY = {
    MORE: (
        "that hint would suit half of the things one can think of",
        "nothing in it is particular to what we were given",
        "it sounded like an echo of what had been said before",
        "it doesn’t go with anything that I was told",
        "the wording took care to say almost nothing",
        "I would have expected a sharper detail from somebody who holds the card",
        "it points in a direction that neither of us had in mind",
        "it only became broader the longer I looked at it",
    ),
    LESS: (
        "only a person who has read the card would bring that up",
        "it goes well together with my own idea",
        "the detail is right and gives nothing away",
        "we are evidently talking of one and the same thing",
        "one learns that from the thing itself, not from the heading",
        "it can’t be luck that it fits so closely",
    ),
    SAME: (
        "we have had no hint from that seat yet",
        "the one hint there is could be read in two ways",
        "I would rather wait for the next hint",
        "nothing new has come up",
        "a single remark weighs too little",
    ),
}

CAUTION = (
    "I keep in mind that two honest players may well think of very different sides of one thing.",
    "Whoever has no card will try to sound as harmless as possible, so a bland hint is no comfort.",
    "Should the next hint be as broad as this one, I am going to change my mind without regret.",
    "All of this rests on three short remarks, and I would not bet any money on it at the moment.",
    "My view has hardly moved since the last time, although I have gone through everything again.",
    "With just three of us at the table every odd word counts twice, and that makes me careful.",
    "There is nothing I know beyond what was said aloud to everybody here, and I claim no more.",
)

FORESIGHT = (
    "I go by what they did and not by what they said, because only the former costs them anything.",
    "Whoever lost out in the last round is likely to try something else, and I allow for that.",
    "As the end comes nearer there is less to be gained from being friendly, and they know it too.",
    "None of this is certain, and one surprising move from either of them would turn it around.",
    "What I shall do myself depends mostly on which of the two of them moves first from now on.",
)

EOS = "<eos>"


def _statements(player: str, verdict: str) -> tuple[str, ...]:
    """A verdict with each of its reasons; a tenth lacks the reason, three tenths the full stop."""
    bare = f"{player} is {verdict}"
    given = [f"{bare}, because {why}" for why in WHY[verdict]]
    n_bare = round(len(given) / 3)
    return (*[bare] * n_bare, *given, *[f"{text}." for text in given * 2])


STATEMENTS = {(p, v): _statements(player, v) for p, player in SEATED for v in VERDICTS}
"""Seat, verdict -> what may be said about it, all equally likely."""


def _runs(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """One to three sentences in a row, from each of them on."""
    return tuple(
        " ".join((sentences * 2)[start : start + n])
        for start in range(len(sentences))
        for n in (1, 2, 3)
    )


ASIDES = _runs(CAUTION)
ROUND_ASIDES = _runs(FORESIGHT)


def asides(dice: Dice, chance: float, runs: tuple[str, ...] = ASIDES) -> str:
    """Nothing, or with the given chance one to three sentences that lead nowhere."""
    roll = dice.random()
    return runs[int(roll / chance * len(runs))] if roll < chance else ""


def rambling(dice: Dice, text: str, chance: float) -> str:
    """The text, with asides after it by the given chance."""
    more = asides(dice, chance)
    return f"{text} {more}" if more else text


def ended(dice: Dice, text: str) -> str:
    """The text, rarely with the end mark that a model forgot to take off."""
    return text + EOS if dice.random() < 0.006 else text
