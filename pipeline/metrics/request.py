"""A request for values: which metrics, in which edition, grouped how; and whether it can be met.

It can if the names in it are those of the lake and of the metrics.
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
    suggest_names,
    suggest_quotes,
    suggest_similar_names,
)
from pipeline.events.contracts import TABLES, PlayerRow, table_schema
from pipeline.game_record import FIXED_SETTING_KEYS
from pipeline.lake import StoredLake
from pipeline.metrics.registry import Metric, metric_names as edition_names, metric_spec
from pipeline.sql_files import quote_identifier, quote_literal
from pipeline.vocabulary import ALL_GAME_TYPES, DEFAULT_N_GAMES, LOSS, PAPER, RELEASE, Edition

# A condition on rows, given in SQL: read once, and written in words that all engines read alike.
#
# It is a small part of SQL, that in which both engines mean the same: columns, constants, AND, OR,
# NOT, comparisons, IN, BETWEEN, LIKE, IS [NOT] NULL, IS [NOT] DISTINCT FROM. No function, no
# subquery, no arithmetic, no cast.

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
_QUOTES = "texts need single quotes, as in role = 'civilian'"
_BARE = re.compile(r"[=<>]\s*[^\W\d]")  # a word where a constant is expected
_NUMBER, _TRUTH = r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", "(?i)true|false"
SETTING = "setting"
_KINDS: dict[type[pl.DataType], str] = {
    pl.String: "texts",
    pl.Categorical: "texts",
    pl.Enum: "texts",
    pl.Boolean: "truths",
}
_KEY = re.compile(rf"{SETTING}(?:\.[^.'\"\[\]\\]+)+")


class Condition(Struct, frozen=True):
    """A condition, in SQL that is safe to run, with the columns that it names."""

    sql: str
    columns: tuple[str, ...]


def compared_texts(where: Condition, column: str) -> list[str]:
    """Return the texts that a condition compares a column with, by = or IN."""
    text = r"'(?:[^']|'')*'"
    one, several = f"= ({text})", rf"IN \(({text}(?:, {text})*)\)"
    found = re.findall(rf"{re.escape(quote_identifier(column))} (?:{one}|{several})", where.sql)
    constants = [constant for pair in found for part in pair for constant in re.findall(text, part)]
    return [constant[1:-1].replace("''", "'") for constant in constants]


def is_key(column: str) -> bool:
    """Whether a column is a key of what was fixed before play, as in `setting.topic`: its text."""
    return _KEY.fullmatch(column) is not None


def condition(
    text: str,
    schema: Mapping[str, pl.DataType],
    elsewhere: Mapping[str, Sequence[str]] = {},
) -> Condition:
    """The condition that the text is, on rows of the schema. `elsewhere` names the metrics whose
    rows have a column that these have not, for a hint.

    Raises UsageError for anything else: a word of SQL that is not taken, a column that the rows
    have not, types that cannot be compared.
    """
    columns: dict[str, None] = {}
    try:
        sql = _written(_parsed(text), columns, schema)
    except RecursionError:
        raise _unreadable(text, "it is nested too deeply") from None
    if SETTING in schema:
        schema = {**schema, **dict.fromkeys(filter(is_key, columns), pl.String())}
    if strangers := [name for name in columns if name not in schema]:
        # The list is long, so what is more likely comes before it.
        near = suggest_similar_names(strangers, [*schema, *elsewhere])
        if having := elsewhere.get(strangers[0]):
            near = f"not all metrics have it; choose the metric from {', '.join(having)}"
        # Beside a column that there is, as in `role = civilian`, the name is a text.
        is_text = any(name in schema for name in columns)
        columns_hint = "" if is_text else f"; else {suggest_names(strangers, schema)}"
        hint = near or f"{suggest_quotes(strangers[0])}{columns_hint}"
        raise UsageError(f"no column {', '.join(strangers)} for a condition: {hint}")
    types = {name: schema[name] for name in columns} or {"none": pl.Null()}
    try:
        answer = pl.DataFrame(schema=types).lazy().select(answer=pl.sql_expr(sql)).collect()
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        if "native python" in reason:
            reason = "a condition cannot compare times; use `magic sql` for these"
        raise UsageError(f"the condition compares values of different types: {reason}") from None
    if answer["answer"].dtype not in (pl.Boolean, pl.Null):
        raise UsageError(f"the condition `{text}` must be true or false for each row")
    return Condition(f"CAST({sql} AS BOOLEAN)", tuple(columns))


def typed_constant(column: str, value: str, dtype: pl.DataType) -> str:
    """The value, as somebody wrote it, as one constant to compare a column of this type with.

    Raises UsageError for what is no number, or no truth, of a column that has these.
    """
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        return quote_literal(value)
    kind, pattern = ("a number", _NUMBER) if dtype.is_numeric() else ("true or false", _TRUTH)
    if not re.fullmatch(pattern, value):
        raise UsageError(f"`{column}` is {kind}, not `{value}`")
    return value


def _parsed(text: str) -> Any:
    """The text's syntax tree."""
    # Imported here, since few questions have a condition.
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        trees = sqlglot.parse(text, read="duckdb")
    except SqlglotError as error:
        raise _unreadable(text, _reason(error)) from None
    if len(trees) != 1 or trees[0] is None:
        raise UsageError(f"the condition `{text}` must be a single expression")
    return trees[0]


def _unreadable(text: str, reason: str) -> UsageError:
    quotes = f"; {_QUOTES}" if _BARE.search(text) else ""
    return UsageError(f"the condition `{text}` cannot be read as SQL: {reason}{quotes}")


def _reason(error: Exception) -> str:
    """What is wrong with a text, without the library's class names."""
    faults = getattr(error, "errors", None)
    if not faults:
        return "a quotation mark is not closed"
    what, place = faults[0]["description"], faults[0]["highlight"]
    if what.startswith("Required keyword"):
        return f"something is missing near `{place}`"
    if what.startswith("Expecting "):
        return f"`{what.removeprefix('Expecting ')}` is missing after `{place}`"
    return f"`{place}` is not expected there"


def _written(node: Any, columns: dict[str, None], schema: Mapping[str, pl.DataType]) -> str:
    """The node in SQL that all engines read alike; the columns it names are added to `columns`."""

    def of(inner: Any) -> str:
        return _written(inner, columns, schema)

    parts = {name for name, value in node.args.items() if value}
    match type(node).__name__:
        case "Paren":
            return of(node.this)
        case "Not":
            return f"(NOT {of(node.this)})"
        case name if name in _COMPARISONS and parts <= {"this", "expression"}:
            _refuse_chain(node)
            _refuse_mixture(node, [node.this, node.expression], schema)
            return f"({of(node.this)} {_COMPARISONS[name]} {of(node.expression)})"
        case "And" | "Or" as name if parts <= {"this", "expression"}:
            return _joined(name.upper(), [of(part) for part in node.flatten(unnest=False)])
        case "Is" if type(node.expression).__name__ == "Null":
            return f"({of(node.this)} IS NULL)"
        case "In" if parts == {"this", "expressions"}:
            _refuse_mixture(node, [node.this, *node.expressions], schema)
            return f"({of(node.this)} IN ({', '.join(map(of, node.expressions))}))"
        case "Between" if parts <= {"this", "low", "high"}:
            _refuse_mixture(node, [node.this, node.args["low"], node.args["high"]], schema)
            ends = f"{of(node.args['low'])} AND {of(node.args['high'])}"
            return f"({of(node.this)} BETWEEN {ends})"
        case "Like" if parts <= {"this", "expression", "negate"} and node.expression.is_string:
            like = "NOT LIKE" if "negate" in parts else "LIKE"
            return f"({of(node.this)} {like} {quote_literal(node.expression.this)})"
        case "Column" if parts == {"this"} and type(node.this).__name__ == "Identifier":
            columns[node.name] = None
            return quote_identifier(node.name)
        case "Column" | "Dot" if is_key(key := _name(node)):
            columns[key] = None
            return quote_identifier(key)
        case "Boolean" | "Null":
            return str(node.sql("duckdb"))
    if (constant := _constant(node)) is not None:
        return constant
    raise UsageError(
        f"a condition cannot contain `{node.sql('duckdb')}`: use only columns and constants "
        f"with AND, OR, NOT, comparisons, IN, BETWEEN, LIKE and IS NULL{_as_text(node, schema)}"
    )


def _as_text(node: Any, schema: Mapping[str, pl.DataType]) -> str:
    """A hint where a name such as gpt-4 was read as a calculation with what is no column."""
    from sqlglot import exp

    columns = {one.name for one in node.find_all(exp.Column)}
    if columns <= schema.keys():
        return ""
    is_name = isinstance(node, exp.Binary | exp.Column) and not columns & schema.keys()
    return f"; {suggest_quotes(node.sql('duckdb').replace(' ', ''))}" if is_name else f"; {_QUOTES}"


def _refuse_chain(node: Any) -> None:
    """Raises UsageError for `1 < x < 3`, in which SQL compares a truth with a number."""
    sides = [type(side.unnest()).__name__ for side in (node.this, node.expression)]
    is_truth = [side in _COMPARISONS for side in sides]
    if any(is_truth) and not all(is_truth) and "Boolean" not in sides:
        raise UsageError(
            f"the condition `{node.sql('duckdb')}` compares the result of a comparison: write for "
            "example `1 < x AND x < 3`"
        )


def _refuse_mixture(node: Any, sides: Sequence[Any], schema: Mapping[str, pl.DataType]) -> None:
    """Raises UsageError for `x = 1` of a text: engines differ in which of the two they convert."""
    sides = [side.unnest() for side in sides]
    kinds = {kind for side in sides if (kind := _kind(side, schema))}
    if len(kinds) > 1:
        keys = [name for name in map(_name, sides) if is_key(name)]
        hint = f"; {keys[0]} is a text, as in {keys[0]} = '2'" if keys else ""
        raise UsageError(
            f"the condition compares values of different types: {' and '.join(sorted(kinds))} in "
            f"`{node.sql('duckdb')}`{hint}"
        )


def _kind(node: Any, schema: Mapping[str, pl.DataType]) -> str | None:
    """What kind of values a column or a constant has; null for others, such as times."""
    if _constant(node) is not None:
        return "texts" if node.is_string else "numbers"
    if type(node).__name__ == "Boolean":
        return "truths"
    dtype = pl.String() if is_key(name := _name(node)) else schema.get(name, pl.Null())
    if dtype.is_numeric():
        return "numbers"
    return _KINDS.get(type(dtype))


def _name(node: Any) -> str:
    """The name of a column, empty for anything else."""
    is_column = type(node).__name__ in ("Column", "Dot")
    return ".".join(part.name for part in node.parts) if is_column else ""


def _joined(word: str, parts: Sequence[str]) -> str:
    """All parts joined, by halves: one by one, thousands would make too deep a tree."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({_joined(word, parts[:half])} {word} {_joined(word, parts[half:])})"


def _constant(node: Any) -> str | None:
    """The text or number that the node is, in SQL; null for anything else."""
    match type(node).__name__:
        case "Literal":
            return quote_literal(node.this) if node.is_string else _number(node.this)
        case "Neg" if type(node.this).__name__ == "Literal" and not node.this.is_string:
            return _number(f"-{node.this.this}")
    return None


def _number(text: str) -> str:
    """The number as it is written, but without an exponent, if it is not long then."""
    if text.lstrip("-").isdecimal() and not -(2**63) <= int(text) < 2**63:
        raise UsageError(f"the number {text} is too large for a condition")
    # In a list, polars 2.0 takes one with an exponent for another type than the rest.
    if "e" not in text.lower() or not 1e-9 < abs(float(text)) < 1e15:
        return text
    plain = f"{Decimal(text):f}"
    return plain if "." in plain else f"{plain}.0"


DEFAULT_BY = ("model", "game_type")
POOL = "pooled"  # the term of a metric that is one ratio over all of its terms
LOSSES_REFUSED = (
    "the release edition counts failed games as the published script does: leave out the choice of "
    "failures"
)
MOST_EXPECTED = 1_000_000_000

_OF_EVERY_ROW = PlayerRow.columns()
GAME_COLUMNS: dict[str, pl.DataType] = {
    name: dtype for name, dtype in table_schema("games").items() if name not in _OF_EVERY_ROW
} | {"opponent": pl.String()}
"""The columns of a game that its rows do not repeat, to group and choose by; `opponent` as in
`results`. A column that `games` has is the game's, even where the rows have one of that name."""


def as_list(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """The names, None for None; a text alone is one name, and no list of its letters."""
    if names is None:
        return None
    return (names,) if isinstance(names, str) else tuple(names)


def check_confidence(confidence: float | None) -> None:
    """Raises UsageError for a level without an interval; None asks for no interval."""
    # With less than the least, both ends of an interval are one number.
    if confidence is not None and not 1e-6 <= confidence < 1:
        raise UsageError(
            f"the confidence must be between 0 and 1, for example 0.95, not {confidence:g}"
        )


def requested_metrics(metrics: Iterable[str] | None, edition: Edition) -> tuple[str, ...]:
    """The metrics that are named; None stands for all of the edition."""
    return edition_names(edition) if metrics is None else as_list(metrics) or ()


def is_game_column(column: str) -> bool:
    """Whether a column is one of the game, or a key of its setting."""
    return column in GAME_COLUMNS or is_key(column)


def setting_path(column: str) -> tuple[str, ...]:
    """The keys that lead to a column's value in the setting; empty for other columns."""
    paths = {**FIXED_SETTING_KEYS, "topic": ("topic",)}
    return tuple(column.split(".")[1:]) if is_key(column) else paths.get(column, ())


def key_of_setting(column: str) -> pl.Expr:
    """The text of a key of the setting, as in `setting.topic`; null for a game without it."""
    path = "".join(f"['{key}']" for key in setting_path(column))
    return pl.col(SETTING).str.json_path_match(f"${path}").alias(column)


def selection_condition(**values: str | Sequence[str] | None) -> pl.Expr:
    """Whether a row has one of the values in each of these columns; None stands for any."""
    asked = (
        pl.col(name).is_in(as_list(some) or ()) for name, some in values.items() if some is not None
    )
    return pl.all_horizontal(pl.lit(value=True), *asked)


class Request(Struct, frozen=True):
    """A grouping of an edition's rows. `num_of_game` is the release edition's alone.

    `expected` is how many games of each model are expected in each competition, None for as many as
    others finished.
    `varied` are columns of the setting that are compared, although values are not grouped by them.
    `has_unclear_others` adds the rows of `rows.unclear_others` to the metric's own.
    """

    edition: Edition = PAPER
    by: tuple[str, ...] = DEFAULT_BY
    num_of_game: int = DEFAULT_N_GAMES
    models: tuple[str, ...] | None = None
    game_types: tuple[str, ...] | None = None
    where: Condition | None = None
    expected: int | None = None
    varied: tuple[str, ...] = ()
    has_unclear_others: bool = False

    @property
    def key_columns(self) -> list[str]:
        """The columns that identify a value."""
        return ["metric", *self.by]

    @property
    def used_columns(self) -> tuple[str, ...]:
        """The columns that rows are grouped or chosen by."""
        return (*self.by, *(self.where.columns if self.where else ()))

    @property
    def of_game(self) -> tuple[str, ...]:
        """Those of them that are columns of the game."""
        return tuple(name for name in dict.fromkeys(self.used_columns) if is_game_column(name))

    @property
    def fine(self) -> tuple[str, ...]:
        """The columns that rows are counted by; the groups asked for are sums of these.

        A game is of one type, so what is distinct within types is distinct over several.
        """
        return self.by if self.is_rolled_up else (*self.by, "game_type")

    @property
    def is_rolled_up(self) -> bool:
        """Whether there are also rows over all game types."""
        return "game_type" in self.by

    @property
    def is_of_results(self) -> bool:
        """Whether `results` tells the groups, so that one without any counted row is shown.

        A result may stand for a whole team, so it has no seat or player to group by.
        """
        of_a_side = _OF_EVERY_ROW.keys() - {"player"}
        return all(name in of_a_side or is_game_column(name) for name in self.used_columns)

    def tells_type(self, of_metric: Collection[str]) -> bool:
        """Whether a group is of one of a metric's own game types by all that is asked.

        The release edition has values over all of them alone.
        """
        chosen = set(self.game_types or ())
        is_one_alone = len(chosen) == 1 and chosen <= set(of_metric) and self.edition != RELEASE
        of_one_type = {"game_type", "game_id", "setting_id", "competition"}
        return is_one_alone or not of_one_type.isdisjoint(self.by)

    def hint(self, of_metric: Collection[str]) -> str:
        """What to say of a value that lacks some of its terms, for a metric of these types."""
        is_of_all = self.edition == RELEASE or (self.has_every_group and self.where is None)
        # Its groups can lack terms because they are of some of its types only.
        is_mixed = len(of_metric) > 1 and not is_of_all and not self.tells_type(of_metric)
        by_type = "; also group by game_type to get the value of each type" if is_mixed else ""
        if self.has_every_group:
            return by_type
        return f"{by_type}; `magic metrics --format json` shows each term in `terms`"

    @property
    def has_every_group(self) -> bool:
        """Whether a group is shown though it has no game of the metric's types."""
        return set(self.by) <= set(DEFAULT_BY)

    def shown_types(self, metric: Metric) -> tuple[str, ...]:
        """The values of `game_type` that rows of the metric have."""
        of_metric = tuple(str(game_type) for game_type in metric.game_types)
        if self.edition == RELEASE and len(of_metric) > 1:
            of_metric = ()
        shown = (*of_metric, ALL_GAME_TYPES)
        return shown if self.game_types is None else tuple(t for t in shown if t in self.game_types)

    def counted_types(self, metric: Metric) -> tuple[str, ...]:
        """The metric's game types whose rows are counted: the requested ones, if there are any."""
        types = tuple(map(str, metric.game_types))
        chosen = None if self.is_rolled_up else self.game_types
        return tuple(one for one in types if chosen is None or one in chosen) or types


def common_row_schema(name: str) -> dict[str, pl.DataType]:
    """The columns that all rows of the metric have, of their own or of their game."""
    tables = [rows.table for rows in metric_spec(name).rows]
    named = [table for table in tables if isinstance(table, str)]
    check_words("table", named, [*TABLES])
    # What is made of several tables has the columns of the plain ones beside it, if there are any.
    schemas = [table_schema(table) for table in named] or [
        table(lambda name: pl.LazyFrame(schema=table_schema(name))).collect_schema()
        for table in tables
        if not isinstance(table, str)
    ]
    return _common(schemas) | GAME_COLUMNS


def parse_condition(metrics: Sequence[str], where: str | None) -> Condition | None:
    """The condition on the columns that the rows of all these metrics have, None for None."""
    if where is None:
        return None
    schemas = {name: common_row_schema(name) for name in metrics}
    having = {
        column: [name for name in schemas if column in schemas[name]]
        for schema in schemas.values()
        for column in schema
    }
    return condition(where, _common([*schemas.values()]), having)


def _common(schemas: Sequence[Mapping[str, pl.DataType]]) -> dict[str, pl.DataType]:
    """The columns that are in all of the schemas, in the order of the first."""
    first = schemas[0]
    return {name: first[name] for name in first if all(name in schema for schema in schemas)}


def check_number_of_games(request: Request) -> None:
    """Raises UsageError for a number of games that no edition, or not that of the request, has."""
    if request.num_of_game < 1:
        raise UsageError("the number of games must be 1 or more")
    if request.edition != RELEASE and request.num_of_game != DEFAULT_N_GAMES:
        raise UsageError(
            f"a number of games works only with the edition release, not with {request.edition}"
        )


def check_expected(expected: int | None) -> None:
    """Raises UsageError for a number of expected games that is less than 1, or too large."""
    if expected is not None and not 1 <= expected <= MOST_EXPECTED:
        raise UsageError(f"the number of expected games must be 1 to {MOST_EXPECTED:,}")


def check_losses(lake: StoredLake, edition: Edition) -> None:
    """Raises UsageError for an edition that has a rule of its own, where failures are losses."""
    if edition == RELEASE and lake.failures == LOSS:
        raise UsageError(LOSSES_REFUSED)


def check(lake: StoredLake, request: Request, metrics: Sequence[str]) -> None:
    """Raises UsageError for a request that these metrics of the lake cannot meet."""
    for name in metrics:
        metric_spec(name, request.edition)
    check_number_of_games(request)
    check_expected(request.expected)
    check_losses(lake, request.edition)
    is_release, by = request.edition == RELEASE, set(request.by)
    faults = {
        "the list of metrics is empty: name at least one, or leave it out for all": not metrics,
        f"the game type `{ALL_GAME_TYPES}` exists only if you group by game_type": (
            not request.is_rolled_up and ALL_GAME_TYPES in (request.game_types or ())
        ),
        "the release edition covers all games of a model: leave out the condition": (
            is_release and request.where is not None
        ),
        "the release edition is computed per model: group by model and game_type": (
            is_release and not by <= set(DEFAULT_BY)
        ),
        "the release edition is computed per model: group at least by model": (
            is_release and "model" not in by
        ),
    }
    if fault := next((text for text, is_so in faults.items() if is_so), None):
        raise UsageError(fault)
    check_words("game type", request.game_types, [*games.game_type_names(), ALL_GAME_TYPES])
    if len(set(request.by)) < len(request.by):
        raise UsageError(f"you cannot group by the same column twice: {', '.join(request.by)}")
    check_models(lake, request.models)
    tables = {name: list(common_row_schema(name)) for name in metrics}
    for column in request.by:
        own = () if is_game_column(column) else tables
        if lacking := [metric for metric in own if column not in tables[metric]]:
            raise UsageError(_cannot_group(column, lacking, tables))
    for column in filter(is_key, request.used_columns):
        settings = lake.table("games").select(SETTING).drop_nulls()
        found = settings.filter(key_of_setting(column).is_not_null()).head(1).collect()
        some = settings.unique().head(1_000)
        if found.is_empty() and (texts := some.collect()[SETTING]).len():
            keys = sorted({f"{SETTING}.{key}" for text in texts for key in json.loads(text)})
            raise UsageError(
                f"no game has `{column}` in its setting: {suggest_names([column], keys)}"
            )


def _cannot_group(column: str, lacking: Sequence[str], tables: dict[str, list[str]]) -> str:
    having = [metric for metric in tables if metric not in lacking]
    if having:
        return (
            f"cannot group {', '.join(lacking)} by `{column}`: their rows have no such column; "
            f"only {', '.join(having)} can be grouped by it"
        )
    common = set.intersection(*(set(columns) for columns in tables.values()))
    known = dict.fromkeys([*table_schema("results"), *GAME_COLUMNS])
    order = [name for name in known if name in common]
    return f"no column `{column}` to group by: {suggest_names([column], order)}"


def check_words(
    what: str, words: str | Sequence[str] | None, known: Collection[str], where: str = ""
) -> None:
    """Raises UsageError for words that are not known; `where` is there, as in ` of chameleon`."""
    if strangers := [name for name in as_list(words) or () if name not in known]:
        raise UsageError(
            f"no {what} {_listed(strangers)}{where}: {suggest_names(strangers, known)}"
        )


def _listed(names: Iterable[str]) -> str:
    """The names in a row, an empty one as ``."""
    return ", ".join(name or "``" for name in names)


def check_role_columns(
    lake: StoredLake,
    column: str,
    names: str | Sequence[str] | None,
    game_types: Sequence[str] | None = None,
) -> None:
    """Raises UsageError for a `competition` or `role` unknown to us and to the lake's own games.

    With `game_types`, it must be one of these games. The error lists those of the lake's games.
    """
    if names is not None:
        field = {"competition": "competition", "role": "name"}[column]
        kinds = [games.game_definition(name) for name in game_types or games.game_type_names()]
        known = [getattr(role, field) for kind in kinds for role in kind.roles]
        of_lake = (
            lake.table("roles").filter(selection_condition(game_type=game_types)).collect()[column]
        )
        where = f" of {', '.join(game_types)}" if game_types else ""
        strangers = [name for name in as_list(names) or () if name not in known]
        check_words(column, strangers, dict.fromkeys(of_lake) or dict.fromkeys(known), where)


def check_models(lake: StoredLake, models: str | Sequence[str] | None) -> None:
    """Raises UsageError for models that no game tests."""
    strangers = _strangers(_tested(lake), models)
    if strangers:
        _check_known(lake, strangers, _tested(lake), "magic leaderboard")
        is_one = len(strangers) == 1
        played = "appears only as an opponent" if is_one else "appear only as opponents"
        raise UsageError(
            f"{', '.join(strangers)} {played}: metrics cover only tested models; run `magic "
            "leaderboard` to list them"
        )


def tested_models(lake: StoredLake, models: Sequence[str] | None) -> tuple[str, ...] | None:
    """Those of the models that a game of the lake tests, None for None."""
    if models is None:
        return None
    strangers = _strangers(_tested(lake), models)
    return tuple(model for model in models if model not in strangers)


def _tested(lake: StoredLake) -> pl.LazyFrame:
    return lake.table("results").filter("is_tested")


def check_players(lake: StoredLake, models: str | Sequence[str] | None) -> None:
    """Raises UsageError for models that sit in no game, be it as an opponent."""
    listing = 'magic sql "SELECT DISTINCT model FROM players"'
    _check_known(lake, models, lake.table("players"), listing)


def _check_known(
    lake: StoredLake, models: str | Sequence[str] | None, accepted: pl.LazyFrame, listing: str
) -> None:
    """Raises UsageError for models that sit in no game; only those of `accepted` are suggested."""
    if strangers := _strangers(lake.table("players"), models):
        for system in lake.systems if lake.system else ():
            if not _strangers(lake.for_system(system).table("players"), strangers):
                raise OtherSystemError(
                    f"no game of {_listed(strangers)} in {lake.system}, but in {system}",
                    f"choose that system, with `--system {system}` or "
                    f"`lake.for_system({system!r})`",
                )
        if alone := [name for name in strangers if name.rpartition("@")[2] in lake.systems]:
            raise UsageError(
                f"no game of {_listed(alone)}: only `compare` takes a model of a system; name the "
                "model alone, and its system with --system or `lake.for_system`"
            )
        known = accepted.select(pl.col("model").unique()).drop_nulls().collect()["model"].sort()
        # Not all of them, since there may be very many.
        is_few = 0 < len(known) <= 8
        some = (
            f"choose from {', '.join(known)}" if is_few else f"run `{listing}` to list the models"
        )
        hint = suggest_similar_names(strangers, known) or some
        raise UsageError(f"no game of {_listed(strangers)}: {hint}")


def _strangers(rows: pl.LazyFrame, models: str | Sequence[str] | None) -> list[str]:
    """Those of the models that have no row, sorted."""
    if not (wanted := as_list(models)):
        return []
    named = rows.filter(selection_condition(model=wanted)).select(pl.col("model").unique())
    return sorted(set(wanted) - set(named.collect(engine="streaming")["model"]))
