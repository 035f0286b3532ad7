"""The amount that a text states: a number as people write it, of which only one thing is meant.

What can mean two things is given no value: "1.000", "50%", "10-20", "1/3". The number as written is
null only where there is none, so that the two can be told apart.
"""

import polars as pl

from pipeline.events.names import HYPHENS
from pipeline.events.prose import has_any

# What has a number and is no amount: "round 3", "Player 2", "Agent-2".
_LABEL = (
    r"(?i)\b(?:round|turn|day|player|seat|agent)[\s_]*(?:\"\s*:\s*)?(?:#|number\s|no\.\s?)?\s*\d+\b"
    rf"|\b[^\W\d]+[_{HYPHENS}]\d+\b"
)
_BLANK = r"[ \x{a0}\x{2009}\x{202f}]"
_WRITTEN = (
    rf"[{HYPHENS}]?\d[\d.,'’_]*(?:{_BLANK}\d{{3}}\b)*(?:[.,]\d+)?"
    r"(?:e[+-]?\d+\b|\s?(?:%|percent\b|k\b|thousand\b|hundred\b|m\b|million\b)"
    r"|\s*(?:[/+*x\x{d7}"
    rf"{HYPHENS}]|\b(?:to|or|plus|minus|times)\b)\s*\d[\d.,]*)?"
)
_BOUND = r"(?:(?:at\s(?:least|most)|(?:no\s)?(?:more|less)\sthan|up\sto|between)\s)"
_PUT = rf"[^\d\n.]{{0,80}}?({_BOUND}?(?:\B\.)?{_WRITTEN})"
_HELPERS = (
    r"(?:(?:am|be|going|to|will|would|like|want|wish|choose|decided?|have|can|shall|should|must"
    r"|only|just|now|also|again|still|then|therefore|happily|gladly)\s+){0,5}"
)
# What oneself contributes comes first: "They contributed 30, I contribute 10".
_BEFORE_OWN = (
    rf"(?is)^.*?(\b(?:I|I['’](?:ll|d|m))\s+{_HELPERS}contribut(?:e|ing)\b{_PUT}"
    rf"|\bmy\s+contribution\b{_PUT})"
)
_AFTER = rf"(?i)contribut\w*{_PUT}"
# What the speaker does not contribute, or not alone: "The total contribution was 90".
_OTHERS = ["not ", "n't ", "n’t ", "never ", "Never ", "he total ", "he average "]
_OF_OTHERS = (
    rf"(?i)(?:(?:\b(?:not|never|cannot)|n['’]t)\s+{_HELPERS}|\bthe\s(?:total|average)\s)"
    rf"contribut\w*{_PUT}"
)
_NUMBER = rf"(?i){_WRITTEN}"
_UNIT = r"(?i)\s?(k|thousand|hundred|m|million)$"
_TIMES = {"k": 1e3, "thousand": 1e3, "hundred": 1e2, "m": 1e6, "million": 1e6}

# By its separators: the thousands' are taken out, and the decimals' is made a point.
_DECIMAL = r"^(?:\.\d+|\d+(?:[.,]\d{1,2}|[.,]\d{4,})?|0[.,]\d+|\d{4,}[.,]\d+)$"
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
_HUNDREDS = ("", *(f"{one} hundred" for one in _ONES[1:10]))
_BELOW_100 = (
    *_ONES,
    *(f"{ten} {one}".removesuffix(" zero") for ten in _TENS for one in _ONES[:10]),
)
_WORDS = {
    f"{hundred} {rest}".removesuffix(" zero").strip() or "zero": 100 * hundreds + number
    for hundreds, hundred in enumerate(_HUNDREDS)
    for number, rest in enumerate(_BELOW_100)
}
# In words only with what it is an amount of: "one" is a pronoun as well. All words of numbers that
# stand there are one number, or none, as in "ten or twenty points".
_IN_ONE_WORD = "|".join((*_TENS, *reversed(_ONES), "hundred", "thousand", "million"))
_BETWEEN_WORDS = rf"[\s{HYPHENS}]+"
_IN_WORDS = (
    rf"(?i)\b((?:a\s+)?(?:{_IN_ONE_WORD})(?:{_BETWEEN_WORDS}(?:and|or|to|{_IN_ONE_WORD}))*)"
    rf"{_BETWEEN_WORDS}(?:points?|tokens?|coins?|dollars?|credits?|units?)\b"
)


def own(texts: pl.Series) -> pl.Series:
    """The texts without what others contribute before the speaker does, and what it does not."""
    # Few texts have such words, and to look for them takes as long as to read the amount.
    is_long = texts.str.count_matches("ontribut", literal=True) > 1
    is_asked = (is_long | has_any(texts, _OTHERS)).fill_null(value=False)
    if not is_asked.any():
        return texts
    said = texts.filter(is_asked).str.replace_all(_OF_OTHERS, "").str.replace(_BEFORE_OWN, "$1")
    return texts.clone().scatter(is_asked.arg_true(), said)


def written_amount(text: pl.Expr) -> pl.Expr:
    """The number after `contribute` (or `contribution`) as written, or all numbers that there are.

    Where there is none in digits, one in words with its unit, as in "twenty points".
    """
    said = text.str.replace_all(_LABEL, "")
    numbers = said.str.extract_all(_NUMBER)
    alone = pl.when(numbers.list.len() > 0).then(numbers.list.join("|"))
    in_words = said.str.extract(_IN_WORDS).str.to_lowercase()
    in_words = in_words.str.replace_all(_BETWEEN_WORDS, " ")
    in_words = in_words.str.replace("hundred and ", "hundred ", literal=True).str.replace(
        "^a ", "one "
    )
    as_digits = in_words.replace_strict(_WORDS, default=None, return_dtype=pl.String)
    return pl.coalesce(said.str.extract(_AFTER), alone, as_digits)


def amount(written: pl.Expr) -> pl.Expr:
    """What a number as written is, null where it can mean two things, or none."""
    times = written.str.extract(_UNIT).str.to_lowercase().replace_strict(_TIMES, default=None)
    digits = written.str.normalize("NFKC").str.replace(_UNIT, "").str.strip_chars_end(".,'’_")
    plain = pl.when(digits.str.contains(_DECIMAL)).then(digits)
    grouped = [
        pl.when(digits.str.contains(form)).then(digits.str.replace_all(separator, ""))
        for form, separator in _THOUSANDS
    ]
    number = pl.coalesce(plain, *grouped).str.replace(",", ".", literal=True)
    value = number.cast(float, strict=False) * times.fill_null(1.0)
    return pl.when(value.is_finite()).then(value)
