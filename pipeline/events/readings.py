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
from pipeline.events.text_parsing import HYPHENS, NUMBER_WORDS, contains_any
from pipeline.game_record import GameRecord, JsonValue, MessageColumns
from pipeline.vocabulary import HIDDEN_ROLE_GAMES, AnalysisKind, GameType, Side

# The questions and the forms of their answers are for players with such names.
IS_NUMBERED = pl.col("player").str.contains(r"^Player [1-9][0-9]*$")
_MESSAGE_KEY = [GAME_ROW, "message_index"]

# Over text in lower case. Classes are spelt out, since engines differ in what `\w` and `\s` are.
_PLAYER_NUMBER = r"player[ _]*([0-9]+)"
_DIGITS = r"([0-9]+)"
_LINE_START = r"(?m)^[^a-z0-9]*"
_RATINGS = ["more suspicious", "less suspicious", "no change"]
_RATING_LINE = rf"{_LINE_START}player[ _]*[0-9]+[^\n]{{0,20}}(?:{'|'.join(_RATINGS)})"
_SUSPECT_LINE = rf"{_LINE_START}{_PLAYER_NUMBER}[^\n]{{0,20}}more suspicious"
_VIEWER_LINE = rf"^[^a-z0-9]*{_PLAYER_NUMBER}[^a-z0-9]+think"
_SPEAKER_LINE = rf"{_LINE_START}(?:as player|i think[^a-z0-9]*$)"
_UNDERCOVER_NAME = r"(?:the |a |an |a possible )?[*]*undercover"
_SUSPECT_PHRASE = r"[*]*player[ _]*[0-9]+[*]* (?:is|might be|may be|could be)"
_SPEAKER_CLAIM = rf"i think (?:(?:that )?{_SUSPECT_PHRASE}|i am) {_UNDERCOVER_NAME}"
_REPORTED_CLAIM = (
    rf"player[ _]*[0-9]+[*]* (?:may |might )?thinks? (?:that )?{_SUSPECT_PHRASE} {_UNDERCOVER_NAME}"
)

_SELF_INTRODUCTION = r"(?:i am|i['’]m|as) player[ _]*([0-9]+)"
_ROLE_PHRASE = r"(?:role is|i am|i['’]m) (?:the |an? )?[^a-z0-9]*"
_HIDDEN_ROLE_NAME = r"(?:chameleon|undercover)"
_CIVILIAN_ROLE_NAME = rf"non[^a-z0-9]*{_HIDDEN_ROLE_NAME}"
_ALTERNATIVE = r"[^a-z0-9]*(?:/|or )[^a-z0-9]*"


def parse_views(spoken: pl.DataFrame) -> pl.DataFrame:
    """The views that analyses state, with `viewer` and `suspect`, a row for each.

    `message` is the number of the message among those spoken. The suspect is null where a view
    singles out nobody, or more than one.
    """
    said = _lower_case_messages(spoken).select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("message"),
        _SPEAKER_NUMBER.alias("speaker"),
        "text",
    )
    # A look for plain words first spares most texts the search by patterns.
    text, first = pl.col("text"), pl.col("first")
    rating = said.filter(text.str.contains("|".join(_RATINGS)))
    claiming = said.filter(text.str.contains("undercover", literal=True))
    return (
        pl.concat(
            [
                _parse_chameleon_views(rating),
                _parse_speaker_claims(claiming),
                _parse_reported_claims(claiming),
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


def _parse_chameleon_views(said: pl.DataFrame) -> pl.DataFrame:
    """The views in Chameleon's form, a row for each suspect, and one where there is none."""
    block, viewer = pl.col("block"), pl.col("viewer")
    blocks = said.select("message", "speaker", block=pl.col("text").str.split("i think now"))
    blocks = blocks.explode("block").filter(block.str.contains(_RATING_LINE))
    suspecting = _text_where(block.str.contains(_RATINGS[0], literal=True), block)
    rated = blocks.with_columns(
        viewer=block.str.extract(_VIEWER_LINE), suspect=suspecting.str.extract_all(_SUSPECT_LINE)
    )
    rest = _text_where(viewer.is_null(), block)
    own = pl.when(rest.str.contains(_SPEAKER_LINE)).then("speaker")
    return (
        rated.select("message", viewer.fill_null(own), "suspect")
        .filter(viewer.is_not_null())
        .explode("suspect", empty_as_null=True)
        .with_columns(pl.col("suspect").str.extract(_DIGITS))
    )


def _text_where(is_searched: pl.Expr, text: pl.Expr) -> pl.Expr:
    """The text, empty where it need not be searched: polars searches what a null hides as well."""
    return pl.when(is_searched).then(text).otherwise(pl.lit(""))


def _parse_speaker_claims(said: pl.DataFrame) -> pl.DataFrame:
    """The speakers' own views in Undercover's form."""
    suspect = pl.col("claim").str.extract(_DIGITS).fill_null(pl.col("speaker"))
    return _extract_claims(said, _SPEAKER_CLAIM).select(
        "message", viewer="speaker", suspect=suspect
    )


def _parse_reported_claims(said: pl.DataFrame) -> pl.DataFrame:
    """The views of others in Undercover's form: the only numbers are of viewer and suspect."""
    numbers = pl.col("claim").str.extract_all(_DIGITS)
    return _extract_claims(said, _REPORTED_CLAIM).select(
        "message", viewer=numbers.list.first(), suspect=numbers.list.last()
    )


def _extract_claims(said: pl.DataFrame, pattern: str) -> pl.DataFrame:
    claims = said.select("message", "speaker", claim=pl.col("text").str.extract_all(pattern))
    return claims.explode("claim").filter(pl.col("claim").is_not_null())


def read_analyses(rows: pl.DataFrame, spoken: pl.DataFrame, players: pl.DataFrame) -> pl.DataFrame:
    """The analyses of roles with `is_own_view_stated` and `is_correct_as_read`, in their order.

    The latter is null where there is nothing to judge.
    """
    views = parse_views(spoken)
    spoken = spoken.select(*_MESSAGE_KEY, "round", "player").with_row_index("message")
    own = spoken.join(views, left_on=["message", "player"], right_on=["message", "viewer"])
    is_gold = pl.col("kind") == AnalysisKind.GOLD
    is_chameleon = (pl.col("game_type") == GameType.CHAMELEON) & (pl.col("side") == Side.HIDDEN)
    # The chameleon is asked what others think, not what it knows.
    accusation = pl.col("is_hidden").fill_null(pl.when(~is_chameleon).then(pl.lit(value=False)))
    judged = pl.when(is_gold).then(accusation).otherwise("is_right")
    read = spoken
    for found in (_check_suspects(own, players), _check_reported_views(spoken, own, views)):
        read = read.join(found, on="message", how="left")
    return _join_by_message(rows, read.select(*_MESSAGE_KEY, "is_hidden", "is_right")).with_columns(
        is_own_view_stated=pl.col("is_hidden").is_not_null(),
        is_correct_as_read=pl.when(pl.col("message_index").is_not_null(), IS_NUMBERED).then(judged),
    )


def _check_suspects(own: pl.DataFrame, players: pl.DataFrame) -> pl.DataFrame:
    """By message that states its speaker's own view whether its suspect `is_hidden`."""
    hidden = players.filter(side=Side.HIDDEN).select(GAME_ROW, "player").unique()
    return own.join(
        hidden.with_columns(is_hidden=pl.lit(value=True)),
        left_on=[GAME_ROW, "suspect"],
        right_on=[GAME_ROW, "player"],
        how="left",
    ).select("message", pl.col("is_hidden").fill_null(value=False))


def _check_reported_views(
    spoken: pl.DataFrame, own: pl.DataFrame, views: pl.DataFrame
) -> pl.DataFrame:
    """By message whether it tells rightly whom each of the others, by its own word, suspects."""
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
    """The identifications with `claimed_role` and `is_correct_as_read`, null without an answer.

    The rows have the speaker's `player` and `side`, and the game's type as well.
    """
    named = pl.col("named")
    read = _lower_case_messages(spoken).select(
        *_MESSAGE_KEY, named=_claimed_player_numbers(), read_side=_claimed_side()
    )
    is_own_name = (named.list.len() == 1) & (
        (pl.lit("Player ") + named.list.first()) == pl.col("player")
    )
    is_right = is_own_name & (pl.col("read_side") == pl.col("side"))
    of_sides = registered_roles().filter(pl.col("game_type").is_in(HIDDEN_ROLE_GAMES))
    roles = of_sides.select("game_type", read_side="side", claimed_role="role")
    read_rows = _join_by_message(rows, read).join(
        roles, on=["game_type", "read_side"], how="left", maintain_order="left"
    )
    return read_rows.with_columns(
        is_correct_as_read=pl.when(named.is_not_null(), IS_NUMBERED).then(
            is_right.fill_null(value=False)
        ),
    )


def _claimed_player_numbers() -> pl.Expr:
    """The numbers of the players that an answer says to be, a list without repetition."""
    found = pl.col("text").str.extract_all(_SELF_INTRODUCTION)
    return found.list.eval(pl.element().str.extract(_DIGITS)).list.unique()


def _claimed_side() -> pl.Expr:
    """The side that an answer says to be on, null for both or none."""
    text = pl.col("text")
    is_hidden = text.str.contains(rf"{_ROLE_PHRASE}{_HIDDEN_ROLE_NAME}")
    is_civilian = text.str.contains(rf"{_ROLE_PHRASE}{_CIVILIAN_ROLE_NAME}")
    is_either = text.str.contains(
        rf"{_HIDDEN_ROLE_NAME}{_ALTERNATIVE}{_CIVILIAN_ROLE_NAME}|{_CIVILIAN_ROLE_NAME}{_ALTERNATIVE}{_HIDDEN_ROLE_NAME}"
    )
    side = pl.when(is_hidden).then(pl.lit(str(Side.HIDDEN))).otherwise(pl.lit(str(Side.CIVILIAN)))
    return pl.when(~is_either & (is_hidden != is_civilian)).then(side)


_SPEAKER_NUMBER = pl.col("player").str.to_lowercase().str.replace("player ", "", literal=True)


def _lower_case_messages(spoken: pl.DataFrame) -> pl.DataFrame:
    """The messages in lower case, as `text`."""
    return spoken.select(*_MESSAGE_KEY, "player", text=pl.col("content").str.to_lowercase())


def _join_by_message(rows: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """The rows in their order, each with what was read of its message."""
    return rows.join(read, on=_MESSAGE_KEY, how="left", maintain_order="left")


# The amount that a text states: a number as people write it, of which only one thing is meant.
#
# What can mean two things is given no value: "1.000", "50%", "10-20", "1/3". The number as written
# is null only where there is none, so that the two can be told apart.

# What has a number and is no amount: "round 3", "Player 2", "Agent-2".
_NUMBERED_LABEL = (
    r"(?i)\b(?:round|turn|day|player|seat|agent)[\s_]*(?:\"\s*:\s*)?(?:#|number\s|no\.\s?)?\s*\d+\b"
    rf"|\b[^\W\d]+[_{HYPHENS}]\d+\b"
)
_SPACE = r"[ \x{a0}\x{2009}\x{202f}]"
_NUMBER_AS_WRITTEN = (
    rf"[{HYPHENS}]?\d[\d.,'’_]*(?:{_SPACE}\d{{3}}\b)*(?:[.,]\d+)?"
    r"(?:e[+-]?\d+\b|\s?(?:%|percent\b|k\b|thousand\b|hundred\b|m\b|million\b)"
    r"|\s*(?:[/+*x\x{d7}"
    rf"{HYPHENS}]|\b(?:to|or|plus|minus|times)\b)\s*\d[\d.,]*)?"
)
_BOUND = r"(?:(?:at\s(?:least|most)|(?:no\s)?(?:more|less)\sthan|up\sto|between)\s)"
_FOLLOWING_NUMBER = rf"[^\d\n.]{{0,80}}?({_BOUND}?(?:\B\.)?{_NUMBER_AS_WRITTEN})"
_AUXILIARY_WORDS = (
    r"(?:(?:am|be|going|to|will|would|like|want|wish|choose|decided?|have|can|shall|should|must"
    r"|only|just|now|also|again|still|then|therefore|happily|gladly)\s+){0,5}"
)
# What oneself contributes comes first: "They contributed 30, I contribute 10".
_TEXT_UP_TO_SPEAKER_AMOUNT = (
    rf"(?is)^.*?(\b(?:I|I['’](?:ll|d|m))\s+{_AUXILIARY_WORDS}contribut(?:e|ing)\b{_FOLLOWING_NUMBER}"
    rf"|\bmy\s+contribution\b{_FOLLOWING_NUMBER})"
)
_CONTRIBUTED_NUMBER = rf"(?i)contribut\w*{_FOLLOWING_NUMBER}"
# What the speaker does not contribute, or not alone: "The total contribution was 90".
_OTHER_AMOUNT_SIGNS = ["not ", "n't ", "n’t ", "never ", "Never ", "he total ", "he average "]
_OTHER_AMOUNTS = (
    rf"(?i)(?:(?:\b(?:not|never|cannot)|n['’]t)\s+{_AUXILIARY_WORDS}|\bthe\s(?:total|average)\s)"
    rf"contribut\w*{_FOLLOWING_NUMBER}"
)
_WRITTEN_NUMBER_PATTERN = rf"(?i){_NUMBER_AS_WRITTEN}"
_MULTIPLIER_SUFFIX = r"(?i)\s?(k|thousand|hundred|m|million)$"
_MULTIPLIERS = {"k": 1e3, "thousand": 1e3, "hundred": 1e2, "m": 1e6, "million": 1e6}

# By its separators: the thousands' are taken out, and the decimals' is made a point.
_DECIMAL_NUMBER = r"^(?:\.\d+|\d+(?:[.,]\d{1,2}|[.,]\d{4,})?|0[.,]\d+|\d{4,}[.,]\d+)$"
_GROUPED_NUMBERS = (
    (r"^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$", ","),
    (r"^[1-9]\d{0,2}(?:(?:\.\d{3}){2,}(?:,\d+)?|\.\d{3},\d+)$", r"\."),
    (rf"^[1-9]\d{{0,2}}(?:(?:'|’|_|{_SPACE})\d{{3}})+(?:[.,]\d{{1,2}})?$", rf"['’_]|{_SPACE}"),
)

_WORDS_BELOW_20 = (
    "zero",
    *NUMBER_WORDS,
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_HUNDREDS = ("", *(f"{one} hundred" for one in _WORDS_BELOW_20[1:10]))
_WORDS_BELOW_100 = (
    *_WORDS_BELOW_20,
    *(f"{ten} {one}".removesuffix(" zero") for ten in _TENS for one in _WORDS_BELOW_20[:10]),
)
_VALUES_BY_WORDS = {
    f"{hundred} {rest}".removesuffix(" zero").strip() or "zero": 100 * hundreds + number
    for hundreds, hundred in enumerate(_HUNDREDS)
    for number, rest in enumerate(_WORDS_BELOW_100)
}
# In words only with what it is an amount of: "one" is a pronoun as well. All words of numbers that
# stand there are one number, or none, as in "ten or twenty points".
_ANY_NUMBER_WORD = "|".join((*_TENS, *reversed(_WORDS_BELOW_20), "hundred", "thousand", "million"))
_WORD_SEPARATOR = rf"[\s{HYPHENS}]+"
_AMOUNT_IN_WORDS = (
    rf"(?i)\b((?:a\s+)?(?:{_ANY_NUMBER_WORD})(?:{_WORD_SEPARATOR}(?:and|or|to|{_ANY_NUMBER_WORD}))*)"
    rf"{_WORD_SEPARATOR}(?:points?|tokens?|coins?|dollars?|credits?|units?)\b"
)


def remove_other_amounts(texts: pl.Series) -> pl.Series:
    """The texts without what others contribute before the speaker does, and what it does not."""
    # Few texts have such words, and to look for them takes as long as to read the amount.
    is_long = texts.str.count_matches("ontribut", literal=True) > 1
    is_asked = (is_long | contains_any(texts, _OTHER_AMOUNT_SIGNS)).fill_null(value=False)
    if not is_asked.any():
        return texts
    said = (
        texts.filter(is_asked)
        .str.replace_all(_OTHER_AMOUNTS, "")
        .str.replace(_TEXT_UP_TO_SPEAKER_AMOUNT, "$1")
    )
    return texts.clone().scatter(is_asked.arg_true(), said)


def extract_written_amount(text: pl.Expr) -> pl.Expr:
    """The number after `contribute` (or `contribution`) as written, or all numbers that there are.

    Where there is none in digits, one in words with its unit, as in "twenty points".
    """
    said = text.str.replace_all(_NUMBERED_LABEL, "")
    numbers = said.str.extract_all(_WRITTEN_NUMBER_PATTERN)
    alone = pl.when(numbers.list.len() > 0).then(numbers.list.join("|"))
    in_words = said.str.extract(_AMOUNT_IN_WORDS).str.to_lowercase()
    in_words = in_words.str.replace_all(_WORD_SEPARATOR, " ")
    in_words = in_words.str.replace("hundred and ", "hundred ", literal=True).str.replace(
        "^a ", "one "
    )
    as_digits = in_words.replace_strict(_VALUES_BY_WORDS, default=None, return_dtype=pl.String)
    return pl.coalesce(said.str.extract(_CONTRIBUTED_NUMBER), alone, as_digits)


def parse_amount(written: pl.Expr) -> pl.Expr:
    """What a number as written is, null where it can mean two things, or none."""
    times = (
        written.str.extract(_MULTIPLIER_SUFFIX)
        .str.to_lowercase()
        .replace_strict(_MULTIPLIERS, default=None)
    )
    digits = (
        written.str.normalize("NFKC")
        .str.replace(_MULTIPLIER_SUFFIX, "")
        .str.strip_chars_end(".,'’_")
    )
    plain = pl.when(digits.str.contains(_DECIMAL_NUMBER)).then(digits)
    grouped = [
        pl.when(digits.str.contains(form)).then(digits.str.replace_all(separator, ""))
        for form, separator in _GROUPED_NUMBERS
    ]
    number = pl.coalesce(plain, *grouped).str.replace(",", ".", literal=True)
    value = number.cast(float, strict=False) * times.fill_null(1.0)
    return pl.when(value.is_finite()).then(value)


# The identities of documents, games and settings: hashes that are the same on every machine.

_COMPRESSED_EXTENSION = r"(?:\.(?:gz|zst|xz|bz2))?"
_NUMBERED_JSON_FILE = re.compile(
    rf"(?:.*/)?([0-9]{{1,9}})\.json{_COMPRESSED_EXTENSION}", re.IGNORECASE | re.DOTALL
)
# A part that a format cuts out of a file; lines are numbered in their files too.
_NUMBERED_PART = re.compile(r".*#([0-9]{1,9})", re.DOTALL)
_NUMBERED_LINE = re.compile(
    rf".*\.(?:jsonl|ndjson){_COMPRESSED_EXTENSION}(?: \([0-9]+\))*#[0-9]+", re.I | re.S
)
# Keys sorted, no spaces, text in UTF-8, so that equal values are equal bytes.
_JSON_ENCODER = msgspec.json.Encoder(order="sorted")
# Half as dear as JSON, for what only this code reads.
_MSGPACK_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1
_round_and_seat = attrgetter("round", "seat")
_all_events = attrgetter(*ACTION_TABLES)
# What is no content of a game: where the same is said in another form.
_FIELDS_WITHOUT_CONTENT = {
    *("messages", "events", "format", "format_version", "game_index", "assigned_model", "faults"),
    *("order", "failures", "usage", "log_id"),
}
_content_fields = attrgetter(
    *(
        field.name
        for field in fields(GameRecord)
        if field.name not in {*ACTION_TABLES, *_FIELDS_WITHOUT_CONTENT}
    )
)


def sha256(data: bytes) -> str:
    """The hash of a document's bytes, 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def hash_document(data: bytes, game: GameRecord, content: str) -> str:
    """Return the hash by which a game's document is known: of its bytes, or of its id and content.

    A log that Inspect writes again, as with other scores, has other bytes and the same samples.
    """
    return sha256(data if game.log_id is None else f"{game.log_id} {content}".encode())


def game_index(path: str) -> int | None:
    """The game's number in its competition: the stem of its file, or the part of it that it is.

    A row or a section is in its place in the file, as a file in its folder: equal ones are repeats.
    A line of a file of many logs has no number, as lines are put together in any order; the file's
    stem is the same for all of them.
    """
    found = _NUMBERED_JSON_FILE.fullmatch(path) or (
        not _NUMBERED_LINE.fullmatch(path) and _NUMBERED_PART.fullmatch(path)
    )
    return int(found[1]) if found else None


def game_id(document_sha256: str, index: int | None, assigned_model: str | None) -> str:
    """The game's id: of its bytes and index, and of the model where the bytes name none.

    Neither folder nor archive enters, so a file is the same game wherever it is found.
    """
    return _short_hash(_JSON_ENCODER.encode([document_sha256, index, assigned_model]))


def content_id(game: GameRecord) -> str:
    """The id of all that was read of a game; neither spaces, escapes nor the order of keys matter.

    It is no identity: `game_id` is. Two games of one content are one log in two forms: of JSON, or
    of formats. So neither the format enters, nor the order in which it lists events, nor what of it
    could not be used, nor whether the log or the ingest names the models.
    """
    messages = game.messages
    events = [rows and sorted(rows, key=_round_and_seat) for rows in _all_events(game)]
    of_kind = {
        name: sorted(rows, key=_round_and_seat) for name, rows in game.events.items() if rows
    }
    said = [_message_columns_hash(messages.course), messages.content]
    return _short_hash(_MSGPACK_ENCODER.encode([said, _content_fields(game), events, of_kind]))


# Games go the same few ways, and a course is as long as a game.
@lru_cache(maxsize=1024)
def _message_columns_hash(course: MessageColumns) -> str:
    return _short_hash(_MSGPACK_ENCODER.encode(course))


def clear_cache() -> None:
    """Lets go of the courses known, which the games of one batch have in common."""
    _message_columns_hash.cache_clear()


class Setting(NamedTuple):
    """What was fixed before play, as JSON, and the id of it and of the game type."""

    setting_id: str
    setting: str


def setting_with_id(game_type: str, setting: Mapping[str, JsonValue]) -> Setting:
    """The setting with its id; equal numbers are equal however they are written."""
    return _setting_from_json(_JSON_ENCODER.encode([game_type, setting]))


# Games of one setting come by the hundred.
@lru_cache(maxsize=4096)
def _setting_from_json(setting: bytes) -> Setting:
    played, fixed = msgspec.json.decode(setting)
    setting_id = _short_hash(_JSON_ENCODER.encode([played, _convert_numbers(fixed, float)]))
    # Settings of one id have one text, which is for people: 10, not 10.0. Engines read the digits
    # of a whole number alike, but write one as a float in different ways.
    return Setting(
        setting_id, _JSON_ENCODER.encode(_convert_numbers(fixed, _to_integer_if_whole)).decode()
    )


def _convert_numbers(value: JsonValue, write: Callable[[float], JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return {key: _convert_numbers(inner, write) for key, inner in value.items()}
    if isinstance(value, list):
        return [_convert_numbers(inner, write) for inner in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    number = float(value)
    # A seed of 64 bits can be a whole number that no float is: the next one is another setting.
    return write(number) if number == value else value


def _to_integer_if_whole(number: float) -> JsonValue:
    is_whole = number.is_integer() and _MIN_INTEGER <= number <= _MAX_INTEGER
    return int(number) if is_whole else number


def _short_hash(data: bytes) -> str:
    return sha256(data)[:ID_LENGTH]
