"""The SQL files: shipped inside the package, or at the top of a plain checkout."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import NamedTuple

_PACKAGE = Path(__file__).parent
_HEADER = re.compile(r"^-- (?P<key>\w+): (?P<value>.*)$")


class View(NamedTuple):
    """A view: its SELECT, what one row is, and what columns mean that no table describes."""

    select: str
    row: str
    columns: Mapping[str, str]


@cache
def folder() -> Path:
    """The folder of SQL files: the wheel's, else that of the checkout around the package."""
    shipped, checkout = _PACKAGE / "sql", _PACKAGE.parent / "sql"
    if shipped.is_dir():
        return shipped
    if checkout.is_dir() and (_PACKAGE.parent / "pyproject.toml").is_file():
        return checkout
    raise FileNotFoundError("the installation is incomplete: it has no SQL files")


@cache
def text(name: str) -> str:
    """The text of `name`.sql, without its leading comments' blank ends."""
    return (folder() / f"{name}.sql").read_text(encoding="utf-8").strip()


def names(under: str) -> list[str]:
    """The files' names in a folder, without `.sql`, sorted."""
    return sorted(path.stem for path in (folder() / under).glob("*.sql"))


def header(name: str) -> dict[str, list[str]]:
    """The `-- key: value` lines at the top of a file; a key may come more than once."""
    return header_of(text(name))


def header_of(text: str) -> dict[str, list[str]]:
    """The same of a text."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        if match := _HEADER.match(line):
            found.setdefault(match["key"], []).append(match["value"].strip())
    return found


def filled(name: str, **values: str) -> str:
    """The file's text without comment lines, with every `${name}` in it replaced."""
    body = "\n".join(line for line in text(name).splitlines() if not line.startswith("--"))
    return Template(body).substitute(values)


def identifier(name: str) -> str:
    """The name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str) -> str:
    """The text as a SQL literal."""
    return "'" + value.replace("'", "''") + "'"
