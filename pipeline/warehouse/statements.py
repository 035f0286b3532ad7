"""What a query may be: one statement that reads, by DuckDB's own parser.

This gives clear refusals. The real protection is that DuckDB can see only the lake's files.
"""

import re
from collections.abc import Collection

import duckdb

from pipeline.errors import QueryError, nearest
from pipeline.events.contracts import TABLES

# DuckDB makes several statements of a PIVOT; the last one reads.
_KINDS = {duckdb.StatementType.SELECT, duckdb.StatementType.MULTI}
_READING = (
    *("select", "from", "with", "values", "table", "describe", "desc", "show", "summarize"),
    *("pivot", "pivot_wider", "unpivot", "pivot_longer"),
)
_EXPLAIN = re.compile(
    r"^\s*explain\b(?:\s+analyze\b|\s*\((?!\s*(?:select|from|with|values)\b)[^)]*\))*"
)
_INSTEAD = {
    "copy": "give only the SELECT, and its file as in `magic sql QUERY -o FILE` (in Python: "
    "`lake.sql(query).write_parquet(file)`, or `write_csv`)",
    "create": "use WITH (in Python: `temporary`)",
}
_FIRST = re.compile(r"[\s(]*(\w*)")
# What a SELECT can hold and yet writes: statements in WITH, and a function that runs its argument.
_WRITING = re.compile(r"\(\s*(copy|insert|update|delete|merge)\b|\b(json_execute_serialized_sql)\b")
# A call of `query`, which runs a text; and one whose text is put together, and so not seen here.
_RUN = re.compile(r'\bquery"?\s*\(')
_COMPOSED = re.compile(rf"{_RUN.pattern}\s*(?!'_'\s*\))")
# Left out of messages: how to get an extension, and places in DuckDB's code.
_ADVICE = re.compile(r"Please try installing|\nStack Trace:")
_NO_TABLE = re.compile(r'Table with name "?(.+?)"? does not exist')
# What DuckDB takes a name to be meant for: only of these kinds nothing that is closed to queries.
_MEANT = re.compile(r' ?Did you mean "(?P<name>[^"]*)"\?')
_OPEN_KINDS = re.compile(r"Catalog Error: (?:Scalar Function|Aggregate Function|Type) ")
# Where DuckDB says that a query is wrong: the line, cut if it is long, and a mark below.
_PLACE = re.compile(r"\nLINE (?P<number>\d+): (?P<line>[^\n]*)\n(?P<blanks> *)(?P<mark>\^+)\s*\Z")
# What can end a read of ours, and says nothing about the file.
_NOT_OF_A_FILE = {kind.__name__: kind for kind in (KeyboardInterrupt, MemoryError)}
_OF_DUCKDB = ("pg_", "duckdb_", "json_execute_")


def reading(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The one statement of the text; raises QueryError for none or more, or one that may write."""
    statements = connection.extract_statements(sql)
    if not statements:
        raise QueryError('the query is empty; give one, for example "FROM games"')
    if len(statements) != 1:
        raise QueryError(f"give only one statement at a time, not {len(statements)}")
    plain = _EXPLAIN.sub("", code(statements[0].query))
    first = _FIRST.match(plain)
    word = first[1] if first else ""
    # The explained statement is checked as well: with ANALYZE it is also run.
    kinds = {_kind(inner) for inner in connection.extract_statements(plain)}
    if not kinds <= _KINDS or word not in _READING:
        raise _refused(word)
    if _COMPOSED.search(plain):
        raise QueryError("give query() one plain text, or write the query itself")
    # What query() runs is in a string.
    runs = f"{plain} {sql.lower()}" if _RUN.search(plain) else plain
    if writing := _WRITING.search(runs):
        raise _refused(writing[1] or writing[2])
    return statements[0].query


def check_values(connection: duckdb.DuckDBPyConnection, sql: str, values: Collection[str]) -> None:
    """Raises QueryError if a parameter of the statement has no value, or a value no parameter."""
    statements = connection.extract_statements(sql)
    names = {name for statement in statements for name in statement.named_parameters}
    if missing := sorted(names - {*values}):
        signs = ", ".join(f"${name}" for name in missing)
        raise QueryError(
            f"no value for {signs}: give one, for example `--parameter {missing[0]}=VALUE` "
            "(in Python: `parameters`)"
        )
    if unused := sorted({*values} - names):
        raise QueryError(
            f"the query does not use the parameter {', '.join(unused)}: write ${unused[0]} in the "
            "query, or leave the parameter out"
        )


def _kind(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """The kind of a statement, None for one that DuckDB parses and has no name for in Python."""
    try:
        return statement.type
    except ValueError:
        return None


def _refused(word: str) -> QueryError:
    hint = _INSTEAD.get(word, "use SELECT")
    return QueryError(f"a query can only read, and `{word.upper()}` is not allowed: {hint}")


def code(sql: str) -> str:
    """The text in lower case, without comments, and with `_` in place of each string."""
    try:
        text = sql.encode()
    except UnicodeEncodeError:
        raise QueryError("the query is not valid UTF-8") from None
    tokens = duckdb.tokenize(sql)  # places are those of bytes
    ends = [*(start for start, _ in tokens), len(text)][1:]
    parts = {duckdb.token_type.comment: " ", duckdb.token_type.string_const: "'_' "}
    return "".join(
        parts.get(kind) or text[start:end].decode().lower()
        for (start, kind), end in zip(tokens, ends, strict=True)
    )


def query_error(
    error: duckdb.Error,
    sql: str,
    names: Collection[str] = tuple(TABLES),
    above: int = 0,
    text: str | None = None,
) -> QueryError:
    """The error of a query with the `text`, else `plain_message`, and where in the query it is.

    `above` is the number of lines of its text above what DuckDB read.
    """
    return QueryError(text or plain_message(error, names), _place(error, sql, above))


def lines_above(statement: str, sql: str) -> int:
    """How many lines of the text are above its only statement: DuckDB leaves out comments."""
    before, separator, _ = sql.partition(statement)
    return before.count("\n") if separator else 0


def _place(error: duckdb.Error, sql: str, above: int) -> str:
    """The line of the query with DuckDB's mark below it, empty if there is none.

    Only what the query says: the message may quote a text of a log that looks like a place.
    """
    match = _PLACE.search(str(error))
    if not match or match["line"].removeprefix("...").removesuffix("...") not in sql:
        return ""
    heading = f"LINE {int(match['number']) + above}: "
    blanks = len(match["blanks"]) - len(f"LINE {match['number']}: ")
    line = match["line"]
    # DuckDB sets its mark as if a tab had no width.
    n_tabs = 0
    while line[: blanks + n_tabs + 1].count("\t") > n_tabs:
        n_tabs += 1
    mark = " " * (len(heading) + blanks + n_tabs) + match["mark"]
    return f"{heading}{line.replace(chr(9), ' ')}\n{mark}"


def plain_message(error: duckdb.Error, names: Collection[str] = tuple(TABLES)) -> str:
    """The error in one line: without its place, DuckDB's advice, and our own places.

    `names` are the existing tables and views: DuckDB would also name internal ones. Raises
    KeyboardInterrupt or MemoryError where that ended a read of ours, which DuckDB hides.
    """
    match error:
        case duckdb.PermissionException():
            return "a query can read only the lake's tables, not files, URLs or other databases"
        case duckdb.OutOfMemoryException():
            return (
                "the query needs more memory than is allowed: query less at a time, or give it "
                "more with `magic sql --memory` (in Python: `memory`)"
            )
    message = _ADVICE.split(_PLACE.sub("", str(error)))[0]
    lines = [line.strip() for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("LINE ", "^"))]
    if lines and lines[0].startswith("Traceback"):  # of our files
        kind, _, reason = lines[-1].partition(":")
        if kind in _NOT_OF_A_FILE:
            raise _NOT_OF_A_FILE[kind]
        return reason.strip() or kind
    text = " ".join(lines)
    if isinstance(error, duckdb.CatalogException) and (missing := _NO_TABLE.search(text)):
        return no_table(missing[1], names)
    meant = _MEANT.search(text)
    if meant and not (_OPEN_KINDS.match(text) and not meant["name"].startswith(_OF_DUCKDB)):
        return _MEANT.sub("", text)
    return text


def no_table(name: str, names: Collection[str]) -> str:
    """The error for an unknown name, with the known name that may be meant."""
    of_schema, without_schema = name.lower(), name.rpartition(".")[2].lower()
    close = [without_schema] if without_schema in names else [of_schema]
    if meant := nearest(close, names) or nearest([without_schema], names):
        return f"no table or view `{name}`: {meant}"
    return (
        f"no table or view `{name}`: the tables are {', '.join(TABLES)}; run `SHOW TABLES` to "
        "list the views too"
    )
