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
    r"""Replace unsafe characters by escape sequences such as `\x1b`; keep line breaks."""
    return UNSAFE_CHARACTERS.sub(
        lambda match: match[0].encode("unicode_escape").decode("ascii"), text
    )


def escape_to_one_line(text: str) -> str:
    """Escape unsafe characters, and replace each run of whitespace by one space."""
    return " ".join(escape_unprintable(text).split())


def mark_bold(text: str) -> str:
    """Mark a string as bold, for `split_bold_parts`."""
    return text.join(_BOLD)


def split_bold_parts(line: str) -> list[str]:
    """Split a line at its bold marks; every second part is bold."""
    return _BOLD_PARTS.split(line)


def replace_line_breaks(text: str) -> str:
    """Replace each line break of a string by the character ⏎."""
    return text.replace("\n", " ⏎ ")


def escape_latex(text: str) -> str:
    """Escape the characters that have a meaning in LaTeX."""
    return _LATEX_CHARACTER.sub(lambda match: _LATEX.get(match[0]) or f"{match[0]}{{}}", text)


def to_json_text(value: object) -> str:
    """Encode a value as JSON: bytes as UTF-8 strings, NaN and infinities as null."""
    return _encoder().encode(_with_bytes_decoded(value)).decode()


@cache
def _encoder() -> "msgspec.json.Encoder":
    # Imported here, because every command formats numbers, but few commands write JSON.
    import msgspec

    return msgspec.json.Encoder(decimal_format="number")


def decode_bytes_visibly(data: bytes) -> str:
    r"""Decode bytes as UTF-8, and write each invalid byte as an escape sequence such as `\xff`."""
    return data.decode("utf-8", "backslashreplace")


def format_count(n: int, noun: str) -> str:
    """Format a number with its noun, in the plural unless the number is 1."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def format_size(n_bytes: int | None) -> str | None:
    """Format a number of bytes in the largest suitable unit; return None for None."""
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
    """Format the values of a column as printable strings.

    Args:
        values: The values; None is shown as `NULL_TEXT`.
        decimals: Number of decimals of floats. If None, 0 if all floats are whole numbers, else 4.
        unit: A unit of `format_with_unit`, which replaces `decimals`.
    """
    cells = list(values)
    if unit is not None:
        return [NULL_TEXT if value is None else format_with_unit(value, unit) for value in cells]
    if decimals is None:
        floats = [value for value in cells if isinstance(value, float)]
        decimals = 0 if all(value.is_integer() for value in floats) else DECIMALS
    return [escape_unprintable(_format_value(value, decimals)) for value in cells]


def group_label(group: object) -> str:
    """Return the label of a group in a sentence, also for an empty string or null."""
    return (
        EMPTY_TEXT
        if group == ""
        else NULL_TEXT
        if group is None
        else escape_unprintable(str(group))
    )


def format_with_unit(value: Any, unit: str) -> str:
    """Format a value by its unit: `%`, `area`, `amount`, `bytes`, or `p` for a p-value."""
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
    """Format a p-value with four decimals and no leading zero, as .0234 or <.0001."""
    return (
        f"<{_remove_leading_zero(str(_SMALLEST_P))}"
        if p < _SMALLEST_P
        else _remove_leading_zero(f"{p:.4f}")
    )


def format_interval(low: float | None, high: float | None) -> str:
    """Format an interval without leading zeros, as .26 to .70; empty if a bound is None."""
    return (
        ""
        if low is None or high is None
        else f"{format_interval_bound(low)} to {format_interval_bound(high)}"
    )


def format_interval_bound(bound: float) -> str:
    """Format a bound of an interval with two decimals; if it rounds to 0, show its sign."""
    return _remove_leading_zero(f"{bound:+.2f}" if is_shown_as_zero(bound) else f"{bound:.2f}")


def is_shown_as_zero(bound: float | None) -> bool:
    """Return whether a bound that is not 0 is displayed as +.00 or -.00."""
    return bound is not None and 0 < abs(bound) < 0.005


def format_rounded_down(n_effective: float) -> str:
    """Format an effective number of settings with one decimal, rounded down, as 3 or 4.9."""
    return f"{floor(n_effective * 10) / 10:g}"


def format_n_settings(n_effective: float) -> str:
    """Format an effective number of settings with the noun "setting" or "settings"."""
    number = format_rounded_down(n_effective)
    return f"{number} setting{'' if number == '1' else 's'}"


def small_sample_mark(terms: Iterable[Mapping[str, Any]]) -> str:
    """Return the small-sample mark with the smallest effective number of settings, such as †1.

    Args:
        terms: The terms with a small sample, each with `n_effective`. If empty, the mark is empty.
    """
    numbers = [term["n_effective"] for term in terms]
    return f"{SMALL_SAMPLE_MARK}{format_rounded_down(min(numbers))}" if numbers else ""


def _remove_leading_zero(number: str) -> str:
    """Remove the zero before the decimal point, as in .63 or -.40."""
    sign = number[:1] if number[:1] in "+-" else ""
    digits = number.removeprefix(sign)
    return sign + (digits[1:] if digits.startswith("0.") else digits)
