"""What texts say, read for all texts of a batch at once: a player named, a choice, a share.

Every reading is strict: a text that says two things is `ambiguous`, one that says none is
`unreadable`, and neither is given a value. Functions take columns of texts, most of them as
expressions, and give such; a null text says nothing.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_

import polars as pl

from pipeline import thoughts
from pipeline.events import ballots
from pipeline.events.ballots import ANSWER, FINAL, MARK
from pipeline.events.names import NUMBER_WORDS, exact, loose, marked, without_signs
from pipeline.game import OUTAGE_MARK
from pipeline.vocabulary import Choice, ParseStatus

_PLAYER = r"(?i)(?-u:\b)player[\s_-]*#?"
_NUMBER = r"\d+(?:[.,]\d+)*"
_SHARE_NUMBER = r"^(?:\d+(?:[.,]\d{1,2}|[.,]\d{4,})?|\d+[.]\d+)$"
_COOPERATE = r"(?i)\bcooperat"
_DEFECT = r"(?i)\b(?:defect|betray)"


def is_outage(text: pl.Expr) -> pl.Expr:
    """Whether the text stands where a player's API failed to answer; false for no text."""
    return text.str.starts_with(OUTAGE_MARK).fill_null(value=False)


def answers(texts: pl.Series, phase: str = "") -> pl.Series:
    """The texts without the thoughts before their answers, see `pipeline.thoughts.answer`."""
    may_think = has_any(texts, thoughts.SIGNS)
    if not may_think.any():
        return texts
    read = (
        texts.filter(may_think).to_frame("text").select(answer(pl.col("text"), phase)).to_series()
    )
    return texts.clone().scatter(may_think.arg_true(), read)


def has_any(texts: pl.Series, patterns: Iterable[str]) -> pl.Series:
    """Whether each text has any of the patterns; null for no text.

    Looking for one after the other is faster than for all of them at once.
    """
    return reduce(or_, [texts.str.contains(pattern) for pattern in patterns])


def answer(text: pl.Expr, phase: str = "") -> pl.Expr:
    """The same of any texts, as an expression: dearer where few texts hold a thought."""
    said = text.str.replace(thoughts.BEFORE_ANSWER, "")
    outside = text.str.replace_all(thoughts.BLOCKS, "").str.replace(thoughts.BEFORE_ANSWER, "")
    said = pl.when(said.str.strip_chars() == "").then(outside).otherwise(said)
    written = said.str.extract(thoughts.OBJECT)
    fields = thoughts.FIELDS.get(phase, thoughts.ANY_FIELD)
    value = pl.coalesce(*[written.str.extract(field) for field in fields])
    rest = written.str.replace_all(thoughts.ASIDE, "")
    talk = pl.format("{}\n{}", rest, _plain(written.str.extract(thoughts.TALK_FIELD)))
    of_object = pl.coalesce(_plain(value.str.replace_all(thoughts.ASIDE, "")), talk, rest)
    is_cut_off = said.str.contains(thoughts.CUT_OFF)
    return pl.when(is_cut_off).then(pl.lit("")).otherwise(of_object.fill_null(said))


def has_thoughts(text: pl.Expr) -> pl.Expr:
    """Whether texts hold thoughts, before an answer or in place of one."""
    rest = text.str.replace(thoughts.BEFORE_ANSWER, "")
    marks = rest.str.contains(thoughts.CUT_OFF) | text.str.contains(thoughts.HELD)
    written = rest.str.extract(thoughts.OBJECT).fill_null("")
    return marks | written.str.contains(thoughts.THOUGHT_FIELDS)


def _plain(value: pl.Expr) -> pl.Expr:
    """A value of JSON as a text; as written where it is none."""
    is_text = value.str.starts_with('"')
    # Polars reads all rows of a branch, and refuses what is no JSON.
    listed = pl.format("[{}]", pl.when(is_text).then(value).otherwise(pl.lit('""')))
    return (
        pl.when(is_text).then(listed.str.json_path_match("$[0]").fill_null(value)).otherwise(value)
    )


def stated_players(rows: pl.DataFrame) -> pl.Series:
    """The players that votes' texts name, as `Player N`, in lists as `_decided` makes them.

    `rows` have `answer`, the text, and its speaker, `player`.
    """
    text = without_signs(pl.col("answer").str.normalize("NFKC"))
    for number, word in enumerate(NUMBER_WORDS, start=1):
        text = text.str.replace_all(rf"{_PLAYER}{word}(?-u:\b)", f"\x02{number}\x03")
    text = text.str.replace_all(rf"{_PLAYER}([0-9]+)(?-u:\b)", "\x02$1\x03")
    speaker = pl.col("player").str.extract("([0-9]+)$")
    stated = _decided(rows.select("answer", text=text, speaker=speaker))
    name = pl.when(pl.element() == "").then(pl.element()).otherwise("Player " + pl.element())
    return stated.list.eval(name)


def stated_seats(rows: pl.DataFrame, seats: pl.DataFrame) -> pl.Series:
    """The numbers of the seats that votes' texts name, in lists as `_decided` makes them.

    The same for seats of any names. `rows` have game, `text` and the speaker's `seat`, those of a
    game one after the other; `seats` have game, `player` and `seat`. Names count in any case only
    where none is written as its seat has it.
    """
    rows = rows.with_columns(answer="text", speaker=pl.col("seat").cast(pl.String))
    stated = _decided(rows.with_columns(text=marked(rows, seats, exact)))
    is_open = stated.list.len() == 0
    texts = pl.Series([None] * rows.height, dtype=pl.String)
    texts = texts.scatter(is_open.arg_true(), marked(rows.filter(is_open), seats, loose))
    spoken = _decided(rows.with_columns(text=texts))
    first = pl.when(pl.col("spoken").list.len() > 0).then("spoken").otherwise("stated")
    return pl.DataFrame({"stated": stated, "spoken": spoken}).select(stated=first).to_series()


def _decided(texts: pl.DataFrame) -> pl.Series:
    """What votes with marks for names decide, as lists of the players' numbers.

    One number is the vote. An empty text alone is a vote for nobody; beside numbers it says that
    the text names them without a decision. A text that names nobody has an empty list. `texts` have
    `answer`, as written, `text`, with marks, and `speaker`, the speaker's own number.
    """
    text, said, last = pl.col("text"), pl.col("said"), pl.col("last")
    # In steps, since polars takes longer to plan an expression that is in itself again and again.
    read = texts.with_columns(text.str.replace_all(ballots.INTRODUCTION, ""))
    read = read.with_columns(said=text)
    for pattern, value in ballots.FORMS:
        read = read.with_columns(said.str.replace_all(pattern, value))
    given = said.str.extract_all(
        rf"(?m){ANSWER}(?:{MARK}|\w)|^(?:[^\n\x02]{{0,40}}:)?[^\w\n\x02]*{MARK}[^\w\n]*$"
    )
    given = given.list.eval(pl.element().str.extract(r"(\w[0-9,]*)")).list.n_unique()
    is_final = said.str.contains(f"{FINAL}{ANSWER}[^{ANSWER}]*$")
    read = read.with_columns(
        last=said.str.extract(f"(?s)^.*{ANSWER}(.*)$"), is_torn=(given > 1) & ~is_final
    )
    chosen = (
        pl.when(last.str.starts_with("\x02"))
        .then(_numbers(last.str.extract(f"^({MARK})")))
        .when(last.str.contains("(?i)^my"))
        .then(pl.concat_list("speaker"))
        .otherwise(pl.concat_list(pl.lit("")))
    )
    read = read.with_columns(chosen=chosen, named=_numbers(text))
    rest = (
        pl.when(is_final)
        .then(last.str.extract_all(ballots.VOTES_AGAIN).list.join(""))
        .otherwise(last)
    )
    others = (
        _numbers(rest.str.replace_all(ballots.ASIDE, "")).list.set_difference("chosen").list.len()
        > 0
    )
    is_open = last.is_null() | pl.col("is_torn") | others | last.str.contains(ballots.TAKES_BACK)
    names = pl.when(pl.col("named").list.len() > 0).then(pl.concat_list("named", pl.lit("")))
    stated = pl.when(is_open | (pl.col("chosen").list.len() != 1)).then(names).otherwise("chosen")
    is_silent = is_outage(pl.col("answer")) | pl.col("answer").is_null()
    nobody = pl.lit([], pl.List(pl.String))
    return read.select(stated=pl.when(~is_silent).then(stated).fill_null(nobody)).to_series()


def _numbers(text: pl.Expr) -> pl.Expr:
    numbers = text.str.extract_all(MARK).list.join(",").str.replace_all(r"[\x02\x03]", "")
    return numbers.str.split(",").list.eval(pl.element().filter(pl.element() != "")).list.unique()


def only(found: pl.Expr) -> pl.Expr:
    """The one thing in a list of what was found, null where there is none or another."""
    return pl.when(found.list.len() == 1).then(found.list.first())


def certainty(found: pl.Expr) -> pl.Expr:
    """The parse status of what was found in a text, outages apart."""
    return (
        pl.when(found.list.len() == 1)
        .then(_word(ParseStatus.OK))
        .when(found.list.len() > 1)
        .then(_word(ParseStatus.AMBIGUOUS))
        .otherwise(_word(ParseStatus.UNREADABLE))
    )


def outage_or(text: pl.Expr, status: pl.Expr) -> pl.Expr:
    """`outage` where the text stands for one, else the status."""
    return pl.when(is_outage(text)).then(_word(ParseStatus.OUTAGE)).otherwise(status)


def numbers(text: pl.Expr) -> pl.Expr:
    """The numbers in a text as written, a list."""
    return text.str.extract_all(_NUMBER)


def share(numbers: pl.Expr) -> pl.Expr:
    """The fraction of the whole (0..1) that a share's numbers give in percent, else null.

    There has to be one, a decimal comma allowed; not more than all, and not one that may be a
    thousand as well as a decimal.
    """
    percent = _share_number(numbers).str.replace(",", ".", literal=True)
    # By its exponent, since polars divides by 100 as it multiplies by 0.01: 35 % is then not 0.35.
    fraction = (percent + "e-2").cast(float, strict=False)
    return pl.when(fraction <= 1).then(fraction)


def share_status(numbers: pl.Expr, share: pl.Expr) -> pl.Expr:
    """The parse status of a share: several numbers, or one with two meanings, are ambiguous."""
    return (
        pl.when(share.is_not_null())
        .then(_word(ParseStatus.OK))
        .when((numbers.list.len() > 0) & _share_number(numbers).is_null())
        .then(_word(ParseStatus.AMBIGUOUS))
        .otherwise(_word(ParseStatus.UNREADABLE))
    )


def _share_number(numbers: pl.Expr) -> pl.Expr:
    number = only(numbers)
    return pl.when(number.str.contains(_SHARE_NUMBER)).then(number)


def amount_status(amount: pl.Expr, written: pl.Expr, stated: pl.Expr) -> pl.Expr:
    """Whether the amount that the game registered is the one that the text plainly states."""
    return (
        pl.when(amount.is_null() & written.is_null())
        .then(_word(ParseStatus.UNREADABLE))
        .when(amount == stated)
        .then(_word(ParseStatus.OK))
        .otherwise(_word(ParseStatus.AMBIGUOUS))
    )


def choice_status(text: pl.Expr, choice: pl.Expr) -> pl.Expr:
    """Whether the text plainly says the choice that the game registered."""
    cooperates, defects = text.str.contains(_COOPERATE), text.str.contains(_DEFECT)
    is_plain = (
        pl.when(choice == str(Choice.COOPERATE))
        .then(cooperates & ~defects)
        .otherwise(defects & ~cooperates)
    )
    return (
        pl.when(is_plain)
        .then(_word(ParseStatus.OK))
        .when(cooperates | defects)
        .then(_word(ParseStatus.AMBIGUOUS))
        .otherwise(_word(ParseStatus.UNREADABLE))
    )


def _word(status: ParseStatus) -> pl.Expr:
    return pl.lit(str(status))
