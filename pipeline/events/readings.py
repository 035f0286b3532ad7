"""Readings of answers and amounts in texts, and the identities of documents, games and settings.

First what answers to the benchmark's own questions say of themselves: the edition `audited`. The
questions come with a form to answer in. A reading is strict: it takes what the form asks for,
and a text that says two things, or none, says nothing. `sql/readings/` derives the same from the
messages; `docs/audit.md` explains it.

The frames are of the games of one batch: `spoken` are the messages of one phase, with game,
message_index, round, player and content; `rows` are the rows of a table without the columns that
are read here, and `players` has game, player and side.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

import msgspec
import polars as pl
from msgspec.structs import fields

from pipeline.action_tables import ACTION_TABLES
from pipeline.column import ID_LENGTH
from pipeline.events.contracts import GAME_ROW, registered_roles
from pipeline.events.text_parsing import HYPHENS, NUMBER_WORDS, has_any
from pipeline.game_record import GameRecord, JsonValue, MessageColumns
from pipeline.vocabulary import HIDDEN_ROLE_GAMES, AnalysisKind, GameType, Side

# The questions and the forms of their answers are for players with such names.
IS_NUMBERED = pl.col("player").str.contains(r"^Player [1-9][0-9]*$")
_MESSAGE = [GAME_ROW, "message_index"]

# Over text in lower case. Classes are spelt out, since engines differ in what `\w` and `\s` are.
_NUMBER = r"player[ _]*([0-9]+)"
_DIGITS = r"([0-9]+)"
_LINE = r"(?m)^[^a-z0-9]*"
_RATINGS = ["more suspicious", "less suspicious", "no change"]
_RATED = rf"{_LINE}player[ _]*[0-9]+[^\n]{{0,20}}(?:{'|'.join(_RATINGS)})"
_SUSPECTED = rf"{_LINE}{_NUMBER}[^\n]{{0,20}}more suspicious"
_OF_ANOTHER = rf"^[^a-z0-9]*{_NUMBER}[^a-z0-9]+think"
_OF_ONESELF = rf"{_LINE}(?:as player|i think[^a-z0-9]*$)"
_IS_UNDERCOVER = r"(?:the |a |an |a possible )?[*]*undercover"
_NAMED = r"[*]*player[ _]*[0-9]+[*]* (?:is|might be|may be|could be)"
_OWN_CLAIM = rf"i think (?:(?:that )?{_NAMED}|i am) {_IS_UNDERCOVER}"
_STATED_CLAIM = (
    rf"player[ _]*[0-9]+[*]* (?:may |might )?thinks? (?:that )?{_NAMED} {_IS_UNDERCOVER}"
)

_NAME = r"(?:i am|i['’]m|as) player[ _]*([0-9]+)"
_ROLE = r"(?:role is|i am|i['’]m) (?:the |an? )?[^a-z0-9]*"
_WORD = r"(?:chameleon|undercover)"
_NON = rf"non[^a-z0-9]*{_WORD}"
_OR = r"[^a-z0-9]*(?:/|or )[^a-z0-9]*"


def stated_suspicions(spoken: pl.DataFrame) -> pl.DataFrame:
    """Return the suspicions that analyses state, with one row for each `viewer` and `suspect`.

    `message` is the number of the message among those spoken. The suspect is null where a view
    singles out nobody, or more than one.
    """
    said = _lower_messages(spoken).select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("message"), _SPEAKER.alias("speaker"), "text"
    )
    # A look for plain words first spares most texts the search by patterns.
    text, first = pl.col("text"), pl.col("first")
    rating = said.filter(text.str.contains("|".join(_RATINGS)))
    claiming = said.filter(text.str.contains("undercover", literal=True))
    return (
        pl.concat(
            [
                _chameleon_suspicions(rating),
                _own_suspicions(claiming),
                _suspicions_of_others(claiming),
            ]
        )
        .group_by("message", "viewer")
        .agg(first=pl.min("suspect"), last=pl.max("suspect"))
        .select(
            "message",
            viewer=pl.lit("Player ") + pl.col("viewer"),
            suspect=pl.when(first == pl.col("last")).then(pl.lit("Player ") + first),
        )
    )


def _chameleon_suspicions(said: pl.DataFrame) -> pl.DataFrame:
    """Return the suspicions in Chameleon's form.

    There is a row for each suspect, or one empty row.
    """
    block, viewer = pl.col("block"), pl.col("viewer")
    blocks = said.select("message", "speaker", block=pl.col("text").str.split("i think now"))
    blocks = blocks.explode("block").filter(block.str.contains(_RATED))
    suspecting = _blank_unless_searched(block.str.contains(_RATINGS[0], literal=True), block)
    rated = blocks.with_columns(
        viewer=block.str.extract(_OF_ANOTHER), suspect=suspecting.str.extract_all(_SUSPECTED)
    )
    rest = _blank_unless_searched(viewer.is_null(), block)
    own = pl.when(rest.str.contains(_OF_ONESELF)).then("speaker")
    return (
        rated.select("message", viewer.fill_null(own), "suspect")
        .filter(viewer.is_not_null())
        .explode("suspect", empty_as_null=True)
        .with_columns(pl.col("suspect").str.extract(_DIGITS))
    )


def _blank_unless_searched(is_searched: pl.Expr, text: pl.Expr) -> pl.Expr:
    """Replace texts that need no search by an empty string. Polars also searches masked texts."""
    return pl.when(is_searched).then(text).otherwise(pl.lit(""))


def _own_suspicions(said: pl.DataFrame) -> pl.DataFrame:
    """Return the speakers' own suspicions in Undercover's form."""
    suspect = pl.col("claim").str.extract(_DIGITS).fill_null(pl.col("speaker"))
    return _claims(said, _OWN_CLAIM).select("message", viewer="speaker", suspect=suspect)


def _suspicions_of_others(said: pl.DataFrame) -> pl.DataFrame:
    """Return the suspicions of others in Undercover's form.

    Its only numbers are viewer and suspect.
    """
    numbers = pl.col("claim").str.extract_all(_DIGITS)
    return _claims(said, _STATED_CLAIM).select(
        "message", viewer=numbers.list.first(), suspect=numbers.list.last()
    )


def _claims(said: pl.DataFrame, pattern: str) -> pl.DataFrame:
    claims = said.select("message", "speaker", claim=pl.col("text").str.extract_all(pattern))
    return claims.explode("claim").filter(pl.col("claim").is_not_null())


def read_analyses(rows: pl.DataFrame, spoken: pl.DataFrame, players: pl.DataFrame) -> pl.DataFrame:
    """Add `is_own_view_stated` and `is_correct_as_read` to analyses of roles, in order.

    The latter is null where there is nothing to judge.
    """
    views = stated_suspicions(spoken)
    spoken = spoken.select(*_MESSAGE, "round", "player").with_row_index("message")
    own = spoken.join(views, left_on=["message", "player"], right_on=["message", "viewer"])
    is_gold = pl.col("kind") == AnalysisKind.GOLD
    is_chameleon = (pl.col("game_type") == GameType.CHAMELEON) & (pl.col("side") == Side.HIDDEN)
    # The chameleon is asked what others think, not what it knows.
    accusation = pl.col("is_hidden").fill_null(pl.when(~is_chameleon).then(pl.lit(value=False)))
    judged = pl.when(is_gold).then(accusation).otherwise("is_right")
    read = spoken
    for found in (_is_suspect_hidden(own, players), _has_correct_views(spoken, own, views)):
        read = read.join(found, on="message", how="left")
    return _add_parsed_columns(rows, read.select(*_MESSAGE, "is_hidden", "is_right")).with_columns(
        is_own_view_stated=pl.col("is_hidden").is_not_null(),
        is_correct_as_read=pl.when(pl.col("message_index").is_not_null(), IS_NUMBERED).then(judged),
    )


def _is_suspect_hidden(own: pl.DataFrame, players: pl.DataFrame) -> pl.DataFrame:
    """Return, for each message that states a suspicion, whether the suspect `is_hidden`."""
    hidden = players.filter(side=Side.HIDDEN).select(GAME_ROW, "player").unique()
    return own.join(
        hidden.with_columns(is_hidden=pl.lit(value=True)),
        left_on=[GAME_ROW, "suspect"],
        right_on=[GAME_ROW, "player"],
        how="left",
    ).select("message", pl.col("is_hidden").fill_null(value=False))


def _has_correct_views(
    spoken: pl.DataFrame, own: pl.DataFrame, views: pl.DataFrame
) -> pl.DataFrame:
    """Return, for each message, whether it tells correctly whom each other player suspects."""
    theirs = own.select(GAME_ROW, "round", other="player", suspects="suspect")
    stated = views.with_columns(is_stated=pl.lit(value=True))
    is_right = pl.col("is_stated").fill_null(value=False) & pl.col("suspect").eq_missing(
        pl.col("suspects")
    )
    return (
        spoken.join(theirs, on=[GAME_ROW, "round"])
        .filter(pl.col("player") != pl.col("other"))
        .join(stated, left_on=["message", "other"], right_on=["message", "viewer"], how="left")
        .group_by("message")
        .agg(is_right=is_right.all())
    )


def read_identifications(rows: pl.DataFrame, spoken: pl.DataFrame) -> pl.DataFrame:
    """Add `claimed_role` and `is_correct_as_read` to identifications; null without an answer.

    The rows have the speaker's `player` and `side`, and the game's type as well.
    """
    named = pl.col("named")
    read = _lower_messages(spoken).select(
        *_MESSAGE, named=_claimed_players(), read_side=_claimed_side()
    )
    is_own_name = (named.list.len() == 1) & (
        (pl.lit("Player ") + named.list.first()) == pl.col("player")
    )
    is_right = is_own_name & (pl.col("read_side") == pl.col("side"))
    of_sides = registered_roles().filter(pl.col("game_type").is_in(HIDDEN_ROLE_GAMES))
    roles = of_sides.select("game_type", read_side="side", claimed_role="role")
    read_rows = _add_parsed_columns(rows, read).join(
        roles, on=["game_type", "read_side"], how="left", maintain_order="left"
    )
    return read_rows.with_columns(
        is_correct_as_read=pl.when(named.is_not_null(), IS_NUMBERED).then(
            is_right.fill_null(value=False)
        ),
    )


def _claimed_players() -> pl.Expr:
    """Return an expression for the numbers of the players that an answer claims to be."""
    found = pl.col("text").str.extract_all(_NAME)
    return found.list.eval(pl.element().str.extract(_DIGITS)).list.unique()


def _claimed_side() -> pl.Expr:
    """Return an expression for the side that an answer claims; null for both or none."""
    text = pl.col("text")
    is_hidden = text.str.contains(rf"{_ROLE}{_WORD}")
    is_civilian = text.str.contains(rf"{_ROLE}{_NON}")
    is_either = text.str.contains(rf"{_WORD}{_OR}{_NON}|{_NON}{_OR}{_WORD}")
    side = pl.when(is_hidden).then(pl.lit(str(Side.HIDDEN))).otherwise(pl.lit(str(Side.CIVILIAN)))
    return pl.when(~is_either & (is_hidden != is_civilian)).then(side)


_SPEAKER = pl.col("player").str.to_lowercase().str.replace("player ", "", literal=True)


def _lower_messages(spoken: pl.DataFrame) -> pl.DataFrame:
    """Add `text`, the message in lower case."""
    return spoken.select(*_MESSAGE, "player", text=pl.col("content").str.to_lowercase())


def _add_parsed_columns(rows: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Add the parsed columns of each row's message, in the order of the rows."""
    return rows.join(read, on=_MESSAGE, how="left", maintain_order="left")


# The amount that a text states: a number as people write it, of which only one thing is meant.
#
# What can mean two things is given no value: "1.000", "50%", "10-20", "1/3". The number as written
# is null only where there is none, so that the two can be told apart.

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
_WRITTEN_NUMBER = rf"(?i){_WRITTEN}"
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
    "zero",
    *NUMBER_WORDS,
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


def remove_contributions_of_others(texts: pl.Series) -> pl.Series:
    """Remove what others contributed and what the speaker does not contribute from texts."""
    # Few texts have such words, and to look for them takes as long as to read the amount.
    is_long = texts.str.count_matches("ontribut", literal=True) > 1
    is_asked = (is_long | has_any(texts, _OTHERS)).fill_null(value=False)
    if not is_asked.any():
        return texts
    said = texts.filter(is_asked).str.replace_all(_OF_OTHERS, "").str.replace(_BEFORE_OWN, "$1")
    return texts.clone().scatter(is_asked.arg_true(), said)


def find_written_amount(text: pl.Expr) -> pl.Expr:
    """Return the number after `contribute` as written, or all numbers of the text.

    Where there is none in digits, one in words with its unit, as in "twenty points".
    """
    said = text.str.replace_all(_LABEL, "")
    numbers = said.str.extract_all(_WRITTEN_NUMBER)
    alone = pl.when(numbers.list.len() > 0).then(numbers.list.join("|"))
    in_words = said.str.extract(_IN_WORDS).str.to_lowercase()
    in_words = in_words.str.replace_all(_BETWEEN_WORDS, " ")
    in_words = in_words.str.replace("hundred and ", "hundred ", literal=True).str.replace(
        "^a ", "one "
    )
    as_digits = in_words.replace_strict(_WORDS, default=None, return_dtype=pl.String)
    return pl.coalesce(said.str.extract(_AFTER), alone, as_digits)


def parse_amount(written: pl.Expr) -> pl.Expr:
    """Parse a written number; null if it is ambiguous or missing."""
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


# The identities of documents, games and settings: hashes that are the same on every machine.

_PACKED = r"(?:\.(?:gz|zst|xz|bz2))?"
_INDEXED = re.compile(rf"(?:.*/)?([0-9]{{1,9}})\.json{_PACKED}", re.IGNORECASE | re.DOTALL)
# A part that a format cuts out of a file; lines are numbered in their files too.
_PART = re.compile(r".*#([0-9]{1,9})", re.DOTALL)
_NUMBERED_LINE = re.compile(rf".*\.(?:jsonl|ndjson){_PACKED}(?: \([0-9]+\))*#[0-9]+", re.I | re.S)
# Keys sorted, no spaces, text in UTF-8, so that equal values are equal bytes.
_ENCODER = msgspec.json.Encoder(order="sorted")
# Half as dear as JSON, for what only this code reads.
_PACKER = msgspec.msgpack.Encoder(order="deterministic")
_LEAST_WHOLE, _MOST_WHOLE = -(2**63), 2**64 - 1
_ROUND_AND_SEAT = attrgetter("round", "seat")
_all_events = attrgetter(*ACTION_TABLES)
# What is no content of a game: where the same is said in another form.
_NO_CONTENT = {
    *("messages", "events", "format", "format_version", "game_index", "assigned_model", "faults"),
    *("order", "failures", "usage", "log_id"),
}
_facts = attrgetter(
    *(
        field.name
        for field in fields(GameRecord)
        if field.name not in {*ACTION_TABLES, *_NO_CONTENT}
    )
)


def sha256(data: bytes) -> str:
    """Return the SHA-256 hash of a document's bytes as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def hash_document(data: bytes, game: GameRecord, content: str) -> str:
    """Return the hash that identifies a game's document: of its bytes, or of its id and content.

    A log that Inspect writes again, as with other scores, has other bytes and the same samples.
    """
    return sha256(data if game.log_id is None else f"{game.log_id} {content}".encode())


def game_index(path: str) -> int | None:
    """Return the game's number in its competition, from the name of its file.

    A row or a section is in its place in the file, as a file in its folder: equal ones are repeats.
    A line of a file of many logs has no number, as lines are put together in any order; the file's
    stem is the same for all of them.
    """
    found = _INDEXED.fullmatch(path) or (
        not _NUMBERED_LINE.fullmatch(path) and _PART.fullmatch(path)
    )
    return int(found[1]) if found else None


def game_id(document_sha256: str, index: int | None, assigned_model: str | None) -> str:
    """Return the game's id, from the document's hash, the game's index, and an assigned model.

    Neither folder nor archive enters, so a file is the same game wherever it is found.
    """
    return _digest(_ENCODER.encode([document_sha256, index, assigned_model]))


def content_id(game: GameRecord) -> str:
    """Return an id of a game's content; spaces, escapes and the order of keys do not change it.

    It is no identity: `game_id` is. Two games of one content are one log in two forms: of JSON, or
    of formats. So neither the format enters, nor the order in which it lists events, nor what of it
    could not be used, nor whether the log or the ingest names the models.
    """
    messages = game.messages
    events = [rows and sorted(rows, key=_ROUND_AND_SEAT) for rows in _all_events(game)]
    of_kind = {
        name: sorted(rows, key=_ROUND_AND_SEAT) for name, rows in game.events.items() if rows
    }
    said = [_course_digest(messages.course), messages.content]
    return _digest(_PACKER.encode([said, _facts(game), events, of_kind]))


# Games go the same few ways, and a course is as long as a game.
@lru_cache(maxsize=1024)
def _course_digest(course: MessageColumns) -> str:
    return _digest(_PACKER.encode(course))


def clear_cache() -> None:
    """Clear the cache of turn orders that games of one batch share."""
    _course_digest.cache_clear()


class Setting(NamedTuple):
    """The values that were fixed before a game, as JSON, with the ids of setting and game type."""

    setting_id: str
    setting: str


def setting_with_id(game_type: str, setting: Mapping[str, JsonValue]) -> Setting:
    """Return the setting with its id; equal numbers give equal ids however they are written."""
    return _add_setting_ids(_ENCODER.encode([game_type, setting]))


# Games of one setting come by the hundred.
@lru_cache(maxsize=4096)
def _add_setting_ids(setting: bytes) -> Setting:
    played, fixed = msgspec.json.decode(setting)
    setting_id = _digest(_ENCODER.encode([played, _replace_numbers(fixed, float)]))
    # Settings of one id have one text, which is for people: 10, not 10.0. Engines read the digits
    # of a whole number alike, but write one as a float in different ways.
    return Setting(setting_id, _ENCODER.encode(_replace_numbers(fixed, _plain_number)).decode())


def _replace_numbers(value: JsonValue, write: Callable[[float], JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _replace_numbers(inner, write) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replace_numbers(inner, write) for inner in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    number = float(value)
    # A seed of 64 bits can be a whole number that no float is: the next one is another setting.
    return write(number) if number == value else value


def _plain_number(number: float) -> JsonValue:
    is_whole = number.is_integer() and _LEAST_WHOLE <= number <= _MOST_WHOLE
    return int(number) if is_whole else number


def _digest(data: bytes) -> str:
    return sha256(data)[:ID_LENGTH]
