"""The items of a transcript: messages and actions, each with the rows that metrics counted.

Used by the terminal, the pages and the report to display a game; depends on the event tables and on
the specs of the metrics, which name the tables that they count.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, chain, groupby
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline import column, games
from pipeline.events.contracts import TABLES, SeatActionRow, table_schema
from pipeline.metrics.registry import metric_spec
from pipeline.text_format import (
    NULL_TEXT,
    escape_unprintable,
    format_values,
    line_breaks_to_symbols,
)

# Short descriptions of actions, and their order.
#
# An action without a message is placed at the end of its round: after the last message of the round
# or of an earlier round. If the game definition has an `order`, messages of later phases of the
# round come after the action.

_MESSAGE_TEXT_COLUMNS = ("text", "share_text", "number")
# The target of an action: displayed after an arrow, even if it is null, because a vote can be for
# nobody.
_TARGET_COLUMNS = ("target", "candidate")
# Columns whose values have a position of their own in the order of a round.
_RANKED_COLUMNS = ("kind", "cause")
# The subject of a row if it is not its player; it comes first.
_SUBJECT_COLUMNS = ("party",)
# Columns whose values are displayed without the name of the column.
_UNLABELED_COLUMNS = ("kind", "choice")
# Columns whose values are displayed only once if several actions in one place share them.
_SHAREABLE_COLUMNS = ("kind", "cause", "round_total", "is_quest_failed", "is_last")
# Columns that are not displayed, because another action of the same message has them.
_REDUNDANT_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "proposals": ("position",),
    "team_votes": ("attempt", "leader", "team", "is_approved"),
}
# The text of a flag if it is true and if it is false; empty for the expected value.
_FLAG_LABELS: Mapping[str, tuple[str, str]] = {
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
SourceTables = Mapping[str, frozenset[object]]


class Action(Struct, frozen=True):
    """A row of an event table: what a player did in a round.

    Attributes:
        table: The name of the event table.
        player: The player; None for an action of nobody.
        round: The number of the round; None if it is unknown.
        facts: Names and values of the other columns.
    """

    table: str
    player: str | None
    round: int | None
    facts: tuple[tuple[str, object], ...]


def source_tables_by_metric(metrics: Iterable[str]) -> SourceTables:
    """Return for each metric the names of the event tables whose rows it counts.

    The result is stored with a transcript, because two lakes can have metrics of the same name, and
    a transcript is displayed without its lake.

    Args:
        metrics: The names of the metrics.

    Returns:
        The table names by metric.
    """
    return {
        metric: frozenset(rows.table for rows in metric_spec(metric).rows) for metric in metrics
    }


def uncounted_or_contradicted_actions(
    actions: Iterable[Action], counted_rows: Rows, source_tables: SourceTables
) -> list[Action]:
    """Return the actions that no metric counted, or whose text contradicts the log."""
    counted_tables = {table for row in counted_rows for table in source_tables[row["metric"]]}
    # If such a fact is visible, the text states something different from the log.
    contradiction_prefixes = ("stated_", "is_correct_as_read")
    return [
        action
        for action in actions
        if action.table not in counted_tables
        or any(name.startswith(contradiction_prefixes) for name, _ in _facts_to_display(action))
    ]


def rounds_started_by_items(rounds: Iterable[int | None]) -> list[int | None]:
    """Return for each item the number of the round if it is the first item of a round, else None.

    Args:
        rounds: The number of the round of each item, in order.

    Returns:
        One entry for each item. All entries are None in a game of one round, which needs no
        headings of rounds.
    """
    numbers = [-1 if round_ is None else round_ for round_ in rounds]
    has_several_rounds = len({*numbers} - {-1}) > 1
    highest_before = accumulate(numbers, max, initial=-1)
    return [
        round_number if has_several_rounds and round_number > highest else None
        for round_number, highest in zip(numbers, highest_before, strict=False)
    ]


@cache
def _columns_that_become_facts(table: str) -> tuple[str, ...]:
    names = (name for name in table_schema(table) if name not in SeatActionRow.columns())
    return tuple(name for name in names if name not in _MESSAGE_TEXT_COLUMNS)


def action_from_row(table: str, row: Mapping[str, Any]) -> Action:
    """Convert a row of an event table to an action."""
    facts = tuple(
        (name, row[name])
        for name in _columns_that_become_facts(table)
        if name in _TARGET_COLUMNS or row[name] is not None
    )
    return Action(table, row["player"], row["round"], facts)


class TurnOrder:
    """The order of actions and messages in one game."""

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Read the order from the game's tables and from the definition of its type."""
        (game_type,) = tables["games"]["game_type"]
        definition = games.game_definitions().get(game_type)
        self._order = definition.order if definition else ()
        # A message without a round belongs to the round of its neighbours if they have the same.
        round_before, round_after = pl.col("round").forward_fill(), pl.col("round").backward_fill()
        round_ = pl.when(round_before == round_after).then(round_before)
        messages = tables["messages"].select("message_index", "phase", round=round_)
        self._messages = messages.drop_nulls("round").rows()
        self._last = last_message_index(tables["messages"])

    def action_position_in_round(self, table: str, facts: Iterable[tuple[str, object]]) -> int:
        """Return the position of an action in its round, according to the game's definition."""
        ranked_value = next((value for name, value in facts if name in _RANKED_COLUMNS), None)
        candidates = (name for name in (f"{table}.{ranked_value}", table) if name in self._order)
        return next(map(self._order.index, candidates), len(self._order))

    def last_message_before_action(self, round_: int | None, position: int) -> int | None:
        """Return the index of the last message before an action with this position in a round.

        Messages of later phases of the round come after the action.
        """
        current_round, later_phases = round_ or 0, self._order[position + 1 :]
        indices = (
            index
            for index, phase, message_round in self._messages
            if message_round < current_round
            or (message_round == current_round and phase not in later_phases)
        )
        return max(indices, default=None)

    def last_message_of_round(self, round_: int | None) -> int | None:
        """Return the index of the last message up to the end of a round; for None, of the game."""
        return (
            self._last
            if round_ is None
            else self.last_message_before_action(round_, len(self._order))
        )


def last_message_index(messages: pl.DataFrame) -> int | None:
    """Return the index of a game's last message; None for a game without messages."""
    return messages["message_index"][-1] if messages.height else None


def facts_shared_by_all_actions(actions: Sequence[Action]) -> tuple[tuple[str, object], ...]:
    """Return the facts that several actions have in common, which are displayed only once."""
    if len(actions) < 2:
        return ()
    first, *other_actions = actions
    return tuple(
        fact
        for fact in first.facts
        if fact[0] in _SHAREABLE_COLUMNS and all(fact in action.facts for action in other_actions)
    )


def format_action_lines(actions: Iterable[Action], player: str | None) -> list["ActionLine"]:
    """Format consecutive actions of one player in one table as one line, without marks."""
    action_lines = []
    for (table, _), group in groupby(actions, key=lambda action: (action.table, action.player)):
        table_actions = list(group)
        common_facts = facts_shared_by_all_actions(table_actions)
        action_texts = "; ".join(
            format_action(action, common_facts, player) for action in table_actions
        )
        texts = filter(None, (action_texts, format_facts(common_facts)))
        action_lines.append(ActionLine(table, ", ".join(texts)))
    return action_lines


def format_facts(facts: Sequence[tuple[str, object]]) -> str:
    """Format the names and values of facts as one text, separated by commas."""
    return ", ".join(text for name, value in facts if (text := _format_fact(name, value)))


def format_action(
    action: Action, excluded_facts: Sequence[tuple[str, object]] = (), player: str | None = None
) -> str:
    """Format an action as one line of text, without the facts in `excluded_facts`.

    The name of the action's player is omitted if it is `player`.
    """
    facts = {fact[0]: fact[1] for fact in _facts_to_display(action) if fact not in excluded_facts}
    targets = [name for name in _TARGET_COLUMNS if name in facts]
    subjects = [_format_value(facts.pop(name)) for name in _SUBJECT_COLUMNS if name in facts]
    kind = column.display_name(str(facts.pop("kind", "")))
    # A vote that the game did not register and that no text states is for an unknown player.
    no_target = "unknown" if action.table == "votes" and "is_valid" not in facts else "nobody"
    arrow = "".join(f"→ {_format_value(facts.pop(name) or no_target)}" for name in targets)
    actor = "" if action.player == player else action.player or NULL_TEXT
    head = " ".join(part for part in (actor, kind, *subjects, arrow) if part)
    details = format_facts(list(facts.items()))
    return (", " if arrow else ": ").join(part for part in (head, details) if part)


def _facts_to_display(action: Action) -> list[tuple[str, object]]:
    """Return the facts of an action without the seats of named players and without repetitions."""
    facts = dict(action.facts)
    hidden_columns = {*_REDUNDANT_COLUMNS.get(action.table, ())}
    hidden_columns |= {f"{name}_seat" for name in facts}
    hidden_columns |= {
        f"stated_{name}" for name, value in facts.items() if facts.get(f"stated_{name}") == value
    }
    if facts.get("is_correct_as_read") == facts.get("is_correct"):
        hidden_columns.add("is_correct_as_read")
    return [(name, value) for name, value in action.facts if name not in hidden_columns]


def _format_fact(name: str, value: object) -> str:
    """Format a fact as a phrase, such as `not valid` or `by vote`."""
    if isinstance(value, bool):
        label = column.display_name(name.removeprefix("is_"))
        return _FLAG_LABELS.get(name, (label, f"not {label}"))[not value]
    if name == "cause":
        return f"by {_format_value(value)}"
    if name in _UNLABELED_COLUMNS:
        return column.display_name(_format_value(value))
    if name.startswith("stated_"):
        return f"the text says {_format_value(value)}"
    return f"{column.display_name(name)} {_format_value(value)}"


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else format_values([value])[0]


VISIBLE_TO_ALL = "all"


def hit_sign(hit: float | None) -> str:
    """Return ✓ for a hit, ✗ for a miss, ? for an unknown result, or a number for a partial hit."""
    if hit is None:
        return "?"
    return {1.0: "✓", 0.0: "✗"}.get(hit) or f"{hit:.2g}"


def hit_style(hit: float | None) -> str:
    """Return the style of a mark: `hit` (also for a partial hit), `miss`, or `none` if unknown."""
    return "none" if hit is None else "hit" if hit else "miss"


def describe_hit(hit: float | None) -> str:
    """Return the result of a counted row in words: `hit`, `miss`, `unknown`, or `of a hit`.

    The last one follows a number, as in `0.5 of a hit`.
    """
    return "unknown" if hit is None else "of a hit" if 0 < hit < 1 else hit_style(hit)


class CountedMark(Struct, frozen=True):
    """A row that a metric counted, as a mark next to a message or an action.

    Attributes:
        metric: The name of the metric.
        what: What was counted.
        hit: How much of a hit it is, between 0 and 1; None if unknown.
        player: The player to whom the row belongs.
        whose: The suffix that names the player, role or model, if it is not clear from the
            position.
    """

    metric: str
    what: str | None
    hit: float | None
    player: str | None
    whose: str

    @property
    def display_text(self) -> str:
        """The name of the metric and what it counted, without the sign of the hit."""
        return f"{self.metric}: {self.what}{self.whose}"

    @property
    def text_with_sign(self) -> str:
        """The sign of the hit, the name of the metric, and what it counted."""
        return f"{hit_sign(self.hit)} {self.display_text}"

    @property
    def style(self) -> str:
        """The style of the mark, as returned by `hit_style`."""
        return hit_style(self.hit)


def marks_of_counted_rows(
    rows: Iterable[Mapping[str, Any]], player: str | None
) -> tuple[CountedMark, ...]:
    """Convert rows that metrics counted to marks; only other players than `player` are named."""
    return tuple(
        CountedMark(
            row["metric"],
            row["what"],
            row["hit"],
            row["player"],
            _owner_suffix_unless_player(row, player),
        )
        for row in rows
    )


def _owner_suffix_unless_player(row: Mapping[str, Any], player: str | None) -> str:
    """Return a suffix with the player, role or model of a counted row; empty for `player`."""
    if row["player"] is None:
        names = [column.display_name(row[name]) for name in ("role", "model") if row[name]]
        return f" ({', '.join(names)})" if names else ""
    is_evident = row["player"] == player and row["round"] is not None
    return "" if is_evident else f" ({row['player']})"


class ActionLine(Struct, frozen=True):
    """An action as one line of text, with the marks of what was counted in it.

    Attributes:
        table: The name of the event table.
        line: The text.
        marks: The marks of the counted rows.
    """

    table: str
    line: str
    marks: tuple[CountedMark, ...] = ()


class TranscriptItem(Struct, frozen=True):
    """A message, or a group of actions without a message.

    Attributes:
        place: An identifier of the item within its game.
        title: The speaker, or the title of the actions.
        phase_and_round: The phase and the round in words.
        round: The number of the round; None if it is unknown.
        message: The row of the message; None for actions without a message.
        actions: The actions, without those that the `marks` of a message show already.
        marks: The marks of rows that were counted in the message.
        started_round: The round that begins with this item; None if none begins.
    """

    place: str
    title: str
    phase_and_round: str
    round: int | None = None
    message: Mapping[str, Any] | None = None
    actions: tuple[ActionLine, ...] = ()
    marks: tuple[CountedMark, ...] = ()
    started_round: int | None = None

    @property
    def is_counted(self) -> bool:
        """Whether a metric counted the message or any of the actions."""
        return bool(self.marks) or any(action_line.marks for action_line in self.actions)

    @property
    def recipients(self) -> str:
        """The names of the players who could see the message, or `all`."""
        recipients = self.message["visible_to"] if self.message else ()
        if VISIBLE_TO_ALL in recipients:
            return VISIBLE_TO_ALL
        speaker = self.message["player"] if self.message else None
        return ", ".join("itself" if name == speaker else name for name in recipients) or "nobody"

    @property
    def is_alone(self) -> bool:
        """Whether nobody but the speaker could see the message, such as a thought."""
        return self.message is not None and self.recipients in ("itself", "nobody")

    @property
    def heading(self) -> str:
        """The index, speaker and recipients of the message; without a message, the title."""
        if self.message is None:
            return self.title
        recipients = f" → {self.recipients}" if "visible_to" in self.message else ""
        return f"{self.message['message_index']}  {self.title}{recipients}"

    @property
    def content(self) -> Sequence[str]:
        """The lines of the message's text; empty without a message."""
        return str(self.message["content"]).rstrip().split("\n") if self.message else ()

    @property
    def items(self) -> Iterator[list[tuple[str, str]]]:
        """The actions and marks: for each line, the texts in it with their styles."""
        for action_line in self.actions:
            separator = " " if action_line.line.startswith("→") else ": "
            text = (
                f"{column.display_name(action_line.table)}{separator}{action_line.line}"
                if self.message
                else action_line.line
            )
            yield [
                (text, "act"),
                *((mark.text_with_sign, mark.style) for mark in action_line.marks),
            ]
        yield from ([(mark.text_with_sign, mark.style)] for mark in self.marks)


def game_title(game: Mapping[str, Any]) -> str:
    """Return the type and the outcome of a game in words, such as `undercover: caught`.

    Args:
        game: The game's row of the table `games`.

    Returns:
        The title; without an outcome, only the type.
    """
    game_type = column.display_name(game["game_type"])
    if not game["is_finished"]:
        return f"{game_type}: not finished"
    return (
        game_type
        if game["outcome"] is None
        else f"{game_type}: {column.display_name(game['outcome'])}"
    )


def player_table(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return the players of a game with their models, roles, scores and eliminations.

    Args:
        tables: The game's rows of each table, by name.

    Returns:
        One row for each seat. Columns such as the score are removed if they are empty.
    """
    players = tables["players"].select(
        *("seat", "player", "model", "role", "is_tested"),
        pl.col("is_bot").replace({False: None}),
        *("final_score", "failure"),
    )
    eliminations = tables["eliminations"].select("seat", out_in_round="round", out_by="cause")
    players = players.join(eliminations, on="seat", how="left", maintain_order="left")
    optional_columns = ("is_bot", "out_in_round", "out_by", "final_score", "failure")
    return players.drop(name for name in optional_columns if players[name].is_null().all())


def transcript_items(
    tables: Mapping[str, pl.DataFrame], counted: pl.DataFrame, sources: SourceTables
) -> list[TranscriptItem]:
    """Return the messages and actions of a game in order, each with the rows that metrics counted.

    Args:
        tables: The game's rows of each table, by name.
        counted: The rows that metrics counted in the game.
        sources: The tables whose rows each metric counts.

    Returns:
        One item for each message, and one for each group of actions without a message.
    """
    actions_by_message: dict[int, list[Action]] = {}
    silent_actions: list[Action] = []
    for table, rows in tables.items():
        if issubclass(TABLES[table], SeatActionRow):
            for row in rows.iter_rows(named=True):
                index = row["message_index"]
                (
                    silent_actions if index is None else actions_by_message.setdefault(index, [])
                ).append(action_from_row(table, row))
    counted_partitions = counted.partition_by("message_index", as_dict=True, maintain_order=True)
    counted_by_message = {index: rows.to_dicts() for (index,), rows in counted_partitions.items()}
    counted_without_message = counted_by_message.pop(None, [])
    items_by_message = (
        _items_without_message_by_previous_message(
            silent_actions, counted_without_message, tables, sources
        )
        if silent_actions or counted_without_message
        else {}
    )
    last_index = last_message_index(tables["messages"])
    if last_index in items_by_message and (rows_at_end := counted_by_message.get(last_index)):
        # The result of the game is known only after all actions that follow the last message.
        counted_by_message[last_index] = [row for row in rows_at_end if row["round"] is not None]
        if game_rows := [row for row in rows_at_end if row["round"] is None]:
            _append_item_after_message(
                items_by_message, last_index, None, None, counted_rows=game_rows
            )
    items = [*items_by_message.get(None, ())]
    for message in tables["messages"].iter_rows(named=True):
        index, player = message["message_index"], message["player"]
        message_rows = counted_by_message.get(index, [])
        displayed_actions = uncounted_or_contradicted_actions(
            actions_by_message.get(index, []), message_rows, sources
        )
        items.append(
            TranscriptItem(
                place=f"m{index}",
                title=player or NULL_TEXT,
                phase_and_round=f"{message['phase']}{_round_suffix(message['round'])}",
                round=message["round"],
                message=message,
                actions=tuple(format_action_lines(displayed_actions, player)),
                marks=marks_of_counted_rows(message_rows, player),
            )
        )
        items += items_by_message.get(index, ())
    starts = rounds_started_by_items(item.round for item in items)
    return [replace(item, started_round=begins) for item, begins in zip(items, starts, strict=True)]


def _items_without_message_by_previous_message(
    silent_actions: list[Action],
    counted_rows: Rows,
    tables: Mapping[str, pl.DataFrame],
    sources: SourceTables,
) -> dict[int | None, list[TranscriptItem]]:
    """Return items of actions and counted rows without a message, by the previous message.

    The keys are indices of messages; None stands for the beginning of the game.
    """
    turn_order = TurnOrder(tables)
    remaining_rows: dict[tuple[object, object], Rows] = {}
    for row in counted_rows:
        remaining_rows.setdefault((row["player"], row["round"]), []).append(row)
    silent_actions.sort(
        key=lambda action: (
            action.round or 0,
            turn_order.action_position_in_round(action.table, action.facts),
        )
    )
    items_by_message: dict[int | None, list[TranscriptItem]] = {}
    find_message_before = cache(turn_order.last_message_before_action)

    def group_key(action: Action) -> tuple[int | None, str, int | None]:
        message_index = find_message_before(
            action.round, turn_order.action_position_in_round(action.table, action.facts)
        )
        return message_index, action.table, action.round

    for (index, table, round_), actions in groupby(silent_actions, group_key):
        actions_with_rows = [
            (action, _pop_rows_counted_in_action(remaining_rows, action, sources))
            for action in actions
        ]
        _append_item_after_message(
            items_by_message, index, table, round_, actions_with_rows=actions_with_rows
        )
    rows = list(chain.from_iterable(remaining_rows.values()))
    rows.sort(key=lambda row: (row["round"] is None, row["round"] or 0))
    for round_, round_rows in groupby(rows, key=lambda row: row["round"]):
        _append_item_after_message(
            items_by_message,
            turn_order.last_message_of_round(round_),
            None,
            round_,
            counted_rows=list(round_rows),
        )
    return items_by_message


def _pop_rows_counted_in_action(
    remaining_rows: dict[tuple[object, object], Rows], action: Action, sources: SourceTables
) -> Rows:
    """Remove the rows that metrics counted in an action from `remaining_rows`, and return them."""
    rows = remaining_rows.get((action.player, action.round), [])
    counted_rows = [row for row in rows if action.table in sources[row["metric"]]]
    rows[:] = [row for row in rows if action.table not in sources[row["metric"]]]
    return counted_rows


def _append_item_after_message(
    items_by_message: dict[int | None, list[TranscriptItem]],
    message_index: int | None,
    table: str | None,
    round_: int | None,
    *,
    actions_with_rows: Sequence[tuple[Action, Rows]] = (),
    counted_rows: Sequence[dict[str, Any]] = (),
) -> None:
    """Append an item without a message to the items that follow the message with this index.

    The item has the actions of one table and round; without a table, it has counted rows that
    belong to no action. Without a round, it belongs to the whole game.
    """
    items = items_by_message.setdefault(message_index, [])
    common_facts = facts_shared_by_all_actions([action for action, _ in actions_with_rows])
    items.append(
        TranscriptItem(
            place=f"a{'' if message_index is None else message_index}-{len(items)}",
            title=_title_of_item_without_message(table, round_, common_facts),
            phase_and_round=f"without words{_round_suffix(round_)}" if table else "",
            round=round_,
            actions=tuple(
                ActionLine(
                    action.table,
                    format_action(action, common_facts),
                    marks_of_counted_rows(rows, action.player),
                )
                for action, rows in actions_with_rows
            ),
            marks=marks_of_counted_rows(counted_rows, None),
        )
    )


def messages_as_transcript_items(messages: pl.DataFrame) -> Iterator[TranscriptItem]:
    """Convert messages that a player saw to transcript items, without the names of recipients.

    Args:
        messages: Rows of `Transcript.items_seen_by`.

    Yields:
        One item for each message.
    """
    for row in messages.iter_rows(named=True):
        yield TranscriptItem(
            f"m{row['message_index']}", row["player"] or NULL_TEXT, "", message=row
        )


def format_transcript(heading: str, items: Sequence[TranscriptItem]) -> str:
    """Format a heading and the items of a transcript as plain text."""
    text_lines = [heading]
    for item in items:
        text_lines += [] if item.started_round is None else ["", f"Round {item.started_round}"]
        text_lines += [
            "",
            f"{line_breaks_to_symbols(escape_unprintable(item.heading))}  "
            f"{item.phase_and_round}".rstrip(),
        ]
        detail_lines = [
            line_breaks_to_symbols("  ".join(text for text, _ in detail)) for detail in item.items
        ]
        text_lines += [
            f"    {escape_unprintable(line)}".rstrip() for line in (*item.content, *detail_lines)
        ]
    return "\n".join(text_lines) + "\n"


def _title_of_item_without_message(
    table: str | None, round_: int | None, common_facts: Sequence[tuple[str, object]]
) -> str:
    """Return the title of a group of actions: the table, and the facts that they have in common."""
    if table is None:
        return "the game as a whole" if round_ is None else "counted in no message"
    fact_text = format_facts(common_facts)
    return column.display_name(table) + (f": {fact_text}" if fact_text else "")


def _round_suffix(round_: int | None) -> str:
    return "" if round_ is None else f", round {round_}"
