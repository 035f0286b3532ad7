"""Plain text of the code, as markdown that shows it literally."""

import re

_CODE = re.compile(r"(``.+?``|`[^`\n]+`)", re.DOTALL)


def escape_markdown(text: str) -> str:
    """Escape the special characters of markdown, except in `code`."""
    parts = _CODE.split(text)
    return "".join(
        part if place % 2 else _escape_special_characters(part) for place, part in enumerate(parts)
    )


def _escape_special_characters(text: str) -> str:
    return re.sub(r"([\\*_<>\[\]])", r"\\\1", text)


def cell(text: str) -> str:
    """Return the text escaped for a table cell, in one line."""
    return escape_markdown(" ".join(text.split())).replace("|", "\\|")


def fence(language: str, text: str) -> str:
    """Return the text as a fenced code block of the language."""
    return f"```{language}\n{text}\n```"
