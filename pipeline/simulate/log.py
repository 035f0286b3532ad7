"""The growing log of one game, message by message, as the benchmark's environments write it."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from pipeline.simulate.dice import Dice
from pipeline.simulate.players import Model
from pipeline.simulate.sentences import SAID

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


class Deal(NamedTuple):
    """What a game is played from: chance, the tested model, the setting's place, the instant."""

    dice: Dice
    model: Model
    seed: int
    place: int
    instant: str


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

    def say(
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

    def moderate(self, *contents: str, step: int = 1) -> None:
        """The moderator's words to all; several are said within one turn."""
        for content in contents[:-1]:
            self.say(MODERATOR, content, step=0)
        self.say(MODERATOR, contents[-1], step=step)

    def analyses(self, texts: Iterable[tuple[str, str]], msg_type: str) -> None:
        """What each agent answers to a question that the benchmark asks for its metrics."""
        for agent, text in texts:
            self.say(agent, text, msg_type=msg_type)


@lru_cache(maxsize=256)
def timestamp(seed: int, model: Model, competition: str) -> str:
    """The one instant of all games of a model in a competition: they come from one process."""
    dice = Dice(seed, "clock", model.name, competition)
    return str(1_690_000_000 + dice.between(0, 60_000_000)) + f"{dice.between(0, 999_999_999):09d}"


OUTAGE = "<<<<<<END_OF_CONVERSATION>>>>>>"


def outage(dice: Dice, agent: str) -> str:
    """What the environment logs in the place of an answer that never came."""
    digits = "0123456789abcdef"
    uuid = "-".join("".join(dice.pick(digits) for _ in range(n)) for n in (8, 4, 4, 4, 12))
    cause = dice.pick(SAID["outage_causes"])
    return (
        f"{OUTAGE}{uuid}Agent {agent} failed to generate a response. "
        f"Error: {cause}. Sending signal to end the conversation."
    )
