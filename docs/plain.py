"""Plain text of the code, as markdown that shows it literally."""

import re

_CODE = re.compile(r"(``.+?``|`[^`\n]+`)", re.DOTALL)


def escaped(text: str) -> str:
    """Text with markdown's own characters escaped, except in `code`."""
    parts = _CODE.split(text)
    return "".join(part if place % 2 else _plain(part) for place, part in enumerate(parts))


def _plain(text: str) -> str:
    return re.sub(r"([\\*_<>\[\]])", r"\\\1", text)


def cell(text: str) -> str:
    """Text for one cell of a table."""
    return escaped(" ".join(text.split())).replace("|", "\\|")


def fence(language: str, text: str) -> str:
    """Return the text as a fenced code block of the language."""
    return f"```{language}\n{text}\n```"
