"""What Tab offers at the prompt of `magic sql`: names that fit where the cursor is.

The names come from the contracts and the SQL files. DuckDB is asked only for the columns of views
and for its functions, when somebody first presses Tab.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, get_args

from prompt_toolkit.completion import Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from pipeline.cli.options import Form
from pipeline.sqlfiles import TOKEN

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent

    from pipeline.warehouse.views import Views

_WORDS_OF_SQL = """
    SELECT DISTINCT FROM WHERE GROUP BY HAVING QUALIFY ORDER LIMIT OFFSET WITH AS JOIN LEFT RIGHT
    FULL INNER CROSS SEMI ANTI ON USING UNION ALL EXCEPT INTERSECT AND OR NOT IN IS NULL LIKE ILIKE
    BETWEEN EXISTS CASE WHEN THEN ELSE END OVER PARTITION FILTER ASC DESC NULLS FIRST LAST TRUE
    FALSE DESCRIBE SHOW SUMMARIZE PIVOT UNPIVOT EXPLAIN VALUES CAST UNNEST EXCLUDE REPLACE
"""
KEYWORDS = _WORDS_OF_SQL.split()
# After these comes a table; after a comma as well, as long as no other clause has begun.
_BEFORE_TABLES = {"from", "join", "describe", "summarize", "table", "pivot", "unpivot"}
_CLAUSES = _BEFORE_TABLES | {
    *("select", "where", "on", "using", "group", "having", "qualify", "order", "limit", "values"),
}
_CLOSED = ("--", "/*", "'", "$$", '"')
_WORD = re.compile(r"[\w.$]*$")


class SqlCompleter(Completer):
    """Completes commands, and in a query names, keywords and functions."""

    def __init__(self, commands: Iterable[str]) -> None:
        self._commands = sorted(commands)

    def get_completions(self, document: Document, event: "CompleteEvent") -> Iterator[Completion]:
        before = document.text_before_cursor
        if before.lstrip().startswith("."):
            yield from self._of_command(before.lstrip(), event)
        elif (word := _word(before)) is not None:
            yield from _starting(word, _of_query(document.text, before, word))

    def _of_command(self, line: str, event: "CompleteEvent") -> Iterator[Completion]:
        command, blank, rest = line.partition(" ")
        if not blank:
            yield from _starting(command, self._commands)
        elif command == ".schema":
            word = rest.rpartition(" ")[2]
            yield from _starting(word, [*_relations(), *_within(word.rpartition(".")[0])])
        elif command == ".read":
            yield from PathCompleter(expanduser=True).get_completions(Document(rest), event)
        else:
            yield from _starting(rest, _CHOICES.get(command, []))


_CHOICES = {
    ".format": [form for form in get_args(Form) if form != "parquet"],
    ".timer": ["on", "off"],
}


def _starting(word: str, offered: Iterable[str]) -> Iterator[Completion]:
    """What begins as the word does, each text once."""
    for text in dict.fromkeys(offered):
        if text.lower().startswith(word.lower()):
            yield Completion(text, start_position=-len(word))


def _word(before: str) -> str | None:
    """The beginning of a name at the cursor; None within a comment or a text."""
    tokens = [found[0] for found in TOKEN.finditer(before)]
    last = tokens[-1] if tokens and before.endswith(tokens[-1]) else ""
    if last.startswith(_CLOSED) and not _is_closed(last):
        return None
    found = _WORD.search(before)
    return found[0] if found else ""


def _is_closed(token: str) -> bool:
    for sign, end in (("/*", "*/"), ("$$", "$$"), ("'", "'"), ('"', '"')):
        if token.startswith(sign):
            return len(token) > len(sign) and token.endswith(end)
    return not token.startswith("--")


def _of_query(text: str, before: str, word: str) -> list[str]:
    """What fits at the end of `before`, which is part of the whole text."""
    said = _code(before[: len(before) - len(word)])
    begin = len(said) - said[::-1].index(";") if ";" in said else 0
    statement = said[begin:]
    after = _code(text[len(before) :])
    named = [*statement, *after[: after.index(";") if ";" in after else None]]
    if qualifier := word.rpartition(".")[0]:
        name = _aliases(named).get(qualifier.lower())
        columns = [f"{qualifier}.{column}" for column in _columns(name)] if name else []
        return [*_within(qualifier), *columns]
    if _is_for_table(statement):
        return [*_relations(), *_defined(named)]
    columns = [column for name in _aliases(named).values() for column in _columns(name)]
    return [*columns, *KEYWORDS, *(_functions() if word else [])]


def _code(text: str) -> list[str]:
    """The words and signs of SQL, in lower case, without comments and texts."""
    found = (one[0].lower() for one in TOKEN.finditer(text))
    return [one.replace('"', "") for one in found if not one.startswith(("--", "/*", "'", "$$"))]


def _is_for_table(said: list[str]) -> bool:
    clause = next((one for one in reversed(said) if one in _CLAUSES), None)
    return clause in _BEFORE_TABLES and said[-1] in {*_BEFORE_TABLES, ","}


def _aliases(said: list[str]) -> dict[str, str]:
    """The tables and views that a statement names, by the names and aliases that it gives them."""
    known = {name.lower(): name for name in (*_relations(), *_views())}
    found = {}
    for place, one in enumerate(said):
        if one in known:
            found[one.rpartition(".")[2]] = found[one] = known[one]
            following = [word for word in said[place + 1 : place + 3] if word != "as"]
            if following and following[0].isidentifier() and following[0].upper() not in KEYWORDS:
                found[following[0]] = known[one]
    return found


def _defined(said: list[str]) -> list[str]:
    """The names that a WITH of the statement defines."""
    return [
        name
        for name, word, sign in zip(said, said[1:], said[2:], strict=False)
        if word == "as" and sign == "(" and name.isidentifier()
    ]


def _within(schema: str) -> list[str]:
    """The views of a schema by their whole names."""
    return [one for one in _views() if one.startswith(f"{schema.lower()}.")]


def _relations() -> list[str]:
    """The tables, the views of the main schema, and the other schemas with a dot at their end."""
    from pipeline.events.contracts import TABLES

    return [*TABLES, *(one[: one.find(".") + 1] or one for one in _views())]


@cache
def _views() -> "Views":
    from pipeline.reports.views import views

    return views()


@cache
def _columns(name: str) -> list[str]:
    from pipeline.events.contracts import TABLES, polars_schema

    if name in TABLES:
        return list(polars_schema(name))
    from pipeline.warehouse import columns

    return list(columns(name, _views()))


@cache
def _functions() -> list[str]:
    from pipeline.warehouse import functions

    return functions()
