"""Requests for metric values: edition, groups and filters, and the checks of their names.

`Request` is what `metrics` passes to the engines. The condition of `--where` is parsed here into
SQL that all engines read alike. Used by the metrics and the reports.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl
from msgspec import Struct

from pipeline import games
from pipeline.errors import (
    OtherSystemError,
    UsageError,
    known_names_hint,
    similar_names_hint,
    single_quotes_hint,
)
from pipeline.events.contracts import TABLES, PlayerRow, table_schema
from pipeline.game_record import FIXED_SETTING_KEYS
from pipeline.lake import StoredLake
from pipeline.metrics.registry import Metric, metric_names as edition_names, metric_spec
from pipeline.sql_files import quote_identifier, quote_literal
from pipeline.vocabulary import ALL_GAME_TYPES, DEFAULT_N_GAMES, LOSS, PAPER, RELEASE, Edition

# Conditions on rows in SQL. They are parsed once and rendered as SQL that all engines read alike.
#
# Only a small part of SQL is supported, in which all engines agree: columns, constants, AND, OR,
# NOT, comparisons, IN, BETWEEN, LIKE, IS [NOT] NULL, IS [NOT] DISTINCT FROM. Functions, subqueries,
# arithmetic and casts are not supported.

_COMPARISONS = {
    "EQ": "=",
    "NEQ": "<>",
    "LT": "<",
    "LTE": "<=",
    "GT": ">",
    "GTE": ">=",
    "NullSafeEQ": "IS NOT DISTINCT FROM",
    "NullSafeNEQ": "IS DISTINCT FROM",
}
_QUOTES_HINT = "strings need single quotes, as in role = 'civilian'"
_UNQUOTED_WORD = re.compile(r"[=<>]\s*[^\W\d]")  # a word where a constant is expected
_NUMBER_PATTERN, _BOOLEAN_PATTERN = r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", "(?i)true|false"
SETTING = "setting"
_KIND_BY_DTYPE: dict[type[pl.DataType], str] = {
    pl.String: "texts",
    pl.Categorical: "texts",
    pl.Enum: "texts",
    pl.Boolean: "booleans",
}
_SETTING_KEY_PATTERN = re.compile(rf"{SETTING}(?:\.[^.'\"\[\]\\]+)+")


class Condition(Struct, frozen=True):
    """A parsed condition on rows.

    Attributes:
        sql: The condition in SQL that is safe to run.
        columns: The names of the columns in the condition.
    """

    sql: str
    columns: tuple[str, ...]


def strings_compared_with_column(where: Condition, column: str) -> list[str]:
    """Return the strings with which a condition compares a column by `=` or `IN`.

    Args:
        where: The parsed condition.
        column: The name of the column.
    """
    string_pattern = r"'(?:[^']|'')*'"
    equals, is_in = f"= ({string_pattern})", rf"IN \(({string_pattern}(?:, {string_pattern})*)\)"
    matches = re.findall(rf"{re.escape(quote_identifier(column))} (?:{equals}|{is_in})", where.sql)
    constants = [
        constant
        for pair in matches
        for group in pair
        for constant in re.findall(string_pattern, group)
    ]
    return [constant[1:-1].replace("''", "'") for constant in constants]


def is_setting_key(column: str) -> bool:
    """Return whether a column name is a key of the setting, as in `setting.topic`."""
    return _SETTING_KEY_PATTERN.fullmatch(column) is not None


def parse_condition_for_schema(
    text: str,
    schema: Mapping[str, pl.DataType],
    metrics_by_column: Mapping[str, Sequence[str]] = {},
) -> Condition:
    """Parse an SQL condition on rows that have the columns of a schema.

    Args:
        text: The condition.
        schema: The columns of the rows and their types.
        metrics_by_column: For columns that these rows lack, the metrics whose rows have them. They
            are named in the error message.

    Raises:
        UsageError: If the text is not a condition of the supported part of SQL, names an unknown
            column, or compares values of different types.
    """
    columns: dict[str, None] = {}
    try:
        sql = _render_sql_and_collect_columns(_parse_sql_condition_tree(text), columns, schema)
    except RecursionError:
        raise _unreadable_condition_error(text, "it is nested too deeply") from None
    if SETTING in schema:
        schema = {**schema, **dict.fromkeys(filter(is_setting_key, columns), pl.String())}
    if unknown_columns := [name for name in columns if name not in schema]:
        # The list of columns is long, so similar names are suggested first.
        suggestion = similar_names_hint(unknown_columns, [*schema, *metrics_by_column])
        if metrics_with_column := metrics_by_column.get(unknown_columns[0]):
            suggestion = (
                f"not all metrics have it; choose the metric from {', '.join(metrics_with_column)}"
            )
        # If another column exists, as in `role = civilian`, the unknown name is probably a string.
        has_known_column = any(name in schema for name in columns)
        columns_hint = (
            "" if has_known_column else f"; else {known_names_hint(unknown_columns, schema)}"
        )
        hint = suggestion or f"{single_quotes_hint(unknown_columns[0])}{columns_hint}"
        raise UsageError(f"no column {', '.join(unknown_columns)} for a condition: {hint}")
    types = {name: schema[name] for name in columns} or {"none": pl.Null()}
    try:
        result = pl.DataFrame(schema=types).lazy().select(answer=pl.sql_expr(sql)).collect()
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        if "native python" in reason:
            reason = "a condition cannot compare times; use `magic sql` for these"
        raise UsageError(f"the condition compares values of different types: {reason}") from None
    if result["answer"].dtype not in (pl.Boolean, pl.Null):
        raise UsageError(f"the condition `{text}` must be true or false for each row")
    return Condition(f"CAST({sql} AS BOOLEAN)", tuple(columns))


def sql_constant_of_column_type(column: str, value: str, dtype: pl.DataType) -> str:
    """Format a value as an SQL constant of the same type as a column.

    Args:
        column: The name of the column, for the error message.
        value: The value as the user wrote it.
        dtype: The type of the column.

    Raises:
        UsageError: If a column of numbers or booleans is given another value.
    """
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        return quote_literal(value)
    kind_name, pattern = (
        ("a number", _NUMBER_PATTERN) if dtype.is_numeric() else ("true or false", _BOOLEAN_PATTERN)
    )
    if not re.fullmatch(pattern, value):
        raise UsageError(f"`{column}` is {kind_name}, not `{value}`")
    return value


def _parse_sql_condition_tree(condition_text: str) -> Any:
    # Imported here, because few requests have a condition.
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        trees = sqlglot.parse(condition_text, read="duckdb")
    except SqlglotError as error:
        raise _unreadable_condition_error(condition_text, _describe_sql_error(error)) from None
    if len(trees) != 1 or trees[0] is None:
        raise UsageError(f"the condition `{condition_text}` must be a single expression")
    return trees[0]


def _unreadable_condition_error(text: str, reason: str) -> UsageError:
    """Return the error for a condition that is not valid SQL, with a hint on missing quotes."""
    quotes = f"; {_QUOTES_HINT}" if _UNQUOTED_WORD.search(text) else ""
    return UsageError(f"the condition `{text}` cannot be read as SQL: {reason}{quotes}")


def _describe_sql_error(error: Exception) -> str:
    """Describe a syntax error of sqlglot in plain words."""
    errors = getattr(error, "errors", None)
    if not errors:
        return "a quotation mark is not closed"
    description, location = errors[0]["description"], errors[0]["highlight"]
    if description.startswith("Required keyword"):
        return f"something is missing near `{location}`"
    if description.startswith("Expecting "):
        return f"`{description.removeprefix('Expecting ')}` is missing after `{location}`"
    return f"`{location}` is not expected there"


def _render_sql_and_collect_columns(
    node: Any, columns: dict[str, None], schema: Mapping[str, pl.DataType]
) -> str:
    """Render a syntax tree as portable SQL, and add the names of its columns to `columns`."""

    def render(child: Any) -> str:
        return _render_sql_and_collect_columns(child, columns, schema)

    argument_names = {name for name, value in node.args.items() if value}
    match type(node).__name__:
        case "Paren":
            return render(node.this)
        case "Not":
            return f"(NOT {render(node.this)})"
        case name if name in _COMPARISONS and argument_names <= {"this", "expression"}:
            _check_no_chained_comparison(node)
            _check_no_string_compared_with_number(node, [node.this, node.expression], schema)
            return f"({render(node.this)} {_COMPARISONS[name]} {render(node.expression)})"
        case "And" | "Or" as name if argument_names <= {"this", "expression"}:
            return _join_conditions_as_balanced_tree(
                name.upper(), [render(part) for part in node.flatten(unnest=False)]
            )
        case "Is" if type(node.expression).__name__ == "Null":
            return f"({render(node.this)} IS NULL)"
        case "In" if argument_names == {"this", "expressions"}:
            _check_no_string_compared_with_number(node, [node.this, *node.expressions], schema)
            return f"({render(node.this)} IN ({', '.join(map(render, node.expressions))}))"
        case "Between" if argument_names <= {"this", "low", "high"}:
            _check_no_string_compared_with_number(
                node, [node.this, node.args["low"], node.args["high"]], schema
            )
            bounds = f"{render(node.args['low'])} AND {render(node.args['high'])}"
            return f"({render(node.this)} BETWEEN {bounds})"
        case "Like" if (
            argument_names <= {"this", "expression", "negate"} and node.expression.is_string
        ):
            like = "NOT LIKE" if "negate" in argument_names else "LIKE"
            return f"({render(node.this)} {like} {quote_literal(node.expression.this)})"
        case "Column" if argument_names == {"this"} and type(node.this).__name__ == "Identifier":
            columns[node.name] = None
            return quote_identifier(node.name)
        case "Column" | "Dot" if is_setting_key(key := _column_name_of_node(node)):
            columns[key] = None
            return quote_identifier(key)
        case "Boolean" | "Null":
            return str(node.sql("duckdb"))
    if (constant := _render_string_or_number(node)) is not None:
        return constant
    raise UsageError(
        f"a condition cannot contain `{node.sql('duckdb')}`: use only columns and constants "
        f"with AND, OR, NOT, comparisons, IN, BETWEEN, LIKE and IS "
        f"NULL{_missing_quotes_hint(node, schema)}"
    )


def _missing_quotes_hint(node: Any, schema: Mapping[str, pl.DataType]) -> str:
    """Return a hint to add quotes if a name such as gpt-4 was parsed as a calculation."""
    from sqlglot import exp

    columns = {column.name for column in node.find_all(exp.Column)}
    if columns <= schema.keys():
        return ""
    looks_like_name = isinstance(node, exp.Binary | exp.Column) and not columns & schema.keys()
    return (
        f"; {single_quotes_hint(node.sql('duckdb').replace(' ', ''))}"
        if looks_like_name
        else f"; {_QUOTES_HINT}"
    )


def _check_no_chained_comparison(node: Any) -> None:
    """Raise UsageError for `1 < x < 3`, in which SQL would compare a boolean with a number."""
    side_types = [type(side.unnest()).__name__ for side in (node.this, node.expression)]
    is_comparison = [side in _COMPARISONS for side in side_types]
    if any(is_comparison) and not all(is_comparison) and "Boolean" not in side_types:
        raise UsageError(
            f"the condition `{node.sql('duckdb')}` compares the result of a comparison: write for "
            "example `1 < x AND x < 3`"
        )


def _check_no_string_compared_with_number(
    node: Any, compared_nodes: Sequence[Any], schema: Mapping[str, pl.DataType]
) -> None:
    """Raise UsageError if a string is compared with a number, which engines treat differently."""
    compared_nodes = [side.unnest() for side in compared_nodes]
    kinds = {kind for side in compared_nodes if (kind := _string_or_number_type(side, schema))}
    if len(kinds) > 1:
        keys = [name for name in map(_column_name_of_node, compared_nodes) if is_setting_key(name)]
        hint = f"; {keys[0]} is a text, as in {keys[0]} = '2'" if keys else ""
        raise UsageError(
            f"the condition compares values of different types: {' and '.join(sorted(kinds))} in "
            f"`{node.sql('duckdb')}`{hint}"
        )


def _string_or_number_type(node: Any, schema: Mapping[str, pl.DataType]) -> str | None:
    """Return `texts`, `numbers` or `booleans` for a column or constant; None for any other type."""
    if _render_string_or_number(node) is not None:
        return "texts" if node.is_string else "numbers"
    if type(node).__name__ == "Boolean":
        return "booleans"
    dtype = (
        pl.String()
        if is_setting_key(name := _column_name_of_node(node))
        else schema.get(name, pl.Null())
    )
    if dtype.is_numeric():
        return "numbers"
    return _KIND_BY_DTYPE.get(type(dtype))


def _column_name_of_node(node: Any) -> str:
    is_column = type(node).__name__ in ("Column", "Dot")
    return ".".join(part.name for part in node.parts) if is_column else ""


def _join_conditions_as_balanced_tree(operator: str, conditions: Sequence[str]) -> str:
    """Join SQL conditions as a balanced tree, because thousands would be nested too deeply."""
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return (
        f"({_join_conditions_as_balanced_tree(operator, conditions[:middle])} {operator} "
        f"{_join_conditions_as_balanced_tree(operator, conditions[middle:])})"
    )


def _render_string_or_number(node: Any) -> str | None:
    match type(node).__name__:
        case "Literal":
            return (
                quote_literal(node.this)
                if node.is_string
                else _render_number_without_exponent(node.this)
            )
        case "Neg" if type(node.this).__name__ == "Literal" and not node.this.is_string:
            return _render_number_without_exponent(f"-{node.this.this}")
    return None


def _render_number_without_exponent(number_text: str) -> str:
    """Render a number without an exponent, unless it would become long."""
    if number_text.lstrip("-").isdecimal() and not -(2**63) <= int(number_text) < 2**63:
        raise UsageError(f"the number {number_text} is too large for a condition")
    # In a list, polars 2.0 gives a number with an exponent another type than the other numbers.
    if "e" not in number_text.lower() or not 1e-9 < abs(float(number_text)) < 1e15:
        return number_text
    decimal_text = f"{Decimal(number_text):f}"
    return decimal_text if "." in decimal_text else f"{decimal_text}.0"


DEFAULT_BY = ("model", "game_type")
POOLED_TERM = "pooled"  # the term of a metric that is one ratio over all of its terms
LOSSES_REFUSED = (
    "the release edition counts failed games as the published script does: leave out the choice of "
    "failures"
)
MAX_EXPECTED_GAMES = 1_000_000_000

_COMMON_COLUMNS = PlayerRow.columns()
GAME_COLUMNS: dict[str, pl.DataType] = {
    name: dtype for name, dtype in table_schema("games").items() if name not in _COMMON_COLUMNS
} | {"opponent": pl.String()}
"""The columns of `games` by which rows can be grouped and filtered. `opponent` is that of
`results`. If a table of rows has a column of the same name, the column of `games` is used."""


def as_list(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Return one name or several names as a tuple; None stays None."""
    if names is None:
        return None
    return (names,) if isinstance(names, str) else tuple(names)


def check_confidence(confidence: float | None) -> None:
    """Raise UsageError if the confidence level is neither None nor between 0 and 1."""
    # With a lower level, both ends of an interval would be the same number.
    if confidence is not None and not 1e-6 <= confidence < 1:
        raise UsageError(
            f"the confidence must be between 0 and 1, for example 0.95, not {confidence:g}"
        )


def requested_metrics(metrics: Iterable[str] | None, edition: Edition) -> tuple[str, ...]:
    """Return the requested metric names, or all metrics of the edition if None are requested."""
    return edition_names(edition) if metrics is None else as_list(metrics) or ()


def is_game_column(column: str) -> bool:
    """Return whether a column belongs to the table `games` or is a key of a game's setting."""
    return column in GAME_COLUMNS or is_setting_key(column)


def setting_key_path(column: str) -> tuple[str, ...]:
    """Return the nested keys of the setting under which a column's value is stored."""
    paths = {**FIXED_SETTING_KEYS, "topic": ("topic",)}
    return tuple(column.split(".")[1:]) if is_setting_key(column) else paths.get(column, ())


def setting_value_expression(column: str) -> pl.Expr:
    """Return an expression that reads a column such as `setting.topic` from the setting as text."""
    path = "".join(f"['{key}']" for key in setting_key_path(column))
    return pl.col(SETTING).str.json_path_match(f"${path}").alias(column)


def selection_condition(**values: str | Sequence[str] | None) -> pl.Expr:
    """Return a condition that is true in rows that have one of the allowed values in each column.

    Args:
        **values: A value or a list of values for each column; None stands for any value.
    """
    conditions = (
        pl.col(name).is_in(as_list(allowed) or ())
        for name, allowed in values.items()
        if allowed is not None
    )
    return pl.all_horizontal(pl.lit(value=True), *conditions)


class Request(Struct, frozen=True):
    """The edition, groups and filters of a request for metric values.

    Attributes:
        edition: The edition: paper, release or audited.
        by: The columns that identify a group.
        num_of_game: For the edition release only: games with a lower number count.
        models: The requested models; None stands for all.
        game_types: The requested game types; None stands for all.
        where: The condition on rows.
        expected: The number of games that each model is expected to have in each competition; None
            derives it from the games of the other models.
        varied: Columns of the setting whose values are compared, although they are not groups.
        has_unclear_others: Whether the rows of `unclear_rows_outside_metric` are added to those of
            the metric.
    """

    edition: Edition = PAPER
    by: tuple[str, ...] = DEFAULT_BY
    num_of_game: int = DEFAULT_N_GAMES
    models: tuple[str, ...] | None = None
    game_types: tuple[str, ...] | None = None
    where: Condition | None = None
    expected: int | None = None
    varied: tuple[str, ...] = ()
    has_unclear_rows_outside_metric: bool = False

    @property
    def metric_and_group_columns(self) -> list[str]:
        """The columns that identify a value: the metric and the groups."""
        return ["metric", *self.by]

    @property
    def group_and_filter_columns(self) -> tuple[str, ...]:
        """The columns by which rows are grouped or filtered."""
        return (*self.by, *(self.where.columns if self.where else ()))

    @property
    def game_columns_in_groups_and_filter(self) -> tuple[str, ...]:
        """The columns of `games` by which rows are grouped or filtered."""
        return tuple(
            name for name in dict.fromkeys(self.group_and_filter_columns) if is_game_column(name)
        )

    @property
    def counted_group_columns(self) -> tuple[str, ...]:
        """The columns by which an engine counts rows, which are the groups and the game type.

        They include the game type. Each game has one type, so counts of distinct games can be added
        up over types.
        """
        return self.by if self.has_rows_over_all_game_types else (*self.by, "game_type")

    @property
    def has_rows_over_all_game_types(self) -> bool:
        """Whether the result also has rows that count all game types together."""
        return "game_type" in self.by

    @property
    def uses_only_columns_of_results(self) -> bool:
        """Whether the table `results` has all columns of the groups and the condition.

        A result can stand for a whole team, so it has no seat and no player.
        """
        side_columns = _COMMON_COLUMNS.keys() - {"player"}
        return all(
            name in side_columns or is_game_column(name) for name in self.group_and_filter_columns
        )

    def has_one_game_type_per_group(self, metric_types: Collection[str]) -> bool:
        """Return whether every group has games of only one of the metric's game types.

        In the edition release values are over all game types.

        Args:
            metric_types: The game types of the metric.
        """
        requested_types = set(self.game_types or ())
        is_single_type = (
            len(requested_types) == 1
            and requested_types <= set(metric_types)
            and self.edition != RELEASE
        )
        columns_within_type = {"game_type", "game_id", "setting_id", "competition"}
        return is_single_type or not columns_within_type.isdisjoint(self.by)

    def missing_terms_hint(self, metric_types: Collection[str]) -> str:
        """Return the hint for a value that is missing because one of its ratios has no rows.

        Args:
            metric_types: The game types of the metric.
        """
        covers_all_games = self.edition == RELEASE or (
            self.lists_groups_without_metric_games and self.where is None
        )
        # A group can lack terms because it has games of some types only.
        can_mix_types = (
            len(metric_types) > 1
            and not covers_all_games
            and not self.has_one_game_type_per_group(metric_types)
        )
        group_hint = (
            "; also group by game_type to get the value of each type" if can_mix_types else ""
        )
        if self.lists_groups_without_metric_games:
            return group_hint
        return f"{group_hint}; `magic metrics --format json` shows each term in `terms`"

    @property
    def lists_groups_without_metric_games(self) -> bool:
        """Whether groups are listed even if they have no games that the metric counts."""
        return set(self.by) <= set(DEFAULT_BY)

    def game_types_in_rows(self, metric: Metric) -> tuple[str, ...]:
        """Return the values of the column `game_type` in the result for a metric."""
        metric_types = tuple(str(game_type) for game_type in metric.game_types)
        if self.edition == RELEASE and len(metric_types) > 1:
            metric_types = ()
        row_types = (*metric_types, ALL_GAME_TYPES)
        return (
            row_types
            if self.game_types is None
            else tuple(game_type for game_type in row_types if game_type in self.game_types)
        )

    def counted_game_types(self, metric: Metric) -> tuple[str, ...]:
        """Return the metric's game types that the request counts: the requested ones, or all."""
        types = tuple(map(str, metric.game_types))
        requested_types = None if self.has_rows_over_all_game_types else self.game_types
        return (
            tuple(
                game_type
                for game_type in types
                if requested_types is None or game_type in requested_types
            )
            or types
        )


def metric_row_schema(name: str) -> dict[str, pl.DataType]:
    """Return the columns, with their types, that all rows of a metric have.

    Args:
        name: The name of the metric.
    """
    tables = [rows.table for rows in metric_spec(name).rows]
    table_names = [table for table in tables if isinstance(table, str)]
    check_known_names("table", table_names, [*TABLES])
    # Rows that are built by a function have the columns of the named tables, if there are any.
    schemas = [table_schema(table) for table in table_names] or [
        table(lambda name: pl.LazyFrame(schema=table_schema(name))).collect_schema()
        for table in tables
        if not isinstance(table, str)
    ]
    return _columns_common_to_schemas(schemas) | GAME_COLUMNS


def parse_condition(metrics: Sequence[str], where: str | None) -> Condition | None:
    """Parse an SQL condition on columns that the rows of all these metrics have.

    Args:
        metrics: The names of the metrics.
        where: The condition in SQL, or None.

    Returns:
        The parsed condition; None if there is no condition.

    Raises:
        UsageError: If the condition is invalid, as in `parse_condition_for_schema`.
    """
    if where is None:
        return None
    schemas = {name: metric_row_schema(name) for name in metrics}
    metrics_by_column = {
        column: [name for name in schemas if column in schemas[name]]
        for schema in schemas.values()
        for column in schema
    }
    return parse_condition_for_schema(
        where, _columns_common_to_schemas([*schemas.values()]), metrics_by_column
    )


def _columns_common_to_schemas(
    schemas: Sequence[Mapping[str, pl.DataType]],
) -> dict[str, pl.DataType]:
    first = schemas[0]
    return {name: first[name] for name in first if all(name in schema for schema in schemas)}


def check_number_of_games(request: Request) -> None:
    """Raise UsageError if the number of games is below 1, or if the edition has no such number."""
    if request.num_of_game < 1:
        raise UsageError("the number of games must be 1 or more")
    if request.edition != RELEASE and request.num_of_game != DEFAULT_N_GAMES:
        raise UsageError(
            f"a number of games works only with the edition release, not with {request.edition}"
        )


def check_expected_number_of_games(expected: int | None) -> None:
    """Raise UsageError if the expected number of games is below 1 or too large."""
    if expected is not None and not 1 <= expected <= MAX_EXPECTED_GAMES:
        raise UsageError(f"the number of expected games must be 1 to {MAX_EXPECTED_GAMES:,}")


def check_edition_allows_failures_as_losses(lake: StoredLake, edition: Edition) -> None:
    """Raise UsageError if the lake counts failures as losses and the edition is the release."""
    if edition == RELEASE and lake.failures == LOSS:
        raise UsageError(LOSSES_REFUSED)


def check_request(lake: StoredLake, request: Request, metrics: Sequence[str]) -> None:
    """Raise UsageError if a request is invalid for these metrics or this lake.

    Args:
        lake: The lake, of one system.
        request: The edition, groups and filters.
        metrics: The names of the metrics.

    Raises:
        UsageError: If a name is unknown, a number is out of range, or the edition does not support
            the request.
    """
    for name in metrics:
        metric_spec(name, request.edition)
    check_number_of_games(request)
    check_expected_number_of_games(request.expected)
    check_edition_allows_failures_as_losses(lake, request.edition)
    is_release, group_columns = request.edition == RELEASE, set(request.by)
    errors = {
        "the list of metrics is empty: name at least one, or leave it out for all": not metrics,
        f"the game type `{ALL_GAME_TYPES}` exists only if you group by game_type": (
            not request.has_rows_over_all_game_types
            and ALL_GAME_TYPES in (request.game_types or ())
        ),
        "the release edition covers all games of a model: leave out the condition": (
            is_release and request.where is not None
        ),
        "the release edition is computed per model: group by model and game_type": (
            is_release and not group_columns <= set(DEFAULT_BY)
        ),
        "the release edition is computed per model: group at least by model": (
            is_release and "model" not in group_columns
        ),
    }
    if message := next((text for text, is_error in errors.items() if is_error), None):
        raise UsageError(message)
    check_known_names("game type", request.game_types, [*games.game_type_names(), ALL_GAME_TYPES])
    if len(set(request.by)) < len(request.by):
        raise UsageError(f"you cannot group by the same column twice: {', '.join(request.by)}")
    check_models_are_tested(lake, request.models)
    tables = {name: list(metric_row_schema(name)) for name in metrics}
    for column in request.by:
        tables_with_own_columns = () if is_game_column(column) else tables
        if metrics_without_column := [
            metric for metric in tables_with_own_columns if column not in tables[metric]
        ]:
            raise UsageError(_cannot_group_message(column, metrics_without_column, tables))
    for column in filter(is_setting_key, request.group_and_filter_columns):
        settings = lake.table("games").select(SETTING).drop_nulls()
        games_with_key = (
            settings.filter(setting_value_expression(column).is_not_null()).head(1).collect()
        )
        sample = settings.unique().head(1_000)
        if games_with_key.is_empty() and (texts := sample.collect()[SETTING]).len():
            keys = sorted({f"{SETTING}.{key}" for text in texts for key in json.loads(text)})
            raise UsageError(
                f"no game has `{column}` in its setting: {known_names_hint([column], keys)}"
            )


def _cannot_group_message(
    column: str, metrics_without_column: Sequence[str], tables: dict[str, list[str]]
) -> str:
    metrics_with_column = [metric for metric in tables if metric not in metrics_without_column]
    if metrics_with_column:
        return (
            f"cannot group {', '.join(metrics_without_column)} by `{column}`: "
            f"their rows have no such column; only {', '.join(metrics_with_column)} "
            "can be grouped by it"
        )
    common_columns = set.intersection(*(set(columns) for columns in tables.values()))
    known_columns = dict.fromkeys([*table_schema("results"), *GAME_COLUMNS])
    ordered_columns = [name for name in known_columns if name in common_columns]
    return f"no column `{column}` to group by: {known_names_hint([column], ordered_columns)}"


def check_known_names(
    noun: str, words: str | Sequence[str] | None, known_names: Collection[str], where: str = ""
) -> None:
    """Raise UsageError, with suggestions, if a name is not one of the known names.

    Args:
        noun: What the words are, for the message, such as `game type`.
        words: The words to check; None passes.
        known_names: The accepted words.
        where: Added to the message after the words, as in ` of chameleon`.

    Raises:
        UsageError: If a word is not known.
    """
    if unknown_words := [name for name in as_list(words) or () if name not in known_names]:
        raise UsageError(
            f"no {noun} {_join_names_with_commas(unknown_words)}{where}: "
            f"{known_names_hint(unknown_words, known_names)}"
        )


def _join_names_with_commas(names: Iterable[str]) -> str:
    return ", ".join(name or "``" for name in names)


def check_competitions_or_roles_exist(
    lake: StoredLake,
    column: str,
    names: str | Sequence[str] | None,
    game_types: Sequence[str] | None = None,
) -> None:
    """Raise UsageError if no game has the given competition or role.

    Args:
        lake: The lake, of one system.
        column: The column: `competition` or `role`.
        names: The names to check; None passes.
        game_types: The game types that must have the names; None for any.

    Raises:
        UsageError: If a name is unknown. The message lists the names of the lake's games.
    """
    if names is not None:
        field = {"competition": "competition", "role": "name"}[column]
        definitions = [
            games.game_definition(name) for name in game_types or games.game_type_names()
        ]
        known_names = [getattr(role, field) for kind in definitions for role in kind.roles]
        lake_values = (
            lake.table("roles").filter(selection_condition(game_type=game_types)).collect()[column]
        )
        where = f" of {', '.join(game_types)}" if game_types else ""
        unknown_names = [name for name in as_list(names) or () if name not in known_names]
        check_known_names(
            column, unknown_names, dict.fromkeys(lake_values) or dict.fromkeys(known_names), where
        )


def check_models_are_tested(lake: StoredLake, models: str | Sequence[str] | None) -> None:
    """Raise UsageError if a model is not tested in any game of the lake."""
    tested_results = lake.table("results").filter("is_tested")
    untested_models = _models_without_rows(tested_results, models)
    if untested_models:
        _check_models_have_games(lake, untested_models, tested_results, "magic leaderboard")
        is_single = len(untested_models) == 1
        played_as_opponent = (
            "appears only as an opponent" if is_single else "appear only as opponents"
        )
        raise UsageError(
            f"{', '.join(untested_models)} {played_as_opponent}: metrics cover only tested "
            "models; run `magic leaderboard` to list them"
        )


def keep_tested_models(lake: StoredLake, models: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return those of the models that are tested in a game of the lake."""
    if models is None:
        return None
    untested_models = _models_without_rows(lake.table("results").filter("is_tested"), models)
    return tuple(model for model in models if model not in untested_models)


def check_players(lake: StoredLake, models: str | Sequence[str] | None) -> None:
    """Raise UsageError if a model plays in no game of the lake, not even as an opponent."""
    listing = 'magic sql "SELECT DISTINCT model FROM players"'
    _check_models_have_games(lake, models, lake.table("players"), listing)


def _check_models_have_games(
    lake: StoredLake,
    models: str | Sequence[str] | None,
    suggested_models: pl.LazyFrame,
    listing_command: str,
) -> None:
    """Raise UsageError, with suggestions, if a model plays in no game of the lake."""
    if unknown_models := _models_without_rows(lake.table("players"), models):
        for system in lake.systems if lake.system else ():
            if not _models_without_rows(lake.for_system(system).table("players"), unknown_models):
                raise OtherSystemError(
                    f"no game of {_join_names_with_commas(unknown_models)} in {lake.system}, "
                    f"but in {system}",
                    f"choose that system, with `--system {system}` or `"
                    f"lake.for_system({system!r})`",
                )
        if names_with_system := [
            name for name in unknown_models if name.rpartition("@")[2] in lake.systems
        ]:
            raise UsageError(
                f"no game of {_join_names_with_commas(names_with_system)}: only `compare` takes "
                "a model of a system; name the model alone, and its system with --system or "
                "`lake.for_system`"
            )
        accepted_names = (
            suggested_models.select(pl.col("model").unique()).drop_nulls().collect()["model"].sort()
        )
        # Long lists are not printed.
        is_few = 0 < len(accepted_names) <= 8
        list_hint = (
            f"choose from {', '.join(accepted_names)}"
            if is_few
            else f"run `{listing_command}` to list the models"
        )
        hint = similar_names_hint(unknown_models, accepted_names) or list_hint
        raise UsageError(f"no game of {_join_names_with_commas(unknown_models)}: {hint}")


def _models_without_rows(rows: pl.LazyFrame, models: str | Sequence[str] | None) -> list[str]:
    """Return those of the models that have no row in the frame, sorted."""
    if not (requested_models := as_list(models)):
        return []
    existing_models = rows.filter(selection_condition(model=requested_models)).select(
        pl.col("model").unique()
    )
    return sorted(set(requested_models) - set(existing_models.collect(engine="streaming")["model"]))
