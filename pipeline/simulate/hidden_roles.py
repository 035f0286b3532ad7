"""What Chameleon and Undercover share: votes, their count, and answers about oneself.

Skill decides first what is registered; then words are found that the benchmark's reading turns into
just that: the first player *in seat order* named anywhere in the text.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pipeline.simulate.dice import Dice, fallen
from pipeline.simulate.players import OPPONENT, PLAYERS, SEATED, SEATS, Model, Skill, others
from pipeline.simulate.sentences import MORE, ROLLS, SAID, WHY, asides, ended, rambling

NUMERALS = ("One", "Two", "Three")


class Cast(NamedTuple):
    """The seats of one game: who hides, and who is tested with which skill."""

    hidden: int
    tested: tuple[int, ...]
    model: Model

    def skill(self, seat: int) -> Skill:
        return self.model.skill if seat in self.tested else OPPONENT

    def is_pgm(self, seat: int) -> bool:
        return self.model.is_pgm and seat in self.tested

    def backends(self) -> dict[str, dict[str, str]]:
        """`player_backends` of the log."""
        return {
            PLAYERS[seat - 1]: {"model": self.model.name if seat in self.tested else "gpt-4-fix"}
            for seat in SEATS
        }


def cast(hidden: int, model: Model, *, as_hidden: bool) -> Cast:
    """The tested model in the hidden seat, or in both of the others."""
    return Cast(hidden, (hidden,) if as_hidden else others(hidden), model)


def registered(text: str) -> str:
    """The player that the benchmark reads from a vote, empty where none is named."""
    lower = text.lower()
    for seat, player in SEATED:
        if f"player {seat}" in lower or f"player_{seat}" in lower or f"player{seat}" in lower:
            return player
    return ""


def target(dice: Dice, cast: Cast, voter: int, *, may_stray: bool = True) -> int:
    """The seat that a vote is to count for; 0 for none.

    Votes for nobody and for oneself stray from the rules; tested players cast more of them.
    """
    one, other = others(voter)
    nobody, oneself = (0.16, 0.26) if voter in cast.tested else (0.01, 0.02)
    if voter != cast.hidden:
        is_tested = voter in cast.tested
        skill = cast.skill(voter if is_tested else cast.hidden)
        if dice.chance(skill.judgement if is_tested else 1 - skill.concealment):
            return cast.hidden
        one = other = other if one == cast.hidden else one
    else:
        nobody, oneself = nobody / 3, oneself / 3
    roll = dice.random()
    if may_stray and roll < oneself:
        return 0 if roll < nobody else voter
    return one if dice.chance(0.5) else other


def vote_text(dice: Dice, voter: int, seat: int, role: str) -> str:
    """Words that are registered as a vote for the seat."""
    if seat == 0:
        if dice.chance(0.25):
            return f"I vote for Player {NUMERALS[dice.pick(others(voter)) - 1]}."
        return dice.pick(SAID["abstentions"])
    me, named = PLAYERS[voter - 1], PLAYERS[seat - 1]
    if seat == voter:
        if voter < 3 and dice.chance(0.7):
            return f"As {me}, I vote for Player {dice.between(voter + 1, 3)}."
        return f"I vote for {named}."
    third, roll = 6 - voter - seat, dice.random()
    if roll < 0.955:
        form = fallen(roll, ROLLS["votes"])
    elif roll < 0.97 and voter > seat:
        form = "As {me}, I vote for {named}."
    else:
        third_votes = "{named} sounds more honest to me, so I vote for {third}."
        form = third_votes if third > seat else "It has to be {named}!"
    why = dice.pick(WHY[MORE]) if "{why}" in form else ""
    aside = asides(dice, 1) if "{aside}" in form else ""
    names = {"me": me, "named": named, "seat": seat, "third": PLAYERS[third - 1]}
    return ended(dice, form.format(**names, role=role, why=why, aside=aside))


def accused(votes: dict[str, str]) -> str | None:
    """The player whom most votes name, empty ones left out; null for a tie."""
    named = [player for player in votes.values() if player]
    counts = sorted(((named.count(player), player) for player in set(named)), reverse=True)
    if not counts or (len(counts) > 1 and counts[0][0] == counts[1][0]):
        return None
    return counts[0][1]


def role_answer(dice: Dice, seat: int, role: str, other_role: str, *, is_right: bool) -> str:
    """An answer to 'who are you and what is your role', right or wrong."""
    me = PLAYERS[seat - 1]
    if not is_right:
        roll = dice.random()
        if roll < 0.25:
            me = PLAYERS[dice.pick(others(seat)) - 1]
        elif roll < 0.35:
            return f"I am {me}, my role is {role}/{other_role}."
        else:
            role = other_role
    return fallen(dice.random(), ROLLS["roles"]).format(me=me, role=role)


def role_answers(
    dice: Dice,
    cast: Cast,
    role: str,
    *,
    unsure: float = 0.0,
    reasons: Sequence[str] = (),
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """One part of `consistency_metric`, and the three answers that it was read from.

    `unsure` of the wrong answers know no role; half of all answers give one of the reasons.
    """
    metric, texts = {}, []
    for seat, player in SEATED:
        is_right = dice.chance(cast.skill(seat).self_awareness)
        answered, rejected = (role, f"non-{role}") if seat == cast.hidden else (f"non-{role}", role)
        if unsure and not is_right and dice.chance(unsure):
            text = f"I am {player}, my role is not sure."
        else:
            text = role_answer(dice, seat, answered, rejected, is_right=is_right)
        if reasons and text[-1] == "." and dice.chance(0.65):
            text = f"{text[:-1]}, because {dice.pick(reasons)}."
        metric[player] = int(is_right)
        texts.append((player, ended(dice, rambling(dice, text, 0.13))))
    return metric, texts
