"""A condition on rows, given in SQL: read once, and written in words that all engines read alike.

It is a small part of SQL, that in which both engines mean the same: columns, constants, AND, OR,
NOT, comparisons, IN, BETWEEN, LIKE, IS [NOT] NULL, IS [NOT] DISTINCT FROM. No function, no
subquery, no arithmetic, no cast.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import polars as pl
from msgspec import Struct

from pipeline.errors import UsageError, choose, in_quotes, nearest
from pipeline.sqlfiles import identifier, literal

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
_INTEGERS = range(-(2**63), 2**63)
_SMALL, _LARGE = 1e-9, 1e15
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
    found = re.findall(rf"{re.escape(identifier(column))} (?:{one}|{several})", where.sql)
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
        near = nearest(strangers, [*schema, *elsewhere])
        if having := elsewhere.get(strangers[0]):
            near = f"not all metrics have it; choose the metric from {', '.join(having)}"
        # Beside a column that there is, as in `role = civilian`, the name is a text.
        is_text = any(name in schema for name in columns)
        columns_hint = "" if is_text else f"; else {choose(strangers, schema)}"
        hint = near or f"{in_quotes(strangers[0])}{columns_hint}"
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


def constant(column: str, value: str, dtype: pl.DataType) -> str:
    """The value, as somebody wrote it, as one constant to compare a column of this type with.

    Raises UsageError for what is no number, or no truth, of a column that has these.
    """
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        return literal(value)
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
            return f"({of(node.this)} {like} {literal(node.expression.this)})"
        case "Column" if parts == {"this"} and type(node.this).__name__ == "Identifier":
            columns[node.name] = None
            return identifier(node.name)
        case "Column" | "Dot" if is_key(key := _name(node)):
            columns[key] = None
            return identifier(key)
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
    return f"; {in_quotes(node.sql('duckdb').replace(' ', ''))}" if is_name else f"; {_QUOTES}"


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
            return literal(node.this) if node.is_string else _number(node.this)
        case "Neg" if type(node.this).__name__ == "Literal" and not node.this.is_string:
            return _number(f"-{node.this.this}")
    return None


def _number(text: str) -> str:
    """The number as it is written, but without an exponent, if it is not long then."""
    if text.lstrip("-").isdecimal() and int(text) not in _INTEGERS:
        raise UsageError(f"the number {text} is too large for a condition")
    # In a list, polars 2.0 takes one with an exponent for another type than the rest.
    if "e" not in text.lower() or not _SMALL < abs(float(text)) < _LARGE:
        return text
    plain = f"{Decimal(text):f}"
    return plain if "." in plain else f"{plain}.0"
