"""One whole game, or two of them side by side."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import polars as pl
from msgspec import Struct

from pipeline.api import Lake
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES, OfSeat, polars_schema
from pipeline.metrics.catalogue import titles
from pipeline.pages.content import Address, Content
from pipeline.pages.roles import has_roles, may_say_role, without_roles
from pipeline.reports.said import EVERYBODY, by_message, title
from pipeline.reports.transcript import Transcript
from pipeline.vocabulary import Edition

T = TypeVar("T")

LANE = "quick"
LONG = 1200
"""A longer message is shown folded."""
_SAID_ELSEWHERE = ("text", "share_text")


class Parameters(Address, frozen=True, kw_only=True):
    game: str = ""
    beside: str = ""
    metric: str = ""
    edition: Edition = "paper"
    roles: bool = False


class Mark(Struct, frozen=True):
    """What a metric counted in a message."""

    metric: str
    title: str
    what: str
    hit: float | None
    player: str | None


class Event(Struct, frozen=True):
    """A row of an event table that was read from a message."""

    table: str
    player: str | None
    facts: tuple[tuple[str, object], ...]


class Message(Struct, frozen=True):
    """One message: by whom, to whom, what was read from it, and what was counted in it.

    `seen` says for each seat whether it was shown the message; `may_say_role` that it is a private
    one about roles, which are hidden; `previous` and `following` are the
    places of the counted messages before and after this one, if this is counted.
    """

    index: int
    player: str | None
    seat: int | None
    phase: str
    round: int | None
    content: str
    seen: tuple[bool, ...]
    may_say_role: bool
    parse_status: str
    events: tuple[Event, ...]
    marks: tuple[Mark, ...]
    previous: int | None
    following: int | None

    @property
    def is_long(self) -> bool:
        return len(self.content) > LONG


class OneGame(Struct, frozen=True):
    """One game as it is shown."""

    game: Mapping[str, Any]
    players: tuple[Mapping[str, Any], ...]
    messages: tuple[Message, ...]
    loose: tuple[Event, ...]
    first: int | None


class Game(Content, frozen=True, kw_only=True):
    """`rows` are the messages of the first game; `games` are one or two.

    `are_roles_hidden` says that the game has roles and that they are not shown, and so neither is
    what was counted in it.
    """

    games: tuple[OneGame, ...]
    counted: pl.DataFrame
    metrics: Mapping[str, str]
    are_roles_hidden: bool


def content(lake: Lake, asked: Parameters) -> Game:
    """The game, and the one beside it."""
    if not asked.game:
        raise UsageError("this page needs a game: choose one on the page of games")
    ids = [asked.game, *([asked.beside] if asked.beside else [])]
    whole = [lake.game(one, edition=asked.edition) for one in ids]
    hides = [has_roles(one.game) and not asked.roles for one in whole]
    found = [without_roles(one) if h else one for one, h in zip(whole, hides, strict=True)]
    shown = tuple(_one_game(one, asked, hides_roles=h) for one, h in zip(found, hides, strict=True))
    counted = pl.concat([one.counted for one in found])
    return Game(
        title=title(found[0].game).capitalize(),
        rows=found[0].tables["messages"],
        games=shown,
        counted=counted,
        metrics={name: titles()[name] for name in counted["metric"].unique(maintain_order=True)},
        are_roles_hidden=any(hides),
    )


def _one_game(found: Transcript, asked: Parameters, *, hides_roles: bool) -> OneGame:
    players = tuple(found.tables["players"].iter_rows(named=True))
    is_wanted = pl.lit(value=True) if not asked.metric else pl.col("metric") == asked.metric
    marks = _made(found.counted.filter(is_wanted), _mark)
    events = _events(found)
    counted = sorted(index for index in marks if index is not None)
    messages = tuple(
        _message(row, players, events, marks, counted, hides_roles=hides_roles)
        for row in found.tables["messages"].iter_rows(named=True)
    )
    return OneGame(
        found.game, players, messages, events.get(None, ()), counted[0] if counted else None
    )


def _message(
    row: Mapping[str, Any],
    players: tuple[Mapping[str, Any], ...],
    events: Mapping[int | None, tuple[Event, ...]],
    marks: Mapping[int | None, tuple[Mark, ...]],
    counted: list[int],
    *,
    hides_roles: bool,
) -> Message:
    index = row["message_index"]
    at = counted.index(index) if index in marks else None
    to_all = EVERYBODY in row["visible_to"]
    return Message(
        index=index,
        player=row["player"],
        seat=row["seat"],
        phase=row["phase"],
        round=row["round"],
        content=row["content"],
        seen=tuple(to_all or one["player"] in row["visible_to"] for one in players),
        may_say_role=hides_roles and may_say_role(row, is_to_all=to_all),
        parse_status=row["parse_status"],
        events=events.get(index, ()),
        marks=marks.get(index, ()),
        previous=counted[at - 1] if at else None,
        following=counted[at + 1] if at is not None and at + 1 < len(counted) else None,
    )


def _made(
    rows: pl.DataFrame, make: Callable[[Mapping[str, Any]], T]
) -> dict[int | None, tuple[T, ...]]:
    """What is made of each row, by the message that it was read from."""
    return {index: tuple(map(make, found)) for index, found in by_message(rows).items()}


def _mark(row: Mapping[str, Any]) -> Mark:
    return Mark(row["metric"], titles()[row["metric"]], row["what"], row["hit"], row["player"])


def _events(found: Transcript) -> dict[int | None, tuple[Event, ...]]:
    """The rows of all event tables by message."""
    events: dict[int | None, tuple[Event, ...]] = {}
    for name, rows in found.tables.items():
        if not issubclass(TABLES[name], OfSeat):
            continue
        own = [column for column in polars_schema(name) if column not in OfSeat.columns()]
        shown = [column for column in own if column not in _SAID_ELSEWHERE]

        def event(row: Mapping[str, Any], name: str = name, shown: list[str] = shown) -> Event:
            facts = tuple((one, row[one]) for one in shown if row[one] is not None)
            return Event(name, row["player"], facts)

        for index, made in _made(rows, event).items():
            events[index] = (*events.get(index, ()), *made)
    return events
