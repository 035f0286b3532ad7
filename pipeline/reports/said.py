"""A game in words: who spoke to whom, what was said and done, and what was counted in it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from pipeline.cells import NULL
from pipeline.printable import printable
from pipeline.reports.acts import Act, Group, Rows, new_rounds, places, uncounted
from pipeline.reports.wording import line, lines, shared, words

EVERYBODY = "all"
# What was counted in a message: the hit, and what it is for.
Marks = Sequence[tuple[float | None, str]]
# What was done, in a line each, with what was counted in it.
Acts = tuple[tuple[str, Marks], ...]


class Said(NamedTuple):
    """A message, or acts without words: heading, what is said beside it, and lines.

    `acts` are what was done in it, and `marks` what was counted besides. What has a heading alone
    begins a round.
    """

    head: str
    aside: str = ""
    lines: tuple[str, ...] = ()
    acts: Acts = ()
    marks: Marks = ()

    @property
    def is_counted(self) -> bool:
        """Whether anything was counted in it."""
        return bool(self.marks) or any(marks for _, marks in self.acts)


def title(game: Mapping[str, Any]) -> str:
    """A game's type and outcome in words; the type alone where the outcome is left out."""
    kind = str(game["game_type"]).replace("_", " ")
    if not game["is_finished"]:
        return f"{kind}: not finished"
    return kind if game["outcome"] is None else f"{kind}: {str(game['outcome']).replace('_', ' ')}"


def seats(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """The players with their roles. Who is a bot, is out, or has points is left out where nobody
    is or has."""
    players = tables["players"].select(
        *("seat", "player", "model", "role", "is_tested"),
        pl.col("is_bot").replace({False: None}),
        "final_score",
    )
    out = tables["eliminations"].select("seat", out_in_round="round", out_by="cause")
    players = players.join(out, on="seat", how="left", maintain_order="left")
    more = ("is_bot", "out_in_round", "out_by", "final_score")
    return players.drop(name for name in more if players[name].is_null().all())


def said(tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame) -> Iterator[Said]:
    """All messages of a game, with whom each was shown to, and what was done and counted in it.

    Acts without words stand in their places, and a heading where a round begins.
    """
    return (part for _, part in with_messages(tables, counted))


def with_messages(
    tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame
) -> Iterator[tuple[Mapping[str, Any] | None, Said]]:
    """The same, each with the row of its message, or None."""
    parts = list(_parts(tables, counted))
    for (round_, message, part), begins in zip(
        parts, new_rounds(round_ for round_, _, _ in parts), strict=True
    ):
        if begins is not None:
            yield None, Said(f"Round {round_}")
        yield message, part


def _parts(
    tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame
) -> Iterator[tuple[int | None, Mapping[str, Any] | None, Said]]:
    """Messages and acts without words, each with its round."""
    there = places(tables, counted)
    for group in there.silent.get(None, ()):
        yield group.round, None, _silent(group)
    for message in tables["messages"].iter_rows(named=True):
        index = message["message_index"]
        marks = there.counted.get(index, [])
        acts = uncounted(there.acts.get(index, ()), marks)
        yield message["round"], message, _message(message, acts, marks)
        for group in there.silent.get(index, ()):
            yield group.round, None, _silent(group)


def group_title(group: Group) -> str:
    """What the acts of a group are: their table, and what all of them share."""
    if group.table is None:
        return "the game as a whole" if group.round is None else "counted in no message"
    facts = words(shared([act for act, _ in group.acts]))
    return group.table.replace("_", " ") + (f": {facts}" if facts else "")


def _silent(group: Group) -> Said:
    common = shared([act for act, _ in group.acts])
    acts = tuple(
        (printable(line(act, common)), _marks(rows, act.player)) for act, rows in group.acts
    )
    aside = f"without words{_of_round(group.round)}" if group.table else ""
    return Said(printable(group_title(group)), aside, acts=acts, marks=_marks(group.counted, None))


def _message(message: Mapping[str, Any], acts: list[Act], counted: Rows) -> Said:
    phase = f"{message['phase']}{_of_round(message['round'])}"
    head, player = _head(message, f" → {_audience(message)}"), message["player"]
    done: Acts = tuple(
        (printable(f"{table.replace('_', ' ')}{_colon(text)}{text}"), ())
        for table, text in lines(acts, player)
    )
    return Said(head, phase, _lines(message), done, _marks(counted, player))


def _colon(text: str) -> str:
    return " " if text.startswith("→") else ": "


def said_to_one(messages: pl.DataFrame) -> Iterator[Said]:
    """Messages as a player saw them, who does not see whom else they were shown to."""
    for message in messages.iter_rows(named=True):
        yield Said(_head(message, ""), lines=_lines(message))


def sign(hit: float | None) -> str:
    """A hit, a miss, or how much of a hit; `?` where that is unknown."""
    if hit is None:
        return "?"
    return {1.0: "✓", 0.0: "✗"}.get(hit) or f"{hit:.2g}"


def whose(row: Mapping[str, Any], player: str | None) -> str:
    """Who did what was counted, where it stands beside another player, or beside none."""
    if row["player"] is None:
        names = [str(row[name]).replace("_", " ") for name in ("role", "model") if row[name]]
        return f" ({', '.join(names)})" if names else ""
    is_of_message = row["player"] == player and row["round"] is not None
    return "" if is_of_message else f" ({row['player']})"


def as_text(heading: str, parts: Iterator[Said]) -> str:
    """The messages as plain text under a heading."""
    texts = [heading]
    for part in parts:
        texts += ["", f"{part.head}  {part.aside}".rstrip()]
        acts = ["  ".join([act, *(mark for _, mark in marks)]) for act, marks in part.acts]
        lines = [*part.lines, *acts, *(mark for _, mark in part.marks)]
        texts += [f"    {line}".rstrip() for line in lines]
    return "\n".join(texts) + "\n"


def _head(message: Mapping[str, Any], to: str) -> str:
    return printable(f"{message['message_index']}  {message['player'] or NULL}{to}")


def _lines(message: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(printable(message["content"]).rstrip().split("\n"))


def _marks(counted: Rows, player: str | None) -> Marks:
    """What was counted: its hit, and the metric with what was done, and who did it."""
    return [
        (
            row["hit"],
            printable(f"{sign(row['hit'])} {row['metric']}: {row['what']}{whose(row, player)}"),
        )
        for row in counted
    ]


def _audience(message: Mapping[str, Any]) -> str:
    names = message["visible_to"]
    if EVERYBODY in names:
        return EVERYBODY
    return ", ".join("itself" if name == message["player"] else name for name in names) or "nobody"


def _of_round(round_: int | None) -> str:
    return "" if round_ is None else f", round {round_}"
