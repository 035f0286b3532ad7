"""How a division of the airport's fee is written down, and what the benchmark reads from it."""

import re

from pipeline.simulate.dice import Dice, fallen
from pipeline.simulate.players import PLAYERS
from pipeline.simulate.sentences import ended
from pipeline.simulate.settings import Shares

AIRLINES = "ABC"

Proposal = dict[str, str | None]

ARGUMENTS = (
    "The airline that fills the runway most should carry most of it, and these figures respect it.",
    "I gave way by a step here and ask the two of you to meet me at the same point.",
    "Short hops with small machines wear the place down less, which our share ought to show.",
    "No division will please all three of us, but this one leaves nobody with a grievance.",
    "Passengers, and not take-offs alone, decide who gains from the airport.",
    "If one of us pays less than that, the two others would have to make up for it.",
)

ODD_FORMS = ("spaced", "doubled", "comma", "or", "previously", "dollars", "bold", "one line")

ROWS = {
    "plain": "Airline {airline}: {share:g}%",
    "decimal": "Airline {airline}: {share:.1f}%",
    "comma": "Airline {airline}: {share:.1f}%",
    "spaced": "Airline {airline}: {share:g} %",
    "doubled": "Airline {airline}: {share:g}%%",
    "or": "Airline {airline}: {share:g} or {more:g}%",
    "previously": "Airline {airline}: {share:g}% (previously {before:g}%)",
    "dollars": "Airline {airline}: ${dollars:,.0f} ({share:g}%)",
    "bold": "**Airline {airline}**: {share:g}%",
    "one line": "Airline {airline}: {share:g}%",
}

# What is said where a roll falls: by the bound below which it does.
VOTES = {
    0.58: "I vote for {named}'s proposal.",
    0.79: "I vote for {named}'s proposal",
    0.87: "I vote for {named}’s proposal.",
    0.91: "I vote for {named}'s proposal, because it comes closest to the traffic figures.",
    0.945: '"I vote for {named}\'s proposal".',
    0.96: "I vote for Player_{seat}'s proposal.",
    0.97: "I agree with {named}'s proposal.",
}

_SHARE = re.compile(r"Airline (\S+): (\d.+)%")


def registered(text: str) -> Proposal:
    """The shares as logged: null where none is read, odd keys where the text has odd names.

    A share of one digit is never read, and of a line with several only one.
    """
    return {"A": None, "B": None, "C": None, **dict(_SHARE.findall(text))}


def form(dice: Dice) -> str:
    """A way of writing shares: nearly always a bare number."""
    roll = dice.random()
    if roll < 0.05:
        return "decimal"
    return dice.pick(ODD_FORMS) if roll < 0.1 else "plain"


def fixed_text(seat: int, shares: Shares) -> str:
    """The first proposal of a fixed opponent, a template filled in twice."""
    airline = AIRLINES[seat - 1]
    rows = "\n        ".join(
        f"Airline {a}: {share:g}%" for a, share in zip(AIRLINES, shares, strict=True)
    )
    return (
        f"As Player Player {seat}, representing Airline Airline {airline}, "
        f'I propose the following cost distribution:\n        {rows}"\n        '
    )


def text(dice: Dice, seat: int, shares: Shares, before: Shares, form: str) -> str:
    """A proposal in the player's own words; `before` is what it proposed last."""
    rows = [
        _row(a, share, earlier, form)
        for a, share, earlier in zip(AIRLINES, shares, before, strict=True)
    ]
    roll = dice.random()
    opening = "I propose the following cost distribution:"
    if roll < 0.8:
        adjusted = "adjusted " if roll < 0.15 else ""
        opening = (
            f"As {PLAYERS[seat - 1]}, representing Airline {AIRLINES[seat - 1]}, "
            f"I propose the following {adjusted}cost distribution:"
        )
    lines = [opening, ", ".join(rows) if form == "one line" else "\n".join(rows)]
    if 0.4 < roll < 0.78:
        first = dice.between(0, len(ARGUMENTS) - 1)
        lines += ["", *(ARGUMENTS * 2)[first : first + (2 if roll < 0.55 else 1)]]
    return ended(dice, "\n".join(lines))


def _row(airline: str, share: float, before: float, form: str) -> str:
    row = ROWS["plain" if form == "previously" and share == before else form].format(
        airline=airline, share=share, before=before, more=share + 5, dollars=share * 10_000
    )
    return row.replace(".", ",") if form == "comma" else row


def vote_text(dice: Dice, voter: int, seat: int) -> str:
    """A vote for the proposal of a seat, in one of the wordings that are logged as such."""
    roll = dice.random()
    if roll < 0.97:
        form = fallen(roll, VOTES)
    elif voter == seat:
        form = "I vote for my own proposal."
    else:
        odd = "As {me}, I vote for {named}'s proposal.", "It is {named}'s proposal for me."
        form = odd[roll >= 0.98]
    return ended(dice, form.format(me=PLAYERS[voter - 1], named=PLAYERS[seat - 1], seat=seat))
