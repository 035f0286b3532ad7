"""Cost Sharing: three airlines propose and vote, up to five rounds, until they agree.

All agree when the three votes name proposals of the same shares, compared as they were written. How
a division of the fee is written down, and what the benchmark reads from it, stands below.
"""

import re
from typing import NamedTuple

from pipeline.simulate.dice import Dice, fallen
from pipeline.simulate.log import OUTAGE, Deal, Document, Transcript, outage
from pipeline.simulate.players import PLAYERS, SEATED, SEATS, Model, others
from pipeline.simulate.rounds import forecast
from pipeline.simulate.sentences import ROLLS, SAID, ended
from pipeline.simulate.settings import Fee, Shares, fee, shares

N_ROUNDS = 5
ROUND_OF_AGREEMENT = (1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5)

OUTAGE_RATE = 0.013
NO_VOTE_KEY_RATE = 0.008


AIRLINES = "ABC"

Proposal = dict[str, str | None]


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


_SHARE = re.compile(r"Airline (\S+): (\d.+)%")


class Fate(NamedTuple):
    """What skill has decided beforehand: in which round they agree, if at all, on whose terms."""

    last_round: int
    is_agreed: bool
    author: int


class Silence(Exception):
    """An answer did not come, which ends a negotiation at once."""


def play(deal: Deal) -> Document:
    """The log of one game; an outage leaves it without a result."""
    dice, model = deal.dice, deal.model
    setting = fee(deal.seed, deal.place)
    game = Negotiation(deal, setting)
    try:
        result = game.run(_fate(dice, model, setting.tested))
    except Silence:
        result = None
    names = {s: model.name if s == setting.tested else "gpt-4-fix" for s in SEATS}
    document: Document = {
        "topic": setting.topic,
        "test_player_name": PLAYERS[setting.tested - 1],
        "player_backends": {PLAYERS[seat - 1]: name for seat, name in names.items()},
        "history": game.log.history,
        "nego_turn": game.n_rounds,
        "result": result,
        "proposal": {PLAYERS[seat - 1]: game.proposals.get(seat, []) for seat in SEATS},
        "vote": game.votes,
    }
    if result and dice.chance(NO_VOTE_KEY_RATE):
        del document["vote"]
    return document


def _fate(dice: Dice, model: Model, tested: int) -> Fate:
    is_agreed = dice.chance(model.skill.cooperation)
    author = tested if dice.chance(model.skill.coordination) else dice.pick(others(tested))
    return Fate(dice.pick(ROUND_OF_AGREEMENT) if is_agreed else N_ROUNDS, is_agreed, author)


class Negotiation:
    """One game in play: what the three seats wish for, and what has been registered of it."""

    def __init__(self, deal: Deal, setting: Fee) -> None:
        self.dice = deal.dice
        self.setting = setting
        self.is_pgm = deal.model.is_pgm
        self.log = Transcript(deal.instant)
        self.wishes = dict(zip(SEATS, setting.proposals, strict=True))
        self.wishes[setting.tested] = shares(self.dice)
        self.n_rounds = 0
        self.n_answers_left = -1
        self.proposals: dict[int, Proposal] = {}
        self.votes: dict[str, str | int] = dict.fromkeys(PLAYERS, 0)

    def run(self, fate: Fate) -> str:
        """The result: `agree` or `fail`. Raises `Silence` where an answer does not come."""
        if self.dice.chance(OUTAGE_RATE):
            self.n_answers_left = self.dice.between(1, 6 * fate.last_round - 1)
        self.log.moderate(
            f"Now the game starts! The background is: {self.setting.topic}",
            "Now everyone propose the cost distribution.We will start with Player 1.",
        )
        for n in range(1, fate.last_round + 1):
            is_last = fate.is_agreed and n == fate.last_round
            if n > 1 and self.is_pgm:
                forecast(self.dice, self.log, self.setting.tested, SAID["moves_of_airlines"])
            backers = self._propose(n, fate.author if is_last else 0)
            self.n_rounds = n
            if self._vote(backers):
                self.log.moderate("You all already agree the same proposal ")
                return "agree"
            if n < N_ROUNDS:
                self.log.moderate(
                    f"At {n}'s round, you all haven't achieve the consistency. "
                    "Please continue a new round of negotiation. "
                )
        self.log.moderate(
            f"You have negotiated for {N_ROUNDS} turn, no consistency achieved, negotiation failed."
        )
        return "fail"

    def _propose(self, n: int, author: int) -> dict[int, int]:
        """Three proposals. Returns whose each seat shall vote for, if this round ends the game."""
        before = self.wishes
        if n > 1:
            self.wishes = {seat: _moved(self.dice, wish) for seat, wish in before.items()}
        copier = self.dice.pick(others(author)) if author and n > 1 and self.dice.chance(0.5) else 0
        if copier:
            self.wishes[copier] = self.wishes[author]
        elif self.wishes[1] == self.wishes[2] == self.wishes[3]:
            self.wishes[3] = _moved(self.dice, self.wishes[3])
        for seat in SEATS:
            if n == 1 and seat != self.setting.tested:
                text = _fixed_text(seat, self.wishes[seat])
            else:
                form = "plain" if copier else _form(self.dice)
                text = _text(self.dice, seat, self.wishes[seat], before[seat], form)
            text = self._answer(seat, text)
            self.proposals[seat] = _registered(text)
            if text.startswith(OUTAGE):
                raise Silence
        return {seat: seat if seat == copier else author for seat in SEATS} if author else {}

    def _vote(self, choices: dict[int, int]) -> bool:
        """Three votes, as given, or else for proposals that are not all the same: do they agree?"""
        self.log.moderate(
            "Now vote which proposal is the suitable one you agree with. You must respond with the "
            'template "I vote for Player xx\'s proposal".(do not include explanantions)'
            if self.is_pgm
            else "Now vote which proposal of the other player (including yourself) is the suitable "
            'one you agree with. You must use the template "I vote for Player xx\'s proposal".'
            "(dont include explanation)"
        )
        choices = choices or self._discord()
        for seat, player in SEATED:
            text = _vote_text(self.dice, seat, choices[seat])
            text = self._answer(seat, text, step=int(self.is_pgm))
            if text.startswith(OUTAGE):  # it names its own speaker, which is read as a vote
                self.votes[player] = player
                raise Silence
            self.votes[player] = PLAYERS[choices[seat] - 1]
        return self._names_equal_shares(choices)

    def _discord(self) -> dict[int, int]:
        """Votes that do not agree, if the proposals allow any: often each for its own."""
        choices = {
            seat: seat if self.dice.chance(0.5) else self.dice.pick(others(seat)) for seat in SEATS
        }
        if self._names_equal_shares(choices):
            for seat in SEATS:
                if self.proposals[seat] != self.proposals[choices[3]]:
                    choices[3] = seat
                    break
        return choices

    def _names_equal_shares(self, choices: dict[int, int]) -> bool:
        first, *rest = (list(self.proposals[seat].values()) for seat in choices.values())
        return all(shares == first for shares in rest)

    def _answer(self, seat: int, text: str, step: int = 1) -> str:
        """The text that is logged: the player's, or what stands where its API failed."""
        player = PLAYERS[seat - 1]
        if self.n_answers_left == 0:
            text = outage(self.dice, player)
        self.n_answers_left -= 1
        self.log.say(player, text, step=step)
        return text


def _moved(dice: Dice, wish: Shares) -> Shares:
    """A wish with one step handed from one airline to another, or just as it was."""
    giver, taker, _ = dice.shuffled((0, 1, 2))
    step = 2.5 if dice.chance(0.05) else 5.0
    if dice.chance(0.35) or wish[giver] <= step + (0 if dice.chance(0.3) else 5):
        return wish
    moved = list(wish)
    moved[giver] -= step
    moved[taker] += step
    return moved[0], moved[1], moved[2]


def _registered(text: str) -> Proposal:
    """The shares as logged: null where none is read, odd keys where the text has odd names.

    A share of one digit is never read, and of a line with several only one.
    """
    return {"A": None, "B": None, "C": None, **dict(_SHARE.findall(text))}


def _form(dice: Dice) -> str:
    """A way of writing shares: nearly always a bare number."""
    roll = dice.random()
    if roll < 0.05:
        return "decimal"
    return dice.pick(ODD_FORMS) if roll < 0.1 else "plain"


def _fixed_text(seat: int, shares: Shares) -> str:
    """The first proposal of a fixed opponent, a template filled in twice."""
    airline = AIRLINES[seat - 1]
    rows = "\n        ".join(
        f"Airline {a}: {share:g}%" for a, share in zip(AIRLINES, shares, strict=True)
    )
    return (
        f"As Player Player {seat}, representing Airline Airline {airline}, "
        f'I propose the following cost distribution:\n        {rows}"\n        '
    )


def _text(dice: Dice, seat: int, shares: Shares, before: Shares, form: str) -> str:
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
        first = dice.between(0, len(SAID["arguments"]) - 1)
        lines += ["", *(SAID["arguments"] * 2)[first : first + (2 if roll < 0.55 else 1)]]
    return ended(dice, "\n".join(lines))


def _row(airline: str, share: float, before: float, form: str) -> str:
    row = ROWS["plain" if form == "previously" and share == before else form].format(
        airline=airline, share=share, before=before, more=share + 5, dollars=share * 10_000
    )
    return row.replace(".", ",") if form == "comma" else row


def _vote_text(dice: Dice, voter: int, seat: int) -> str:
    """A vote for the proposal of a seat, in one of the wordings that are logged as such."""
    roll = dice.random()
    if roll < 0.97:
        form = fallen(roll, ROLLS["votes_for_proposals"])
    elif voter == seat:
        form = "I vote for my own proposal."
    else:
        odd = "As {me}, I vote for {named}'s proposal.", "It is {named}'s proposal for me."
        form = odd[roll >= 0.98]
    return ended(dice, form.format(me=PLAYERS[voter - 1], named=PLAYERS[seat - 1], seat=seat))
