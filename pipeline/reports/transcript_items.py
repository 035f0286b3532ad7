"""The parts of a transcript; the terminal, the page and the report all show these."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain, groupby
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline import column
from pipeline.events.contracts import TABLES, SeatActionRow, table_schema
from pipeline.games import game_definitions
from pipeline.metrics.registry import metric_spec
from pipeline.text_format import NULL_TEXT, escape_unprintable, format_values, replace_line_breaks

# What players did, in a few words, and its order.
#
# An act without a message has a place after another message. It is at the end of its round: after
# its last message, or the last one of earlier rounds. If the kind of game has an `order`, messages
# of later phases of the round come after it.

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
    return {name: frozenset(rows.table for rows in metric_spec(name).rows) for name in names}


def uncounted(acts: Iterable[Act], counted: Rows, sources: Sources) -> list[Act]:
    """The acts of a message that no metric counted, and those whose text contradicts the log."""
    tables = {table for row in counted for table in sources[row["metric"]]}
    # Where these are shown, the text says something else than the log registered.
    contradicts = ("stated_", "is_correct_as_read")
    return [
        act
        for act in acts
        if act.table not in tables or any(name.startswith(contradicts) for name, _ in _shown(act))
    ]


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
    names = (name for name in table_schema(table) if name not in SeatActionRow.columns())
    return tuple(name for name in names if name not in _SAID_ELSEWHERE)


def act_of(table: str, row: Mapping[str, Any]) -> Act:
    names = _own_columns(table)
    facts = tuple((name, row[name]) for name in names if name in _AIMED_AT or row[name] is not None)
    return Act(table, row["player"], row["round"], facts)


class Course:
    """The order of acts and messages in one game."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        (game_type,) = tables["games"]["game_type"]
        known = game_definitions().get(game_type)
        self._order = known.order if known else ()
        # A message between two of a round belongs to it.
        before, after = pl.col("round").forward_fill(), pl.col("round").backward_fill()
        round_ = pl.when(before == after).then(before)
        messages = tables["messages"].select("message_index", "phase", round=round_)
        self._messages = messages.drop_nulls("round").rows()
        self._last = last_index(tables["messages"])

    def action_rank(self, table: str, facts: Iterable[tuple[str, object]]) -> int:
        """The position of an act in the order of its round, by its table and its facts."""
        word = next((value for name, value in facts if name in _WORDS), None)
        names = (name for name in (f"{table}.{word}", table) if name in self._order)
        return next(map(self._order.index, names), len(self._order))

    def message_before(self, round_: int | None, rank: int) -> int | None:
        """The index of the message after which an act of this rank is shown: the last up to the
        end of its round, without messages of later phases of it."""
        here, later = round_ or 0, self._order[rank + 1 :]
        places = (
            index
            for index, phase, of_round in self._messages
            if of_round < here or (of_round == here and phase not in later)
        )
        return max(places, default=None)

    def last_message_of_round(self, round_: int | None) -> int | None:
        """The last message up to the end of a round; without a round, the last of the game."""
        return self._last if round_ is None else self.message_before(round_, len(self._order))


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
    kind = column.display_name(str(facts.pop("kind", "")))
    # A vote that no game registered, and no text decides, is for somebody.
    nobody = "unknown" if act.table == "votes" and "is_valid" not in facts else "nobody"
    arrow = "".join(f"→ {_text(facts.pop(name) or nobody)}" for name in aims)
    who = "" if act.player == player else act.player or NULL_TEXT
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
        plain = column.display_name(name.removeprefix("is_"))
        return _FLAGS.get(name, (plain, f"not {plain}"))[not value]
    if name == "cause":
        return f"by {_text(value)}"
    if name in _PLAIN:
        return column.display_name(_text(value))
    if name.startswith("stated_"):
        return f"the text says {_text(value)}"
    return f"{column.display_name(name)} {_text(value)}"


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else format_values([value])[0]


EVERYBODY = "all"


def hit_sign(hit: float | None) -> str:
    """A hit, a miss, or how much of a hit; `?` where that is unknown."""
    if hit is None:
        return "?"
    return {1.0: "✓", 0.0: "✗"}.get(hit) or f"{hit:.2g}"


def hit_style(hit: float | None) -> str:
    """The style of a mark: any part of a hit is a hit."""
    return "none" if hit is None else "hit" if hit else "miss"


def describe_hit(hit: float | None) -> str:
    """The result of a counted row in words."""
    return "unknown" if hit is None else "of a hit" if 0 < hit < 1 else hit_style(hit)


class Mark(Struct, frozen=True):
    """What a metric counted; `whose` says whose it was, where its place does not say so."""

    metric: str
    what: str | None
    hit: float | None
    player: str | None
    whose: str

    @property
    def display_text(self) -> str:
        return f"{self.metric}: {self.what}{self.whose}"

    @property
    def text(self) -> str:
        return f"{hit_sign(self.hit)} {self.display_text}"

    @property
    def style(self) -> str:
        return hit_style(self.hit)


def marks(rows: Iterable[Mapping[str, Any]], player: str | None) -> tuple[Mark, ...]:
    """The marks of counted rows, to be shown beside an act or a message of a player."""
    return tuple(
        Mark(row["metric"], row["what"], row["hit"], row["player"], _whose(row, player))
        for row in rows
    )


def _whose(row: Mapping[str, Any], player: str | None) -> str:
    """The player of a counted row; empty if the mark is shown beside this player."""
    if row["player"] is None:
        names = [column.display_name(row[name]) for name in ("role", "model") if row[name]]
        return f" ({', '.join(names)})" if names else ""
    is_of_message = row["player"] == player and row["round"] is not None
    return "" if is_of_message else f" ({row['player']})"


class Done(Struct, frozen=True):
    """An act in one line, and what was counted in it."""

    table: str
    line: str
    marks: tuple[Mark, ...] = ()


class TranscriptItem(Struct, frozen=True):
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
            text = (
                f"{column.display_name(one.table)}{colon}{one.line}" if self.message else one.line
            )
            yield [(text, "act"), *((mark.text, mark.style) for mark in one.marks)]
        yield from ([(mark.text, mark.style)] for mark in self.marks)


def game_title(game: Mapping[str, Any]) -> str:
    """A game's type and outcome in words; the type alone where the outcome is left out."""
    kind = column.display_name(game["game_type"])
    if not game["is_finished"]:
        return f"{kind}: not finished"
    return kind if game["outcome"] is None else f"{kind}: {column.display_name(game['outcome'])}"


def player_table(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
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


def transcript_items(
    tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame, sources: Sources
) -> list[TranscriptItem]:
    """All messages of a game, and what was done and counted, in their places."""
    acts: dict[int, list[Act]] = {}
    silent: list[Act] = []
    for table, rows in tables.items():
        if issubclass(TABLES[table], SeatActionRow):
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
        index, player = message["message_index"], message["player"]
        counted_in = of_message.get(index, [])
        left_acts = uncounted(acts.get(index, []), counted_in, sources)
        shown.append(
            TranscriptItem(
                place=f"m{index}",
                title=player or NULL_TEXT,
                aside=f"{message['phase']}{_of_round(message['round'])}",
                round=message["round"],
                message=message,
                done=tuple(Done(*one) for one in lines(left_acts, player)),
                marks=marks(counted_in, player),
            )
        )
        shown += groups.get(index, ())
    begun = new_rounds(part.round for part in shown)
    return [replace(part, begins=begins) for part, begins in zip(shown, begun, strict=True)]


def _groups(
    silent: list[Act], counted: Rows, tables: Mapping[str, pl.DataFrame], sources: Sources
) -> dict[int | None, list[TranscriptItem]]:
    """The acts without a message, with the rows counted in them, by the message before them."""
    course = Course(tables)
    left: dict[tuple[object, object], Rows] = {}
    for row in counted:
        left.setdefault((row["player"], row["round"]), []).append(row)
    silent.sort(key=lambda act: (act.round or 0, course.action_rank(act.table, act.facts)))
    groups: dict[int | None, list[TranscriptItem]] = {}
    place_of = cache(course.message_before)

    def key(act: Act) -> tuple[int | None, str, int | None]:
        place = place_of(act.round, course.action_rank(act.table, act.facts))
        return place, act.table, act.round

    for (index, table, round_), group in groupby(silent, key):
        acts = [(act, _take(left, act, sources)) for act in group]
        _add(groups, index, table, round_, acts=acts)
    rows = list(chain.from_iterable(left.values()))
    rows.sort(key=lambda row: (row["round"] is None, row["round"] or 0))
    for round_, of_round in groupby(rows, key=lambda row: row["round"]):
        _add(groups, course.last_message_of_round(round_), None, round_, counted=list(of_round))
    return groups


def _take(left: dict[tuple[object, object], Rows], act: Act, sources: Sources) -> Rows:
    """The rows that were counted in an act; they are taken out of those that are left."""
    rows = left.get((act.player, act.round), [])
    counted = [row for row in rows if act.table in sources[row["metric"]]]
    if counted:
        rows[:] = [row for row in rows if act.table not in sources[row["metric"]]]
    return counted


def _add(
    groups: dict[int | None, list[TranscriptItem]],
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
        TranscriptItem(
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


def items_seen_by_player(messages: pl.DataFrame) -> Iterator[TranscriptItem]:
    """The messages that a player saw, without the names of the others who saw them."""
    for row in messages.iter_rows(named=True):
        yield TranscriptItem(
            f"m{row['message_index']}", row["player"] or NULL_TEXT, "", message=row
        )


def as_text(heading: str, shown: Sequence[TranscriptItem]) -> str:
    """The parts as plain text under a heading."""
    texts = [heading]
    for part in shown:
        texts += [] if part.begins is None else ["", f"Round {part.begins}"]
        texts += [
            "",
            f"{replace_line_breaks(escape_unprintable(part.heading))}  {part.aside}".rstrip(),
        ]
        items = [replace_line_breaks("  ".join(text for text, _ in item)) for item in part.items]
        texts += [f"    {escape_unprintable(line)}".rstrip() for line in (*part.content, *items)]
    return "\n".join(texts) + "\n"


def _title(table: str | None, round_: int | None, common: Sequence[tuple[str, object]]) -> str:
    """The title of a group of acts: their table, and the facts that all of them share."""
    if table is None:
        return "the game as a whole" if round_ is None else "counted in no message"
    facts = words(common)
    return column.display_name(table) + (f": {facts}" if facts else "")


def _of_round(round_: int | None) -> str:
    return "" if round_ is None else f", round {round_}"
