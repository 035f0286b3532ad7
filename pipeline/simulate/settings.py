"""What all simulated games share: settings, chance, players, their sentences, and the growing log.

A setting is what is fixed before a game: the words, figures and payoffs, and who hides or is
tested. It depends on the seed, the game and its index only, so all models play the same ones, and
games of different models pair by index. Both competitions of a hidden-role game share theirs.
"""

import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType

# Chance that is the same everywhere: it depends on words, not on clock, process or Python version.
#
# Only `Random.random()` is used, which Python promises never to change for a seed; `choice` and
# `shuffle` carry no such promise.

T = TypeVar("T")


def pick_by_roll(roll: float, forms: Mapping[float, T]) -> T:
    """What a roll falls on: the first whose bound, which is its key, is above the roll."""
    return next(form for bound, form in forms.items() if roll < bound)


class Dice:
    """A source of chance for one purpose; the words it is made of set it apart from every other."""

    __slots__ = ("random",)

    def __init__(self, *words: str | int) -> None:
        self.random = random.Random("|".join(map(str, words))).random

    def chance(self, probability: float) -> bool:
        """True as often as asked."""
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, all equally likely."""
        return items[int(self.random() * len(items))]

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a new order, all orders equally likely."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            order[last], order[other] = order[other], order[last]
        return order


# Who plays: simulated models of known, different skill, and the fixed opponents.
#
# A skill is a set of probabilities, and every game is played so that each of them is exactly the
# long-run share of the thing that it names. `truth.json` holds them, so that an estimate made from
# the logs can be laid beside what it estimates.

MODEL_NAMES = (
    "atlas", "birch", "cedar", "delta", "ember", "fjord", "garnet", "hazel", "indigo", "juniper",
    "kestrel", "larch", "meadow", "nimbus", "onyx", "pepper", "quartz", "rowan", "sorrel", "tundra",
)  # fmt: skip

SEATS = (1, 2, 3)
PLAYERS = ("Player 1", "Player 2", "Player 3")
SEATS_AND_PLAYERS = tuple(zip(SEATS, PLAYERS, strict=True))


class Skill(NamedTuple):
    """Probabilities, each higher for a better (Prisoner's Dilemma: more selfish) player."""

    judgement: float
    """A vote cast on the civilian side names the hidden player."""
    self_awareness: float
    """An answer about oneself gives the own name and the own role."""
    reasoning_gold: float
    """An analysis of the others' roles is right."""
    reasoning_inter: float
    """An analysis of what the others think is right."""
    concealment: float
    """While it hides, an opponent's vote does not name it."""
    guessing: float
    """Caught as the chameleon, it guesses the secret word."""
    secrecy: float
    """The chameleon caught by it guesses wrong."""
    cooperation: float
    """A negotiation that is not cut off ends in an agreement."""
    coordination: float
    """An agreed proposal is its own."""
    defection: float
    """A Prisoner's Dilemma decision is registered as defect."""
    free_riding: float
    """A contribution is the least of its round, ties included."""


WEAKEST = Skill(0.30, 0.70, 0.30, 0.30, 0.20, 0.20, 0.25, 0.35, 0.15, 0.15, 0.25)
STRONGEST = Skill(0.92, 0.98, 0.80, 0.75, 0.85, 0.85, 0.90, 0.95, 0.75, 0.90, 0.90)

OPPONENT = Skill(0.55, 0.95, 0.55, 0.50, 0.50, 0.50, 0.50, 0.70, 0.33, 0.50, 0.40)


class Model(NamedTuple):
    """One simulated model."""

    name: str
    skill: Skill
    is_pgm: bool


def draw_models(seed: int, n_models: int) -> tuple[Model, ...]:
    """The models of a run, from the weakest to the strongest; the second of three is a PGM model.

    Each probability is drawn from the model's own slice of the range, so that no model is equal to
    or better than a later one in anything.
    """
    dice = Dice(seed, "roster", n_models)
    models = []
    for rank in range(n_models):
        skill = Skill(
            *(
                round(low + (high - low) * (rank + 0.1 + 0.8 * dice.random()) / n_models, 6)
                for low, high in zip(WEAKEST, STRONGEST, strict=True)
            )
        )
        is_pgm, (turn, place) = rank % 3 == 1, divmod(rank, len(MODEL_NAMES))
        name = f"sim-{MODEL_NAMES[place]}" + (f"-{turn + 1}" if turn else "") + "-pgm" * is_pgm
        models.append(Model(name, skill, is_pgm))
    return tuple(models)


def other_seats(seat: int) -> tuple[int, int]:
    """The two other seats, in seat order."""
    return ((2, 3), (1, 3), (1, 2))[seat - 1]


# The players' own sentences, and the slips of their typing. All of it is ours.
#
# How long and how frequent they are follows the benchmark's logs: most answers keep to the form
# that was asked for, every few one rambles on.

Clues = list[str]

_TEXTS = tomllib.loads(files(__package__ or "").joinpath("words.toml").read_text(encoding="utf-8"))

TOPICS: dict[str, dict[str, Clues]] = _TEXTS["topics"]
VAGUE_CLUES: Clues = _TEXTS["vague"]["clues"]
WORD_PAIRS: list[dict[str, Clues]] = _TEXTS["pairs"]
PHRASES: dict[str, list[str]] = _TEXTS["said"]
"""What may be said, all equally likely, by what it is for."""
PHRASES_BY_ROLL: dict[str, dict[float, str]] = {
    name: dict(forms) for name, forms in _TEXTS["rolls"].items()
}
"""What is said where a roll falls: by the bound below which it does."""

MORE_SUSPICIOUS, LESS_SUSPICIOUS, NO_CHANGE = "more suspicious", "less suspicious", "no change"
VERDICTS = (MORE_SUSPICIOUS, LESS_SUSPICIOUS, NO_CHANGE)

REASONS = {
    MORE_SUSPICIOUS: (
        "that hint would suit half of the things one can think of",
        "nothing in it is particular to what we were given",
        "it sounded like an echo of what had been said before",
        "it doesn’t go with anything that I was told",
        "the wording took care to say almost nothing",
        "I would have expected a sharper detail from somebody who holds the card",
        "it points in a direction that neither of us had in mind",
        "it only became broader the longer I looked at it",
    ),
    LESS_SUSPICIOUS: (
        "only a person who has read the card would bring that up",
        "it goes well together with my own idea",
        "the detail is right and gives nothing away",
        "we are evidently talking of one and the same thing",
        "one learns that from the thing itself, not from the heading",
        "it can’t be luck that it fits so closely",
    ),
    NO_CHANGE: (
        "we have had no hint from that seat yet",
        "the one hint there is could be read in two ways",
        "I would rather wait for the next hint",
        "nothing new has come up",
        "a single remark weighs too little",
    ),
}


END_MARK = "<eos>"


def _verdict_sentences(player: str, verdict: str) -> tuple[str, ...]:
    """A verdict with each of its reasons; a tenth lacks the reason, three tenths the full stop."""
    bare = f"{player} is {verdict}"
    given = [f"{bare}, because {why}" for why in REASONS[verdict]]
    n_bare = round(len(given) / 3)
    return (*[bare] * n_bare, *given, *[f"{text}." for text in given * 2])


VERDICT_SENTENCES = {
    (p, v): _verdict_sentences(player, v) for p, player in SEATS_AND_PLAYERS for v in VERDICTS
}
"""Seat, verdict -> what may be said about it, all equally likely."""


def _sentence_runs(sentences: list[str]) -> tuple[str, ...]:
    """One to three sentences in a row, from each of them on."""
    return tuple(
        " ".join((sentences * 2)[start : start + n])
        for start in range(len(sentences))
        for n in (1, 2, 3)
    )


ASIDES = _sentence_runs(PHRASES["caution"])
ROUND_ASIDES = _sentence_runs(PHRASES["foresight"])


def random_aside(dice: Dice, chance: float, runs: tuple[str, ...] = ASIDES) -> str:
    """Nothing, or with the given chance one to three sentences that lead nowhere."""
    roll = dice.random()
    return runs[int(roll / chance * len(runs))] if roll < chance else ""


def add_aside(dice: Dice, text: str, chance: float) -> str:
    """The text, with asides after it by the given chance."""
    more = random_aside(dice, chance)
    return f"{text} {more}" if more else text


def add_end_mark(dice: Dice, text: str) -> str:
    """The text, rarely with the end mark that a model forgot to take off."""
    return text + END_MARK if dice.random() < 0.006 else text


Shares = tuple[float, float, float]

cache_setting = lru_cache(maxsize=1 << 12)
"""Every model asks for the same settings again."""


class ChameleonSetting(NamedTuple):
    """Chameleon: the word, who does not know it, and the clues that fixed opponents give."""

    topic: str
    word: str
    hidden: int
    clues: tuple[str, ...]


class UndercoverSetting(NamedTuple):
    """Undercover: two words, who has the odd one, and the hints that fixed opponents give first."""

    hidden_word: str
    civilian_word: str
    hidden: int
    clues: tuple[str, ...]

    def word(self, seat: int) -> str:
        """The word of the player in this seat."""
        return self.hidden_word if seat == self.hidden else self.civilian_word


class CostSharingSetting(NamedTuple):
    """Cost Sharing: the text put before the airlines, and what fixed opponents propose first."""

    tested: int
    topic: str
    proposals: tuple[Shares, ...]


class PrisonersDilemmaSetting(NamedTuple):
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


class PublicGoodSetting(NamedTuple):
    """Public Good: how long it is played and by how much the pool grows."""

    tested: int
    n_rounds: int
    multiplier: float


@cache_setting
def chameleon_setting(seed: int, index: int) -> ChameleonSetting:
    """A word not met before, until all words have been hidden from every seat."""
    deck = _chameleon_deck(seed)
    topic, word, hidden = deck[index % len(deck)]
    dice = Dice(seed, "chameleon", index)
    clues = dice.shuffled(TOPICS[topic][word])[:3]
    clues[hidden - 1] = dice.pick(VAGUE_CLUES)
    return ChameleonSetting(topic, word, hidden, tuple(clues))


@lru_cache(maxsize=4)
def _chameleon_deck(seed: int) -> list[tuple[str, str, int]]:
    words = [(topic, word) for topic, clues in TOPICS.items() for word in clues]
    return Dice(seed, "secrets").shuffled([(*word, seat) for word in words for seat in SEATS])


@cache_setting
def undercover_setting(seed: int, index: int) -> UndercoverSetting:
    """Two near words, either of them the odd one."""
    deck = _undercover_deck(seed)
    hidden_word, civilian_word, hidden = deck[index % len(deck)]
    dice = Dice(seed, "undercover", index)
    clues = dice.shuffled(HINTS[civilian_word])[:3]
    clues[hidden - 1] = dice.pick(HINTS[hidden_word])
    return UndercoverSetting(hidden_word, civilian_word, hidden, tuple(clues))


HINTS = {word: hints for pair in WORD_PAIRS for word, hints in pair.items()}


@lru_cache(maxsize=4)
def _undercover_deck(seed: int) -> list[tuple[str, str, int]]:
    orders = [order for one, other in WORD_PAIRS for order in ((one, other), (other, one))]
    return Dice(seed, "pairs").shuffled([(*order, seat) for order in orders for seat in SEATS])


@cache_setting
def cost_sharing_setting(seed: int, index: int) -> CostSharingSetting:
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
            f"Flight Size: Primarily {dice.pick(PHRASES['fleets'])} aircraft\n\n"
        )
    head = f"Fixed Airport Fee: ${total:,}\n\nAirline Usage Frequency Data: \n\n"
    return CostSharingSetting(
        index % 3 + 1, head + "".join(airlines), tuple(random_shares(dice) for _ in SEATS)
    )


def random_shares(dice: Dice) -> Shares:
    """A division of the whole into three, in steps of five per cent."""
    a = dice.between(2, 9)
    b = dice.between(2, 9)
    return float(5 * a), float(5 * b), float(100 - 5 * (a + b))


@cache_setting
def prisoners_dilemma_setting(seed: int, index: int) -> PrisonersDilemmaSetting:
    """Points of a dilemma, sometimes one with an enormous temptation."""
    dice = Dice(seed, "prisoner", index)
    cooperate = dice.between(3, 7)
    defect = dice.between(1, 2)
    one_defect = 150 if dice.chance(0.04) else cooperate + dice.between(1, 7)
    return PrisonersDilemmaSetting(index % 3 + 1, cooperate, defect, one_defect, dice.between(2, 5))


ROUNDS = (3, 4, 5, 5, 5, 5, 5, 6, 6, 6, 7)
MULTIPLIERS: tuple[float, ...] = (1.25, 1.5, 1.6, 1.8, 2, 2.2, 2.4, 2.75, 3, 3, 3.6, 4)


@cache_setting
def public_good_setting(seed: int, index: int) -> PublicGoodSetting:
    """Length and growth; every seventh game is played on the setting of three games before."""
    dice = Dice(seed, "public_good", index - 3 if index % 7 == 6 else index)
    return PublicGoodSetting(index % 3 + 1, dice.pick(ROUNDS), dice.pick(MULTIPLIERS))


# The growing log of one game, message by message, as the benchmark's environments write it.

Document: TypeAlias = dict[str, object]

MODERATOR = "Moderator"


class Message(Struct, gc=False):
    """One entry of `history`, its fields in the log's order."""

    agent_name: str
    content: str
    turn: int
    timestamp: str
    visible_to: str | list[str]
    msg_type: str
    is_pgm: bool | UnsetType = UNSET
    is_good_pgm: bool | UnsetType = UNSET
    is_clue: bool | UnsetType = UNSET
    is_good_clue: bool | UnsetType = UNSET


class Transcript:
    """`history` of a log. The turn counter moves on after a message unless `step` is 0.

    Of the four flags of a message, environments write none, the first, or all.
    """

    __slots__ = ("history", "n_flags", "timestamp", "turn")

    def __init__(self, timestamp: str, n_flags: int = 0) -> None:
        self.timestamp = timestamp
        self.n_flags = n_flags
        self.turn = 0
        self.history: list[Message] = []

    def add_message(
        self,
        agent: str,
        content: str,
        visible_to: str | list[str] = "all",
        msg_type: str = "text",
        *,
        step: int = 1,
        is_good_pgm: bool = False,
    ) -> None:
        """One message more."""
        message = Message(agent, content, self.turn, self.timestamp, visible_to, msg_type)
        if self.n_flags:
            message.is_pgm = msg_type == "pgm"
        if self.n_flags == 4:
            message.is_good_pgm = is_good_pgm
            message.is_clue = msg_type == "clue"
            message.is_good_clue = False
        self.history.append(message)
        self.turn += step

    def add_moderator_message(self, *contents: str, step: int = 1) -> None:
        """The moderator's words to all; several are said within one turn."""
        for content in contents[:-1]:
            self.add_message(MODERATOR, content, step=0)
        self.add_message(MODERATOR, contents[-1], step=step)


@lru_cache(maxsize=256)
def timestamp(seed: int, model: Model, competition: str) -> str:
    """The one instant of all games of a model in a competition: they come from one process."""
    dice = Dice(seed, "clock", model.name, competition)
    return str(1_690_000_000 + dice.between(0, 60_000_000)) + f"{dice.between(0, 999_999_999):09d}"


OUTAGE_MARK = "<<<<<<END_OF_CONVERSATION>>>>>>"


def outage_text(dice: Dice, agent: str) -> str:
    """What the environment logs in the place of an answer that never came."""
    digits = "0123456789abcdef"
    uuid = "-".join("".join(dice.pick(digits) for _ in range(n)) for n in (8, 4, 4, 4, 12))
    cause = dice.pick(PHRASES["outage_causes"])
    return (
        f"{OUTAGE_MARK}{uuid}Agent {agent} failed to generate a response. "
        f"Error: {cause}. Sending signal to end the conversation."
    )


# What games of rounds share: decisions sent to the moderator, and what a PGM player foresees.

NEXT_ROUND_TEXT = (
    "You can look around others' decisions and think your decision for next round. "
    "Now let us move to next round"
)

FORECAST_OPENING = ("In my opinion:",)

NO_NAME_RATE = 0.006
"""Games whose log lacks `test_player_name` at the top, as older ones do."""


def log_header(dice: Dice, tested: int, model: Model, topic: str, **rules: object) -> Document:
    """The first keys of a log: who is tested, and on what."""
    name = PLAYERS[tested - 1]
    document: Document = {} if dice.chance(NO_NAME_RATE) else {"test_player_name": name}
    document["game_setting"] = {
        "random": False,
        "topic": topic,
        "test_player_name": name,
        "test_player": {"model": model.name},
        "non-test_player": {"model": "gpt-4"},
        **rules,
    }
    return document


def log_decisions(log: Transcript, decisions: list[str]) -> None:
    """The three decisions of a round, seen by the moderator only."""
    for player, text in zip(PLAYERS, decisions, strict=True):
        log.add_message(player, text, MODERATOR)


def log_forecast(
    dice: Dice, log: Transcript, tested: int, moves: Sequence[str], opening: tuple[str, ...] = ()
) -> None:
    """A PGM player's private view of what the others will do, and think, in the round to come."""
    me = PLAYERS[tested - 1]
    one, other = (PLAYERS[seat - 1] for seat in other_seats(tested))
    lines = [*opening, f"As {me},"]
    lines += [f"I think {player} {dice.pick(moves)}" for player in (one, other)]
    lines.append("As for other players,")
    for player, third in ((one, other), (other, one)):
        lines.append(f"I think {player} thinks:")
        lines += [f"{who} {dice.pick(moves)}" for who in (me, third)]
    if more := random_aside(dice, 0.3, ROUND_ASIDES):
        lines.append(more)
    log.add_message(me, "\n".join(lines), me)
