"""One whole game, or two of them side by side."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl
from msgspec import Struct

from pipeline.api import Lake
from pipeline.errors import UsageError
from pipeline.metrics.catalogue import titles
from pipeline.pages.content import Address, Content
from pipeline.pages.roles import has_roles, may_say_role, without_roles
from pipeline.reports.acts import Act, Rows, by_message, silent_acts, silent_counts, spoken_acts
from pipeline.reports.said import EVERYBODY, title
from pipeline.reports.transcript import Transcript
from pipeline.vocabulary import Edition

LANE = "quick"
LONG = 1200
"""A longer message is shown folded."""


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


class Message(Struct, frozen=True):
    """One message: by whom, to whom, what was read from it, and what was counted in it.

    `silent` are the acts without words that stand after it, and `silent_marks` what was counted in
    those.

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
    events: tuple[Act, ...]
    marks: tuple[Mark, ...]
    silent: tuple[Act, ...]
    silent_marks: tuple[Mark, ...]
    previous: int | None
    following: int | None

    @property
    def is_long(self) -> bool:
        return len(self.content) > LONG


class OneGame(Struct, frozen=True):
    """One game as it is shown; `before` are the acts without words before the first message."""

    game: Mapping[str, Any]
    players: tuple[Mapping[str, Any], ...]
    messages: tuple[Message, ...]
    before: tuple[Act, ...]
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
    counted = found.counted.filter(is_wanted)
    places = _Places(
        acts=spoken_acts(found.tables),
        silent=silent_acts(found.tables),
        rows=by_message(counted),
        silent_rows=silent_counts(counted, found.messages),
    )
    messages = tuple(
        _message(row, players, places, hides_roles=hides_roles)
        for row in found.messages.iter_rows(named=True)
    )
    before = tuple(places.silent.get(None, ()))
    return OneGame(found.game, players, messages, before, next(iter(places.counted), None))


class _Places(NamedTuple):
    """What stands at each message: acts and counted rows, those of it and those after it."""

    acts: Mapping[int, list[Act]]
    silent: Mapping[int | None, list[Act]]
    rows: Mapping[int | None, Rows]
    silent_rows: Mapping[int | None, Rows]

    @property
    def counted(self) -> list[int]:
        """The messages at which something was counted, in order."""
        places = {*self.rows, *self.silent_rows}
        return sorted(index for index in places if index is not None)


def _message(
    row: Mapping[str, Any],
    players: tuple[Mapping[str, Any], ...],
    places: _Places,
    *,
    hides_roles: bool,
) -> Message:
    index = row["message_index"]
    counted = places.counted
    at = counted.index(index) if index in counted else None
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
        events=tuple(places.acts.get(index, ())),
        marks=_marks(places.rows.get(index, [])),
        silent=tuple(places.silent.get(index, ())),
        silent_marks=_marks(places.silent_rows.get(index, [])),
        previous=counted[at - 1] if at else None,
        following=counted[at + 1] if at is not None and at + 1 < len(counted) else None,
    )


def _marks(rows: Rows) -> tuple[Mark, ...]:
    return tuple(
        Mark(row["metric"], titles()[row["metric"]], row["what"], row["hit"], row["player"])
        for row in rows
    )
