"""Text from logs with all written out that steers a terminal, or hides or turns other text."""

import re

# What moves the cursor, hides text or turns its direction: control characters, line separators,
# marks of interlinear notes, and all of Unicode's Default_Ignorable_Code_Point, which is not seen.
# Line breaks are let through or not, as the place demands.
_CONTROL = "\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Three more can be part of what is seen: joiners, between signs of an emoji or of scripts from
# Arabic to Mongolian, and the mark that asks for an emoji's colours, behind one or in a key cap.
_EMOJI = "\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_JOINED = f"\u0620-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc{_EMOJI}"
UNSAFE = re.compile(
    f"[{_CONTROL}{_INVISIBLE}]|(?<![{_JOINED}\ufe0f])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])"
    f"|(?<![{_EMOJI}])\ufe0f(?!\u20e3)"
)


def printable(text: str) -> str:
    """The text with everything unsafe written out, as in `\\x1b`; line breaks stay."""
    return UNSAFE.sub(_escaped, text)


def printable_line(text: str) -> str:
    """The same on one line, its blanks and breaks single blanks."""
    return " ".join(printable(text).split())


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
