"""One whole game, or two of them side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.errors import UsageError
from pipeline.metrics.known import titles
from pipeline.pages.content import Address, Content
from pipeline.pages.roles import has_roles, may_say_role, without_roles
from pipeline.reports.acts import Act, Places, Rows, new_rounds, places
from pipeline.reports.said import EVERYBODY, group_title, title, whose
from pipeline.reports.transcript import Transcript
from pipeline.reports.wording import line, lines, shared
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
    """What a metric counted in a message or an act; `whose` says whose it was, if that is not
    clear from its place."""

    metric: str
    title: str
    what: str
    hit: float | None
    player: str | None
    whose: str


class Done(Struct, frozen=True):
    """An act without words: its row, the same in a line, and what was counted in it."""

    act: Act
    line: str
    marks: tuple[Mark, ...]


class Silent(Struct, frozen=True):
    """Acts without words of one table and round, and what was counted in no act of them.

    `begins` is the round if it begins here. `place` is the anchor of what was counted; `previous`
    and `following` are those before and after it.
    """

    title: str
    round: int | None
    acts: tuple[Done, ...]
    marks: tuple[Mark, ...]
    place: str
    begins: int | None = None
    previous: str | None = None
    following: str | None = None

    @property
    def is_counted(self) -> bool:
        return bool(self.marks) or any(done.marks for done in self.acts)


class Message(Struct, frozen=True):
    """One message: by whom, to whom, what was read from it, and what was counted in it.

    `events` are the rows that were read from it, and `done` the same in lines, by table. `silent`
    are the acts without words that stand after it.

    `seen` says for each seat whether it was shown the message; `may_say_role` that it is a private
    one about roles, which are hidden. `begins`, `place`, `previous` and `following` are as in
    `Silent`.
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
    done: tuple[tuple[str, str], ...]
    marks: tuple[Mark, ...]
    silent: tuple[Silent, ...]
    place: str
    begins: int | None = None
    previous: str | None = None
    following: str | None = None

    @property
    def is_long(self) -> bool:
        return len(self.content) > LONG

    @property
    def is_counted(self) -> bool:
        return bool(self.marks)


class OneGame(Struct, frozen=True):
    """One game as it is shown; `before` are the acts without words before the first message.

    A player's `out` says when it left the game, and why.
    """

    game: Mapping[str, Any]
    players: tuple[Mapping[str, Any], ...]
    messages: tuple[Message, ...]
    before: tuple[Silent, ...]
    first: str | None


class GameContent(Content, frozen=True, kw_only=True):
    """`rows` are the messages of the first game; `games` are one or two.

    `are_roles_hidden` says that the game has roles and that they are not shown, and so neither is
    what was counted in it.
    """

    games: tuple[OneGame, ...]
    counted: pl.DataFrame
    metrics: Mapping[str, str]
    are_roles_hidden: bool


def content(lake: AnsweringLake, asked: Parameters) -> GameContent:
    """The game, and the one beside it."""
    if not asked.game:
        raise UsageError("this page needs a game: choose one on the page of games")
    ids = [asked.game, *([asked.beside] if asked.beside else [])]
    whole = [lake.game(one, edition=asked.edition) for one in ids]
    hides = [has_roles(one.game) and not asked.roles for one in whole]
    found = [without_roles(one) if h else one for one, h in zip(whole, hides, strict=True)]
    shown = tuple(_one_game(one, asked, hides_roles=h) for one, h in zip(found, hides, strict=True))
    counted = pl.concat([one.counted for one in found])
    return GameContent(
        title=title(found[0].game).capitalize(),
        rows=found[0].tables["messages"],
        games=shown,
        counted=counted,
        metrics={name: titles()[name] for name in counted["metric"].unique(maintain_order=True)},
        are_roles_hidden=any(hides),
    )


def _one_game(found: Transcript, asked: Parameters, *, hides_roles: bool) -> OneGame:
    players = tuple(_players(found))
    is_wanted = pl.lit(value=True) if not asked.metric else pl.col("metric") == asked.metric
    there = places(found.tables, found.counted.filter(is_wanted))
    parts: list[Silent | Message] = list(_silent(there, None))
    for row in found.messages.iter_rows(named=True):
        parts.append(_message(row, players, there, hides_roles=hides_roles))
        parts += _silent(there, row["message_index"])
    counted = [part.place for part in parts if part.is_counted]
    before, messages = _nested(_along(parts, counted))
    return OneGame(found.game, players, messages, before, next(iter(counted), None))


def _players(found: Transcript) -> Iterator[Mapping[str, Any]]:
    left = found.tables["eliminations"].select("seat", "round", "cause").iter_rows()
    out = {
        seat: f"round {round_}" + (f", by {cause}" if cause else "") for seat, round_, cause in left
    }
    for row in found.players.iter_rows(named=True):
        yield {**row, "out": out.get(row["seat"])}


def _along(parts: Sequence[Silent | Message], counted: Sequence[str]) -> Iterator[Silent | Message]:
    """The parts with the round that begins at each, and the counted ones before and after it."""
    after = dict(pairwise(counted))
    before = {following: previous for previous, following in after.items()}
    for part, begins in zip(parts, new_rounds(part.round for part in parts), strict=True):
        previous, following = before.get(part.place), after.get(part.place)
        yield replace(part, begins=begins, previous=previous, following=following)


def _nested(
    parts: Iterable[Silent | Message],
) -> tuple[tuple[Silent, ...], tuple[Message, ...]]:
    """The acts before all messages, and the messages with those after each."""
    before: list[Silent] = []
    messages: list[tuple[Message, list[Silent]]] = []
    for part in parts:
        if isinstance(part, Message):
            messages.append((part, []))
        else:
            (messages[-1][1] if messages else before).append(part)
    return tuple(before), tuple(replace(one, silent=tuple(after)) for one, after in messages)


def _silent(there: Places, index: int | None) -> Iterator[Silent]:
    for number, group in enumerate(there.silent.get(index, ())):
        common = shared([act for act, _ in group.acts])
        acts = tuple(
            Done(act, line(act, common), _marks(rows, act.player)) for act, rows in group.acts
        )
        place = f"a{'' if index is None else index}-{number}"
        yield Silent(group_title(group), group.round, acts, _marks(group.counted, None), place)


def _message(
    row: Mapping[str, Any],
    players: tuple[Mapping[str, Any], ...],
    there: Places,
    *,
    hides_roles: bool,
) -> Message:
    index = row["message_index"]
    events = there.acts.get(index, ())
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
        events=tuple(events),
        done=tuple(lines(events, row["player"])),
        marks=_marks(there.counted.get(index, []), row["player"]),
        silent=(),
        place=f"m{index}",
    )


def _marks(rows: Rows, player: str | None) -> tuple[Mark, ...]:
    return tuple(
        Mark(
            metric=row["metric"],
            title=titles()[row["metric"]],
            what=row["what"],
            hit=row["hit"],
            player=row["player"],
            whose=whose(row, player),
        )
        for row in rows
    )
