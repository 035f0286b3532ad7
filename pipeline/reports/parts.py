"""The parts of a transcript; the terminal, the page and the report all show these."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline import column
from pipeline.cells import NULL, printable, unbroken
from pipeline.reports.acts import Group, Places, Sources, new_rounds, places, uncounted
from pipeline.reports.wording import line, lines, shared, words

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
            text = f"{column.words(one.table)}{_colon(one.line)}" if self.message else one.line
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
        "final_score",
    )
    out = tables["eliminations"].select("seat", out_in_round="round", out_by="cause")
    players = players.join(out, on="seat", how="left", maintain_order="left")
    more = ("is_bot", "out_in_round", "out_by", "final_score")
    return players.drop(name for name in more if players[name].is_null().all())


def parts(
    tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame, sources: Sources
) -> list[Part]:
    """All messages of a game, and what was done and counted, in their places."""
    there = places(tables, counted, sources)
    shown = list(_silent(there, None))
    for message in tables["messages"].iter_rows(named=True):
        shown.append(_message(message, there))
        shown += _silent(there, message["message_index"])
    begun = new_rounds(part.round for part in shown)
    return [replace(part, begins=begins) for part, begins in zip(shown, begun, strict=True)]


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


def _silent(there: Places, index: int | None) -> Iterator[Part]:
    for number, group in enumerate(there.silent.get(index, ())):
        common = shared([act for act, _ in group.acts])
        done = tuple(
            Done(act.table, line(act, common), marks(rows, act.player)) for act, rows in group.acts
        )
        yield Part(
            place=f"a{'' if index is None else index}-{number}",
            title=_title(group, common),
            aside=f"without words{_of_round(group.round)}" if group.table else "",
            round=group.round,
            done=done,
            marks=marks(group.counted, None),
        )


def _title(group: Group, common: Sequence[tuple[str, object]]) -> str:
    """The title of a group of acts: their table, and the facts that all of them share."""
    if group.table is None:
        return "the game as a whole" if group.round is None else "counted in no message"
    facts = words(common)
    return column.words(group.table) + (f": {facts}" if facts else "")


def _message(row: Mapping[str, Any], there: Places) -> Part:
    index, player = row["message_index"], row["player"]
    acts, counted = there.acts.get(index, []), there.counted.get(index, [])
    return Part(
        place=f"m{index}",
        title=player or NULL,
        aside=f"{row['phase']}{_of_round(row['round'])}",
        round=row["round"],
        message=row,
        done=tuple(Done(*one) for one in lines(uncounted(acts, counted, there.sources), player)),
        marks=marks(counted, player),
    )


def _colon(text: str) -> str:
    return f" {text}" if text.startswith("→") else f": {text}"


def _of_round(round_: int | None) -> str:
    return "" if round_ is None else f", round {round_}"
