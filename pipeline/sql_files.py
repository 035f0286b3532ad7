"""The SQL files: shipped inside the package, or at the top of a plain checkout."""

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
"""A comment, text, name, number or sign of SQL. What is not closed reaches to the end."""
_COMMENT = re.compile(r"^ *--.*\n", re.MULTILINE)
_SHARED = re.compile(r"\bshared\.(\w+)")
_HEADER = re.compile(r"^-- (?P<key>\w+): (?P<value>.*)$")


class SqlView(NamedTuple):
    """A view: its SELECT, what one row is, and what columns mean that no table describes.

    `package` is the one that it is of, empty for one of ours.
    """

    select: str
    row: str
    columns: Mapping[str, str]
    package: str = ""


@cache
def sql_folder() -> Path:
    """The folder of SQL files: the wheel's, else that of the checkout around the package."""
    shipped, checkout = _PACKAGE / "sql", _PACKAGE.parent / "sql"
    if shipped.is_dir():
        return shipped
    if checkout.is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return checkout
    raise FileNotFoundError("the installation is incomplete: it has no SQL files")


@cache
def read_file(name: str) -> str:
    """The text of `name`.sql, without its leading comments' blank ends."""
    return (sql_folder() / f"{name}.sql").read_text(encoding="utf-8").strip()


def list_files(under: str) -> list[str]:
    """The files' names in a folder, without `.sql`, sorted."""
    return sorted(path.stem for path in (sql_folder() / under).glob("*.sql"))


def read_header(name: str) -> dict[str, list[str]]:
    """The `-- key: value` lines at the top of a file; a key may come more than once."""
    return parse_header(read_file(name))


def parse_header(text: str) -> dict[str, list[str]]:
    """The same of a text."""
    values: dict[str, list[str]] = {}
    for line in map(str.strip, text.strip().splitlines()):
        if not line.startswith("--"):
            break
        if match := _HEADER.match(line):
            values.setdefault(match["key"], []).append(match["value"].strip())
    return values


class With(NamedTuple):
    """The WITH clause of a query: the names of its CTEs, and its text with what is above it."""

    names: tuple[str, ...]
    text: str


@cache
def extract_with_clause(sql: str) -> With:
    """The WITH clause of a query in any layout; without a name if the query has none."""
    names: list[str] = []
    depth, before = 0, ""
    tokens = list(tokens_of(sql))
    for place, token in enumerate(tokens):
        if depth == 0 and before in ("with", "recursive", ",") and token.text != "recursive":
            names.append(token.text.strip('"'))
        elif place == 0 and token.text != "with":
            break
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        # A list of columns can stand before AS.
        following = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if depth == 0 and token.text == ")" and following not in (",", "as", "using"):
            return With(tuple(names), sql[: token.end])
        before = token.text
    return With((), "")


def strip_end(sql: str) -> str:
    """The query without the semicolons and comments that end it."""
    end = 0
    for token in tokens_of(sql):
        end = end if token.text == ";" else token.end
    return sql[:end]


class Token(NamedTuple):
    """A word or sign of SQL in lower case, and where in the text it ends."""

    text: str
    end: int


def tokens_of(sql: str) -> Iterator[Token]:
    """The words, texts and signs of SQL; comments are left out."""
    for match in TOKEN.finditer(sql):
        if not match[0].startswith(("--", "/*")):
            yield Token(match[0].lower(), match.end())


def read_select(name: str) -> str:
    """The file's SELECT without comments, and with those of `sql/shared` that it names inside."""
    return _SHARED.sub(
        lambda named: f"({read_select(f'shared/{named[1]}')})", _COMMENT.sub("", read_file(name))
    )


def fill_template(name: str, **values: str) -> str:
    """The file's text without comment lines, with every `${name}` in it replaced."""
    body = "\n".join(line for line in read_file(name).splitlines() if not line.startswith("--"))
    return Template(body).substitute(values)


def quote_identifier(name: str) -> str:
    """The name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quote_literal(value: str) -> str:
    """The text as a SQL literal."""
    return "'" + value.replace("'", "''") + "'"
