"""The only module that talks to the terminal: results to stdout, notes and complaints to stderr.

What comes from logs is hostile: nothing is written to a terminal but through `printable`.
"""

import io
import os
import re
import shutil
import sys

# What moves the cursor, hides text or turns its direction: control characters, line separators,
# invisible and bidirectional marks. Line breaks are let through or not, as the place demands.
UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def printable(text: str) -> str:
    """The text with everything unsafe written out, as in `\\x1b`; line breaks stay."""
    return UNSAFE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def prepare() -> None:
    """Lets no character fail that the terminal's encoding lacks, and nothing that is written.

    A stream that whoever started us has closed is none for Python.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def is_out_terminal() -> bool:
    """Whether results go to somebody's eyes."""
    return sys.stdout.isatty()


def is_note_terminal() -> bool:
    """Whether notes do, so that progress makes sense."""
    return sys.stderr.isatty()


def is_in_terminal() -> bool:
    """Whether somebody could answer a prompt."""
    return sys.stdin is not None and sys.stdin.isatty()


def width() -> int | None:
    """How many columns a line of results may have; null where nobody counts."""
    return shutil.get_terminal_size().columns if is_out_terminal() else None


# By what a piece of text is, how it looks.
STYLES = {"heading": "1", "aside": "2", "hit": "32", "miss": "31"}


def out(text: str, style: str | None = None) -> None:
    """Writes a piece of a result, which has been made printable, in one of `STYLES`."""
    if style and is_out_terminal() and os.environ.get("TERM", "dumb") != "dumb":
        text = f"\x1b[{STYLES[style]}m{text}\x1b[0m"
    sys.stdout.write(text)


def out_bytes(data: bytes) -> None:
    """Writes a piece of a result as it is, in UTF-8 if it is text."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def note(text: str) -> None:
    """Writes a line about the result."""
    sys.stdout.flush()
    print(printable(text), file=sys.stderr)


def complain(text: str) -> None:
    """Says in one line what is wrong; an error without a text has at least a line that says so."""
    note("magic: " + (" ".join(text.split()) or "an error without a message; please report it"))


def silence() -> None:
    """Drops what is left of the output, since its reader is gone."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no file behind it
        return
