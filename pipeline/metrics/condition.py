"""A condition on rows, given in SQL: read once, and put in the words of each engine.

It is a small part of SQL, that in which both engines mean the same: columns, constants, AND, OR,
NOT, comparisons, IN, BETWEEN, LIKE, IS [NOT] NULL, IS [NOT] DISTINCT FROM. No function, no
subquery, no arithmetic, no cast.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct

from pipeline.errors import UsageError, choose, in_quotes, nearest

_COMPARISONS: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "LT": operator.lt,
    "LTE": operator.le,
    "GT": operator.gt,
    "GTE": operator.ge,
    "NullSafeEQ": pl.Expr.eq_missing,
    "NullSafeNEQ": pl.Expr.ne_missing,
}
_CHAINS: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "And": operator.and_,
    "Or": operator.or_,
}
_QUOTES = "texts need single quotes, as in role = 'civilian'"
_BARE = re.compile(r"[=<>]\s*[^\W\d]")  # a word where a constant is expected
_INTEGERS = range(-(2**63), 2**63)


class Condition(Struct, frozen=True):
    """A condition, in SQL that is safe to run, with the columns that it names."""

    sql: str
    columns: tuple[str, ...]
    expression: pl.Expr


def condition(text: str, schema: Mapping[str, pl.DataType]) -> Condition:
    """The condition that the text is, on rows of the schema.

    Raises UsageError for anything else: a word of SQL that is not taken, a column that the rows
    have not, types that cannot be compared.
    """
    try:
        return _condition(text, schema)
    except RecursionError:
        raise _unreadable(text, "it is nested too deeply") from None


def _condition(text: str, schema: Mapping[str, pl.DataType]) -> Condition:
    tree = _parsed(text)
    columns: dict[str, None] = {}
    expression = _expression(tree, columns, schema)
    if strangers := [name for name in columns if name not in schema]:
        # The list is long, so what is more likely comes before it.
        near = nearest(strangers, schema)
        hint = near or f"{in_quotes(strangers[0])}; else {choose(strangers, schema)}"
        raise UsageError(f"no column {', '.join(strangers)} for a condition: {hint}")
    types = {name: schema[name] for name in columns} or {"none": pl.Null()}
    try:
        answer = pl.DataFrame(schema=types).lazy().select(answer=expression).collect()
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        if "native python" in reason:
            reason = "a condition cannot compare times; use `magic sql` for these"
        raise UsageError(f"the condition compares values of different types: {reason}") from None
    if answer["answer"].dtype not in (pl.Boolean, pl.Null):
        raise UsageError(f"the condition `{text}` must be true or false for each row")
    return Condition(
        tree.sql("duckdb", comments=False, identify=True),
        tuple(columns),
        expression.cast(pl.Boolean),
    )


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


def _expression(node: Any, columns: dict[str, None], schema: Mapping[str, pl.DataType]) -> pl.Expr:
    """The node for polars; the columns that it names are added to `columns`."""

    def of(inner: Any) -> pl.Expr:
        return _expression(inner, columns, schema)

    parts = {name for name, value in node.args.items() if value}
    match type(node).__name__:
        case "Paren":
            return of(node.this)
        case "Not":
            return ~of(node.this)
        case name if name in _COMPARISONS and parts <= {"this", "expression"}:
            _refuse_chain(node)
            return _COMPARISONS[name](of(node.this), of(node.expression))
        case name if name in _CHAINS and parts <= {"this", "expression"}:
            return _joined(_CHAINS[name], [of(part) for part in node.flatten(unnest=False)])
        case "Is" if type(node.expression).__name__ == "Null":
            return of(node.this).is_null()
        case "In" if parts == {"this", "expressions"}:
            return _is_one_of(node, of, schema)
        case "Between" if parts <= {"this", "low", "high"}:
            value = of(node.this)
            return (value >= of(node.args["low"])) & (value <= of(node.args["high"]))
        case "Like" if parts <= {"this", "expression", "negate"} and node.expression.is_string:
            is_like = of(node.this).str.contains(_pattern(node.expression.this))
            return ~is_like if "negate" in parts else is_like
        case "Column" if parts == {"this"} and type(node.this).__name__ == "Identifier":
            columns[node.name] = None
            return pl.col(node.name)
        case "Boolean":
            return pl.lit(bool(node.this))
        case "Null":
            return pl.lit(None)
    if (constant := _constant(node)) is not None:
        return pl.lit(constant)
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


def _joined(join: Callable[[pl.Expr, pl.Expr], pl.Expr], parts: Sequence[pl.Expr]) -> pl.Expr:
    """All parts joined, by halves: one by one, thousands would make too deep a tree."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return join(_joined(join, parts[:half]), _joined(join, parts[half:]))


def _is_one_of(
    node: Any, of: Callable[[Any], pl.Expr], schema: Mapping[str, pl.DataType]
) -> pl.Expr:
    """The IN for polars: a comparison with each value, null where SQL's is.

    A column's own constants are looked up at once, since there can be thousands, as of games.
    """
    value = of(node.this)
    dtype = schema.get(node.this.name) if type(node.this).__name__ == "Column" else None
    constants = [_constant(part) for part in node.expressions]
    is_of_type = [_is_of(dtype, constant) for constant in constants]
    known = [constant for constant, is_plain in zip(constants, is_of_type, strict=True) if is_plain]
    others = [
        part for part, is_plain in zip(node.expressions, is_of_type, strict=True) if not is_plain
    ]
    compared = [value == of(part) for part in others]
    return _joined(operator.or_, [value.is_in(known), *compared] if known else compared)


def _is_of(dtype: pl.DataType | None, constant: str | int | float | None) -> bool:
    """Whether the constant is of a column's type, so that both are compared as they are."""
    if isinstance(constant, str):
        return dtype == pl.String
    if isinstance(constant, int):
        return dtype is not None and dtype.is_integer()
    return isinstance(constant, float) and dtype == pl.Float64


def _constant(node: Any) -> str | int | float | None:
    """The text or number that the node is, null for anything else."""
    match type(node).__name__:
        case "Literal":
            return str(node.this) if node.is_string else _number(node.this)
        case "Neg" if type(node.this).__name__ == "Literal" and not node.this.is_string:
            return _number(f"-{node.this.this}")
    return None


def _number(text: str) -> int | float:
    """The number, an integer where it is written as one."""
    if not text.lstrip("-").isdecimal():
        return float(text)
    if int(text) not in _INTEGERS:
        raise UsageError(f"the number {text} is too large for a condition")
    return int(text)


def _pattern(like: str) -> str:
    """The regular expression of a LIKE pattern."""
    words = {"%": ".*", "_": "."}
    return "(?s)^" + "".join(words.get(mark) or pl.escape_regex(mark) for mark in like) + "$"
