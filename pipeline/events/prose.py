"""What texts say, read for all texts of a batch at once: a player named, a choice, a share.

Every reading is strict: a text that says two things is `ambiguous`, one that says none is
`unreadable`, and neither is given a value. Functions take columns of texts, most of them as
expressions, and give such; a null text says nothing.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import TypeVar

import polars as pl

from pipeline import thoughts
from pipeline.events.abstentions import (
    ABSTAINS,
    HELPERS,
    NO_ONE,
    NOBODY,
    NOT_ABSTAINING,
    SPEAKS_OF_IT,
    quick,
)
from pipeline.events.names import MARK, exact, loose, marked
from pipeline.game import OUTAGE_MARK
from pipeline.vocabulary import Choice, ParseStatus

_Text = TypeVar("_Text", pl.Expr, pl.Series)

_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=1
    )
}
_NUMBER_OF_PLAYER = rf"(\d+|{'|'.join(_NUMBER_WORDS)})"
_PLAYER = rf"player[\s_]*{_NUMBER_OF_PLAYER}\b"
_MENTION = rf"(?i){_PLAYER}"
# What joins the names of a vote that says two: "from Ann to Bob", "Ann → Bob", "with Ann for Bob".
_JOINED = r"(?:\s*,\s+|\s+(?:(?:or|and|nor)(?:\s+for)?|to|from|for)\s+|\s*(?:→|[-=]+>)\s*)"
_OWN_PROPOSAL = r"(?i)\bmy own proposal\b"


def _vote(player: str, words: str = r"\bvot(?:e|es|ing)\b") -> str:
    """The pattern of a vote for a player, or for two, whose name has this pattern."""
    return (
        rf"(?i)(?:{words})[^\d\n.。{NOBODY}]{{0,40}}?"
        rf"(?:{NO_ONE}|{player}(?:{_JOINED}{player})?)"
        rf"|{player}\s+(?:will\s+)?(?:gets?|has|receives?|is)\s+my\s+vote\b"
    )


def _denied(player: str, words: str = r"\bvot(?:e|es|ing)\b") -> str:
    """The pattern of a vote that somebody does not give: "I won't vote for Bob", "not Bob"."""
    rest = rf"[^\d\n.。,;!?]{{0,40}}?{player}(?:(?:\s*,\s*|\s+)(?:or|nor|and)\s+{player})?"
    instead = (
        r"(?:refus|declin)(?:e|es|ing)\s+to|(?:abstain|refrain)(?:ing)?\s+from|instead\s+of|than"
    )
    return (
        rf"(?i)(?:\b(?:not|never|cannot|no|ne|{instead})|n['’]t)\s+{HELPERS}(?:{words}){rest}"
        rf"|(?:{words})\s+(?:is\s+)?(?:not|never|nicht|pas)\s{rest}"
        rf"|\bnot\s+(?:for\s+)?{player}"
        rf"|(?:{words})\W{{1,3}}(?:(?:is|goes|for|to)\s+){{0,2}}neither\s+(?:for\s+)?{player}"
        rf"(?:\s*,\s*{player})*\s+nor\s+(?:for\s+)?{player}"
        rf"|\b(?:any|every)(?:one|body)\s+(?:but|except)\s+(?:for\s+)?{player}"
        rf"|[不别別没沒][会會要想能再有]?投(?:票)?[给給]?{player}"
    )


_VOTE, _DENIED = _vote(_PLAYER), _denied(_PLAYER)
_INTRODUCTION = rf"(?i)\b(?:as|i am|i'm)\s+(?:player\s+)?{_PLAYER}"
# The same for names of any kind, in some more languages.
_VOTE_WORDS = r"\bvot(?:e|es|ing|o|ar|ons)\b|\b(?:stimme|wähle)\b|голосую|투표|投"
_NAMED_VOTE = _vote(MARK, _VOTE_WORDS) + (
    rf"|[给給]{MARK}投|{MARK}(?:さん|くん|君|様|氏)?に(?:投票|一票|入れ)"
    rf"|{MARK}\s?[씨님]?(?:에게|한테|을|를)?\s?(?:투표|한 표)"
)
_NAMED_DENIED = quick(
    _denied(MARK, _VOTE_WORDS)
    + rf"|{MARK}(?:さん|くん|君|様|氏)?に[はも]?(?:投票|入れ)[はを]?し?(?:ない|ません|たくない)"
    rf"|{MARK}\s?[씨님]?(?:에게|한테)는?\s?투표하지\s?않"
)
_NAMED_INTRODUCTION = (
    rf"(?i)\b(?:as|i am|i['’]m|ich bin|als|soy|como|je suis)\s+(?:player\s+)?{MARK}"
    rf"|(?:我是|我叫|作为|作為|私は){MARK}|{MARK}として"
)

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
    """The players that votes' texts name, as `Player N`: a list without repetition, in no order.

    `rows` have `answer`, the text, and its speaker, `player`. What follows `vote` decides; only
    where no such words stand, the names in the rest of the text do. A speaker's introduction of
    itself ("As Player 3, ...") names nobody, and neither does a vote that it does not give ("I
    won't vote for Player 3").
    """
    text, after_vote = pl.col("answer"), pl.col("after_vote")
    # In steps, since polars takes longer to plan an expression that is in itself again and again.
    said = rows.with_columns(_given(text, _DENIED)).with_columns(_fields(text, _PLAYER))
    said = said.with_columns(after_vote=text.str.extract_all(_VOTE).list.join("\n"))
    says_vote = after_vote != ""
    named = pl.when(says_vote).then(after_vote).otherwise(_elsewhere(text, _INTRODUCTION))
    said = said.with_columns(named=_names(named))
    own = pl.when(~says_vote & _proposes(text)).then(pl.concat_list("player"))
    stated = own.fill_null(_beside_nobody(pl.col("named"), text))
    nobody = pl.lit([], pl.List(pl.String))
    is_silent = rows.select(is_outage(text) | text.is_null()).to_series()
    return said.select(stated=pl.when(~is_silent).then(stated).otherwise(nobody)).to_series()


def stated_seats(rows: pl.DataFrame, seats: pl.DataFrame) -> pl.Series:
    """The numbers of the seats that a vote's text names, as texts: a list without repetition.

    The same for seats of any names. `rows` have game, `text` and the speaker's `seat`, those of a
    game one after the other; `seats` have game, `player` and `seat`. What is written as a seat's
    name comes first, and counts in any case only where nothing is.
    """
    written = _given(marked(rows, seats, exact), _NAMED_DENIED)
    # Nearly always a vote has its words and a name as it is written.
    is_open = ~written.str.contains(f"{NOBODY}|{_NAMED_VOTE}")
    others = pl.Series([None] * rows.height, dtype=pl.String)
    spoken = _given(marked(rows.filter(is_open), seats, loose), _NAMED_DENIED)
    others = others.scatter(is_open.arg_true(), spoken)
    said = rows.with_columns(exact=written, loose=others)
    said = said.with_columns(_fields(pl.col("exact"), MARK), _fields(pl.col("loose"), MARK))
    voted, named = [], []
    for text in (pl.col("exact"), pl.col("loose")):
        votes = _seats(text.str.extract_all(_NAMED_VOTE).list.join(""))
        voted.append(_beside_nobody(votes, text))
        named.append(_seats(_elsewhere(text, _NAMED_INTRODUCTION)))
    own = pl.when(_proposes(pl.col("exact"))).then(pl.concat_list(pl.col("seat").cast(pl.String)))
    lists = [*voted, own, *named]
    first = pl.coalesce(*[pl.when(found.list.len() > 0).then(found) for found in lists])
    is_silent = is_outage(pl.col("text")) | pl.col("text").is_null()
    stated = pl.when(~is_silent).then(first).fill_null(pl.lit([], pl.List(pl.String)))
    return said.select(stated.alias("stated")).to_series()


def _fields(text: pl.Expr, player: str) -> pl.Expr:
    """Of JSON the last field that answers and names a player, or those whose value is a name."""
    inside = rf"[^\]}}]{{0,100}}?{player}[^\]}}]{{0,100}}"
    value = rf'"(?:[^"\\]|\\.)*?{player}(?:[^"\\]|\\.)*"|[\[{{]{inside}|{player}'
    answers = text.str.extract(rf'(?is)^\{{.*"(?:{thoughts.AIM_KEYS})"\s*:\s*({value})')
    names = text.str.extract_all(rf'(?i)"\s*:\s*"?\s*{player}\s*"?\s*[,}}]').list.join("")
    named = pl.coalesce(answers, pl.when(names != "").then(names), text)
    return pl.when(text.str.starts_with("{")).then(named).otherwise(text)


def _elsewhere(text: pl.Expr, introduction: str) -> pl.Expr:
    """What may name the player of a vote without its words; nothing of one who votes for nobody."""
    abstains = text.str.contains(SPEAKS_OF_IT)
    return pl.when(abstains).then(pl.lit("")).otherwise(text.str.replace_all(introduction, ""))


def _proposes(text: pl.Expr) -> pl.Expr:
    """Whether a vote is for the speaker's own proposal."""
    return text.str.contains(_OWN_PROPOSAL) & ~text.str.contains(SPEAKS_OF_IT)


def _beside_nobody(found: pl.Expr, text: pl.Expr) -> pl.Expr:
    """The players of votes, and nobody as one more where the text also abstains."""
    is_torn = (found.list.len() > 0) & text.str.contains(NOBODY, literal=True)
    return pl.when(is_torn).then(pl.concat_list(found, pl.lit(""))).otherwise(found)


def _given(text: _Text, denied: str) -> _Text:
    """The texts without the votes that they do not give, with a sign where they abstain."""
    said = text.str.replace_all(NOT_ABSTAINING, "").str.replace_all(ABSTAINS, NOBODY)
    return said.str.replace_all(denied, "")


def _seats(text: pl.Expr) -> pl.Expr:
    numbers = text.str.extract_all(MARK).list.join(",").str.replace_all(r"[\x02\x03]", "")
    return numbers.str.split(",").list.eval(pl.element().filter(pl.element() != "")).list.unique()


def _names(text: pl.Expr) -> pl.Expr:
    number = pl.element().str.to_lowercase().str.extract(rf"{_NUMBER_OF_PLAYER}$")
    name = pl.lit("Player ") + number.replace(_NUMBER_WORDS)
    return text.str.extract_all(_MENTION).list.eval(name).list.unique()


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
