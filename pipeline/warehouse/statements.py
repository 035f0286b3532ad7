"""Check queries, create the views that they need, and convert their results and errors.

The connections in `pipeline.warehouse` use it; it depends on DuckDB's parser. The check of a
query gives clear errors; the protection is that DuckDB can read only the lake's files.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

import duckdb
import polars as pl
import pyarrow as pa
from duckdb.sqltypes import DuckDBPyType

from pipeline.errors import QueryError, similar_names_hint, single_quotes_hint
from pipeline.events.arrow import arrow_schema
from pipeline.events.contracts import TABLES, row_description, table_schema
from pipeline.lake import StoredLake
from pipeline.lake.stored_lake import failed_games_as_losses_select, replaced_names_select
from pipeline.lake.tables import ROLES_TABLE, renamed_values_by_column
from pipeline.sql_files import SqlView, quote_identifier, quote_literal
from pipeline.vocabulary import LOSS

# DuckDB splits a PIVOT into several statements (MULTI), of which the last one reads.
_ALLOWED_STATEMENT_TYPES = {duckdb.StatementType.SELECT, duckdb.StatementType.MULTI}
_READING_KEYWORDS = (
    *("select", "from", "with", "values", "table", "describe", "desc", "show", "summarize"),
    *("pivot", "pivot_wider", "unpivot", "pivot_longer"),
)
_EXPLAIN_PREFIX = re.compile(
    r"^\s*explain\b(?:\s+analyze\b|\s*\((?!\s*(?:select|from|with|values)\b)[^)]*\))*"
)
_ALTERNATIVE_BY_KEYWORD = {
    "copy": "write only the SELECT, and name the file, as in `magic sql QUERY -o FILE` (in Python: "
    "`lake.sql(query).write_parquet(file)`, or `write_csv`)",
    "create": "use WITH (in Python: `temporary`)",
}
_FIRST_WORD = re.compile(r"[\s(]*(\w*)")
# Parts of a SELECT that can write: statements in WITH, and a function that runs its argument.
_WRITING_EXPRESSION = re.compile(
    r"\(\s*(copy|insert|update|delete|merge)\b|\b(json_execute_serialized_sql)\b"
)
# A call of `query`, which runs a string; and such a call with a computed string, which cannot be
# checked.
_QUERY_CALL = re.compile(r'\bquery"?\s*\(')
_COMPUTED_QUERY_CALL = re.compile(rf"{_QUERY_CALL.pattern}\s*(?!'_'\s*\))")
# Removed from messages: how to install an extension, and positions in DuckDB's code.
_DUCKDB_ADVICE = re.compile(r"Please try installing|\nStack Trace:")
_MISSING_TABLE = re.compile(r'Table with name "?(.+?)"? does not exist')
# DuckDB's suggestion for a name. Only suggestions of these kinds name nothing that is forbidden.
_SUGGESTION = re.compile(r' ?Did you mean "(?P<name>[^"]*)"\?')
_PUBLIC_SUGGESTION = re.compile(r"Catalog Error: (?:Scalar Function|Aggregate Function|Type) ")
# The position of an error: the line of the query, shortened if it is long, and a mark below it.
_ERROR_POSITION = re.compile(
    r"\nLINE (?P<number>\d+): (?P<line>[^\n]*)\n(?P<blanks> *)(?P<mark>\^+)\s*\Z"
)
# Exceptions that can interrupt the reading of a file and are no error of the file.
_INTERRUPTING_ERRORS = {kind.__name__: kind for kind in (KeyboardInterrupt, MemoryError)}
_INTERNAL_PREFIXES = ("pg_", "duckdb_", "json_execute_")


def extract_single_read_statement(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    """Check that a user's SQL is one statement that only reads, and return this statement.

    Args:
        connection: A connection, for DuckDB's parser.
        sql: The user's SQL.

    Returns:
        The text of the statement, without comments before and after it.

    Raises:
        QueryError: If the text has no statement or several, or if the statement may write.
    """
    statements = connection.extract_statements(sql)
    if not statements:
        raise QueryError('the query is empty; give one, for example "FROM games"')
    if len(statements) != 1:
        raise QueryError(f"run only one statement at a time, not {len(statements)}")
    normalized_query = _EXPLAIN_PREFIX.sub("", normalize_query_text(statements[0].query))
    first_word = _FIRST_WORD.match(normalized_query)
    word = first_word[1] if first_word else ""
    # The statement inside EXPLAIN is checked too, because EXPLAIN ANALYZE runs it.
    statement_types = {
        _statement_type_or_none(inner) for inner in connection.extract_statements(normalized_query)
    }
    if not statement_types <= _ALLOWED_STATEMENT_TYPES or word not in _READING_KEYWORDS:
        raise _forbidden_statement_error(word)
    if _COMPUTED_QUERY_CALL.search(normalized_query):
        raise QueryError("pass one string to query(), or write its query directly")
    # The normalized query has no strings, but query() runs one.
    has_query_call = _QUERY_CALL.search(normalized_query)
    executed_text = f"{normalized_query} {sql.lower()}" if has_query_call else normalized_query
    if writing_expression := _WRITING_EXPRESSION.search(executed_text):
        raise _forbidden_statement_error(writing_expression[1] or writing_expression[2])
    return statements[0].query


def check_parameter_names(
    connection: duckdb.DuckDBPyConnection, sql: str, passed_names: Collection[str]
) -> None:
    """Raise QueryError unless the SQL has exactly the parameters whose values were passed."""
    statements = connection.extract_statements(sql)
    names = {name for statement in statements for name in statement.named_parameters}
    if missing_names := sorted(names - {*passed_names}):
        parameters = ", ".join(f"${name}" for name in missing_names)
        raise QueryError(
            f"no value for {parameters}: give one, for example `--parameter "
            f"{missing_names[0]}=VALUE` (in Python: `parameters`)"
        )
    if unused_names := sorted({*passed_names} - names):
        raise QueryError(
            f"the query does not use the parameter {', '.join(unused_names)}: write "
            f"${unused_names[0]} in the query, or leave the parameter out"
        )


def _statement_type_or_none(statement: duckdb.Statement) -> duckdb.StatementType | None:
    """Return a statement's type; None for a type that is missing in DuckDB's Python package."""
    try:
        return statement.type
    except ValueError:
        return None


def _forbidden_statement_error(keyword: str) -> QueryError:
    alternative = _ALTERNATIVE_BY_KEYWORD.get(keyword, "use SELECT")
    return QueryError(
        f"a query can only read, and `{keyword.upper()}` is not allowed: {alternative}"
    )


def normalize_query_text(sql: str) -> str:
    """Return SQL in lower case, without comments, and with `'_'` in place of each string.

    Raises:
        QueryError: If the text cannot be encoded as UTF-8.
    """
    try:
        data = sql.encode()
    except UnicodeEncodeError:
        raise QueryError("the query is not valid UTF-8") from None
    tokens = duckdb.tokenize(sql)  # Positions count bytes.
    token_ends = [*(start for start, _ in tokens), len(data)][1:]
    replacements = {duckdb.token_type.comment: " ", duckdb.token_type.string_const: "'_' "}
    return "".join(
        replacements.get(kind) or data[start:end].decode().lower()
        for (start, kind), end in zip(tokens, token_ends, strict=True)
    )


def query_error_with_position(
    error: duckdb.Error,
    sql: str,
    known_names: Collection[str] = tuple(TABLES),
    n_lines_above: int = 0,
    message: str | None = None,
) -> QueryError:
    """Convert an error of DuckDB to a QueryError that also shows the position in the query.

    Args:
        error: The error of DuckDB.
        sql: The text that DuckDB read.
        known_names: The existing tables and views, for hints.
        n_lines_above: Number of lines above `sql` in the user's text.
        message: The message; None for the result of `format_duckdb_error`.
    """
    return QueryError(
        message or format_duckdb_error(error, known_names),
        _format_error_position(error, sql, n_lines_above),
    )


def count_lines_before_statement(statement: str, sql: str) -> int:
    """Return the number of lines of `sql` before the statement, 0 if it does not contain it.

    DuckDB counts lines from the statement's beginning, because it drops the comments before it.
    """
    text_before, separator, _ = sql.partition(statement)
    return text_before.count("\n") if separator else 0


def _format_error_position(error: duckdb.Error, sql: str, n_lines_above: int) -> str:
    """Return the faulty line of the query, with a mark below the error's column.

    The result is empty if the error has no position. The line must occur in the query, because a
    message can quote a log that looks like a position.
    """
    match = _ERROR_POSITION.search(str(error))
    if not match or match["line"].removeprefix("...").removesuffix("...") not in sql:
        return ""
    prefix = f"LINE {int(match['number']) + n_lines_above}: "
    column = len(match["blanks"]) - len(f"LINE {match['number']}: ")
    line = match["line"]
    # DuckDB places its mark as if a tab had no width.
    n_tabs = 0
    while line[: column + n_tabs + 1].count("\t") > n_tabs:
        n_tabs += 1
    mark = " " * (len(prefix) + column + n_tabs) + match["mark"]
    return f"{prefix}{line.replace(chr(9), ' ')}\n{mark}"


def format_duckdb_error(error: duckdb.Error, known_names: Collection[str] = tuple(TABLES)) -> str:
    """Return a message for an error of DuckDB in one line, with hints that fit magic.

    The position in the query is not part of it, nor is DuckDB's advice to install extensions.

    Args:
        error: The error of DuckDB.
        known_names: The existing tables and views, for hints in place of DuckDB's suggestions.

    Raises:
        KeyboardInterrupt: If Ctrl-C interrupted the reading of a file, which DuckDB hides.
        MemoryError: If the reading of a file ran out of memory, which DuckDB hides.
    """
    match error:
        case duckdb.PermissionException():
            return "a query can read only the lake's tables, not files, URLs or other databases"
        case duckdb.OutOfMemoryException():
            return (
                "the query needs more memory than is allowed: select fewer rows, or allow it "
                "more with `magic sql --memory` (in Python: `memory`)"
            )
    message = _DUCKDB_ADVICE.split(_ERROR_POSITION.sub("", str(error)))[0]
    lines = [line.strip() for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("LINE ", "^"))]
    if lines and lines[0].startswith("Traceback"):  # From LakeFiles.
        error_name, _, reason = lines[-1].partition(":")
        if error_name in _INTERRUPTING_ERRORS:
            raise _INTERRUPTING_ERRORS[error_name]
        return reason.strip() or error_name
    text = " ".join(lines)
    if isinstance(error, duckdb.CatalogException) and (
        missing_table := _MISSING_TABLE.search(text)
    ):
        return unknown_table_or_view_message(missing_table[1], known_names)
    suggestion = _SUGGESTION.search(text)
    if suggestion and not (
        _PUBLIC_SUGGESTION.match(text) and not suggestion["name"].startswith(_INTERNAL_PREFIXES)
    ):
        return _SUGGESTION.sub("", text)
    return text


def unknown_table_or_view_message(unknown_name: str, known_names: Collection[str]) -> str:
    """Return the error message for an unknown table or view, with a similar name if there is one.

    Args:
        unknown_name: The unknown name, with or without a schema.
        known_names: The existing tables and views.
    """
    full_name, without_schema = unknown_name.lower(), unknown_name.rpartition(".")[2].lower()
    similar_to = [without_schema] if without_schema in known_names else [full_name]
    if hint := similar_names_hint(similar_to, known_names) or similar_names_hint(
        [without_schema], known_names
    ):
        return f"no table or view `{unknown_name}`: {hint}"
    return (
        f"no table or view `{unknown_name}`: the tables are {', '.join(TABLES)}; run `SHOW TABLES` "
        "to list the views too"
    )


AdviseOnColumn = Callable[[str, Collection[str]], str | None]
"""Returns a hint for a missing column, given its name and the tables and views of the query."""

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
    advise: AdviseOnColumn | None = None,
) -> str | None:
    """Return a message with a hint if a column does not exist; None for any other error.

    The hint is a column with a similar name, or how to list the columns. DuckDB's own message lists
    unrelated columns, or none if the missing column follows a dot.

    Args:
        connection: The connection on which the statement failed.
        error: The error of DuckDB.
        statement: The statement that failed.
        advise: Returns a special hint, given the column's name and the columns of the statement's
            tables by table.
    """
    if not (match := _MISSING_COLUMN.match(str(error))):
        return None
    name = match["name"]
    columns = _columns_of_tables_in_statement(connection, statement)
    advice = advise(name.lower(), columns) if advise else None
    candidates = {column for table_columns in columns.values() for column in table_columns}
    # DuckDB's candidates are qualified by their tables, and can be columns of a subquery.
    candidate_match = _CANDIDATE_COLUMNS.search(str(error))
    duckdb_candidates = re.findall(r'"([^"]+)"', candidate_match[1]) if candidate_match else []
    candidates.update(column.rpartition(".")[2] for column in duckdb_candidates)
    hint = advice or similar_names_hint([name.lower()], sorted(candidates))
    if hint is None and columns:
        quotes = f"; {single_quotes_hint(name)}" if f'"{name}"' in statement else ""
        hint = f"run `magic schema {' '.join(sorted(columns))}` to list the columns{quotes}"
    return f"no column `{name}`: {hint}" if hint else None


def _columns_of_tables_in_statement(
    connection: duckdb.DuckDBPyConnection, statement: str
) -> dict[str, list[str]]:
    """Return the column names of each table and view that the statement names."""
    query_text = normalize_query_text(statement).replace('"', "")
    names_in_query = {name.removeprefix("main.") for name in _QUALIFIED_NAME.findall(query_text)}
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(_LIST_COLUMNS_QUERY).fetchall():
        if table.lower() in names_in_query:
            columns.setdefault(table, []).append(column)
    return columns


# The URL scheme of the lake's files in DuckDB.
LAKE_URL_SCHEME = "lake"
_WORD = re.compile(r"\w+")
# Words in queries that list tables, views or columns.
_CATALOG_WORDS = {"show", "information_schema", "pg_catalog", "duckdb_views", "duckdb_columns"}
# Functions that take the name of a table, or a whole query, as a string.
_QUERY_FUNCTIONS = {"query", "query_table"}


class ComputedView(NamedTuple):
    """A view whose rows Python computes from the lake when a query reads them.

    Attributes:
        rows: Computes the rows.
        schema: Names and types of the columns.
        row: What a row is, as in a `SqlView`.
        columns: Descriptions of the columns, as in a `SqlView`.
    """

    rows: Callable[[StoredLake], pl.DataFrame]
    schema: pl.Schema
    row: str
    columns: Mapping[str, str]


ViewsByName = Mapping[str, SqlView | ComputedView]


def referenced_tables_and_views(
    query: str | None, views: ViewsByName
) -> tuple[list[str], dict[str, SqlView | ComputedView]]:
    """Return the tables and views that a query can name, and those that these views read.

    Args:
        query: The text of a query; None for all tables and views.
        views: All views by name.

    Returns:
        A pair: the names of the needed tables, and the needed views by name.
    """
    used_names = (
        {*TABLES, *views}
        if may_read_catalog(query)
        else _find_tables_and_views_by_words(_words_that_can_be_names(query or ""), views)
    )
    return (
        [table for table in TABLES if table in used_names],
        {name: view for name, view in views.items() if name in used_names},
    )


def may_read_catalog(query: str | None) -> bool:
    """Return whether a query may list all tables and views, for example with `SHOW`.

    True if `query` is None.
    """
    return query is None or bool(_CATALOG_WORDS & _words_that_can_be_names(query))


def _find_tables_and_views_by_words(words: set[str], views: ViewsByName) -> set[str]:
    """Return the tables and views whose names occur in the words, and those that they read."""
    all_names, used_names = {*TABLES, *views}, set[str]()
    while new_names := {
        name for name in all_names - used_names if words.issuperset(name.split("."))
    }:
        used_names |= new_names
        selects = [
            view.select for name in new_names if isinstance(view := views.get(name), SqlView)
        ]
        words = {word for select in selects for word in _lower_case_words(select)}
    return used_names


def column_descriptions(view_name: str, views: ViewsByName) -> dict[str, str]:
    """Return the descriptions of a view's columns, by column.

    A column that the view does not describe has the description of its table's column, unless
    several tables describe it differently.

    Args:
        view_name: Name of the view.
        views: All views by name.
    """
    tables, used_views = referenced_tables_and_views(quote_qualified_name(view_name), views)
    texts_by_column: dict[str, set[str]] = {}
    # Views of players read `roles` only to select games, so its descriptions do not apply.
    for table in [table for table in tables if table != ROLES_TABLE] or tables:
        for column, column_spec in TABLES[table].columns().items():
            texts_by_column.setdefault(column, set()).add(column_spec.description or "")
    descriptions = {
        column: texts.pop() for column, texts in texts_by_column.items() if len(texts) == 1
    }
    shared_views = [name for name in used_views if name.startswith("shared.")]
    for name in (*shared_views, view_name):
        descriptions |= views[name].columns
    return descriptions


def create_view(connection: duckdb.DuckDBPyConnection, view_name: str, view: SqlView) -> None:
    """Create a view in DuckDB; if its name has a schema, the schema is created first."""
    create_schema_of_qualified_name(connection, view_name)
    connection.execute(f"CREATE VIEW {quote_qualified_name(view_name)} AS {view.select}")


def create_computed_view(
    connection: duckdb.DuckDBPyConnection, name: str, view: ComputedView, file: str
) -> None:
    """Create a view that reads its rows from a file with one JSON object per line.

    The view lists its columns, so that DuckDB opens the file only to read its rows.

    Args:
        connection: The connection.
        name: Name of the view; its schema is created if it has one.
        view: The view, for the types of its columns.
        file: Name of the file in DuckDB.
    """
    types = connection.from_arrow(view.schema.to_frame().to_arrow()).types
    column_types = zip(view.schema, map(str, types), strict=True)
    columns = ", ".join(
        f"{quote_identifier(name)}: {quote_literal(dtype)}" for name, dtype in column_types
    )
    options = f"format = 'newline_delimited', columns = {{{columns}}}"
    create_schema_of_qualified_name(connection, name)
    select = f"SELECT * FROM read_json({quote_literal(file)}, {options})"
    connection.execute(f"CREATE VIEW {quote_qualified_name(name)} AS {select}")


def create_schema_of_qualified_name(
    connection: duckdb.DuckDBPyConnection, qualified_name: str
) -> None:
    """Create the schema `a` for a view named `a.b`; do nothing for a name without a dot."""
    for schema in qualified_name.split(".")[:-1]:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {quote_identifier(schema)}")


def quote_qualified_name(qualified_name: str) -> str:
    """Return a name quoted for SQL, such as `"a"."b"` for `a.b`."""
    return ".".join(map(quote_identifier, qualified_name.split(".")))


class ViewDescription(NamedTuple):
    """Descriptions of a table or view and of its columns.

    Attributes:
        row: What a row is, in a sentence.
        columns: Descriptions by column.
        kind: `VIEW` or `TABLE`, as the database stores it.
    """

    row: str
    columns: Mapping[str, str]
    kind: str = "VIEW"


def table_and_view_descriptions(
    tables: Iterable[str], views: ViewsByName
) -> dict[str, ViewDescription]:
    """Return the descriptions of these tables and views, by name."""
    table_descriptions = {
        table: ViewDescription(
            row_description(table),
            {name: column.description for name, column in TABLES[table].columns().items()},
        )
        for table in tables
    }
    return table_descriptions | {
        name: ViewDescription(f"A row is {view.row}.", column_descriptions(name, views))
        for name, view in views.items()
    }


def store_descriptions_as_comments(
    connection: duckdb.DuckDBPyConnection, descriptions: Mapping[str, ViewDescription]
) -> None:
    """Store descriptions as comments on the tables, views and columns of the database."""
    comments = [
        f"COMMENT ON {meaning.kind} {quote_qualified_name(name)} IS {quote_literal(meaning.row)}"
        for name, meaning in descriptions.items()
    ]
    for name, column in connection.execute(_LIST_COLUMNS_QUERY).fetchall():
        text = descriptions[name].columns.get(column) if name in descriptions else None
        if text:
            column_name = f"{quote_qualified_name(name)}.{quote_identifier(column)}"
            comments.append(f"COMMENT ON COLUMN {column_name} IS {quote_literal(text)}")
    connection.execute(";\n".join(comments))


def _words_that_can_be_names(query: str) -> set[str]:
    """Return the words of a query outside of comments and strings, in lower case.

    Words in strings are included if the query calls a function that runs a string.
    """
    words = _lower_case_words(normalize_query_text(query))
    return words | _lower_case_words(query) if words & _QUERY_FUNCTIONS else words


def _lower_case_words(query: str) -> set[str]:
    return set(_WORD.findall(query.lower()))


def create_lake_view(
    connection: duckdb.DuckDBPyConnection,
    lake: StoredLake,
    table: str,
    table_files: Callable[[str], Sequence[str]],
) -> None:
    """Create a view with the rows of a lake's table, as the lake's view options define them.

    Args:
        connection: The connection.
        lake: The lake, at one state.
        table: Name of the table.
        table_files: Returns the names that a table's files have in DuckDB.
    """
    select = table_with_view_options_select(
        lake, table, lambda name: _stored_rows_select(connection, lake, name, table_files)
    )
    connection.execute(f"CREATE VIEW {quote_identifier(table)} AS {select}")


def table_with_view_options_select(
    lake: StoredLake, table: str, stored_select: Callable[[str], str]
) -> str:
    """Return a SELECT of a table's rows to which the lake's view options are applied.

    The options replace model names, and can count failed games as losses.

    Args:
        lake: The lake, for its view options.
        table: Name of the table.
        stored_select: Returns a SELECT of the stored rows of a table, given its name.
    """

    def select_with_merged_names(stored_table: str) -> str:
        if not lake.names or "model" not in table_schema(stored_table):
            return stored_select(stored_table)
        return replaced_names_select(
            stored_table, stored_select(stored_table), stored_select("players"), lake.names
        )

    if table != "results" or lake.failures != LOSS:
        return select_with_merged_names(table)
    columns = ", ".join(map(quote_identifier, table_schema(table)))
    results = failed_games_as_losses_select(select_with_merged_names)
    return f"SELECT {columns} FROM ({results}) AS failed"


def _stored_rows_select(
    connection: duckdb.DuckDBPyConnection,
    lake: StoredLake,
    table: str,
    table_files: Callable[[str], Sequence[str]],
) -> str:
    """Return a SELECT of a table's stored rows that belong to the lake's view."""
    row_filter = lake.row_filter(table)
    condition = row_filter.condition if row_filter else None
    if row_filter and row_filter.is_on_games:
        source = _read_parquet_call(table_files("games"))
        condition = (
            f"game_id IS NULL OR game_id IN (SELECT game_id FROM {source} WHERE {condition})"
        )
    return _contract_columns_select(
        connection, table_files(table), table, condition, lake.file_schema(table)
    )


def create_table_view_of_parquet_files(
    connection: duckdb.DuckDBPyConnection, files: Sequence[str], table: str
) -> None:
    """Create a view with the rows of a table in these Parquet files; no files give no rows."""
    rows = _contract_columns_select(connection, files, table)
    connection.execute(f"CREATE VIEW {quote_identifier(table)} AS {rows}")


def _contract_columns_select(
    connection: duckdb.DuckDBPyConnection,
    files: Sequence[str],
    table: str,
    condition: str | None = None,
    file_columns: Collection[str] | None = None,
) -> str:
    """Return a SELECT of the rows of a table's Parquet files, with all columns of its contract.

    Args:
        connection: The connection, for the names of DuckDB's types.
        files: Names of the files in DuckDB.
        table: Name of the table. Values of older lakes that were renamed are replaced.
        condition: SQL that selects the rows; None for all rows.
        file_columns: The columns that the files have; other columns are null. None for all columns.
    """
    schema = arrow_schema(table)
    expressions = {name: quote_identifier(name) for name in schema.names}
    for name, new_values in renamed_values_by_column(table).items():
        cases = [
            f"WHEN {quote_literal(old)} THEN {quote_literal(new)}"
            for old, new in new_values.items()
        ]
        column = quote_identifier(name)
        expressions[name] = f"CASE {column} {' '.join(cases)} ELSE {column} END AS {column}"
    if missing_columns := [
        name
        for name in expressions
        if not files or (file_columns is not None and name not in file_columns)
    ]:
        # Not `schema.empty_table()`, because it would import pandas.
        empty_rows = pa.Table.from_batches([], schema).select(missing_columns)
        types = connection.from_arrow(empty_rows).types
        for name, dtype in zip(missing_columns, types, strict=True):
            expressions[name] = f"CAST(NULL AS {dtype}) AS {quote_identifier(name)}"
    source = f"FROM {_read_parquet_call(files)}" if files else "LIMIT 0"
    rows = f"SELECT {', '.join(expressions.values())} {source}"
    if condition is not None:
        rows = f"FROM ({rows}) WHERE {condition}"
    return rows


def _read_parquet_call(files: Iterable[str]) -> str:
    # Without this option, a folder such as `model=x` above the lake would become a column.
    return f"read_parquet([{', '.join(map(quote_literal, files))}], hive_partitioning = false)"


# A sum of integers is a HUGEINT in DuckDB, and `0.5` is a DECIMAL. Polars reads both as decimals
# and rounds their quotient to their number of decimal places (71 / 80 is 1), so the decimals in
# results are converted.

_NESTED_TYPE_IDS = {"list", "array", "struct", "tuple", "map"}
_UNSUPPORTED_TYPE_IDS = {
    *("interval", "union", "bignum", "bit", "geometry", "time with time zone"),
    "uhugeint",  # Half of its values do not fit into the decimals of Arrow.
}
_FIRST_DAY, _LAST_DAY = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
_TICKS_PER_DAY = {unit: 86_400 * 1_000**power for power, unit in enumerate(("s", "ms", "us", "ns"))}
MAX_NESTING_DEPTH = 32
"""Maximum depth of lists and structs; readers of results allow about twice as much."""


def to_polars_without_decimals(rows: duckdb.DuckDBPyRelation) -> pl.DataFrame:
    """Return a query's rows as a polars frame, with integers and floats in place of decimals.

    DuckDB returns a sum of integers as HUGEINT and `0.5` as DECIMAL. HUGEINT and DECIMAL without
    decimal places become Int64, or Float64 if a value does not fit; other DECIMAL become Float64.
    The rule also applies to values in lists, structs and maps, together for the whole column.

    Args:
        rows: The result of a statement; it is computed here.

    Raises:
        QueryError: If a column or a value cannot be displayed.
    """
    for name, dtype in zip(rows.columns, rows.types, strict=True):
        _check_type_is_displayable(name, dtype)
    table = rows.to_arrow_table()
    _check_dates_are_displayable(table)
    return pl.DataFrame(
        pa.table([_replace_decimals(column) for column in table.columns], table.column_names)
    )


def _replace_decimals(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with integers in place of whole decimals, or floats if some do not fit."""
    integers = _replace_decimals_in_type(column.type, pa.int64())
    if integers == column.type:
        return column
    try:
        return column.cast(integers)
    except pa.ArrowInvalid:
        return column.cast(_replace_decimals_in_type(column.type, pa.float64()))


def _replace_decimals_in_type(dtype: pa.DataType, type_of_integers: pa.DataType) -> pa.DataType:
    """Return a type with float64 in place of decimals, also within nested types.

    Decimals without decimal places are replaced by `type_of_integers`.
    """
    if pa.types.is_decimal(dtype):
        return pa.float64() if dtype.scale else type_of_integers
    if not pa.types.is_nested(dtype):
        return dtype
    fields = [dtype.field(number) for number in range(dtype.num_fields)]
    if pa.types.is_map(dtype):
        fields = [dtype.key_field, dtype.item_field]
    fields = [
        field.with_type(_replace_decimals_in_type(field.type, type_of_integers)) for field in fields
    ]
    if pa.types.is_struct(dtype):
        return pa.struct(fields)
    if pa.types.is_map(dtype):
        return pa.map_(*fields)
    return pa.list_(*fields, dtype.list_size if pa.types.is_fixed_size_list(dtype) else -1)


def _check_type_is_displayable(column: str, column_type: DuckDBPyType) -> None:
    """Raise QueryError if polars has no type for a DuckDB column, or if it is nested too deep.

    Polars panics on some of these types.
    """
    types_and_depths = list(_iter_nested_types(column_type))
    if max(depth for _, depth in types_and_depths) > MAX_NESTING_DEPTH:
        raise QueryError(
            f"the column `{column}` is nested more than {MAX_NESTING_DEPTH} levels deep, which "
            "cannot be displayed: select parts of it, or cast it to JSON or VARCHAR"
        )
    if unsupported_types := [
        inner.id.upper() for inner, _ in types_and_depths if inner.id in _UNSUPPORTED_TYPE_IDS
    ]:
        raise QueryError(
            f"the column `{column}` has the type {unsupported_types[0]}, which cannot be "
            "displayed: cast it, for example `CAST(.. AS VARCHAR)`"
        )


def _iter_nested_types(dtype: DuckDBPyType, depth: int = 1) -> Iterator[tuple[DuckDBPyType, int]]:
    """Yield a type and the types nested in it, each with its depth; the outermost depth is 1.

    Types deeper than `MAX_NESTING_DEPTH + 1` are not yielded.
    """
    yield dtype, depth
    # The children of an array type include its size.
    for _, inner in (
        dtype.children if dtype.id in _NESTED_TYPE_IDS and depth <= MAX_NESTING_DEPTH else ()
    ):
        if isinstance(inner, DuckDBPyType):
            yield from _iter_nested_types(inner, depth + 1)


def _check_dates_are_displayable(table: pa.Table) -> None:
    """Raise QueryError if a column has a date outside of the years 1 to 9999, or the time 24:00.

    DuckDB allows infinite dates and the time 24:00:00, which polars reads as null.
    """
    for name, column in zip(table.column_names, table.columns, strict=True):
        for values in (leaf for chunk in column.chunks for leaf in _iter_leaf_arrays(chunk)):
            if description := _out_of_range_value_description(values):
                raise QueryError(
                    f"the column `{name}` has {description}, which cannot be displayed: cast it, "
                    "for example `CAST(.. AS VARCHAR)`"
                )


def _iter_leaf_arrays(values: pa.Array) -> Iterator[pa.Array]:
    """Yield the arrays of the innermost values within lists, structs and maps."""
    if not pa.types.is_nested(values.type):
        yield values
        return
    inner = [values.keys, values.items] if pa.types.is_map(values.type) else values.flatten()
    for node in inner if isinstance(inner, list) else [inner]:
        yield from _iter_leaf_arrays(node)


def _out_of_range_value_description(values: pa.Array) -> str | None:
    """Describe a date or time in an array that Python cannot represent; None if all are valid."""
    is_date, is_time = pa.types.is_date32(values.type), pa.types.is_time64(values.type)
    if not (is_date or is_time or pa.types.is_timestamp(values.type)):
        return None
    # Imported here because most results have no dates and the import is slow.
    import pyarrow.compute as pc

    ticks_per_day = 1 if is_date else _TICKS_PER_DAY[values.type.unit]
    low, high = (0, 1) if is_time else (_FIRST_DAY, _LAST_DAY + 1)
    ticks = values.cast(pa.int32() if is_date else pa.int64())
    smallest, largest = pc.min_max(ticks).as_py().values()
    if smallest is None or (low * ticks_per_day <= smallest and largest < high * ticks_per_day):
        return None
    return "the time 24:00:00" if is_time else "a date outside of the years 1 to 9999"
