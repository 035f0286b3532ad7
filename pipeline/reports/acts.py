"""What players did, in a few words, and its order.

An act without a message has a place after another message. It is at the end of its round: after its
last message, or the last one of earlier rounds. If the kind of game has an `order`, messages of
later phases of the round come after it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate, groupby
from typing import Any

import polars as pl
from msgspec import Struct

from pipeline import column
from pipeline.cells import NULL, texts
from pipeline.events.contracts import OfSeat, polars_schema
from pipeline.games import kinds
from pipeline.metrics.known import metric

_SAID_ELSEWHERE = ("text", "share_text", "number")
# Whom an act is aimed at: after an arrow, and shown even if null, since a vote may name nobody.
_AIMED_AT = ("target", "candidate")
# Columns whose words are ranked apart in the order of a round.
_WORDS = ("kind", "cause")
# What a row is about, if not of its player: before all else.
_ABOUT = ("party",)
# Facts that are said without their name.
_PLAIN = ("kind", "choice")
# What several acts of one place can share, and is then said once.
_SHARED = ("kind", "cause", "round_total", "is_quest_failed", "is_last")
# What another act of the same messages says already.
_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "proposals": ("position",),
    "team_votes": ("attempt", "leader", "team", "is_approved"),
}
# A flag in words, if it is true and if it is false; nothing for what goes without saying.
_FLAGS: Mapping[str, tuple[str, str]] = {
    "is_correct": ("right", "wrong"),
    "is_correct_as_read": ("right as read", "wrong as read"),
    "is_valid": ("", "not valid"),
    "is_own_view_stated": ("", "own view not stated"),
    "is_least": ("the least", ""),
    "is_last": ("last proposal", ""),
    "is_final_round": ("final round", ""),
    "is_before_vote": ("before the vote", ""),
    "is_voted_on": ("", "without a vote"),
    "is_approved": ("approved", "rejected"),
    "approves": ("for the team", "against the team"),
    "is_fail": ("fail", "success"),
    "is_quest_failed": ("quest failed", "quest succeeded"),
}
Rows = list[dict[str, Any]]
Sources = Mapping[str, frozenset[object]]


class Act(Struct, frozen=True):
    """A row of an event table: who did what in which round."""

    table: str
    player: str | None
    round: int | None
    facts: tuple[tuple[str, object], ...]


def sources_of(names: Iterable[str]) -> Sources:
    """The tables whose rows each of these metrics counts, for a time when they may be unknown.

    Two lakes may have metrics of one name, and a transcript is shown when its lake is not asked.
    """
    return {name: frozenset(rows.table for rows in metric(name).rows) for name in names}


def uncounted(acts: Iterable[Act], counted: Rows, sources: Sources) -> list[Act]:
    """The acts of a message that no metric counted, and those whose text contradicts the log."""
    tables = {table for row in counted for table in sources[row["metric"]]}
    return [act for act in acts if act.table not in tables or _is_contradicted(act)]


def _is_contradicted(act: Act) -> bool:
    """Whether the text of the act says something else than the log registered."""
    return any(
        name.startswith("stated_") or name == "is_correct_as_read" for name, _ in _shown(act)
    )


def new_rounds(rounds: Iterable[int | None]) -> list[int | None]:
    """For each round in the order given: the round if it begins here, else None.

    In a game of one round no round begins, since a heading would say nothing.
    """
    numbers = [-1 if round_ is None else round_ for round_ in rounds]
    is_long = len({*numbers} - {-1}) > 1
    before = accumulate(numbers, max, initial=-1)
    return [
        number if is_long and number > highest else None
        for number, highest in zip(numbers, before, strict=False)
    ]


@cache
def _own_columns(table: str) -> tuple[str, ...]:
    names = (name for name in polars_schema(table) if name not in OfSeat.columns())
    return tuple(name for name in names if name not in _SAID_ELSEWHERE)


def act_of(table: str, row: Mapping[str, Any]) -> Act:
    names = _own_columns(table)
    facts = tuple((name, row[name]) for name in names if name in _AIMED_AT or row[name] is not None)
    return Act(table, row["player"], row["round"], facts)


class Course:
    """The order of acts and messages in one game."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        (game_type,) = tables["games"]["game_type"]
        known = kinds().get(game_type)
        self._order = known.order if known else ()
        self._messages = _with_rounds(tables["messages"]).rows()
        self._last = last_index(tables["messages"])

    def rank(self, table: str, facts: Iterable[tuple[str, object]]) -> int:
        """The position of an act in the order of its round, by its table and its facts."""
        word = next((value for name, value in facts if name in _WORDS), None)
        names = (name for name in (f"{table}.{word}", table) if name in self._order)
        return next(map(self._order.index, names), len(self._order))

    def place(self, round_: int | None, rank: int) -> int | None:
        """The index of the message after which an act of this rank is shown: the last up to the
        end of its round, without messages of later phases of it."""
        here, later = round_ or 0, self._order[rank + 1 :]
        places = (
            index
            for index, phase, of_round in self._messages
            if of_round < here or (of_round == here and phase not in later)
        )
        return max(places, default=None)

    def end(self, round_: int | None) -> int | None:
        """The last message up to the end of a round; without a round, the last of the game."""
        return self._last if round_ is None else self.place(round_, len(self._order))


def _with_rounds(messages: pl.DataFrame) -> pl.DataFrame:
    """The messages with their rounds; one between two messages of a round belongs to it."""
    before, after = pl.col("round").forward_fill(), pl.col("round").backward_fill()
    rounds = messages.select("message_index", "phase", round=pl.when(before == after).then(before))
    return rounds.drop_nulls("round")


def last_index(messages: pl.DataFrame) -> int | None:
    """The index of a game's last message, None for a game without messages."""
    return messages["message_index"][-1] if messages.height else None


def shared(acts: Sequence[Act]) -> tuple[tuple[str, object], ...]:
    """The facts that all of the acts share, to be written once; none for a single act."""
    if len(acts) < 2:
        return ()
    first, *others = acts
    return tuple(
        fact
        for fact in first.facts
        if fact[0] in _SHARED and all(fact in other.facts for other in others)
    )


def lines(acts: Iterable[Act], player: str | None) -> list[tuple[str, str]]:
    """The acts of a message as pairs of a table and a line of text."""
    pairs = []
    for (table, _), group in groupby(acts, key=lambda act: (act.table, act.player)):
        of_table = list(group)
        common = shared(of_table)
        each = "; ".join(line(act, common, player) for act in of_table)
        pairs.append((table, ", ".join(part for part in (each, words(common)) if part)))
    return pairs


def words(facts: Sequence[tuple[str, object]]) -> str:
    """The facts in words, separated by commas."""
    return ", ".join(word for name, value in facts if (word := _word(name, value)))


def line(act: Act, without: Sequence[tuple[str, object]] = (), player: str | None = None) -> str:
    """An act in one line: without the facts `without`, and without its name if it is `player`'s."""
    facts = {fact[0]: fact[1] for fact in _shown(act) if fact not in without}
    aims = [name for name in _AIMED_AT if name in facts]
    about = [_text(facts.pop(name)) for name in _ABOUT if name in facts]
    kind = column.words(str(facts.pop("kind", "")))
    # A vote that no game registered, and no text decides, is for somebody.
    nobody = "unknown" if act.table == "votes" and "is_valid" not in facts else "nobody"
    arrow = "".join(f"→ {_text(facts.pop(name) or nobody)}" for name in aims)
    who = "" if act.player == player else act.player or NULL
    head = " ".join(part for part in (who, kind, *about, arrow) if part)
    rest = words(list(facts.items()))
    return (", " if arrow else ": ").join(part for part in (head, rest) if part)


def _shown(act: Act) -> list[tuple[str, object]]:
    """The facts to be shown: no seat of a player who is named, and no fact twice."""
    facts = dict(act.facts)
    left_out = {*_ELSEWHERE.get(act.table, ())}
    left_out |= {f"{name}_seat" for name in facts}
    left_out |= {
        f"stated_{name}" for name, value in facts.items() if facts.get(f"stated_{name}") == value
    }
    if facts.get("is_correct_as_read") == facts.get("is_correct"):
        left_out.add("is_correct_as_read")
    return [(name, value) for name, value in act.facts if name not in left_out]


def _word(name: str, value: object) -> str:
    if isinstance(value, bool):
        plain = column.words(name.removeprefix("is_"))
        return _FLAGS.get(name, (plain, f"not {plain}"))[not value]
    if name == "cause":
        return f"by {_text(value)}"
    if name in _PLAIN:
        return column.words(_text(value))
    if name.startswith("stated_"):
        return f"the text says {_text(value)}"
    return f"{column.words(name)} {_text(value)}"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else texts([value])[0]
