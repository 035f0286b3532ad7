"""The tables of docs/tables.md, from the output of `magic schema --format markdown`.

`make generated` renews them. Columns that many tables repeat are listed once.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from pipeline.events.contracts import TABLES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tables.md"
MARK = "<!-- generated -->\n"
_HEAD = ["| column | type, values | description |", "|---|---|---|"]
# Title of the shared columns: an example table with these columns, and the text above them.
_SHARED = {
    "game": ("games", "All tables of games, players and actions have these columns."),
    "player": ("players", "All tables of players and actions have these columns."),
    "action": ("decisions", "All tables of actions have these columns."),
}


def sections(printed: str) -> str:
    """Rearrange the output of `magic schema --format markdown` so that no column is repeated."""
    found = re.findall(r"^### (\w+)(: .*)\n\n(?:\|.*\n){2}((?:\|.*\n)+)", printed, re.MULTILINE)
    rows = {
        table: {_name(row): row.replace("\\*", "", 1) for row in text.splitlines()}
        for table, _, text in found
    }
    assert rows.keys() == TABLES.keys()
    lines = []
    shared: dict[str, dict[str, str]] = {}
    known: dict[str, str] = {}
    for title, (example, text) in _SHARED.items():
        new = _base(example).columns().keys() - known.keys()
        shared[title] = {name: row for name, row in rows[example].items() if name in new}
        known |= shared[title]
        lines += [f"### Columns of the {title}", "", text, "", *_HEAD, *shared[title].values(), ""]
    values = {_values(row): name for name, row in known.items() if _values(row).count(",") > 1}
    for table, meaning, _ in found:
        contract = TABLES[table]
        key = ", ".join(f"`{name}`" for name in contract.primary_key())
        links = ", ".join(
            f"[{title}](#columns-of-the-{title})"
            for title, columns in shared.items()
            if issubclass(contract, _base(_SHARED[title][0]))
            or (title == "player" and columns.items() <= rows[table].items())
        )
        line = (f"Key: {key}. " if key else "") + (f"Shared: {links}." if links else "")
        lines += [f"### {table}{meaning}", "", *([line.strip(), ""] if line else []), *_HEAD]
        for name, row in rows[table].items():
            if row == known.get(name) and links:
                continue
            same = values.get(_values(row))
            lines.append(row.replace(f"| {_values(row)} |", f"| as `{same}` |") if same else row)
        lines.append("")
    return "\n".join(map(_short, lines[:-1])) + "\n"


def _base(table: str) -> Any:
    """The class whose columns the table and its like share."""
    return TABLES[table].__base__


def _name(row: str) -> str:
    return row.split("|")[1].strip().removesuffix("\\*").rstrip("?")


def _short(line: str) -> str:
    """Join the cells of the type and the values."""
    if line in _HEAD or not line.startswith("| "):
        return line
    column, dtype, values, description = line.split(" | ", 3)
    return f"{column} | {f'{dtype}: {values}' if values.strip() else dtype} | {description}"


def _values(row: str) -> str:
    return row.split(" | ")[2].strip()


if __name__ == "__main__":
    command = [sys.executable, "-m", "pipeline", "schema", "--format", "markdown"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    introduction = PAGE.read_text(encoding="utf-8").split(MARK)[0]
    PAGE.write_text(f"{introduction}{MARK}\n{sections(printed)}", encoding="utf-8")
