"""What all simulated games share: settings, random numbers, models, sentences and transcripts.

A setting contains the fixed conditions of a game: words, amounts and payoffs, and who is hidden or
tested. It depends only on the seed, the game and its index, so all models play the same settings,
and games of different models pair by index. Both competitions of a hidden-role game share settings.

Used by `pipeline.simulate.hidden_roles`, `pipeline.simulate.point_games` and `pipeline.simulate`.
"""

import random
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType

# Random numbers that depend only on words, not on the clock, the process or the Python version.
#
# Only `Random.random()` is used: Python guarantees its sequence for a seed, but not the results of
# `choice` and `shuffle`.

T = TypeVar("T")


def pick_by_roll(roll: float, values_by_bound: Mapping[float, T]) -> T:
    """Return the first value whose upper bound is above a random number.

    Args:
        roll: A random number between 0 and 1.
        values_by_bound: The values by upper bound, in increasing order.

    Returns:
        The value.
    """
    return next(value for bound, value in values_by_bound.items() if roll < bound)


class Dice:
    """A source of random numbers; its words distinguish it from all other sources."""

    __slots__ = ("random",)

    def __init__(self, *words: str | int) -> None:
        """Create a source of random numbers.

        Args:
            words: The seed; equal words give equal sequences.
        """
        self.random = random.Random("|".join(map(str, words))).random

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items; all are equally likely."""
        return items[int(self.random() * len(items))]

    def between(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def shuffle_copy(self, items: Sequence[T]) -> list[T]:
        """Return the items in a random order; all orders are equally likely."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            swapped = int(self.random() * (last + 1))
            order[last], order[swapped] = order[swapped], order[last]
        return order


# The players: simulated models with different, known skills, and fixed opponents.
#
# A skill is a set of probabilities. Each is the expected rate of the event that it names, over many
# games. `truth.json` contains them, so estimates from logs can be compared with the true values.

MODEL_NAMES = (
    "atlas", "birch", "cedar", "delta", "ember", "fjord", "garnet", "hazel", "indigo", "juniper",
    "kestrel", "larch", "meadow", "nimbus", "onyx", "pepper", "quartz", "rowan", "sorrel", "tundra",
)  # fmt: skip

SEATS = (1, 2, 3)
PLAYERS = ("Player 1", "Player 2", "Player 3")
SEATS_AND_PLAYERS = tuple(zip(SEATS, PLAYERS, strict=True))


class Skill(NamedTuple):
    """The probabilities that determine how a player plays; higher values are better.

    In Prisoner's Dilemma, a higher value means a more selfish player.
    """

    judgement: float
    """Probability that a civilian's vote names the hidden player."""
    self_awareness: float
    """Probability that an answer about the player's own name and role is correct."""
    reasoning_gold: float
    """Probability that an analysis of the other players' roles is correct."""
    reasoning_inter: float
    """Probability that an analysis of the other players' thoughts is correct."""
    concealment: float
    """Probability that an opponent's vote does not name it as the hidden player."""
    guessing: float
    """Probability that it guesses the secret word after it was caught as the chameleon."""
    secrecy: float
    """Probability that a chameleon that it caught guesses a wrong word."""
    cooperation: float
    """Probability that a negotiation without an outage ends in an agreement."""
    coordination: float
    """Probability that an agreed proposal is its own."""
    defection: float
    """Probability that a decision in Prisoner's Dilemma is registered as defect."""
    free_riding: float
    """Probability that a contribution is the smallest of its round, ties included."""


WEAKEST = Skill(0.30, 0.70, 0.30, 0.30, 0.20, 0.20, 0.25, 0.35, 0.15, 0.15, 0.25)
STRONGEST = Skill(0.92, 0.98, 0.80, 0.75, 0.85, 0.85, 0.90, 0.95, 0.75, 0.90, 0.90)

OPPONENT = Skill(0.55, 0.95, 0.55, 0.50, 0.50, 0.50, 0.50, 0.70, 0.33, 0.50, 0.40)


class Model(NamedTuple):
    """A simulated model.

    Attributes:
        name: The name, such as `sim-atlas`.
        skill: The probabilities that determine how it plays.
        is_pgm: Whether it plays with the benchmark's probabilistic graphical model.
    """

    name: str
    skill: Skill
    is_pgm: bool


def draw_models(seed: int, n_models: int) -> tuple[Model, ...]:
    """Draw the models of a run, from the weakest to the strongest.

    Each probability is drawn from the model's own part of the range, so no model is equal to or
    better than a later one in any skill. The second of every three models is a PGM model.

    Args:
        seed: The seed of the run.
        n_models: The number of models.

    Returns:
        The models, in order of their skill.
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
        is_pgm, (repetition, name_index) = rank % 3 == 1, divmod(rank, len(MODEL_NAMES))
        name = (
            f"sim-{MODEL_NAMES[name_index]}"
            + (f"-{repetition + 1}" if repetition else "")
            + "-pgm" * is_pgm
        )
        models.append(Model(name, skill, is_pgm))
    return tuple(models)


def other_seats(seat: int) -> tuple[int, int]:
    """Return the two other seats, in the order of seats.

    Args:
        seat: A seat, from 1 to 3.

    Returns:
        The other seats.
    """
    return ((2, 3), (1, 3), (1, 2))[seat - 1]


# The sentences of the players, with typing errors. All were written for this project.
#
# Their length and frequency follow the benchmark's logs: most answers have the requested form, and
# some continue with asides.

Clues = list[str]

_TEXTS = tomllib.loads(files(__package__ or "").joinpath("words.toml").read_text(encoding="utf-8"))

TOPICS: dict[str, dict[str, Clues]] = _TEXTS["topics"]
VAGUE_CLUES: Clues = _TEXTS["vague"]["clues"]
WORD_PAIRS: list[dict[str, Clues]] = _TEXTS["pairs"]
PHRASES: dict[str, list[str]] = _TEXTS["said"]
"""Equally likely phrases by purpose."""
PHRASES_BY_ROLL: dict[str, dict[float, str]] = {
    name: dict(forms) for name, forms in _TEXTS["rolls"].items()
}
"""Phrases by purpose and upper bound of the random number, for `pick_by_roll`."""

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
    """Return the sentences that state a verdict with one of its reasons.

    About a tenth lacks the reason, and three tenths lack the full stop.
    """
    claim = f"{player} is {verdict}"
    with_reasons = [f"{claim}, because {reason}" for reason in REASONS[verdict]]
    n_claims = round(len(with_reasons) / 3)
    return (*[claim] * n_claims, *with_reasons, *[f"{text}." for text in with_reasons * 2])


VERDICT_SENTENCES = {
    (seat, verdict): _verdict_sentences(player, verdict)
    for seat, player in SEATS_AND_PLAYERS
    for verdict in VERDICTS
}
"""Equally likely sentences by seat and verdict."""


def _sentence_runs(sentences: list[str]) -> tuple[str, ...]:
    """Return all runs of one to three consecutive sentences."""
    return tuple(
        " ".join((sentences * 2)[start : start + length])
        for start in range(len(sentences))
        for length in (1, 2, 3)
    )


ASIDES = _sentence_runs(PHRASES["caution"])
ROUND_ASIDES = _sentence_runs(PHRASES["foresight"])


def random_aside(dice: Dice, probability: float, asides: tuple[str, ...] = ASIDES) -> str:
    """Return an aside with the given probability, else an empty string.

    Args:
        dice: The random numbers.
        probability: The probability of an aside.
        asides: The asides to pick from; each has one to three sentences.

    Returns:
        The aside or an empty string.
    """
    roll = dice.random()
    return asides[int(roll / probability * len(asides))] if roll < probability else ""


def add_aside(dice: Dice, text: str, probability: float) -> str:
    """Append an aside to a text with the given probability.

    Args:
        dice: The random numbers.
        text: The text.
        probability: The probability of an aside.

    Returns:
        The text, with or without an aside.
    """
    aside = random_aside(dice, probability)
    return f"{text} {aside}" if aside else text


def add_end_mark(dice: Dice, text: str) -> str:
    """Append the end mark `<eos>` to a text in a few cases, as if a model had left it in.

    Args:
        dice: The random numbers.
        text: The text.

    Returns:
        The text, with or without the mark.
    """
    return text + END_MARK if dice.random() < 0.006 else text


Shares = tuple[float, float, float]

cache_setting = lru_cache(maxsize=1 << 12)
"""Cache settings, because all models play the same ones."""


class ChameleonSetting(NamedTuple):
    """The setting of a game of Chameleon.

    Attributes:
        topic: The topic that all players know.
        word: The secret word.
        hidden: The seat that does not know the word.
        clues: The clue that a fixed opponent gives in each seat.
    """

    topic: str
    word: str
    hidden: int
    clues: tuple[str, ...]


class UndercoverSetting(NamedTuple):
    """The setting of a game of Undercover.

    Attributes:
        hidden_word: The word of the hidden player.
        civilian_word: The word of the other players.
        hidden: The seat of the hidden player.
        clues: The first hint that a fixed opponent gives in each seat.
    """

    hidden_word: str
    civilian_word: str
    hidden: int
    clues: tuple[str, ...]

    def word(self, seat: int) -> str:
        """Return the word of the player in a seat."""
        return self.hidden_word if seat == self.hidden else self.civilian_word


class CostSharingSetting(NamedTuple):
    """The setting of a game of Cost Sharing.

    Attributes:
        tested: The tested seat.
        topic: The text with the fee and the airlines.
        proposals: The shares that a fixed opponent proposes first in each seat.
    """

    tested: int
    topic: str
    proposals: tuple[Shares, ...]


class PrisonersDilemmaSetting(NamedTuple):
    """The setting of a game of Prisoner's Dilemma.

    Attributes:
        tested: The tested seat.
        cooperate: The points of each player if all cooperate.
        defect: The points of each player if all defect.
        one_defect: The points of the only player who defects.
        two_defect: The points of each of two players who defect.
    """

    tested: int
    cooperate: int
    defect: int
    one_defect: int
    two_defect: int

    @property
    def points(self) -> dict[str, int]:
        """The points by name, as in a log."""
        return {name: value for name, value in self._asdict().items() if name != "tested"}


class PublicGoodSetting(NamedTuple):
    """The setting of a game of Public Good.

    Attributes:
        tested: The tested seat.
        n_rounds: The number of rounds.
        multiplier: The factor by which the pool grows.
    """

    tested: int
    n_rounds: int
    multiplier: float


@cache_setting
def chameleon_setting(seed: int, index: int) -> ChameleonSetting:
    """Return the setting of a game of Chameleon.

    No combination of word and hidden seat repeats before all have been used.

    Args:
        seed: The seed of the run.
        index: The index of the game.

    Returns:
        The setting.
    """
    deck = _chameleon_deck(seed)
    topic, word, hidden = deck[index % len(deck)]
    dice = Dice(seed, "chameleon", index)
    clues = dice.shuffle_copy(TOPICS[topic][word])[:3]
    clues[hidden - 1] = dice.pick(VAGUE_CLUES)
    return ChameleonSetting(topic, word, hidden, tuple(clues))


@lru_cache(maxsize=4)
def _chameleon_deck(seed: int) -> list[tuple[str, str, int]]:
    """Return all combinations of topic, word and hidden seat, in random order."""
    return Dice(seed, "secrets").shuffle_copy(
        [(topic, word, seat) for topic, clues in TOPICS.items() for word in clues for seat in SEATS]
    )


@cache_setting
def undercover_setting(seed: int, index: int) -> UndercoverSetting:
    """Return the setting of a game of Undercover.

    Each word of a pair can be the hidden player's.

    Args:
        seed: The seed of the run.
        index: The index of the game.

    Returns:
        The setting.
    """
    deck = _undercover_deck(seed)
    hidden_word, civilian_word, hidden = deck[index % len(deck)]
    dice = Dice(seed, "undercover", index)
    clues = dice.shuffle_copy(HINTS[civilian_word])[:3]
    clues[hidden - 1] = dice.pick(HINTS[hidden_word])
    return UndercoverSetting(hidden_word, civilian_word, hidden, tuple(clues))


HINTS = {word: hints for pair in WORD_PAIRS for word, hints in pair.items()}


@lru_cache(maxsize=4)
def _undercover_deck(seed: int) -> list[tuple[str, str, int]]:
    """Return all combinations of hidden word, civilian word and hidden seat, in random order."""
    ordered_pairs = [
        words for first, second in WORD_PAIRS for words in ((first, second), (second, first))
    ]
    return Dice(seed, "pairs").shuffle_copy(
        [(*words, seat) for words in ordered_pairs for seat in SEATS]
    )


@cache_setting
def cost_sharing_setting(seed: int, index: int) -> CostSharingSetting:
    """Return the setting of a game of Cost Sharing, with three airlines of random size.

    Args:
        seed: The seed of the run.
        index: The index of the game.

    Returns:
        The setting.
    """
    dice = Dice(seed, "airportfee", index)
    fee = dice.between(8, 24) * 100_000
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
    return CostSharingSetting(
        index % 3 + 1,
        f"Fixed Airport Fee: ${fee:,}\n\nAirline Usage Frequency Data: \n\n" + "".join(airlines),
        tuple(random_shares(dice) for _ in SEATS),
    )


def random_shares(dice: Dice) -> Shares:
    """Return a random division of 100 per cent into three shares.

    Args:
        dice: The random numbers.

    Returns:
        Three multiples of five.
    """
    first = dice.between(2, 9)
    second = dice.between(2, 9)
    return float(5 * first), float(5 * second), float(100 - 5 * (first + second))


@cache_setting
def prisoners_dilemma_setting(seed: int, index: int) -> PrisonersDilemmaSetting:
    """Return the setting of a game of Prisoner's Dilemma, rarely with a very high temptation.

    Args:
        seed: The seed of the run.
        index: The index of the game.

    Returns:
        The setting.
    """
    dice = Dice(seed, "prisoner", index)
    cooperate = dice.between(3, 7)
    defect = dice.between(1, 2)
    one_defect = 150 if dice.chance(0.04) else cooperate + dice.between(1, 7)
    return PrisonersDilemmaSetting(index % 3 + 1, cooperate, defect, one_defect, dice.between(2, 5))


ROUNDS = (3, 4, 5, 5, 5, 5, 5, 6, 6, 6, 7)
MULTIPLIERS: tuple[float, ...] = (1.25, 1.5, 1.6, 1.8, 2, 2.2, 2.4, 2.75, 3, 3, 3.6, 4)


@cache_setting
def public_good_setting(seed: int, index: int) -> PublicGoodSetting:
    """Return the setting of a game of Public Good.

    Every seventh game repeats the length and growth of the game three before it.

    Args:
        seed: The seed of the run.
        index: The index of the game.

    Returns:
        The setting.
    """
    dice = Dice(seed, "public_good", index - 3 if index % 7 == 6 else index)
    return PublicGoodSetting(index % 3 + 1, dice.pick(ROUNDS), dice.pick(MULTIPLIERS))


# The transcript of a game, as the benchmark's environments write it.

Document: TypeAlias = dict[str, object]

MODERATOR = "Moderator"


class Message(Struct, gc=False):
    """An entry of `history`, with the fields in the order of the log."""

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
    """The growing `history` of a log, as the benchmark's environments write it.

    Attributes:
        history: The messages.
        n_flags: How many of its four flags a message has: 0, 1 or 4, depending on the environment.
        timestamp: The timestamp of all messages.
        turn: The turn number of the next message.
    """

    __slots__ = ("history", "n_flags", "timestamp", "turn")

    def __init__(self, timestamp: str, n_flags: int = 0) -> None:
        """Create an empty transcript; see the attributes for the arguments."""
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
        """Append a message, and advance the turn number by `step`.

        Args:
            agent: The name of the speaker.
            content: The text.
            visible_to: The names of the players who see the message, or `all`.
            msg_type: The type of the message in the log.
            step: The number of turns to advance; 0 if the next message belongs to the same turn.
            is_good_pgm: The value of the flag of this name.
        """
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
        """Append messages of the moderator to all players, within one turn.

        Args:
            contents: The texts.
            step: The number of turns to advance after the last message.
        """
        for content in contents[:-1]:
            self.add_message(MODERATOR, content, step=0)
        self.add_message(MODERATOR, contents[-1], step=step)


@lru_cache(maxsize=256)
def timestamp(seed: int, model: Model, competition: str) -> str:
    """Return the timestamp of all games of a model in a competition, which share a process.

    Args:
        seed: The seed of the run.
        model: The model.
        competition: The name of the competition.

    Returns:
        Nanoseconds since 1970, as a string.
    """
    dice = Dice(seed, "clock", model.name, competition)
    return str(1_690_000_000 + dice.between(0, 60_000_000)) + f"{dice.between(0, 999_999_999):09d}"


OUTAGE_MARK = "<<<<<<END_OF_CONVERSATION>>>>>>"


def outage_text(dice: Dice, agent: str) -> str:
    """Return the text that the environment logs instead of an answer after an API error.

    Args:
        dice: The random numbers.
        agent: The name of the player.

    Returns:
        The text, which begins with `OUTAGE_MARK`.
    """
    digits = "0123456789abcdef"
    uuid = "-".join(
        "".join(dice.pick(digits) for _ in range(length)) for length in (8, 4, 4, 4, 12)
    )
    cause = dice.pick(PHRASES["outage_causes"])
    return (
        f"{OUTAGE_MARK}{uuid}Agent {agent} failed to generate a response. "
        f"Error: {cause}. Sending signal to end the conversation."
    )


# Shared by games with rounds: decisions sent to the moderator, and forecasts of PGM players.

NEXT_ROUND_TEXT = (
    "You can look around others' decisions and think your decision for next round. "
    "Now let us move to next round"
)

FORECAST_OPENING = ("In my opinion:",)

NO_NAME_RATE = 0.006
"""The rate of logs without `test_player_name` at the top level, as in older logs."""


def log_header(dice: Dice, tested: int, model: Model, topic: str, **rules: object) -> Document:
    """Return the first keys of the log of a game with rounds.

    Args:
        dice: The random numbers.
        tested: The tested seat.
        model: The tested model.
        topic: The topic of the game.
        rules: Further keys of `game_setting`.

    Returns:
        `test_player_name`, which a few logs lack, and `game_setting`.
    """
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
    """Append the decisions of a round, visible to the moderator only.

    Args:
        log: The transcript.
        decisions: The texts of the three players.
    """
    for player, text in zip(PLAYERS, decisions, strict=True):
        log.add_message(player, text, MODERATOR)


def log_forecast(
    dice: Dice,
    log: Transcript,
    tested: int,
    predictions: Sequence[str],
    opening: tuple[str, ...] = (),
) -> None:
    """Append a PGM player's private forecast of the other players' moves and thoughts.

    Args:
        dice: The random numbers.
        log: The transcript.
        tested: The tested seat.
        predictions: The phrases to predict a move with.
        opening: Lines before the forecast.
    """
    speaker = PLAYERS[tested - 1]
    first, second = (PLAYERS[seat - 1] for seat in other_seats(tested))
    lines = [*opening, f"As {speaker},"]
    lines += [f"I think {player} {dice.pick(predictions)}" for player in (first, second)]
    lines.append("As for other players,")
    for player, rival in ((first, second), (second, first)):
        lines.append(f"I think {player} thinks:")
        lines += [f"{subject} {dice.pick(predictions)}" for subject in (speaker, rival)]
    if aside := random_aside(dice, 0.3, ROUND_ASIDES):
        lines.append(aside)
    log.add_message(speaker, "\n".join(lines), speaker)
