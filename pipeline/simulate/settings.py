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
    """Return the first value whose bound is above a random number.

    Args:
        roll: A random number between 0 and 1.
        values_by_bound: The values by their upper bounds, in increasing order.

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
            words: Together the seed: equal words give equal sequences.
        """
        self.random = random.Random("|".join(map(str, words))).random

    def chance(self, probability: float) -> bool:
        """Return True with this probability, otherwise False."""
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Return a random item; all items are equally likely."""
        return items[int(self.random() * len(items))]

    def between(self, low: int, high: int) -> int:
        """Return a random integer from `low` to `high`; both can be returned."""
        return low + int(self.random() * (high - low + 1))

    def shuffled_copy(self, items: Sequence[T]) -> list[T]:
        """Return the items in a random order; all orders are equally likely."""
        order = list(items)
        for last_index in range(len(order) - 1, 0, -1):
            picked_index = int(self.random() * (last_index + 1))
            order[last_index], order[picked_index] = order[picked_index], order[last_index]
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
    """Draw the simulated models of a run, from the weakest to the strongest.

    Every model is better in all skills than the models before it. Every third model, starting with
    the second, plays with the benchmark's probabilistic graphical model (PGM).

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
    """Return the two seats other than a seat, in increasing order.

    Args:
        seat: A seat, from 1 to 3.

    Returns:
        The two seats.
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


def _equally_likely_verdict_sentences(player: str, verdict: str) -> tuple[str, ...]:
    """Return sentences that state how suspicious a player is; most of them give a reason.

    About a tenth of them have no reason, and three tenths have no full stop.
    """
    claim = f"{player} is {verdict}"
    with_reasons = [f"{claim}, because {reason}" for reason in REASONS[verdict]]
    n_claims = round(len(with_reasons) / 3)
    return (*[claim] * n_claims, *with_reasons, *[f"{text}." for text in with_reasons * 2])


VERDICT_SENTENCES = {
    (seat, verdict): _equally_likely_verdict_sentences(player, verdict)
    for seat, player in SEATS_AND_PLAYERS
    for verdict in VERDICTS
}
"""Equally likely sentences by seat and verdict."""


def _runs_of_one_to_three_sentences(sentences: list[str]) -> tuple[str, ...]:
    """Return all texts of one to three consecutive sentences, joined by spaces."""
    return tuple(
        " ".join((sentences * 2)[start : start + length])
        for start in range(len(sentences))
        for length in (1, 2, 3)
    )


ASIDES = _runs_of_one_to_three_sentences(PHRASES["caution"])
ROUND_ASIDES = _runs_of_one_to_three_sentences(PHRASES["foresight"])


def random_aside(dice: Dice, probability: float, asides: tuple[str, ...] = ASIDES) -> str:
    """Return a random aside with this probability, otherwise an empty string.

    Args:
        dice: The random numbers.
        probability: The probability of an aside.
        asides: The asides to pick from; each has one to three sentences.

    Returns:
        The aside or an empty string.
    """
    roll = dice.random()
    return asides[int(roll / probability * len(asides))] if roll < probability else ""


def add_aside_by_chance(dice: Dice, text: str, probability: float) -> str:
    """Return a text, with a random aside after it with this probability.

    Args:
        dice: The random numbers.
        text: The text.
        probability: The probability of an aside.

    Returns:
        The text, with or without an aside.
    """
    aside = random_aside(dice, probability)
    return f"{text} {aside}" if aside else text


def add_end_mark_by_chance(dice: Dice, text: str) -> str:
    """Return a text, rarely with `<eos>` after it, as if a model had left in its end mark.

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
    """The fixed conditions of a game of Chameleon.

    Attributes:
        topic: The topic that all players know.
        word: The secret word.
        hidden_seat: The seat that does not know the word.
        clues: The clue that a fixed opponent gives in each seat.
    """

    topic: str
    word: str
    hidden_seat: int
    clues: tuple[str, ...]


class UndercoverSetting(NamedTuple):
    """The fixed conditions of a game of Undercover.

    Attributes:
        hidden_word: The word of the hidden player.
        civilian_word: The word of the other players.
        hidden_seat: The seat of the hidden player.
        clues: The first hint that a fixed opponent gives in each seat.
    """

    hidden_word: str
    civilian_word: str
    hidden_seat: int
    clues: tuple[str, ...]

    def word_of_player(self, seat: int) -> str:
        """Return the secret word of the player in a seat."""
        return self.hidden_word if seat == self.hidden_seat else self.civilian_word


class CostSharingSetting(NamedTuple):
    """The fixed conditions of a game of Cost Sharing.

    Attributes:
        tested_seat: The tested seat.
        topic: The text with the fee and the airlines.
        proposals: The shares that a fixed opponent proposes first in each seat.
    """

    tested_seat: int
    topic: str
    proposals: tuple[Shares, ...]


class PrisonersDilemmaSetting(NamedTuple):
    """The fixed conditions of a game of Prisoner's Dilemma.

    Attributes:
        tested_seat: The tested seat.
        cooperate: The points of each player if all cooperate.
        defect: The points of each player if all defect.
        one_defect: The points of the only player who defects.
        two_defect: The points of each of two players who defect.
    """

    tested_seat: int
    cooperate: int
    defect: int
    one_defect: int
    two_defect: int

    @property
    def points_by_name(self) -> dict[str, int]:
        """The points by their names in a log."""
        return {name: value for name, value in self._asdict().items() if name != "tested_seat"}


class PublicGoodSetting(NamedTuple):
    """The fixed conditions of a game of Public Good.

    Attributes:
        tested_seat: The tested seat.
        n_rounds: The number of rounds.
        multiplier: The factor by which the pool grows.
    """

    tested_seat: int
    n_rounds: int
    multiplier: float


@cache_setting
def chameleon_setting(seed: int, game_index: int) -> ChameleonSetting:
    """Return the topic, the secret word, the hidden seat and the clues of a game of Chameleon.

    No combination of word and hidden seat repeats before all have been used.

    Args:
        seed: The seed of the run.
        game_index: The index of the game.

    Returns:
        The setting.
    """
    combinations = _shuffled_chameleon_combinations(seed)
    topic, word, hidden_seat = combinations[game_index % len(combinations)]
    dice = Dice(seed, "chameleon", game_index)
    clues = dice.shuffled_copy(TOPICS[topic][word])[:3]
    clues[hidden_seat - 1] = dice.pick(VAGUE_CLUES)
    return ChameleonSetting(topic, word, hidden_seat, tuple(clues))


@lru_cache(maxsize=4)
def _shuffled_chameleon_combinations(seed: int) -> list[tuple[str, str, int]]:
    """Return all combinations of topic, secret word and hidden seat, in random order."""
    return Dice(seed, "secrets").shuffled_copy(
        [(topic, word, seat) for topic, clues in TOPICS.items() for word in clues for seat in SEATS]
    )


@cache_setting
def undercover_setting(seed: int, game_index: int) -> UndercoverSetting:
    """Return the two words, the hidden seat and the first hints of a game of Undercover.

    Each word of a pair can be the word of the hidden player.

    Args:
        seed: The seed of the run.
        game_index: The index of the game.

    Returns:
        The setting.
    """
    combinations = _shuffled_undercover_combinations(seed)
    hidden_word, civilian_word, hidden_seat = combinations[game_index % len(combinations)]
    dice = Dice(seed, "undercover", game_index)
    clues = dice.shuffled_copy(HINTS[civilian_word])[:3]
    clues[hidden_seat - 1] = dice.pick(HINTS[hidden_word])
    return UndercoverSetting(hidden_word, civilian_word, hidden_seat, tuple(clues))


HINTS = {word: hints for pair in WORD_PAIRS for word, hints in pair.items()}


@lru_cache(maxsize=4)
def _shuffled_undercover_combinations(seed: int) -> list[tuple[str, str, int]]:
    """Return all combinations of hidden word, civilian word and hidden seat, in random order."""
    ordered_pairs = [
        words for first, second in WORD_PAIRS for words in ((first, second), (second, first))
    ]
    return Dice(seed, "pairs").shuffled_copy(
        [(*words, seat) for words in ordered_pairs for seat in SEATS]
    )


@cache_setting
def cost_sharing_setting(seed: int, game_index: int) -> CostSharingSetting:
    """Return the fee, the airlines and the first proposals of a game of Cost Sharing.

    Args:
        seed: The seed of the run.
        game_index: The index of the game.

    Returns:
        The setting.
    """
    dice = Dice(seed, "airportfee", game_index)
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
        game_index % 3 + 1,
        f"Fixed Airport Fee: ${fee:,}\n\nAirline Usage Frequency Data: \n\n" + "".join(airlines),
        tuple(random_shares(dice) for _ in SEATS),
    )


def random_shares(dice: Dice) -> Shares:
    """Return a random division of 100 per cent into three shares, in steps of five.

    Args:
        dice: The random numbers.

    Returns:
        The shares.
    """
    first, second = 5 * dice.between(2, 9), 5 * dice.between(2, 9)
    return float(first), float(second), float(100 - first - second)


@cache_setting
def prisoners_dilemma_setting(seed: int, game_index: int) -> PrisonersDilemmaSetting:
    """Return the tested seat and the payoffs of a game of Prisoner's Dilemma.

    A few games have a very high payoff for the only player who defects.

    Args:
        seed: The seed of the run.
        game_index: The index of the game.

    Returns:
        The setting.
    """
    dice = Dice(seed, "prisoner", game_index)
    cooperate = dice.between(3, 7)
    defect = dice.between(1, 2)
    one_defect = 150 if dice.chance(0.04) else cooperate + dice.between(1, 7)
    return PrisonersDilemmaSetting(
        game_index % 3 + 1, cooperate, defect, one_defect, dice.between(2, 5)
    )


ROUNDS = (3, 4, 5, 5, 5, 5, 5, 6, 6, 6, 7)
MULTIPLIERS: tuple[float, ...] = (1.25, 1.5, 1.6, 1.8, 2, 2.2, 2.4, 2.75, 3, 3, 3.6, 4)


@cache_setting
def public_good_setting(seed: int, game_index: int) -> PublicGoodSetting:
    """Return the tested seat, the number of rounds and the multiplier of a game of Public Good.

    Every seventh game has the rounds and the multiplier of the game three before it.

    Args:
        seed: The seed of the run.
        game_index: The index of the game.

    Returns:
        The setting.
    """
    dice = Dice(seed, "public_good", game_index - 3 if game_index % 7 == 6 else game_index)
    return PublicGoodSetting(game_index % 3 + 1, dice.pick(ROUNDS), dice.pick(MULTIPLIERS))


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
        """Append a message to the transcript, and add `step` to the turn number.

        Args:
            agent: The name of the speaker.
            content: The text.
            visible_to: The names of the players who see the message, or `all`.
            msg_type: The type of the message in the log.
            step: The number of turns to add; 0 if the next message belongs to the same turn.
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
        """Append messages of the moderator to everyone, with the same turn number.

        Args:
            contents: The texts.
            step: The number of turns to add after the last message.
        """
        for content in contents[:-1]:
            self.add_message(MODERATOR, content, step=0)
        self.add_message(MODERATOR, contents[-1], step=step)


@lru_cache(maxsize=256)
def random_timestamp(seed: int, model: Model, competition_name: str) -> str:
    """Return a random timestamp for all games of a model in a competition.

    The games share a timestamp because the benchmark plays them in the same process.

    Args:
        seed: The seed of the run.
        model: The model.
        competition_name: The name of the competition.

    Returns:
        Nanoseconds since 1970, as a string.
    """
    dice = Dice(seed, "clock", model.name, competition_name)
    return str(1_690_000_000 + dice.between(0, 60_000_000)) + f"{dice.between(0, 999_999_999):09d}"


OUTAGE_MARK = "<<<<<<END_OF_CONVERSATION>>>>>>"


def api_failure_text(dice: Dice, player: str) -> str:
    """Return the text that the benchmark logs instead of an answer if the API of a model fails.

    Args:
        dice: The random numbers.
        player: The name of the player.

    Returns:
        The text, which begins with `OUTAGE_MARK`.
    """
    uuid = "-".join(
        "".join(dice.pick("0123456789abcdef") for _ in range(length)) for length in (8, 4, 4, 4, 12)
    )
    cause = dice.pick(PHRASES["outage_causes"])
    return (
        f"{OUTAGE_MARK}{uuid}Agent {player} failed to generate a response. "
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


def log_header(dice: Dice, tested_seat: int, model: Model, topic: str, **rules: object) -> Document:
    """Return the tested player's name and the game settings, with which some logs begin.

    Args:
        dice: The random numbers.
        tested_seat: The tested seat.
        model: The tested model.
        topic: The topic of the game.
        rules: Further keys of `game_setting`.

    Returns:
        `test_player_name`, which a few logs lack, and `game_setting`.
    """
    name = PLAYERS[tested_seat - 1]
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


def log_decisions_to_moderator(log: Transcript, decisions: list[str]) -> None:
    """Append the three players' decisions of a round, which only the moderator sees.

    Args:
        log: The transcript.
        decisions: The texts of the three players.
    """
    for player, text in zip(PLAYERS, decisions, strict=True):
        log.add_message(player, text, MODERATOR)


def log_private_forecast(
    dice: Dice,
    log: Transcript,
    tested_seat: int,
    predictions: Sequence[str],
    opening: tuple[str, ...] = (),
) -> None:
    """Append a private message in which a player predicts the moves of all other players.

    It also predicts what they think. Only players with a probabilistic graphical model write it.

    Args:
        dice: The random numbers.
        log: The transcript.
        tested_seat: The tested seat.
        predictions: The phrases to predict a move with.
        opening: Lines before the forecast.
    """
    speaker = PLAYERS[tested_seat - 1]
    first, second = (PLAYERS[seat - 1] for seat in other_seats(tested_seat))
    lines = [*opening, f"As {speaker},"]
    lines += [f"I think {player} {dice.pick(predictions)}" for player in (first, second)]
    lines.append("As for other players,")
    for player, rival in ((first, second), (second, first)):
        lines.append(f"I think {player} thinks:")
        lines += [f"{subject} {dice.pick(predictions)}" for subject in (speaker, rival)]
    if aside := random_aside(dice, 0.3, ROUND_ASIDES):
        lines.append(aside)
    log.add_message(speaker, "\n".join(lines), speaker)
