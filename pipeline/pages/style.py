"""The style of `magic view` in parts, for what is shown elsewhere: in a notebook, in one file."""

import re
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "static" / "style.css"
_PART = re.compile(r"^/\* --- (.*?) --- \*/$", re.MULTILINE)


def colours() -> str:
    """The variables of all colours, each a pair for light and dark."""
    return _split()[0].partition(":root {")[2].partition("}")[0]


def lines(*beginnings: str) -> str:
    """The rules of the frame that begin so."""
    return "\n".join(line for line in _split()[0].splitlines() if line.startswith(beginnings))


def parts(*names: str) -> str:
    """The rules of these parts of the style, such as `tables`."""
    return "".join(_split()[1][name] for name in names)


@cache
def _split() -> tuple[str, dict[str, str]]:
    frame, *named = _PART.split(_FILE.read_text(encoding="utf-8"))
    return frame, dict(zip(named[::2], named[1::2], strict=True))
