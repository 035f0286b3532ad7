"""What is fixed before a game: the words, figures and payoffs, and who hides or is tested.

A setting depends on the seed, the game and its index only, so all models play the same ones, and
games of different models pair by index. Both competitions of a hidden-role game share theirs.
"""

from functools import lru_cache
from typing import NamedTuple

from pipeline.simulate.dice import Dice
from pipeline.simulate.players import SEATS
from pipeline.simulate.sentences import PAIRS, SAID, TOPICS, VAGUE_CLUES

Shares = tuple[float, float, float]

remembered = lru_cache(maxsize=1 << 12)
"""Every model asks for the same settings again."""


class Secret(NamedTuple):
    """Chameleon: the word, who does not know it, and the clues that fixed opponents give."""

    topic: str
    word: str
    hidden: int
    clues: tuple[str, ...]


class Pair(NamedTuple):
    """Undercover: two words, who has the odd one, and the hints that fixed opponents give first."""

    hidden_word: str
    civilian_word: str
    hidden: int
    clues: tuple[str, ...]


class Fee(NamedTuple):
    """Cost Sharing: the text put before the airlines, and what fixed opponents propose first."""

    tested: int
    topic: str
    proposals: tuple[Shares, ...]


class Payoffs(NamedTuple):
    """Prisoner's Dilemma: points for all cooperating, all defecting, one or two traitors."""

    tested: int
    cooperate: int
    defect: int
    one_defect: int
    two_defect: int

    @property
    def points(self) -> dict[str, int]:
        """The points by name, as a log has them."""
        return {name: value for name, value in self._asdict().items() if name != "tested"}


class Pool(NamedTuple):
    """Public Good: how long it is played and by how much the pool grows."""

    tested: int
    n_rounds: int
    multiplier: float


@remembered
def secret(seed: int, index: int) -> Secret:
    """A word not met before, until all words have been hidden from every seat."""
    deck = _secrets(seed)
    topic, word, hidden = deck[index % len(deck)]
    dice = Dice(seed, "chameleon", index)
    clues = dice.shuffled(TOPICS[topic][word])[:3]
    clues[hidden - 1] = dice.pick(VAGUE_CLUES)
    return Secret(topic, word, hidden, tuple(clues))


@lru_cache(maxsize=4)
def _secrets(seed: int) -> list[tuple[str, str, int]]:
    words = [(topic, word) for topic, clues in TOPICS.items() for word in clues]
    return Dice(seed, "secrets").shuffled([(*word, seat) for word in words for seat in SEATS])


@remembered
def pair(seed: int, index: int) -> Pair:
    """Two near words, either of them the odd one."""
    deck = _pairs(seed)
    hidden_word, civilian_word, hidden = deck[index % len(deck)]
    dice = Dice(seed, "undercover", index)
    clues = dice.shuffled(HINTS[civilian_word])[:3]
    clues[hidden - 1] = dice.pick(HINTS[hidden_word])
    return Pair(hidden_word, civilian_word, hidden, tuple(clues))


HINTS = {word: hints for pair in PAIRS for word, hints in pair.items()}


@lru_cache(maxsize=4)
def _pairs(seed: int) -> list[tuple[str, str, int]]:
    orders = [order for one, other in PAIRS for order in ((one, other), (other, one))]
    return Dice(seed, "pairs").shuffled([(*order, seat) for order in orders for seat in SEATS])


@remembered
def fee(seed: int, index: int) -> Fee:
    """Three airlines of random size and the shares that each of them would like."""
    dice = Dice(seed, "airportfee", index)
    total = dice.between(8, 24) * 100_000
    airlines = []
    for airline in "ABC":
        flights = dice.between(9, 44) * 5
        passengers = flights * dice.between(12, 36) * 5
        airlines.append(
            f"Airline {airline}:\nNumber of Flights: {flights}/month\n"
            f"Number of Passengers: {passengers:,}/month\n"
            f"Average Flight Duration: {dice.between(3, 14) / 4:g} hours\n"
            f"Flight Size: Primarily {dice.pick(SAID['fleets'])} aircraft\n\n"
        )
    head = f"Fixed Airport Fee: ${total:,}\n\nAirline Usage Frequency Data: \n\n"
    return Fee(index % 3 + 1, head + "".join(airlines), tuple(shares(dice) for _ in SEATS))


def shares(dice: Dice) -> Shares:
    """A division of the whole into three, in steps of five per cent."""
    a = dice.between(2, 9)
    b = dice.between(2, 9)
    return float(5 * a), float(5 * b), float(100 - 5 * (a + b))


@remembered
def payoffs(seed: int, index: int) -> Payoffs:
    """Points of a dilemma, sometimes one with an enormous temptation."""
    dice = Dice(seed, "prisoner", index)
    cooperate = dice.between(3, 7)
    defect = dice.between(1, 2)
    one_defect = 150 if dice.chance(0.04) else cooperate + dice.between(1, 7)
    return Payoffs(index % 3 + 1, cooperate, defect, one_defect, dice.between(2, 5))


ROUNDS = (3, 4, 5, 5, 5, 5, 5, 6, 6, 6, 7)
MULTIPLIERS: tuple[float, ...] = (1.25, 1.5, 1.6, 1.8, 2, 2.2, 2.4, 2.75, 3, 3, 3.6, 4)


@remembered
def pool(seed: int, index: int) -> Pool:
    """Length and growth; every seventh game is played on the setting of three games before."""
    dice = Dice(seed, "public_good", index - 3 if index % 7 == 6 else index)
    return Pool(index % 3 + 1, dice.pick(ROUNDS), dice.pick(MULTIPLIERS))
