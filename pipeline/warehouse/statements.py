"""SQL for DuckDB: what a query may be, its errors, the views that it needs, and its result.

A query may be one statement that reads, by DuckDB's own parser. This gives clear refusals; the real
protection is that DuckDB can see only the lake's files.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

import duckdb
import polars as pl
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from pipeline.errors import QueryError, suggest_quotes, suggest_similar_names
from pipeline.events.arrow import arrow_schema
from pipeline.events.contracts import TABLES, row_description, table_schema
from pipeline.lake import StoredLake
from pipeline.lake.stored_lake import failed_results_select, merged_names_select
from pipeline.lake.tables import ROLES_TABLE, renamed_words
from pipeline.sql_files import SqlView, quote_identifier, quote_literal
from pipeline.vocabulary import LOSS

# DuckDB makes several statements of a PIVOT; the last one reads.
_ALLOWED_STATEMENT_TYPES = {duckdb.StatementType.SELECT, duckdb.StatementType.MULTI}
_READING_KEYWORDS = (
    *("select", "from", "with", "values", "table", "describe", "desc", "show", "summarize"),
    *("pivot", "pivot_wider", "unpivot", "pivot_longer"),
)
_EXPLAIN_PREFIX = re.compile(
    r"^\s*explain\b(?:\s+analyze\b|\s*\((?!\s*(?:select|from|with|values)\b)[^)]*\))*"
)
_ALTERNATIVES = {
    "copy": "give only the SELECT, and its file as in `magic sql QUERY -o FILE` (in Python: "
    "`lake.sql(query).write_parquet(file)`, or `write_csv`)",
    "create": "use WITH (in Python: `temporary`)",
}
_FIRST_WORD = re.compile(r"[\s(]*(\w*)")
# What a SELECT can hold and yet writes: statements in WITH, and a function that runs its argument.
_WRITING_EXPRESSION = re.compile(
    r"\(\s*(copy|insert|update|delete|merge)\b|\b(json_execute_serialized_sql)\b"
)
# A call of `query`, which runs a text; and one whose text is put together, and so not seen here.
_QUERY_CALL = re.compile(r'\bquery"?\s*\(')
_COMPUTED_QUERY_CALL = re.compile(rf"{_QUERY_CALL.pattern}\s*(?!'_'\s*\))")
# Left out of messages: how to get an extension, and places in DuckDB's code.
_DUCKDB_ADVICE = re.compile(r"Please try installing|\nStack Trace:")
_MISSING_TABLE = re.compile(r'Table with name "?(.+?)"? does not exist')
# What DuckDB takes a name to be meant for: only of these kinds nothing that is closed to queries.
_SUGGESTION = re.compile(r' ?Did you mean "(?P<name>[^"]*)"\?')
_PUBLIC_SUGGESTION = re.compile(r"Catalog Error: (?:Scalar Function|Aggregate Function|Type) ")
# Where DuckDB says that a query is wrong: the line, cut if it is long, and a mark below.
_ERROR_POSITION = re.compile(
    r"\nLINE (?P<number>\d+): (?P<line>[^\n]*)\n(?P<blanks> *)(?P<mark>\^+)\s*\Z"
)
# What can end a read of ours, and says nothing about the file.
_INTERRUPTING_ERRORS = {kind.__name__: kind for kind in (KeyboardInterrupt, MemoryError)}
_INTERNAL_PREFIXES = ("pg_", "duckdb_", "json_execute_")


def parse_read_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """The one statement of the text; raises QueryError for none or more, or one that may write."""
    statements = connection.extract_statements(sql)
    if not statements:
        raise QueryError('the query is empty; give one, for example "FROM games"')
    if len(statements) != 1:
        raise QueryError(f"give only one statement at a time, not {len(statements)}")
    plain = _EXPLAIN_PREFIX.sub("", normalize_query_text(statements[0].query))
    first = _FIRST_WORD.match(plain)
    word = first[1] if first else ""
    # The explained statement is checked as well: with ANALYZE it is also run.
    kinds = {_statement_type(inner) for inner in connection.extract_statements(plain)}
    if not kinds <= _ALLOWED_STATEMENT_TYPES or word not in _READING_KEYWORDS:
        raise _forbidden_statement_error(word)
    if _COMPUTED_QUERY_CALL.search(plain):
        raise QueryError("give query() one plain text, or write the query itself")
    # What query() runs is in a string.
    runs = f"{plain} {sql.lower()}" if _QUERY_CALL.search(plain) else plain
    if writing := _WRITING_EXPRESSION.search(runs):
        raise _forbidden_statement_error(writing[1] or writing[2])
    return statements[0].query


def check_parameter_values(
    connection: duckdb.DuckDBPyConnection, sql: str, values: Collection[str]
) -> None:
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


def _statement_type(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """The kind of a statement, None for one that DuckDB parses and has no name for in Python."""
    try:
        return statement.type
    except ValueError:
        return None


def _forbidden_statement_error(word: str) -> QueryError:
    hint = _ALTERNATIVES.get(word, "use SELECT")
    return QueryError(f"a query can only read, and `{word.upper()}` is not allowed: {hint}")


def normalize_query_text(sql: str) -> str:
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
    return QueryError(
        text or format_duckdb_error(error, names), _format_error_position(error, sql, above)
    )


def count_lines_before_statement(statement: str, sql: str) -> int:
    """How many lines of the text are above its only statement: DuckDB leaves out comments."""
    before, separator, _ = sql.partition(statement)
    return before.count("\n") if separator else 0


def _format_error_position(error: duckdb.Error, sql: str, above: int) -> str:
    """The line of the query with DuckDB's mark below it, empty if there is none.

    Only what the query says: the message may quote a text of a log that looks like a place.
    """
    match = _ERROR_POSITION.search(str(error))
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


def format_duckdb_error(error: duckdb.Error, names: Collection[str] = tuple(TABLES)) -> str:
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
    message = _DUCKDB_ADVICE.split(_ERROR_POSITION.sub("", str(error)))[0]
    lines = [line.strip() for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("LINE ", "^"))]
    if lines and lines[0].startswith("Traceback"):  # of our files
        kind, _, reason = lines[-1].partition(":")
        if kind in _INTERRUPTING_ERRORS:
            raise _INTERRUPTING_ERRORS[kind]
        return reason.strip() or kind
    text = " ".join(lines)
    if isinstance(error, duckdb.CatalogException) and (missing := _MISSING_TABLE.search(text)):
        return unknown_table_error(missing[1], names)
    meant = _SUGGESTION.search(text)
    if meant and not (
        _PUBLIC_SUGGESTION.match(text) and not meant["name"].startswith(_INTERNAL_PREFIXES)
    ):
        return _SUGGESTION.sub("", text)
    return text


def unknown_table_error(name: str, names: Collection[str]) -> str:
    """The message for an unknown name, with the known name that may be meant."""
    of_schema, without_schema = name.lower(), name.rpartition(".")[2].lower()
    close = [without_schema] if without_schema in names else [of_schema]
    if meant := suggest_similar_names(close, names) or suggest_similar_names(
        [without_schema], names
    ):
        return f"no table or view `{name}`: {meant}"
    return (
        f"no table or view `{name}`: the tables are {', '.join(TABLES)}; run `SHOW TABLES` to "
        "list the views too"
    )


# The error for a column that a query names and that does not exist.

Advise = Callable[[str, Collection[str]], str | None]
"""What somebody should do who asks for a column of these tables and views, none of which has it."""

_MISSING_COLUMN = re.compile(
    r'Binder Error: (?:(?:Values list|Table) "[^"]*" does not have a column named|'
    r'(?:Referenced column|Column)(?= "[^"]*" (?:in \w+ list )?(?:not found|does not exist))) '
    r'"(?P<name>[^"]+)"'
)
_CANDIDATE_COLUMNS = re.compile(r"Candidate bindings: ([^\n]*)")
_QUALIFIED_NAME = re.compile(r"\w+(?:\.\w+)*")
_LIST_COLUMNS_QUERY = """SELECT DISTINCT
    concat_ws('.', nullif(schema_name, 'main'), table_name), column_name
FROM duckdb_columns()
WHERE database_name = current_database() AND NOT internal"""


def missing_column_message(
    connection: duckdb.DuckDBPyConnection,
    error: duckdb.Error,
    statement: str,
    advise: Advise | None = None,
) -> str | None:
    """What is wrong, and what may be meant, if a column does not exist; else None.

    DuckDB's own message lists columns that are hardly alike, and none for a column after a point.
    """
    if not (match := _MISSING_COLUMN.match(str(error))):
        return None
    name = match["name"]
    columns = _columns_of_named_tables(connection, statement)
    advice = advise(name.lower(), columns) if advise else None
    known = {column for names_of in columns.values() for column in names_of}
    # The columns that DuckDB names, which may be those of a subquery, with their tables.
    candidates = _CANDIDATE_COLUMNS.search(str(error))
    named = re.findall(r'"([^"]+)"', candidates[1]) if candidates else []
    known.update(column.rpartition(".")[2] for column in named)
    hint = advice or suggest_similar_names([name.lower()], sorted(known))
    if hint is None and columns:
        quotes = f"; {suggest_quotes(name)}" if f'"{name}"' in statement else ""
        hint = f"run `magic schema {' '.join(sorted(columns))}` to list those there are{quotes}"
    return f"no column `{name}`: {hint}" if hint else None


def _columns_of_named_tables(
    connection: duckdb.DuckDBPyConnection, statement: str
) -> dict[str, list[str]]:
    """The tables and views that the statement names, with their columns."""
    plain = normalize_query_text(statement).replace('"', "")
    named = {name.removeprefix("main.") for name in _QUALIFIED_NAME.findall(plain)}
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(_LIST_COLUMNS_QUERY).fetchall():
        if table.lower() in named:
            columns.setdefault(table, []).append(column)
    return columns


# The views that a query needs: of the tables, and of other views.

# How the names begin under which DuckDB is shown a lake's files.
LAKE_URL_SCHEME = "lake"
_WORD = re.compile(r"\w+")
# Words by which a query asks what there is.
_CATALOG_WORDS = {"show", "information_schema", "pg_catalog", "duckdb_views", "duckdb_columns"}
# Functions that take a name, or a whole query, as a text.
_QUERY_FUNCTIONS = {"query", "query_table"}


class ComputedView(NamedTuple):
    """A view whose rows Python computes from the lake, which is done when a query reads them.

    `schema` has its columns with their types. `row` and `columns` are those of a `SqlView`.
    """

    rows: Callable[[StoredLake], pl.DataFrame]
    schema: pl.Schema
    row: str
    columns: Mapping[str, str]


ViewsByName = Mapping[str, SqlView | ComputedView]


def referenced_views(
    query: str | None, views: ViewsByName
) -> tuple[list[str], dict[str, SqlView | ComputedView]]:
    """The tables and views that a query can name, and those that they use; None: all."""
    reached = (
        {*TABLES, *views}
        if can_list_views(query)
        else _find_used_tables_and_views(_words_that_can_be_names(query or ""), views)
    )
    return (
        [table for table in TABLES if table in reached],
        {name: view for name, view in views.items() if name in reached},
    )


def can_list_views(query: str | None) -> bool:
    """Whether the query lists tables and views; without a query, it may."""
    return query is None or bool(_CATALOG_WORDS & _words_that_can_be_names(query))


def _find_used_tables_and_views(words: set[str], views: ViewsByName) -> set[str]:
    existing, reached = {*TABLES, *views}, set[str]()
    while unread := {name for name in existing - reached if words.issuperset(name.split("."))}:
        reached |= unread
        made_of = [view.select for name in unread if isinstance(view := views.get(name), SqlView)]
        words = {word for select in made_of for word in _lower_case_words(select)}
    return reached


def column_descriptions(name: str, views: ViewsByName) -> dict[str, str]:
    """What the columns of a view mean: its own descriptions, and those of what it uses.

    A column that tables describe differently is left out.
    """
    tables, made_of = referenced_views(quote_qualified_name(name), views)
    alike: dict[str, set[str]] = {}
    # A view of rows of players asks `roles` only which games are meant.
    for table in [
        table_or_view for table_or_view in tables if table_or_view != ROLES_TABLE
    ] or tables:
        for column, declared in TABLES[table].columns().items():
            alike.setdefault(column, set()).add(declared.description or "")
    texts_of = {column: texts.pop() for column, texts in alike.items() if len(texts) == 1}
    for table_or_view in (
        *(table_or_view for table_or_view in made_of if table_or_view.startswith("shared.")),
        name,
    ):
        texts_of |= views[table_or_view].columns
    return texts_of


def create_view(connection: duckdb.DuckDBPyConnection, name: str, view: SqlView) -> None:
    """Makes a view, and its schema."""
    create_schema(connection, name)
    connection.execute(f"CREATE VIEW {quote_qualified_name(name)} AS {view.select}")


def create_computed_view(
    connection: duckdb.DuckDBPyConnection, name: str, view: ComputedView, file: str
) -> None:
    """Makes a view of the rows in a file, a JSON object on each line, and its schema.

    The view names the columns, so that DuckDB opens the file only to read its rows.
    """
    types = connection.from_arrow(view.schema.to_frame().to_arrow()).types
    of_columns = zip(view.schema, map(str, types), strict=True)
    columns = ", ".join(
        f"{quote_identifier(name)}: {quote_literal(dtype)}" for name, dtype in of_columns
    )
    options = f"format = 'newline_delimited', columns = {{{columns}}}"
    create_schema(connection, name)
    select = f"SELECT * FROM read_json({quote_literal(file)}, {options})"
    connection.execute(f"CREATE VIEW {quote_qualified_name(name)} AS {select}")


def create_schema(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Makes the schema of a table or view of this name, if it has one."""
    for schema in name.split(".")[:-1]:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(schema)}")


def quote_qualified_name(name: str) -> str:
    """The name with its schema, if it has one, as SQL."""
    return ".".join(map(quote_identifier, name.split(".")))


class ViewDescription(NamedTuple):
    """What a row of a table or view is, in a sentence, and what its columns are."""

    row: str
    columns: Mapping[str, str]
    kind: str = "VIEW"


def view_descriptions(tables: Iterable[str], views: ViewsByName) -> dict[str, ViewDescription]:
    """The meaning of each of these tables, which are views here, and of each of the views."""
    of_tables = {
        table: ViewDescription(
            row_description(table),
            {name: column.description for name, column in TABLES[table].columns().items()},
        )
        for table in tables
    }
    return of_tables | {
        name: ViewDescription(f"A row is {view.row}.", column_descriptions(name, views))
        for name, view in views.items()
    }


def add_comments(
    connection: duckdb.DuckDBPyConnection, known: Mapping[str, ViewDescription]
) -> None:
    """Stores the meanings as comments, at once: there are a thousand columns."""
    comments = [
        f"COMMENT ON {meaning.kind} {quote_qualified_name(name)} IS {quote_literal(meaning.row)}"
        for name, meaning in known.items()
    ]
    for name, column in connection.execute(_LIST_COLUMNS_QUERY).fetchall():
        text = known[name].columns.get(column) if name in known else None
        if text:
            place = f"{quote_qualified_name(name)}.{quote_identifier(column)}"
            comments.append(f"COMMENT ON COLUMN {place} IS {quote_literal(text)}")
    connection.execute(";\n".join(comments))


def _words_that_can_be_names(query: str) -> set[str]:
    """The words that can be names: not those in comments, nor in texts unless these are run."""
    words = _lower_case_words(normalize_query_text(query))
    return words | _lower_case_words(query) if words & _QUERY_FUNCTIONS else words


def _lower_case_words(query: str) -> set[str]:
    return set(_WORD.findall(query.lower()))


def create_lake_view(
    connection: duckdb.DuckDBPyConnection,
    lake: StoredLake,
    table: str,
    files: Callable[[str], Sequence[str]],
) -> None:
    """Makes the view of one of the lake's tables; `files` gives the names of their files here."""
    rows = viewed_table_select(
        lake, table, lambda one: _stored_rows_select(connection, lake, one, files)
    )
    connection.execute(f"CREATE VIEW {quote_identifier(table)} AS {rows}")


def viewed_table_select(lake: StoredLake, table: str, stored: Callable[[str], str]) -> str:
    """The SELECT of a table's rows as the lake is seen; `stored` gives that of a stored table."""

    def named(one: str) -> str:
        if not lake.names or "model" not in table_schema(one):
            return stored(one)
        return merged_names_select(one, stored(one), stored("players"), lake.names)

    if table != "results" or lake.failures != LOSS:
        return named(table)
    columns = ", ".join(map(quote_identifier, table_schema(table)))
    return f"SELECT {columns} FROM ({failed_results_select(named)}) AS failed"


def _stored_rows_select(
    connection: duckdb.DuckDBPyConnection,
    lake: StoredLake,
    table: str,
    files: Callable[[str], Sequence[str]],
) -> str:
    """The SELECT of the rows of one of the lake's tables as they are stored."""
    is_own = f"system = {quote_literal(str(lake.system))}"
    wanted = is_own if lake.has_rows_of_other_systems(table) else None
    if lake.is_shared_by_systems(table):
        own = f"SELECT game_id FROM {_read_parquet_call(files('games'))} WHERE {is_own}"
        wanted = f"game_id IS NULL OR game_id IN ({own})"
    return _files_select(connection, files(table), table, wanted, lake.file_schema(table))


def create_table_view(
    connection: duckdb.DuckDBPyConnection, files: Sequence[str], table: str
) -> None:
    """Makes the view of a table, which are these files."""
    rows = _files_select(connection, files, table)
    connection.execute(f"CREATE VIEW {quote_identifier(table)} AS {rows}")


def _files_select(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[str],
    table: str,
    wanted: str | None = None,
    known: Collection[str] | None = None,
) -> str:
    """The SELECT of a table, which are these files, or the rows in them that are `wanted`.

    `known` are the columns of the files where they lack some: the others are null.
    """
    schema = arrow_schema(table)
    read = {name: quote_identifier(name) for name in schema.names}
    for name, words in renamed_words(table).items():
        cases = [
            f"WHEN {quote_literal(old)} THEN {quote_literal(new)}" for old, new in words.items()
        ]
        column = quote_identifier(name)
        read[name] = f"CASE {column} {' '.join(cases)} ELSE {column} END AS {column}"
    if lacking := [name for name in read if not files or (known is not None and name not in known)]:
        # Not its own `empty_table`, which would load pandas.
        nothing = pa.Table.from_batches([], schema).select(lacking)
        types = connection.from_arrow(nothing).types
        for name, dtype in zip(lacking, types, strict=True):
            read[name] = f"CAST(NULL AS {dtype}) AS {quote_identifier(name)}"
    source = f"FROM {_read_parquet_call(files)}" if files else "LIMIT 0"
    rows = f"SELECT {', '.join(read.values())} {source}"
    if wanted is not None:
        rows = f"FROM ({rows}) WHERE {wanted}"
    return rows


def _read_parquet_call(files: Iterable[str]) -> str:
    # Without the option a folder such as `model=x` above the lake would become a column.
    return f"read_parquet([{', '.join(map(quote_literal, files))}], hive_partitioning = false)"


# What DuckDB gives back as polars has it, or why polars cannot.
#
# A sum of integers is a HUGEINT in DuckDB, and `0.5` is a DECIMAL. Polars takes both for decimals,
# in which one sum divided by another is rounded to as many places as they have: 71 / 80 is 1. So
# they are Int64 and Float64.

_NESTED_TYPE_IDS = {"list", "array", "struct", "tuple", "map"}
_UNSUPPORTED_TYPE_IDS = {
    *("interval", "union", "bignum", "bit", "geometry", "time with time zone"),
    "uhugeint",  # half of its values do not fit into the decimals of Arrow
}
_FIRST_DAY, _LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
_TICKS_PER_DAY = {unit: 86_400 * 1_000**power for power, unit in enumerate(("s", "ms", "us", "ns"))}
MAX_NESTING_DEPTH = 32
"""Lists and structs can be nested so deep; what reads a result allows about twice as much."""


def as_polars(rows: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """The rows; HUGEINT and whole DECIMAL as Int64, or as Float64 if one value does not fit.

    DECIMAL with places after the point is Float64. The same holds within lists, structs and maps;
    there, one value that does not fit makes every number of the column that was wide a Float64.
    Raises QueryError for a column or a value that cannot be displayed.
    """
    for name, dtype in zip(rows.columns, rows.types, strict=True):
        _check_type_is_displayable(name, dtype)
    table = rows.to_arrow_table()
    _check_dates_are_displayable(table)
    return pl.DataFrame(
        pa.table([_replace_decimals(column) for column in table.columns], table.column_names)
    )


def _replace_decimals(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with whole decimals as integers if all fit, else as floats."""
    integers = _type_without_decimals(column.type, pa.int64())
    if integers == column.type:
        return column
    try:
        return column.cast(integers)
    except pa.ArrowInvalid:
        return column.cast(_type_without_decimals(column.type, pa.float64()))


def _type_without_decimals(dtype: pa.DataType, whole: pa.DataType) -> pa.DataType:
    """Return the type with `whole` in place of whole decimals, and float64 of others."""
    if pa.types.is_decimal(dtype):
        return pa.float64() if dtype.scale else whole
    if not pa.types.is_nested(dtype):
        return dtype
    fields = [dtype.field(number) for number in range(dtype.num_fields)]
    if pa.types.is_map(dtype):
        fields = [dtype.key_field, dtype.item_field]
    fields = [field.with_type(_type_without_decimals(field.type, whole)) for field in fields]
    if pa.types.is_struct(dtype):
        return pa.struct(fields)
    if pa.types.is_map(dtype):
        return pa.map_(*fields)
    return pa.list_(*fields, dtype.list_size if pa.types.is_fixed_size_list(dtype) else -1)


def _check_type_is_displayable(name: str, dtype: DuckDBPyType) -> None:
    """Raises QueryError for a column that polars has no type for: some make it panic."""
    nested = list(_iter_nested_types(dtype))
    if max(level for _, level in nested) > MAX_NESTING_DEPTH:
        raise QueryError(
            f"the column `{name}` is nested more than {MAX_NESTING_DEPTH} levels deep, which cannot "
            "be displayed: select what is within it, or cast it to JSON or VARCHAR"
        )
    if kinds := [inner.id.upper() for inner, _ in nested if inner.id in _UNSUPPORTED_TYPE_IDS]:
        raise QueryError(
            f"the column `{name}` has the type {kinds[0]}, which cannot be displayed: cast it, "
            "for example `CAST(.. AS VARCHAR)`"
        )


def _iter_nested_types(dtype: DuckDBPyType, level: int = 1) -> Iterator[tuple[DuckDBPyType, int]]:
    """The type and those in it, each with how deep it is, at most one more than is allowed."""
    yield dtype, level
    # The name of an array type also has its size.
    for _, inner in (
        dtype.children if dtype.id in _NESTED_TYPE_IDS and level <= MAX_NESTING_DEPTH else ()
    ):
        if isinstance(inner, DuckDBPyType):
            yield from _iter_nested_types(inner, level + 1)


def _check_dates_are_displayable(table: pa.Table) -> None:
    """Raises QueryError for a date outside of Python's years, and for a time that ends a day.

    DuckDB's dates go as far as infinity, and its times to 24:00:00, which polars takes for null.
    """
    for name, cells in zip(table.column_names, table.columns, strict=True):
        for values in (leaf for chunk in cells.chunks for leaf in _iter_leaf_arrays(chunk)):
            if what := _describe_out_of_range_value(values):
                raise QueryError(
                    f"the column `{name}` has {what}, which cannot be displayed: cast it, for "
                    "example `CAST(.. AS VARCHAR)`"
                )


def _iter_leaf_arrays(values: pa.Array) -> Iterator[pa.Array]:
    """The values themselves, or those within their lists, structs and maps."""
    if not pa.types.is_nested(values.type):
        yield values
        return
    inner = [values.keys, values.items] if pa.types.is_map(values.type) else values.flatten()
    for node in inner if isinstance(inner, list) else [inner]:
        yield from _iter_leaf_arrays(node)


def _describe_out_of_range_value(values: pa.Array) -> str | None:
    is_date, is_time = pa.types.is_date32(values.type), pa.types.is_time64(values.type)
    if not (is_date or is_time or pa.types.is_timestamp(values.type)):
        return None
    # Imported here: most results have no dates, and it takes its time.
    import pyarrow.compute as pc

    of_day = 1 if is_date else _TICKS_PER_DAY[values.type.unit]
    low, high = (0, 1) if is_time else (_FIRST_DAY, _LAST_DAY + 1)
    whole = values.cast(pa.int32() if is_date else pa.int64())
    least, most = pc.min_max(whole).as_py().values()
    if least is None or (low * of_day <= least and most < high * of_day):
        return None
    return "the time 24:00:00" if is_time else "a date outside of the years 1 to 9999"
