"""What Tab offers at the prompt of `magic sql`: names that fit where the cursor is.

The names come from the contracts and the SQL files. DuckDB is asked only for the columns of views
and for its functions, when somebody first presses Tab.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from pipeline.cli.workspace import FORMS
from pipeline.events.contracts import TABLES, polars_schema

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent

    from pipeline.warehouse.views import Views

_SQL = """
    SELECT DISTINCT FROM WHERE GROUP BY HAVING QUALIFY ORDER LIMIT OFFSET WITH AS JOIN LEFT RIGHT
    FULL INNER CROSS SEMI ANTI ON USING UNION ALL EXCEPT INTERSECT AND OR NOT IN IS NULL LIKE ILIKE
    BETWEEN EXISTS CASE WHEN THEN ELSE END OVER PARTITION FILTER ASC DESC NULLS FIRST LAST TRUE
    FALSE DESCRIBE SHOW SUMMARIZE PIVOT UNPIVOT EXPLAIN VALUES CAST UNNEST EXCLUDE REPLACE
"""
KEYWORDS = _SQL.split()
# Where a table comes next: also after others, with or without an alias, and a comma.
_BEFORE_TABLE = re.compile(
    r"\b(?:from|join|describe|summarize|table|pivot|unpivot)\s+"
    r"(?:[\w.]+(?:\s+as)?(?:\s+\w+)?\s*,\s*)*$",
    re.IGNORECASE,
)
_NO_CODE = re.compile(r"--[^\n]*\n|/\*.*?\*/|'(?:[^']|'')*'|\$\$.*?\$\$", re.DOTALL)
_IS_OPEN = re.compile(r"--|/\*|'|\$\$")


class SqlCompleter(Completer):
    """Completes commands, and in a query names, keywords and functions."""

    def __init__(self, commands: Iterable[str]) -> None:
        self._commands = sorted(commands)

    def get_completions(self, document: Document, event: "CompleteEvent") -> Iterator[Completion]:
        line = document.text_before_cursor.lstrip()
        if line.startswith(".read "):
            path = Document(line.removeprefix(".read "))
            yield from PathCompleter(expanduser=True).get_completions(path, event)
            return
        names = self._of_command(line) if line.startswith(".") else _of_query(line, document.text)
        word = _last_word(line)
        for name in dict.fromkeys(names):
            if name.lower().startswith(word.lower()):
                yield Completion(name, start_position=-len(word))

    def _of_command(self, line: str) -> Iterable[str]:
        command, blank, _ = line.partition(" ")
        if not blank:
            return self._commands
        if command == ".schema":
            return [*_relations(), *_views_in(_last_word(line))]
        return FORMS if command == ".format" else ()


def _last_word(text: str) -> str:
    return re.split(r"[^\w.$]", text)[-1]


def _of_query(before: str, text: str) -> list[str]:
    """What fits at the end of `before`; the whole text has the names of tables."""
    begun = _NO_CODE.sub(" ", before).rpartition(";")[2]
    if _IS_OPEN.search(begun):  # within a comment or a text
        return []
    rest = _NO_CODE.sub(" ", text[text.index(before) + len(before) :]).partition(";")[0]
    word = _last_word(before)
    code = begun.removesuffix(word)
    statement = _words(f"{code} {rest}")
    tables = _tables(statement)
    if qualifier := word.rpartition(".")[0]:
        columns = _columns(tables[qualifier.lower()]) if qualifier.lower() in tables else []
        return [*_views_in(word), *(f"{qualifier}.{column}" for column in columns)]
    if _BEFORE_TABLE.search(code):
        return [
            *_relations(),
            *re.findall(r"(\w+) as \(", " ".join(statement)),
        ]  # and those of WITH
    of_tables = [column for name in tables.values() for column in _columns(name)]
    return [*of_tables, *KEYWORDS, *(_functions() if word else [])]


def _words(code: str) -> list[str]:
    """The names, keywords and signs, in lower case."""
    return re.findall(r"[\w.$]+|[^\s\w]", code.lower().replace('"', ""))


def _tables(statement: list[str]) -> dict[str, str]:
    """The tables and views of a statement, by the names and aliases that it gives them."""
    known = {name.lower(): name for name in (*TABLES, *_views())}
    tables = {}
    for place, word in enumerate(statement):
        if word in known:
            tables[word] = tables[word.rpartition(".")[2]] = known[word]
            alias = next((name for name in statement[place + 1 : place + 3] if name != "as"), "")
            if alias.isidentifier() and alias.upper() not in KEYWORDS:
                tables[alias] = known[word]
    return tables


def _relations() -> list[str]:
    """The tables, the views of the main schema, and the other schemas with a dot at their end."""
    return [*TABLES, *(name[: name.find(".") + 1] or name for name in _views())]


def _views_in(word: str) -> list[str]:
    """The views of the schema that a word begins with, by their whole names."""
    schema, dot, _ = word.lower().rpartition(".")
    return [name for name in _views() if dot and name.startswith(f"{schema}.")]


@cache
def _views() -> "Views":
    from pipeline.reports.views import views

    return views()


@cache
def _columns(name: str) -> list[str]:
    from pipeline.warehouse import columns

    return list(polars_schema(name) if name in TABLES else columns(name, _views()))


@cache
def _functions() -> list[str]:
    from pipeline.warehouse import functions

    return functions()
