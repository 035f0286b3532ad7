"""The players' own sentences, and the slips of their typing. All of it is ours.

How long and how frequent they are follows the benchmark's logs: most answers keep to the form that
was asked for, every few one rambles on.
"""

import tomllib
from importlib.resources import files

from pipeline.simulate.dice import Dice
from pipeline.simulate.players import SEATED

Clues = list[str]

_WORDS = tomllib.loads(files(__package__ or "").joinpath("words.toml").read_text(encoding="utf-8"))

TOPICS: dict[str, dict[str, Clues]] = _WORDS["topics"]
VAGUE_CLUES: Clues = _WORDS["vague"]["clues"]
PAIRS: list[dict[str, Clues]] = _WORDS["pairs"]
SAID: dict[str, list[str]] = _WORDS["said"]
"""What may be said, all equally likely, by what it is for."""
ROLLS: dict[str, dict[float, str]] = {name: dict(forms) for name, forms in _WORDS["rolls"].items()}
"""What is said where a roll falls: by the bound below which it does."""

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


EOS = "<eos>"


def _statements(player: str, verdict: str) -> tuple[str, ...]:
    """A verdict with each of its reasons; a tenth lacks the reason, three tenths the full stop."""
    bare = f"{player} is {verdict}"
    given = [f"{bare}, because {why}" for why in WHY[verdict]]
    n_bare = round(len(given) / 3)
    return (*[bare] * n_bare, *given, *[f"{text}." for text in given * 2])


STATEMENTS = {(p, v): _statements(player, v) for p, player in SEATED for v in VERDICTS}
"""Seat, verdict -> what may be said about it, all equally likely."""


def _runs(sentences: list[str]) -> tuple[str, ...]:
    """One to three sentences in a row, from each of them on."""
    return tuple(
        " ".join((sentences * 2)[start : start + n])
        for start in range(len(sentences))
        for n in (1, 2, 3)
    )


ASIDES = _runs(SAID["caution"])
ROUND_ASIDES = _runs(SAID["foresight"])


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
