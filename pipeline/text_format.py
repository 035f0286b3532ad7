"""Functions that format numbers and strings for display, each kind of number in one format.

Strings from logs are escaped: characters that control a terminal, hide text or reverse its
direction are replaced by escape sequences. Commands, pages and reports use this module.
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
"""Shown in place of an empty string, where an empty heading could not be seen."""
UNNAMED_MODEL = "a nameless model"
SMALL_SAMPLE_MARK = "†"
DECIMALS = 4
# Invisible characters around bold text; `escape_unprintable` removes them from all other text.
_BOLD = "\u2062", "\u2063"
_BOLD_PARTS = re.compile(f"[{''.join(_BOLD)}]")
# A smaller p-value is shown as "less than" this value.
_SMALLEST_P = 0.0001

# Characters that move the cursor, hide text or reverse its direction: control characters, line
# separators, interlinear annotation marks, and Unicode's Default_Ignorable_Code_Point. A line break
# is not in this list, because some places allow it.
_CONTROL = "\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Three invisible characters are allowed within visible ones: joiners between parts of an emoji or
# letters of scripts from Arabic to Mongolian, and the variation selector after an emoji.
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
    '"': r"\char34{}",  # packages such as babel can redefine the character
    "{": r"\textbraceleft{}",  # BibTeX counts it even after a backslash
    "}": r"\textbraceright{}",
    # After the end of a row, LaTeX would parse these characters as arguments of the row.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\n": " ",
} | {sign: f"\\{sign}" for sign in "$&#%_"}
# The last group matches characters that fonts join with the next one: two hyphens become a dash.
_LATEX_CHARACTER = re.compile("|".join([*map(re.escape, _LATEX), "([-',])(?=\\1)"]))


def escape_unprintable(text: str) -> str:
    r"""Return text with control and invisible characters escaped, as `\x1b`; keep line breaks."""
    return UNSAFE_CHARACTERS.sub(
        lambda match: match[0].encode("unicode_escape").decode("ascii"), text
    )


def escape_to_one_line(text: str) -> str:
    """Return text in one line: control characters are escaped, and whitespace is one space."""
    return " ".join(escape_unprintable(text).split())


def mark_bold(text: str) -> str:
    """Return text between invisible marks of bold text, which `split_bold_parts` finds."""
    return text.join(_BOLD)


def split_bold_parts(line: str) -> list[str]:
    """Split a line at the marks of `mark_bold`; the second, fourth, ... part is bold."""
    return _BOLD_PARTS.split(line)


def line_breaks_to_symbols(text: str) -> str:
    """Return text in one line, with the character ⏎ in place of each line break."""
    return text.replace("\n", " ⏎ ")


def escape_latex(text: str) -> str:
    """Return text with the special characters of LaTeX escaped."""
    return _LATEX_CHARACTER.sub(lambda match: _LATEX.get(match[0]) or f"{match[0]}{{}}", text)


def to_json_text(value: object) -> str:
    """Return a value as JSON text: bytes as UTF-8 strings, NaN and infinities as null."""
    return _encoder().encode(_with_bytes_decoded(value)).decode()


@cache
def _encoder() -> "msgspec.json.Encoder":
    # Imported here, because every command formats numbers, but few commands write JSON.
    import msgspec

    return msgspec.json.Encoder(decimal_format="number")


def decode_bytes_visibly(data: bytes) -> str:
    r"""Decode bytes as UTF-8, with an escape sequence such as `\xff` for each invalid byte."""
    return data.decode("utf-8", "backslashreplace")


def format_count(number: int, noun: str) -> str:
    """Return a number and its noun, such as "1 game" or "2,000 games"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_size(n_bytes: int | None) -> str | None:
    """Return a number of bytes in a suitable unit, such as "1.2 MB", or None for None."""
    from rich.filesize import decimal

    return None if n_bytes is None else decimal(n_bytes)


def _with_bytes_decoded(value: object) -> object:
    if isinstance(value, bytes):
        return decode_bytes_visibly(value)
    if isinstance(value, dict):
        return {name: _with_bytes_decoded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_bytes_decoded(part) for part in value]
    return value


def format_values(
    values: Iterable[object], decimals: int | None = None, unit: str | None = None
) -> list[str]:
    """Return the values of a column as strings for display, with equal numbers of decimals.

    Args:
        values: The values; None is shown as `NULL_TEXT`.
        decimals: Number of decimals of floats. If None, 0 if all floats are whole numbers, else 4.
        unit: A unit of `format_with_unit`, which replaces `decimals`.
    """
    if unit is not None:
        return [NULL_TEXT if value is None else format_with_unit(value, unit) for value in values]
    values = list(values)
    if decimals is None:
        floats = [value for value in values if isinstance(value, float)]
        decimals = 0 if all(value.is_integer() for value in floats) else DECIMALS
    return [escape_unprintable(_format_value(value, decimals)) for value in values]


def printable_group_value(group: object) -> str:
    """Return the value of a group as text for a sentence: "" for an empty string, – for None."""
    if group is None:
        return NULL_TEXT
    return escape_unprintable(str(group)) or EMPTY_TEXT


def format_with_unit(value: Any, unit: str) -> str:
    """Return a number in the format of a unit: `%`, `area`, `amount`, `bytes`, `p` (p-value)."""
    match unit:
        case "%":
            return f"{100 * value:.1f}"
        case "area":
            return f"{value:,.0f}"
        case "amount":  # from millions of tokens to fractions of a cent
            return f"{value:,.0f}" if value >= 1000 or value % 1 == 0 else f"{value:.3g}"
        case "bytes":
            return str(format_size(value))
        case _:
            return format_p_value(value)


def _format_value(value: object, decimals: int) -> str:
    match value:
        case None:
            return NULL_TEXT
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            # Very small and very large numbers have an exponent.
            has_exponent = value != 0 and not 10**-decimals <= abs(value) < 10**15
            return f"{value:.{DECIMALS}g}" if has_exponent else f"{value:.{decimals}f}"
        case bytes():
            return decode_bytes_visibly(value)
        case datetime():
            return value.isoformat(" ", "seconds").replace("+00:00", " UTC")
        case list() | dict():
            return to_json_text(value)
        case _:
            return str(value)


def format_p_value(p: float) -> str:
    """Return a p-value with four decimals and no leading zero, such as .0234 or <.0001."""
    return (
        f"<{_remove_leading_zero(str(_SMALLEST_P))}"
        if p < _SMALLEST_P
        else _remove_leading_zero(f"{p:.4f}")
    )


def format_interval(low: float | None, high: float | None) -> str:
    """Return an interval such as ".26 to .70", or an empty string if a bound is None."""
    return (
        ""
        if low is None or high is None
        else f"{format_interval_bound(low)} to {format_interval_bound(high)}"
    )


def format_interval_bound(bound: float) -> str:
    """Return a bound of an interval with two decimals, such as .26, or +.00 if it rounds to 0."""
    return _remove_leading_zero(
        f"{bound:+.2f}" if is_nonzero_but_rounds_to_zero(bound) else f"{bound:.2f}"
    )


def is_nonzero_but_rounds_to_zero(bound: float | None) -> bool:
    """Return whether a bound of an interval is not 0, but rounds to +.00 or -.00."""
    return bound is not None and 0 < abs(bound) < 0.005


def format_rounded_down(number: float) -> str:
    """Return a number with at most one decimal, rounded down, such as 3 or 4.9."""
    return f"{floor(number * 10) / 10:g}"


def format_number_of_settings(n_effective: float) -> str:
    """Return an effective number of settings and the noun, such as "4.9 settings"."""
    number = format_rounded_down(n_effective)
    return f"{number} setting{'' if number == '1' else 's'}"


def small_sample_mark(terms: Iterable[Mapping[str, Any]]) -> str:
    """Return a mark such as †1.5 for a value that is computed from few independent settings.

    Args:
        terms: The parts of the metric with too few settings, each with their effective number,
            `n_effective`. The mark has the smallest of these numbers; it is empty without parts.
    """
    numbers = [term["n_effective"] for term in terms]
    return f"{SMALL_SAMPLE_MARK}{format_rounded_down(min(numbers))}" if numbers else ""


def _remove_leading_zero(number: str) -> str:
    sign = number[:1] if number[:1] in "+-" else ""
    digits = number.removeprefix(sign)
    return sign + (digits[1:] if digits.startswith("0.") else digits)
