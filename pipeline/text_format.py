"""Values and texts as a reader sees them: each kind of number in one form.

Texts from logs have all written out that steers a terminal, or hides or turns other text.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from math import floor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import msgspec

NULL_TEXT = "–"
EMPTY_TEXT = '""'
"""A text without a sign, where it is a heading."""
UNNAMED_MODEL = "a nameless model"
SMALL_SAMPLE_MARK = "†"
DECIMALS = 4
# Signs that are not seen, and that no printable text has, around what is bold.
_BOLD = "\u2062", "\u2063"
_BOLD_PARTS = re.compile(f"[{''.join(_BOLD)}]")
# A number below this is shown by its size alone.
_LEAST_P = 0.0001

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
UNSAFE_CHARACTERS = re.compile(
    f"[{_CONTROL}{_INVISIBLE}]|(?<![{_JOINED}\ufe0f])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}])"
    f"|(?<![{_EMOJI}])\ufe0f(?!\u20e3)"
)
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    '"': r"\char34{}",  # a package such as babel may give the sign itself a meaning
    "{": r"\textbraceleft{}",  # BibTeX would count it also behind a backslash
    "}": r"\textbraceright{}",
    # After the end of a row, these would be read as its arguments.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\n": " ",
} | {sign: f"\\{sign}" for sign in "$&#%_"}
# And signs that a font joins with the next one: two hyphens are a dash.
_SIGN_OF_LATEX = re.compile("|".join([*map(re.escape, _LATEX), "([-',])(?=\\1)"]))


def escape_unprintable(text: str) -> str:
    """The text with everything unsafe written out, as in `\\x1b`; line breaks stay."""
    return UNSAFE_CHARACTERS.sub(
        lambda found: found[0].encode("unicode_escape").decode("ascii"), text
    )


def escape_to_one_line(text: str) -> str:
    """The same on one line, its blanks and breaks single blanks."""
    return " ".join(escape_unprintable(text).split())


def mark_bold(text: str) -> str:
    """The text marked as bold, for `bold_parts`."""
    return text.join(_BOLD)


def split_bold_parts(line: str) -> list[str]:
    """The parts of a line; every second one is bold."""
    return _BOLD_PARTS.split(line)


def replace_line_breaks(text: str) -> str:
    """The text on one line, with a sign for each line break."""
    return text.replace("\n", " ⏎ ")


def escape_latex(text: str) -> str:
    """The printable text with everything that LaTeX gives a meaning taken literally."""
    return _SIGN_OF_LATEX.sub(lambda found: _LATEX.get(found[0]) or f"{found[0]}{{}}", text)


def to_json_text(value: object) -> str:
    """A value as JSON; bytes as the text that they spell, NaN and infinities as null."""
    return _encoder().encode(_without_bytes(value)).decode()


@cache
def _encoder() -> "msgspec.json.Encoder":
    # Every command formats numbers; few write JSON.
    import msgspec

    return msgspec.json.Encoder(decimal_format="number")


def decode_bytes_visibly(data: bytes) -> str:
    """Bytes as text: UTF-8, and what is none as `\\xff`."""
    return data.decode("utf-8", "backslashreplace")


def format_count(n: int, noun: str) -> str:
    """The number with its noun, which has an s in the plural."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def format_size(n_bytes: int | None) -> str | None:
    """A number of bytes in the largest unit that it fills; null for one unknown."""
    from rich.filesize import decimal

    return None if n_bytes is None else decimal(n_bytes)


def _without_bytes(value: object) -> object:
    if isinstance(value, bytes):
        return decode_bytes_visibly(value)
    if isinstance(value, dict):
        return {name: _without_bytes(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_bytes(part) for part in value]
    return value


def format_values(
    values: Iterable[object], decimals: int | None = None, unit: str | None = None
) -> list[str]:
    """The cells of a column, printable. Floats have `decimals`: four by default, or none if all are
    whole.
    """
    held = list(values)
    if unit is not None:
        return [NULL_TEXT if value is None else format_with_unit(value, unit) for value in held]
    if decimals is None:
        floats = [value for value in held if isinstance(value, float)]
        decimals = 0 if all(value.is_integer() for value in floats) else DECIMALS
    return [escape_unprintable(_text(value, decimals)) for value in held]


def group_label(group: object) -> str:
    """How a group is called in a sentence, also where its text is empty or it has none."""
    return (
        EMPTY_TEXT
        if group == ""
        else NULL_TEXT
        if group is None
        else escape_unprintable(str(group))
    )


def format_with_unit(value: Any, unit: str) -> str:
    """A value in a unit that has a form of its own."""
    match unit:
        case "%":
            return f"{100 * value:.1f}"
        case "area":
            return f"{value:,.0f}"
        case "amount":  # of any size, from millions of tokens to parts of a cent
            return f"{value:,.0f}" if value >= 1000 or value % 1 == 0 else f"{value:.3g}"
        case "bytes":
            return str(format_size(value))
        case _:
            return format_p_value(value)


def _text(value: object, decimals: int) -> str:
    match value:
        case None:
            return NULL_TEXT
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            # With an exponent where decimals would say too little or be too many.
            is_far = value != 0 and not 10**-decimals <= abs(value) < 10**15
            return f"{value:.{DECIMALS}g}" if is_far else f"{value:.{decimals}f}"
        case bytes():
            return decode_bytes_visibly(value)
        case datetime():
            return value.isoformat(" ", "seconds").replace("+00:00", " UTC")
        case list() | dict():
            return to_json_text(value)
        case _:
            return str(value)


def format_p_value(p: float) -> str:
    """A p-value as a reader needs it, as in .0234 or <.0001."""
    return f"<{_without_zero(str(_LEAST_P))}" if p < _LEAST_P else _without_zero(f"{p:.4f}")


def format_interval(low: float | None, high: float | None) -> str:
    """An interval without zeros before points, as in .26 to .70; empty where an end is unknown."""
    return (
        ""
        if low is None or high is None
        else f"{format_interval_bound(low)} to {format_interval_bound(high)}"
    )


def format_interval_bound(of: float) -> str:
    """An end of an interval; one next to 0 says on which side: +.00 or -.00."""
    return _without_zero(f"{of:+.2f}" if is_shown_as_zero(of) else f"{of:.2f}")


def is_shown_as_zero(end: float | None) -> bool:
    """Whether an end of an interval is shown as +.00 or -.00."""
    return end is not None and 0 < abs(end) < 0.005


def few(n_effective: float) -> str:
    """So few settings, as in 3 or 4.9: rounded down, so that few stay few."""
    return f"{floor(n_effective * 10) / 10:g}"


def format_n_settings(n_effective: float) -> str:
    """So few settings with their noun."""
    shown = few(n_effective)
    return f"{shown} setting{'' if shown == '1' else 's'}"


def small_sample_mark(terms: Iterable[Mapping[str, Any]]) -> str:
    """The mark with the least number of any of these thin terms, as in †1; empty without any."""
    numbers = [term["n_effective"] for term in terms]
    return f"{SMALL_SAMPLE_MARK}{few(min(numbers))}" if numbers else ""


def _without_zero(number: str) -> str:
    """A number without the zero before its point, as in .63 or -.40; 1.25 stays."""
    sign = number[:1] if number[:1] in "+-" else ""
    digits = number.removeprefix(sign)
    return sign + (digits[1:] if digits.startswith("0.") else digits)
