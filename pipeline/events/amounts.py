"""The amount that a text states: a number as people write it, of which only one thing is meant.

What can mean two things is given no value: "1.000", "50%", "10-20", "1/3". The number as written is
null only where there is none, so that the two can be told apart.
"""

import polars as pl

# What has a number and is no amount: "round 3", "Player 2", "Agent-2".
_LABEL = (
    r"(?i)\b(?:round|turn|day|player|seat|agent)[\s_]*(?:#|number\s|no\.\s?)?\s*\d+\b"
    r"|\b[^\W\d]+[-_]\d+\b"
)
_BLANK = r"[ \x{a0}\x{2009}\x{202f}]"
_WRITTEN = (
    rf"[-\x{{2212}}]?\d[\d.,'’_]*(?:{_BLANK}\d{{3}}\b)*(?:[.,]\d+)?"
    r"(?:\s?(?:%|percent\b|k\b|thousand\b|hundred\b|m\b|million\b)"
    r"|\s*(?:/|-|\x{2013}|\bto\b|\bor\b)\s*\d[\d.,]*)?"
)
_AFTER = rf"(?i)contribut\w*[^\d\n.]{{0,80}}?({_WRITTEN})"
_NUMBER = rf"(?i){_WRITTEN}"
_UNIT = r"(?i)\s?(k|thousand|hundred|m|million)$"
_TIMES = {"k": 1e3, "thousand": 1e3, "hundred": 1e2, "m": 1e6, "million": 1e6}

# By its separators: the thousands' are taken out, and the decimals' is made a point.
_DECIMAL = r"^(?:\d+(?:[.,]\d{1,2}|[.,]\d{4,})?|0[.,]\d+|\d{4,}[.,]\d+)$"
_THOUSANDS = (
    (r"^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$", ","),
    (r"^[1-9]\d{0,2}(?:(?:\.\d{3}){2,}(?:,\d+)?|\.\d{3},\d+)$", r"\."),
    (rf"^[1-9]\d{{0,2}}(?:(?:'|’|_|{_BLANK})\d{{3}})+(?:[.,]\d{{1,2}})?$", rf"['’_]|{_BLANK}"),
)

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = (
    {word: number for number, word in enumerate(_ONES)}
    | {
        f"{ten} {one}".removesuffix(" zero"): 10 * tens + number
        for tens, ten in enumerate(_TENS, start=2)
        for number, one in enumerate(_ONES[:10])
    }
    | {"a hundred": 100, "one hundred": 100}
)
# In words only with what it is an amount of, and with nothing before: "one" is a pronoun as well.
_IN_WORDS = (
    rf"(?i)\b((?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_ONES[1:10])}))?|(?:a|one) hundred"
    rf"|{'|'.join(reversed(_ONES))})\s+(?:points?|tokens?|coins?|dollars?|credits?|units?)\b"
)


def written_amount(text: pl.Expr) -> pl.Expr:
    """The number after `contribute` (or `contribution`) as written, or all numbers that there are.

    Where there is none in digits, one in words with its unit, as in "twenty points".
    """
    said = text.str.replace_all(_LABEL, "")
    numbers = said.str.extract_all(_NUMBER)
    alone = pl.when(numbers.list.len() > 0).then(numbers.list.join("|"))
    in_words = said.str.extract(_IN_WORDS).str.to_lowercase().str.replace("-", " ", literal=True)
    as_digits = in_words.replace_strict(_WORDS, default=None, return_dtype=pl.String)
    return pl.coalesce(said.str.extract(_AFTER), alone, as_digits)


def amount(written: pl.Expr) -> pl.Expr:
    """What a number as written is, null where it can mean two things, or none."""
    times = written.str.extract(_UNIT).str.to_lowercase().replace_strict(_TIMES, default=None)
    digits = written.str.replace(_UNIT, "").str.strip_chars_end(".,'’_")
    plain = pl.when(digits.str.contains(_DECIMAL)).then(digits)
    grouped = [
        pl.when(digits.str.contains(form)).then(digits.str.replace_all(separator, ""))
        for form, separator in _THOUSANDS
    ]
    number = pl.coalesce(plain, *grouped).str.replace(",", ".", literal=True)
    value = number.cast(float, strict=False) * times.fill_null(1.0)
    return pl.when(value.is_finite()).then(value)
