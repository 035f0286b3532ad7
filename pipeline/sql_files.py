"""Read the SQL files of the package, and parse and quote SQL text.

The files are inside an installed package, or at the top of a source checkout.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import NamedTuple

_PACKAGE = Path(__file__).parent
TOKEN = re.compile(
    r"--[^\n]*|/\*.*?(?:\*/|$)|(?<=\be)'(?:[^'\\]|''|\\.)*(?:'|$)|'(?:[^']|'')*(?:'|$)"
    r'|\$\$.*?(?:\$\$|$)|"(?:[^"]|"")*(?:"|$)(?:\.\w*)*|[\w$]+(?:\.\w*)*|[^\s\w]',
    re.DOTALL | re.IGNORECASE,
)
"""Matches one SQL token: a comment, string, name, number or operator.

An unclosed string or comment extends to the end of the text.
"""
_COMMENT = re.compile(r"^ *--.*\n", re.MULTILINE)
_SHARED = re.compile(r"\bshared\.(\w+)")
_HEADER = re.compile(r"^-- (?P<key>\w+): (?P<value>.*)$")


class SqlView(NamedTuple):
    """A view that is defined by a SELECT.

    Attributes:
        select: The SELECT statement.
        row: What one row is, as a phrase.
        columns: Descriptions of the columns that no table describes.
        package: The package that defines the view; empty for this package.
    """

    select: str
    row: str
    columns: Mapping[str, str]
    package: str = ""


@cache
def sql_folder() -> Path:
    """Return the folder of the SQL files, in the installed package or in the source checkout."""
    shipped, checkout = _PACKAGE / "sql", _PACKAGE.parent / "sql"
    if shipped.is_dir():
        return shipped
    if checkout.is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return checkout
    raise FileNotFoundError("the installation is incomplete: it has no SQL files")


@cache
def read_sql_file(name: str) -> str:
    """Return the text of the SQL file with this name, which has no extension."""
    return (sql_folder() / f"{name}.sql").read_text(encoding="utf-8").strip()


def sql_file_names(folder: str) -> list[str]:
    """Return the sorted names of the SQL files in a subfolder, without the extension."""
    return sorted(path.stem for path in (sql_folder() / folder).glob("*.sql"))


def read_comment_header(name: str) -> dict[str, list[str]]:
    """Return the values of the comment lines `-- key: value` at the top of a SQL file, by key."""
    return parse_comment_header(read_sql_file(name))


def parse_comment_header(text: str) -> dict[str, list[str]]:
    """Return the values of the comment lines `-- key: value` at the top of SQL text, by key."""
    values: dict[str, list[str]] = {}
    for line in map(str.strip, text.strip().splitlines()):
        if not line.startswith("--"):
            break
        if match := _HEADER.match(line):
            values.setdefault(match["key"], []).append(match["value"].strip())
    return values


class With(NamedTuple):
    """The WITH clause of a query.

    Attributes:
        names: The names of its common table expressions.
        text: The query text up to the end of the clause.
    """

    names: tuple[str, ...]
    text: str


@cache
def extract_with_clause(sql: str) -> With:
    """Return the WITH clause at the start of a query: its text and the names that it defines.

    Both are empty if the query has no WITH clause.
    """
    names: list[str] = []
    depth, previous_text = 0, ""
    tokens = list(iter_tokens_without_comments(sql))
    for position, token in enumerate(tokens):
        if depth == 0 and previous_text in ("with", "recursive", ",") and token.text != "recursive":
            names.append(token.text.strip('"'))
        elif position == 0 and token.text != "with":
            break
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        # A list of column names can precede AS.
        next_text = tokens[position + 1].text if position + 1 < len(tokens) else ""
        if depth == 0 and token.text == ")" and next_text not in (",", "as", "using"):
            return With(tuple(names), sql[: token.end])
        previous_text = token.text
    return With((), "")


def strip_final_semicolons_and_comments(sql: str) -> str:
    """Return a query without the semicolons and comments at its end."""
    end = 0
    for token in iter_tokens_without_comments(sql):
        end = end if token.text == ";" else token.end
    return sql[:end]


class Token(NamedTuple):
    """A SQL token.

    Attributes:
        text: The token in lower case.
        end: The index in the query after the token.
    """

    text: str
    end: int


def iter_tokens_without_comments(sql: str) -> Iterator[Token]:
    """Yield the tokens of SQL text in lower case, without its comments."""
    for match in TOKEN.finditer(sql):
        if not match[0].startswith(("--", "/*")):
            yield Token(match[0].lower(), match.end())


def read_select_with_shared_files(name: str) -> str:
    """Return the SELECT of a SQL file, with the SELECT of each shared file in place of its name.

    `shared.NAME` stands for the file `sql/shared/NAME.sql`. Comment lines are removed.
    """
    return _SHARED.sub(
        lambda match: f"({read_select_with_shared_files(f'shared/{match[1]}')})",
        _COMMENT.sub("", read_sql_file(name)),
    )


def fill_template(name: str, **values: str) -> str:
    """Return the text of a SQL file with values in place of its `${name}`, without comments."""
    body = "\n".join(line for line in read_sql_file(name).splitlines() if not line.startswith("--"))
    return Template(body).substitute(values)


def quote_identifier(name: str) -> str:
    """Return a name as a SQL identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(value: str) -> str:
    """Return a string as a SQL literal in single quotes."""
    return "'" + value.replace("'", "''") + "'"
