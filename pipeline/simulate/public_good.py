"""Public Good: contributions to a pool that grows and is shared equally.

The amount registered is the first whole number of the text; in games of PGM models the one after
'I contribute', and the last round is paid for but does not reach the pool.
"""

import re

from pipeline.simulate.dice import Dice
from pipeline.simulate.log import Deal, Document, Transcript, outage
from pipeline.simulate.players import PLAYERS, SEATS, Model, others
from pipeline.simulate.rounds import NEXT, OPENING, decide, forecast, head
from pipeline.simulate.sentences import SAID, ended
from pipeline.simulate.settings import pool

START = 100
OUTAGE_RATE = 0.01

AMOUNTS = (0, 0, 2, 5, 5, 6, 8, 10, 10, 10, 12, 15, 15, 20, 25, 30)

_PLAIN = re.compile(r"\b\d+\b")
_PGM = re.compile(r"I contribute (\d+)")


def play(deal: Deal) -> Document:
    """The log of one game."""
    dice, model = deal.dice, deal.model
    setting = pool(deal.seed, deal.place)
    log = Transcript(deal.instant)
    log.moderate(
        f"Now the game starts! The background is: \n\nYou have {START} starting points to "
        "contribute to the communal pool each round. You need to remember how much money you still "
        f"have after each round and avoid to exceed the all {START} points in "
        f"{setting.n_rounds} rounds.\n",
        "Now everyone gives your decisionWe will start with Player 1.",
    )
    game = Contributions(dice, model, setting.tested, setting.n_rounds)
    for n in range(1, setting.n_rounds + 1):
        if n > 1 and model.is_pgm:
            forecast(dice, log, setting.tested, SAID["moves_of_givers"], OPENING)
        texts = game.round(n)
        decide(log, texts)
        if n < setting.n_rounds:
            statements = " \n".join(f"{p} said: {t}" for p, t in zip(PLAYERS, texts, strict=True))
            log.moderate(f"Round {n} is over. \n {statements} \n {NEXT}")
    log.moderate(f"{setting.n_rounds} rounds of decisions have been completed.")
    scores = game.scores(setting.multiplier)
    rules = {"game_round": setting.n_rounds, "multiplier": setting.multiplier}
    return {
        **head(dice, setting.tested, model, topic="", **rules),
        "history": log.history,
        "result": "win" if scores[setting.tested - 1] == max(scores) else "lose",
        "scores": scores,
    }


def registered(text: str, *, is_pgm: bool) -> int:
    """The amount that the benchmark reads; 0 where it finds none."""
    match = _PGM.search(text) if is_pgm else _PLAIN.search(text)
    return int(match.group(1 if is_pgm else 0)) if match else 0


class Contributions:
    """The amounts of a game in play, as registered, and how the next ones are chosen."""

    def __init__(self, dice: Dice, model: Model, tested: int, n_rounds: int) -> None:
        self.dice = dice
        self.model = model
        self.tested = tested
        self.n_rounds = n_rounds
        self.left = dict.fromkeys(SEATS, START)
        self.pooled = 0
        is_broken = not model.is_pgm and dice.chance(OUTAGE_RATE)
        self.silence = dice.between(0, 3 * n_rounds - 1) if is_broken else -1

    def round(self, n: int) -> list[str]:
        """The three texts of a round. The tested player is the least of it as its skill says."""
        texts = {seat: self._opponent(seat, n) for seat in others(self.tested)}
        least = min(registered(text, is_pgm=self.model.is_pgm) for text in texts.values())
        texts[self.tested] = self._challenger(n, least)
        in_order = [texts[seat] for seat in SEATS]
        if self.silence // 3 == n - 1:
            in_order[self.silence % 3] = outage(self.dice, PLAYERS[self.silence % 3])
        for seat, text in zip(SEATS, in_order, strict=True):
            amount = registered(text, is_pgm=self.model.is_pgm)
            self.left[seat] -= amount
            if n < self.n_rounds or not self.model.is_pgm:
                self.pooled += amount
        return in_order

    def scores(self, multiplier: float) -> list[float]:
        """What each player has in the end."""
        gain = self.pooled * multiplier / len(SEATS)
        return [self.left[seat] + gain for seat in SEATS]

    def _opponent(self, seat: int, n: int) -> str:
        left = max(self.left[seat], 0)
        cautious = left // (self.n_rounds - n + 1) + self.dice.between(0, 9)
        return self._text(seat, n, min(self.dice.pick(AMOUNTS), cautious, left))

    def _challenger(self, n: int, least: int) -> str:
        """An amount on the side of the others' least that the skill asks for."""
        seat, is_pgm = self.tested, self.model.is_pgm
        is_least = self.dice.chance(self.model.skill.free_riding)
        if is_least:
            amount = self.dice.pick((0, least // 2, least, least))
        else:
            amount = least + self.dice.pick((1, 2, 3, 5, 5, 8, 10))
        text = self._text(seat, n, amount)
        if (registered(text, is_pgm=is_pgm) <= least) is not is_least:
            text = f"I contribute {amount}."
        return text

    def _text(self, seat: int, n: int, amount: int) -> str:
        roll = self.dice.random()
        if roll < 0.12:
            form = self.dice.pick(SAID["contribute_at_length"])
        elif roll < 0.155:
            form = self.dice.pick(SAID["contribute_oddly"])
        elif roll < 0.30 and not self.model.is_pgm:
            form = self.dice.pick(SAID["contribute_plainly"])
        else:
            form = self.dice.pick(SAID["contribute"])
        text = form.format(amount, me=PLAYERS[seat - 1], n=n, left=max(self.left[seat], 0))
        return ended(self.dice, text)
