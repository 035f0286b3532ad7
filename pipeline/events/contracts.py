"""Define the contract of each table: its columns, types, ranges, keys and rules.

The first line of a table's docstring says what one row is. Together with the descriptions of the
columns it becomes the SQL comments, the output of `magic schema` and the data dictionary.

`VERSION` is stored in every table. Increase it when the shape of a table changes: a new table or
column, or a column that becomes nullable. A new value of a category, such as a game type, does
not need a new version.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import ClassVar

import polars as pl
from polars.datatypes import DataTypeClass

from pipeline import column, games
from pipeline.action_tables import ACTION_TABLES, RESULT_COLUMNS
from pipeline.column import Column
from pipeline.vocabulary import DocumentStatus, ParseStatus, Side

# The base class of the tables, the rules that follow from a table's columns, and the search for
# rows that break them.


class Table:
    """Base class of the tables, which collects the columns and rules that subclasses define.

    A class attribute of type `Column` defines a column, and one of type `pl.Expr` a rule: an
    expression over the columns that is false for each row that breaks the rule. Subclasses inherit
    both.
    """

    _columns: ClassVar[dict[str, Column]] = {}
    _rules: ClassVar[dict[str, pl.Expr]] = {}

    def __init_subclass__(cls, columns: Mapping[str, Column] = MappingProxyType({})) -> None:
        """Collect the columns and rules of a subclass.

        Args:
            columns: Columns that are defined elsewhere; they follow those of the class.
        """
        class_attributes = vars(cls).items()
        cls._columns = {
            **cls._columns,
            **{
                name: definition
                for name, definition in class_attributes
                if isinstance(definition, Column)
            },
            **columns,
        }
        cls._rules = cls._rules | {
            name: definition
            for name, definition in class_attributes
            if isinstance(definition, pl.Expr)
        }

    @classmethod
    def columns(cls) -> dict[str, Column]:
        """Return the columns of the table by name; a redefined column keeps its position."""
        return cls._columns

    @classmethod
    def defined_rules(cls) -> dict[str, pl.Expr]:
        """Return the rules that the class and its bases define as expressions, by name."""
        return cls._rules

    @classmethod
    def primary_key(cls) -> list[str]:
        """Return the names of the columns of the primary key; empty if the table has none."""
        return [name for name, column in cls._columns.items() if column.primary_key]


def contract_rules(table: type[Table]) -> dict[str, pl.Expr]:
    """Return all rules that a single row must satisfy, as boolean expressions.

    The rule that the primary key is unique is not included.

    Args:
        table: The contract.

    Returns:
        The expressions by description of the rule, such as `seat is at least 1`. An expression is
        false for a row that breaks the rule, and true or null otherwise.
    """
    column_rules = {
        f"{name} {requirement}": is_satisfied
        for name, column in table.columns().items()
        for requirement, is_satisfied in _column_rules(column, pl.col(name))
    }
    return column_rules | table.defined_rules()


def _column_rules(column: Column, value: pl.Expr) -> Iterator[tuple[str, pl.Expr]]:
    """Yield a description and an expression for each rule that a column's definition implies."""
    if not column.nullable:
        yield "is not null", value.is_not_null()
    if column.min is not None:
        yield f"is at least {column.min:g}", value >= column.min
    if column.max is not None:
        yield f"is at most {column.max:g}", value <= column.max
    if column.words is not None:
        yield f"is one of {', '.join(column.words)}", value.is_in(column.words)
    if column.regex is not None:
        yield f"matches {column.regex}", value.str.contains(column.regex)
    yield from _dtype_rules(value, column.dtype)


def _dtype_rules(value: pl.Expr, dtype: pl.DataType) -> Iterator[tuple[str, pl.Expr]]:
    """Yield the rules of a data type: finite floats, and no nulls within lists and structs."""
    if dtype.is_float():
        yield "is finite", value.is_finite()
    elif isinstance(dtype, pl.List):
        element = pl.element()
        for requirement, is_satisfied in (
            ("is not null", element.is_not_null()),
            *_dtype_rules(element, dtype_instance(dtype.inner)),
        ):
            yield (
                f"has elements of which each {requirement}",
                value.list.eval(is_satisfied).list.all(),
            )
    elif isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            inner = value.struct.field(field.name)
            yield f"has a {field.name} that is not null", inner.is_not_null()
            for requirement, is_satisfied in _dtype_rules(inner, dtype_instance(field.dtype)):
                yield f"has a {field.name} that {requirement}", is_satisfied


def dtype_instance(dtype: pl.DataType | DataTypeClass) -> pl.DataType:
    """Return a data type as an instance, because polars may return an inner type as a class.

    Args:
        dtype: The type of a list's elements or of a struct's field.

    Returns:
        An instance of the type.
    """
    return dtype if isinstance(dtype, pl.DataType) else dtype()


def broken_rules(table: type[Table], rows: pl.DataFrame) -> dict[str, pl.Series]:
    """Return which rows break which rules of a contract.

    Args:
        table: The contract.
        rows: Rows with the columns of the contract.

    Returns:
        By description of each broken rule, a boolean Series that is true for rows that break it.
        All rows that share a primary key break the rule that keys are unique.
    """
    violations = rows.select(
        (~is_satisfied).fill_null(value=False).alias(rule)
        for rule, is_satisfied in _rules_and_key_uniqueness(table).items()
    )
    return {violation.name: violation for violation in violations if violation.any()}


def columns_by_rule(table: type[Table]) -> dict[str, list[str]]:
    """Return the names of the columns that each rule of a contract involves.

    Args:
        table: The contract.

    Returns:
        The names by description of the rule.
    """
    columns = table.columns().keys()
    return {
        rule: [name for name in dict.fromkeys(is_satisfied.meta.root_names()) if name in columns]
        for rule, is_satisfied in _rules_and_key_uniqueness(table).items()
    }


def _rules_and_key_uniqueness(table: type[Table]) -> dict[str, pl.Expr]:
    key_columns = table.primary_key()
    if not key_columns:
        return contract_rules(table)
    return contract_rules(table) | {
        f"no two rows have one {', '.join(key_columns)}": pl.struct(key_columns).is_unique()
    }


def certainly_satisfies_contract(table: type[Table]) -> pl.Expr:
    """Return an expression that is true only if all rows satisfy a contract.

    It is faster than `broken_rules`, but compares keys by their hashes. If it is false, the rows
    may still be valid, so `broken_rules` must decide.

    Args:
        table: The contract.

    Returns:
        An expression over the columns of the contract, with one boolean for all rows.
    """
    conditions = [is_satisfied.all() for is_satisfied in contract_rules(table).values()]
    key_columns = table.primary_key()
    if key_columns:
        conditions.append(pl.struct(key_columns).hash().n_unique() == pl.len())
    return pl.all_horizontal(conditions)


# Lakes of the versions from `OLDEST_VERSION` to `VERSION` can be read. They may lack columns, or
# have columns that are not nullable; the next write adds these and stores the newest version.
VERSION = 11
OLDEST_VERSION = 9
SHA256_LENGTH = 64


class GameRow(Table):
    """Base class of the tables whose rows belong to a game."""

    game_id = column.identifier_column(
        "the game: a hash of its document and of its index there", primary_key=True
    )
    game_type = column.category_column(games.game_type_names(), "the kind of game")
    system = column.text_column("the harness that ran the game")
    setting_id = column.identifier_column(
        "the setting (what was fixed before play): a hash, equal for equal settings"
    )
    game_index = column.count_column(
        "the game's number in its competition, null if unknown", nullable=True
    )
    is_finished = column.boolean_column(
        "whether the game ended; metrics of edition paper count only finished games"
    )


class PlayerRow(GameRow):
    """Base class of the tables whose rows belong to a player."""

    player = column.text_column("the player's name in the log", nullable=True)
    model = column.text_column("the player's model, null if unknown", nullable=True)
    role = column.category_column(games.role_names(), "the player's role", nullable=True)
    side = column.category_column(Side, "the side of the role", nullable=True)
    is_tested = column.boolean_column("whether the player's model is under test")
    competition = column.category_column(
        games.win_rate_competition_names(),
        "the competition of the results: game type and tested role or side; null if not tested",
        nullable=True,
    )


class SeatActionRow(PlayerRow):
    """Base class of the tables whose rows are an action of a seat."""

    seat = column.small_integer_column("the player's seat, from 1", primary_key=True)
    round = column.small_integer_column(
        "the round, from 1; 0 is before the first round", primary_key=True, low=0
    )
    message_index = column.small_integer_column(
        "the message with the action, from 0; null if the action has no message",
        nullable=True,
        low=0,
    )
    parse_status = column.category_column(
        ParseStatus, "how clearly the text states the action that the game registered"
    )


class Games(GameRow):
    """One game."""

    sha256 = column.digest_column(
        "hash of the document, or of the content and the ID in the log",
        SHA256_LENGTH,
    )
    content_id = column.identifier_column(
        "hash of the parsed content, equal if one game is stored in two JSON forms"
    )
    assigned_model = column.text_column(
        "the value of --model: a name, or the players' models as JSON", nullable=True
    )
    format = column.text_column("the log format")
    format_version = column.text_column("the variant of the format")
    source = column.text_column("the folder or archive that contains the document")
    path = column.text_column("the document's path within the source")
    n_players = column.small_integer_column("seats at the table")
    n_rounds = column.small_integer_column("rounds played, or rounds fixed by the setting", low=0)
    n_messages = column.small_integer_column("messages in the log", low=0)
    outcome = column.category_column(
        games.outcome_names(), "how the game ended, null if it did not end", nullable=True
    )
    ended_by = column.text_column(
        "why the game stopped early, in the log's words; null if it did not", nullable=True
    )
    outcome_code = column.code_column("the log's own code of the outcome")
    topic = column.text_column("hidden roles: the topic that all players know", nullable=True)
    word = column.text_column("hidden roles: the secret word of the civilian side", nullable=True)
    other_word = column.text_column(
        "undercover: the secret word of the hidden player", nullable=True
    )
    hidden_player = column.text_column(
        "hidden roles: the player with the hidden role", nullable=True
    )
    tested_player = column.text_column("the player that the setting puts under test", nullable=True)
    n_rounds_fixed = column.small_integer_column(
        "rounds fixed before play, null if not fixed", nullable=True, low=0
    )
    multiplier = column.number_column("public good: the factor of the pool")
    payoff_cooperate = column.number_column(
        "prisoner's dilemma: points per player if all cooperate"
    )
    payoff_defect = column.number_column("prisoner's dilemma: points per player if all defect")
    payoff_one_defect = column.number_column(
        "prisoner's dilemma: points of the only player who defects"
    )
    payoff_two_defect = column.number_column(
        "prisoner's dilemma: points of each of two players who defect"
    )
    setting = column.text_column("what was fixed before play, as JSON with sorted keys")
    started_at = column.timestamp_column("start of the game, null if unknown", nullable=True)


class Players(PlayerRow):
    """One seat of one game."""

    seat = column.small_integer_column("the seat, from 1", primary_key=True)
    final_score = column.number_column("points at the end, in the game's unit", nullable=True)
    score_rank = column.small_integer_column(
        "rank by points: 1 is the best, ties share the better rank", nullable=True
    )
    is_bot = column.boolean_column(
        "whether the player is a program with fixed rules; null if unknown",
        nullable=True,
    )
    failure = column.text_column(
        "the failure (such as timeout) by which the player ended the game; null if none or unknown",
        nullable=True,
    )
    input_tokens = column.count_column(
        "input tokens of the player's calls, including cached tokens; null if unknown",
        nullable=True,
    )
    output_tokens = column.count_column(
        "output tokens of the player's calls, including reasoning; null if unknown",
        nullable=True,
    )
    seconds = column.number_column(
        "duration of the player's calls in seconds; null if unknown", low=0
    )
    cost = column.number_column("cost of the player's calls in US dollars; null if unknown", low=0)


class Results(PlayerRow, columns=RESULT_COLUMNS):
    """The result of one game for one tested side (a tested model's role, or a tested seat)."""

    # Not unique, because games with hidden roles have a row for each model and role, as the rule
    # below requires.
    game_id = column.identifier_column("the game: a hash of its document and of its index there")

    one_row_for_a_side = ~pl.struct("game_id", "seat", "model", "role").is_duplicated()


class Messages(PlayerRow):
    """One message, in the order of the log."""

    message_index = column.small_integer_column(
        "the message's position in the log, from 0", primary_key=True, low=0
    )
    seat = column.small_integer_column("the speaker's seat, null for the moderator", nullable=True)
    round = column.small_integer_column(
        "the round of the message, null outside of rounds", nullable=True, low=0
    )
    parse_status = column.category_column(
        ParseStatus, "`outage` if an API error replaced the answer"
    )
    turn = column.code_column("the turn number in the log, not unique")
    phase = column.category_column(games.phase_names(), "the phase of the game")
    visible_to = column.text_list_column(
        "who saw the message: names of players, `all`, or an empty list"
    )
    content = column.text_column("the text in the log")
    msg_type = column.text_column("the message type in the log", nullable=True)


class Roles(Table):
    """One role of a kind of game, as defined when its games were ingested."""

    game_type = column.text_column("the game", primary_key=True)
    role = column.text_column("the role", primary_key=True)
    side = column.category_column(Side, "the side of the role")
    competition = column.text_column("the competition in the metric Win Rate")
    is_sought = column.boolean_column("whether a vote for a player with this role is correct")


class Documents(Table):
    """One raw document, as the first ingest that found it in this state recorded it."""

    ingest_id = column.count_column(
        "the first ingest that found the document in this state", primary_key=True, low=1
    )
    source = column.text_column(
        "the folder or archive that contains the document", primary_key=True
    )
    path = column.text_column("the document's path within the source", primary_key=True)
    n_bytes = column.count_column("size in bytes, null if the document was not read", nullable=True)
    sha256 = column.digest_column(
        "SHA-256 of the bytes, null if not read", SHA256_LENGTH, nullable=True
    )
    format = column.text_column("the log format, null if the document is not a log", nullable=True)
    status = column.category_column(DocumentStatus, "what the ingest did with the document")
    reason = column.text_column("why the document was not ingested", nullable=True)
    game_id = column.identifier_column("the game in the document", nullable=True)
    game_index = column.count_column(
        "the number in the file name, or the position in the file; null if the log has a number",
        nullable=True,
    )
    assigned_model = column.text_column(
        "the value of --model: a name, or the players' models as JSON", nullable=True
    )


class Quarantine(Table):
    """One document, or part of a document, that could not be used."""

    ingest_id = column.count_column("the first ingest that read the document", low=1)
    source = column.text_column("the folder or archive that contains the document")
    path = column.text_column("the document's path within the source")
    sha256 = column.digest_column(
        "SHA-256 of the bytes, null if not read", SHA256_LENGTH, nullable=True
    )
    game_id = column.identifier_column(
        "the game without this part, null for a whole document", nullable=True
    )
    json_path = column.text_column("the position of the error in the document")
    rule = column.text_column("the rule that the document breaks")
    message = column.text_column("what the document contains instead")
    n_bytes = column.count_column("size of the document in bytes", nullable=True)
    raw = Column(pl.Binary(), "the first 64 KiB of the document's bytes", nullable=True)


class Archives(Table):
    """One large archive that an ingest read completely, so all of its documents have a row."""

    ingest_id = column.count_column("the ingest that read the archive", primary_key=True, low=1)
    source = column.text_column("the source of the documents in it", primary_key=True)
    prefix = column.text_column("the common start of the paths of its documents", primary_key=True)
    n_bytes = column.count_column("size on disk in bytes")
    sha256 = column.digest_column("SHA-256 of the file on disk", SHA256_LENGTH)


class Ingests(Table):
    """One committed ingest."""

    ingest_id = column.count_column(
        "the ingest's number in this lake, from 1", primary_key=True, low=1
    )
    started_at = column.timestamp_column("start of the ingest")
    finished_at = column.timestamp_column("time of the commit")
    sources = column.text_list_column("the sources, as full paths or URLs")
    n_documents = column.count_column("documents seen")
    n_ingested = column.count_column("documents with new games")
    n_replacing = column.count_column("documents whose game replaced another game at its path")
    n_unchanged = column.count_column("documents already known at their path")
    n_duplicate = column.count_column("documents already known from another path")
    n_quarantined = column.count_column("documents in quarantine")
    n_ignored = column.count_column("documents that are not logs")
    n_superseded = column.count_column("games removed because no path contains them any more")
    code_sha256 = column.digest_column(
        "hash of the code of the ingest", SHA256_LENGTH, nullable=True
    )
    assigned_model = column.text_column(
        "the value of --model: a name, or models by path as JSON", nullable=True
    )
    max_document = column.count_column(
        "maximum size of a document in bytes; larger documents were not read", nullable=True
    )
    max_expanded = column.count_column(
        "maximum size of an expanded archive in bytes, null for the default", nullable=True
    )
    tool_version = column.text_column("the version of magic-pipeline")
    contract_version = column.small_integer_column("version of the table definitions")
    versions = Column(
        pl.List(
            pl.Struct(
                {
                    "table": pl.String(),
                    "version": pl.Int64(),
                    "n_files": pl.Int64(),
                    "n_rows": pl.Int64(),
                    "files_sha256": pl.String(),
                }
            )
        ),
        "each table after this ingest: version, number of files and rows, hash of the file names",
    )


_TABLES_BEFORE_ACTIONS: dict[str, type[Table]] = {
    "documents": Documents,
    "archives": Archives,
    "quarantine": Quarantine,
    "games": Games,
    "players": Players,
    "results": Results,
    "messages": Messages,
}
_TABLES_AFTER_ACTIONS: dict[str, type[Table]] = {"roles": Roles, "ingests": Ingests}
GAME_TYPE_TABLES = games.tables_of_single_game_types(
    {*_TABLES_BEFORE_ACTIONS, *ACTION_TABLES, *_TABLES_AFTER_ACTIONS}
)
_ACTION_TABLES = {
    name: type(name, (SeatActionRow,), {"__doc__": table.row}, columns=table.columns)
    for name, table in (ACTION_TABLES | GAME_TYPE_TABLES).items()
}
TABLES = _TABLES_BEFORE_ACTIONS | _ACTION_TABLES | _TABLES_AFTER_ACTIONS
GAME_TABLES = tuple(name for name, table in TABLES.items() if issubclass(table, GameRow))


GAME_ROW = "game"


@cache
def columns_shared_within_game_or_player(table: str) -> frozenset[str]:
    """Return the columns of a table whose values are the same for all rows of a game or player.

    Args:
        table: The name of a table in `TABLES`.

    Returns:
        The names of the columns; empty if the table has no such columns.
    """
    contract = TABLES[table]
    if issubclass(contract, (SeatActionRow, Messages)):
        return frozenset(PlayerRow.columns())
    return frozenset(GameRow.columns()) if contract is Players else frozenset()


@cache
def contract_without_shared_columns(table: str) -> type[Table]:
    """Return a contract without the columns that are the same for all rows of a game or player.

    Their values are checked once, in the tables `games` and `players`.

    Args:
        table: The name of a table in `TABLES`.

    Returns:
        The table's own contract if it has no such columns. Otherwise a contract without them, in
        which the integer column `GAME_ROW` identifies the game.
    """
    contract, shared_names = TABLES[table], columns_shared_within_game_or_player(table)
    if not shared_names:
        return contract
    columns = {
        name: column for name, column in contract.columns().items() if name not in shared_names
    }
    game_column = Column(pl.Int64(), primary_key=True)
    return type(f"Own{contract.__name__}", (Table,), {GAME_ROW: game_column, **columns})


def row_description(table: str) -> str:
    """Return a sentence that describes one row of a table.

    Args:
        table: The name of a table in `TABLES`.

    Returns:
        The first line of the contract's docstring.
    """
    return (TABLES[table].__doc__ or "").splitlines()[0]


@cache
def table_schema(table: str) -> Mapping[str, pl.DataType]:
    """Return the names and polars types of the columns of a table.

    Args:
        table: The name of a table in `TABLES`.

    Returns:
        The types by column, in order. `game_id` is the first column of tables with rows of games.
    """
    columns = {name: column.dtype for name, column in TABLES[table].columns().items()}
    leading_columns = {"game_id": columns["game_id"]} if table in GAME_TABLES else {}
    return MappingProxyType(leading_columns | columns)


def empty_table(table: str) -> pl.DataFrame:
    """Return a frame with the columns of a table but no rows; the caller may change it.

    Args:
        table: The name of a table in `TABLES`.

    Returns:
        A frame with the table's schema.
    """
    return _cached_empty_table(table).clone()


# Cached, because building an empty frame takes 0.5 ms and a game has no rows in most tables.
@cache
def _cached_empty_table(table: str) -> pl.DataFrame:
    return pl.DataFrame(schema=table_schema(table))


@cache
def registered_roles() -> pl.DataFrame:
    """Return the table of all roles of all registered games.

    Returns:
        One row per game type and role, with the schema of the table `roles`.
    """
    rows = [
        (game_type, role.name, str(role.side), role.competition, role.is_sought)
        for game_type, game_definition in games.game_definitions().items()
        for role in game_definition.roles
    ]
    return pl.DataFrame(rows, dict(table_schema("roles")), orient="row")
