"""A condition on rows, given in SQL: read once, and put in the words of each engine.

It is a small part of SQL, that in which both engines mean the same: columns, constants, AND, OR,
NOT, comparisons, IN, BETWEEN, LIKE, IS [NOT] NULL, IS [NOT] DISTINCT FROM. No function, no
subquery, no arithmetic, no cast.
"""

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import polars as pl
from msgspec import Struct

from pipeline.errors import UsageError

_COMPARISONS: dict[str, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "LT": operator.lt,
    "LTE": operator.le,
    "GT": operator.gt,
    "GTE": operator.ge,
    "And": operator.and_,
    "Or": operator.or_,
    "NullSafeEQ": pl.Expr.eq_missing,
    "NullSafeNEQ": pl.Expr.ne_missing,
}
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
    tree = _parsed(text)
    columns: dict[str, None] = {}
    expression = _expression(tree, columns)
    if strangers := [name for name in columns if name not in schema]:
        raise UsageError(
            f"no column {', '.join(strangers)} for a condition: there are {', '.join(schema)}"
        )
    own = {name: schema[name] for name in columns} or {"none": pl.Null()}
    try:
        answer = pl.DataFrame(schema=own).lazy().select(answer=expression).collect()
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"the condition compares unlike things: {reason}") from None
    if answer["answer"].dtype not in (pl.Boolean, pl.Null):
        raise UsageError(f"the condition `{text}` is neither true nor false")
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
    except (SqlglotError, RecursionError) as error:
        reason = _reason(error)
        raise UsageError(f"the condition `{text}` cannot be read as SQL: {reason}") from None
    if len(trees) != 1 or trees[0] is None:
        raise UsageError(f"the condition `{text}` is not one expression")
    return trees[0]


def _reason(error: Exception) -> str:
    """What is wrong with a text; the library names classes of its own."""
    if isinstance(error, RecursionError):
        return "it is too deep"
    faults = getattr(error, "errors", None)
    if not faults:
        return "a quotation mark is not closed"
    what, place = faults[0]["description"], faults[0]["highlight"]
    if what.startswith("Required keyword"):
        return f"something is missing beside `{place}`"
    if what.startswith("Expecting "):
        return f"`{what.removeprefix('Expecting ')}` is missing after `{place}`"
    return f"`{place}` is out of place"


def _expression(node: Any, columns: dict[str, None]) -> pl.Expr:
    """The node for polars; the columns that it names are added to `columns`."""

    def of(inner: Any) -> pl.Expr:
        return _expression(inner, columns)

    parts = {name for name, value in node.args.items() if value}
    match type(node).__name__:
        case "Paren":
            return of(node.this)
        case "Not":
            return ~of(node.this)
        case name if name in _COMPARISONS and parts <= {"this", "expression"}:
            return _COMPARISONS[name](of(node.this), of(node.expression))
        case "Is" if type(node.expression).__name__ == "Null":
            return of(node.this).is_null()
        case "In" if parts == {"this", "expressions"}:
            found = [of(node.this) == of(one) for one in node.expressions]
            return reduce(operator.or_, found)
        case "Between" if parts <= {"this", "low", "high"}:
            value = of(node.this)
            return (value >= of(node.args["low"])) & (value <= of(node.args["high"]))
        case "Like" if parts <= {"this", "expression", "negate"} and node.expression.is_string:
            is_like = of(node.this).str.contains(_pattern(node.expression.this))
            return ~is_like if "negate" in parts else is_like
        case "Column" if parts == {"this"} and type(node.this).__name__ == "Identifier":
            columns[node.name] = None
            return pl.col(node.name)
        case "Literal":
            return pl.lit(node.this) if node.is_string else _number(node.this)
        case "Neg" if type(node.this).__name__ == "Literal" and not node.this.is_string:
            return _number(f"-{node.this.this}")
        case "Boolean":
            return pl.lit(bool(node.this))
        case "Null":
            return pl.lit(None)
    raise UsageError(
        f"a condition may not have `{node.sql('duckdb')}`: it is columns and constants with AND, "
        "OR, NOT, comparisons, IN, BETWEEN, LIKE and IS NULL"
    )


def _number(text: str) -> pl.Expr:
    if text.lstrip("-").isdecimal():
        if int(text) not in _INTEGERS:
            raise UsageError(f"{text} is too large a number for a condition")
        return pl.lit(int(text))
    return pl.lit(float(text))


def _pattern(like: str) -> str:
    """The regular expression of a LIKE pattern."""
    words = {"%": ".*", "_": "."}
    return "(?s)^" + "".join(words.get(mark) or pl.escape_regex(mark) for mark in like) + "$"
