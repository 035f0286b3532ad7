"""The parts of a transcript; the terminal, the page and the report all show these."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, groupby
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline import column
from pipeline.cells import NULL, printable, unbroken
from pipeline.events.contracts import TABLES, OfSeat
from pipeline.reports.acts import (
    Act,
    Course,
    Rows,
    Sources,
    act_of,
    last_index,
    line,
    lines,
    new_rounds,
    shared,
    uncounted,
    words,
)

EVERYBODY = "all"


def sign(hit: float | None) -> str:
    """A hit, a miss, or how much of a hit; `?` where that is unknown."""
    if hit is None:
        return "?"
    return {1.0: "✓", 0.0: "✗"}.get(hit) or f"{hit:.2g}"


def style(hit: float | None) -> str:
    """The style of a mark: any part of a hit is a hit."""
    return "none" if hit is None else "hit" if hit else "miss"


def result(hit: float | None) -> str:
    """The result of a counted row in words."""
    return "unknown" if hit is None else "of a hit" if 0 < hit < 1 else style(hit)


class Mark(Struct, frozen=True):
    """What a metric counted; `whose` says whose it was, where its place does not say so."""

    metric: str
    what: str | None
    hit: float | None
    player: str | None
    whose: str

    @property
    def words(self) -> str:
        return f"{self.metric}: {self.what}{self.whose}"

    @property
    def text(self) -> str:
        return f"{sign(self.hit)} {self.words}"

    @property
    def style(self) -> str:
        return style(self.hit)


def marks(rows: Iterable[Mapping[str, Any]], player: str | None) -> tuple[Mark, ...]:
    """The marks of counted rows, to be shown beside an act or a message of a player."""
    return tuple(
        Mark(row["metric"], row["what"], row["hit"], row["player"], _whose(row, player))
        for row in rows
    )


def _whose(row: Mapping[str, Any], player: str | None) -> str:
    """The player of a counted row; empty if the mark is shown beside this player."""
    if row["player"] is None:
        names = [column.words(row[name]) for name in ("role", "model") if row[name]]
        return f" ({', '.join(names)})" if names else ""
    is_of_message = row["player"] == player and row["round"] is not None
    return "" if is_of_message else f" ({row['player']})"


class Done(Struct, frozen=True):
    """An act in one line, and what was counted in it."""

    table: str
    line: str
    marks: tuple[Mark, ...] = ()


class Part(Struct, frozen=True):
    """A message, or acts without words, in its place.

    `message` is its row, None for acts without words; `place` is a name for the part in its game.
    `begins` is the round, if one begins here. `done` is what was done, in lines, without what the
    `marks` of a message say already.
    """

    place: str
    title: str
    aside: str
    round: int | None = None
    message: Mapping[str, Any] | None = None
    done: tuple[Done, ...] = ()
    marks: tuple[Mark, ...] = ()
    begins: int | None = None

    @property
    def is_counted(self) -> bool:
        """Whether anything was counted in it."""
        return bool(self.marks) or any(one.marks for one in self.done)

    @property
    def to(self) -> str:
        """Who was shown the message: all, or the players' names."""
        shown = self.message["visible_to"] if self.message else ()
        if EVERYBODY in shown:
            return EVERYBODY
        own = self.message["player"] if self.message else None
        return ", ".join("itself" if name == own else name for name in shown) or "nobody"

    @property
    def is_alone(self) -> bool:
        """Whether nobody else was shown the message, such as a thought or an analysis."""
        return self.message is not None and self.to in ("itself", "nobody")

    @property
    def heading(self) -> str:
        """The number of the message, who spoke and to whom; what the acts are."""
        if self.message is None:
            return self.title
        to = f" → {self.to}" if "visible_to" in self.message else ""
        return f"{self.message['message_index']}  {self.title}{to}"

    @property
    def content(self) -> Sequence[str]:
        """The lines of the message."""
        return str(self.message["content"]).rstrip().split("\n") if self.message else ()

    @property
    def items(self) -> Iterator[list[tuple[str, str]]]:
        """What was done and counted: lines of texts, each with its style."""
        for one in self.done:
            colon = " " if one.line.startswith("→") else ": "
            text = f"{column.words(one.table)}{colon}{one.line}" if self.message else one.line
            yield [(text, "act"), *((mark.text, mark.style) for mark in one.marks)]
        yield from ([(mark.text, mark.style)] for mark in self.marks)


def title(game: Mapping[str, Any]) -> str:
    """A game's type and outcome in words; the type alone where the outcome is left out."""
    kind = column.words(game["game_type"])
    if not game["is_finished"]:
        return f"{kind}: not finished"
    return kind if game["outcome"] is None else f"{kind}: {column.words(game['outcome'])}"


def seats(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The players with their roles. Columns such as points are left out if they are empty."""
    players = tables["players"].select(
        *("seat", "player", "model", "role", "is_tested"),
        pl.col("is_bot").replace({False: None}),
        *("final_score", "failure"),
    )
    out = tables["eliminations"].select("seat", out_in_round="round", out_by="cause")
    players = players.join(out, on="seat", how="left", maintain_order="left")
    more = ("is_bot", "out_in_round", "out_by", "final_score", "failure")
    return players.drop(name for name in more if players[name].is_null().all())


def parts(
    tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame, sources: Sources
) -> list[Part]:
    """All messages of a game, and what was done and counted, in their places."""
    acts: dict[int, list[Act]] = {}
    silent: list[Act] = []
    for table, rows in tables.items():
        if issubclass(TABLES[table], OfSeat):
            for row in rows.iter_rows(named=True):
                index = row["message_index"]
                (silent if index is None else acts.setdefault(index, [])).append(act_of(table, row))
    of_messages = counted.partition_by("message_index", as_dict=True, maintain_order=True)
    of_message = {index: rows.to_dicts() for (index,), rows in of_messages.items()}
    left = of_message.pop(None, [])
    groups = _groups(silent, left, tables, sources) if silent or left else {}
    last = last_index(tables["messages"])
    if last in groups and (rows_at_end := of_message.get(last)):
        # The result is known when everything is done, which is after the last message.
        of_message[last] = [row for row in rows_at_end if row["round"] is not None]
        if of_game := [row for row in rows_at_end if row["round"] is None]:
            _add(groups, last, None, None, counted=of_game)
    shown = [*groups.get(None, ())]
    for message in tables["messages"].iter_rows(named=True):
        index = message["message_index"]
        counted_in = of_message.get(index, [])
        shown.append(_message(message, acts.get(index, []), counted_in, sources))
        shown += groups.get(index, ())
    begun = new_rounds(part.round for part in shown)
    return [replace(part, begins=begins) for part, begins in zip(shown, begun, strict=True)]


def _groups(
    silent: list[Act], counted: Rows, tables: Mapping[str, pl.DataFrame], sources: Sources
) -> dict[int | None, list[Part]]:
    """The acts without a message, with the rows counted in them, by the message before them."""
    course = Course(tables)
    left: dict[tuple[object, object], Rows] = {}
    for row in counted:
        left.setdefault((row["player"], row["round"]), []).append(row)
    silent.sort(key=lambda act: (act.round or 0, course.rank(act.table, act.facts)))
    groups: dict[int | None, list[Part]] = {}
    place_of = cache(course.place)

    def key(act: Act) -> tuple[int | None, str, int | None]:
        place = place_of(act.round, course.rank(act.table, act.facts))
        return place, act.table, act.round

    for (index, table, round_), group in groupby(silent, key):
        acts = [(act, _take(left, act, sources)) for act in group]
        _add(groups, index, table, round_, acts=acts)
    rows = list(chain.from_iterable(left.values()))
    rows.sort(key=lambda row: (row["round"] is None, row["round"] or 0))
    for round_, of_round in groupby(rows, key=lambda row: row["round"]):
        _add(groups, course.end(round_), None, round_, counted=list(of_round))
    return groups


def _take(left: dict[tuple[object, object], Rows], act: Act, sources: Sources) -> Rows:
    """The rows that were counted in an act; they are taken out of those that are left."""
    rows = left.get((act.player, act.round), [])
    counted = [row for row in rows if act.table in sources[row["metric"]]]
    if counted:
        rows[:] = [row for row in rows if act.table not in sources[row["metric"]]]
    return counted


def _add(
    groups: dict[int | None, list[Part]],
    index: int | None,
    table: str | None,
    round_: int | None,
    *,
    acts: Sequence[tuple[Act, Rows]] = (),
    counted: Sequence[dict[str, Any]] = (),
) -> None:
    """Adds the acts of one table and round after a message, each with the rows counted in it.

    Without a table, they are `counted` rows without an act; without a round, of the whole game.
    """
    there = groups.setdefault(index, [])
    common = shared([act for act, _ in acts])
    there.append(
        Part(
            place=f"a{'' if index is None else index}-{len(there)}",
            title=_title(table, round_, common),
            aside=f"without words{_of_round(round_)}" if table else "",
            round=round_,
            done=tuple(
                Done(act.table, line(act, common), marks(rows, act.player)) for act, rows in acts
            ),
            marks=marks(counted, None),
        )
    )


def parts_seen(messages: pl.DataFrame) -> Iterator[Part]:
    """The messages that a player saw, without the names of the others who saw them."""
    for row in messages.iter_rows(named=True):
        yield Part(f"m{row['message_index']}", row["player"] or NULL, "", message=row)


def as_text(heading: str, shown: Sequence[Part]) -> str:
    """The parts as plain text under a heading."""
    texts = [heading]
    for part in shown:
        texts += [] if part.begins is None else ["", f"Round {part.begins}"]
        texts += ["", f"{unbroken(printable(part.heading))}  {part.aside}".rstrip()]
        items = [unbroken("  ".join(text for text, _ in item)) for item in part.items]
        texts += [f"    {printable(line)}".rstrip() for line in (*part.content, *items)]
    return "\n".join(texts) + "\n"


def _title(table: str | None, round_: int | None, common: Sequence[tuple[str, object]]) -> str:
    """The title of a group of acts: their table, and the facts that all of them share."""
    if table is None:
        return "the game as a whole" if round_ is None else "counted in no message"
    facts = words(common)
    return column.words(table) + (f": {facts}" if facts else "")


def _message(row: Mapping[str, Any], acts: Sequence[Act], counted: Rows, sources: Sources) -> Part:
    player = row["player"]
    return Part(
        place=f"m{row['message_index']}",
        title=player or NULL,
        aside=f"{row['phase']}{_of_round(row['round'])}",
        round=row["round"],
        message=row,
        done=tuple(Done(*one) for one in lines(uncounted(acts, counted, sources), player)),
        marks=marks(counted, player),
    )


def _of_round(round_: int | None) -> str:
    return "" if round_ is None else f", round {round_}"
