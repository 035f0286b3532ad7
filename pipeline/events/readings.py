"""Answers to questions about roles, amounts in texts, and the hashes that identify games.

First, the answers to the benchmark's own questions are parsed for the edition `audited`. The
questions prescribe a form, and parsing is strict: it accepts only the form, and a text with two
answers or none has no result. `sql/readings/` derives the same from the messages, and
`docs/audit.md` explains it.

Frames contain the games of one batch. `messages` are the messages of one phase, with `game`,
`message_index`, `round`, `player` and `content`. `rows` are the rows of a table without the columns
that are parsed here. `players` has `game`, `player` and `side`.

Used by `pipeline.events.frames`, the ingest and `pipeline.conversion`.
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

# The questions and the form of the answers require players with these names.
IS_NUMBERED = pl.col("player").str.contains(r"^Player [1-9][0-9]*$")
_MESSAGE_KEY = [GAME_ROW, "message_index"]

# For text in lower case. Character classes are explicit, because engines define `\w` and `\s`
# differently.
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


def parse_suspects_by_viewer(messages: pl.DataFrame) -> pl.DataFrame:
    """Parse whom players suspect according to analyses.

    Args:
        messages: The messages with the analyses.

    Returns:
        One row per message and player whose view the message states: `message` (the number of the
        row in `messages`), `viewer` and `suspect`. The suspect is null if the view names no player
        or more than one.
    """
    lower_case = _messages_with_lower_case_text(messages).select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("message"),
        _SPEAKER_NUMBER.alias("speaker"),
        "text",
    )
    # Search for literal words first, which excludes most texts from the slower regular expressions.
    text, first_suspect = pl.col("text"), pl.col("first")
    rating_messages = lower_case.filter(text.str.contains("|".join(_RATINGS)))
    claim_messages = lower_case.filter(text.str.contains("undercover", literal=True))
    return (
        pl.concat(
            [
                _parse_chameleon_suspects(rating_messages),
                _parse_undercover_views_of_speakers(claim_messages),
                _parse_undercover_views_of_reported_players(claim_messages),
            ]
        )
        .group_by("message", "viewer")
        .agg(first=pl.min("suspect"), last=pl.max("suspect"))
        .select(
            "message",
            viewer=pl.lit("Player ") + pl.col("viewer"),
            suspect=pl.when(first_suspect == pl.col("last")).then(
                pl.lit("Player ") + first_suspect
            ),
        )
    )


def _parse_chameleon_suspects(messages: pl.DataFrame) -> pl.DataFrame:
    """Parse views in Chameleon's form: one row per suspect, or one with null without suspects."""
    block, viewer = pl.col("block"), pl.col("viewer")
    blocks = messages.select("message", "speaker", block=pl.col("text").str.split("i think now"))
    blocks = blocks.explode("block").filter(block.str.contains(_RATING_LINE))
    suspicious_block = _text_if_searched_else_empty(
        block.str.contains(_RATINGS[0], literal=True), block
    )
    rated = blocks.with_columns(
        viewer=block.str.extract(_VIEWER_LINE),
        suspect=suspicious_block.str.extract_all(_SUSPECT_LINE),
    )
    unattributed_block = _text_if_searched_else_empty(viewer.is_null(), block)
    speaker = pl.when(unattributed_block.str.contains(_SPEAKER_LINE)).then("speaker")
    return (
        rated.select("message", viewer.fill_null(speaker), "suspect")
        .filter(viewer.is_not_null())
        .explode("suspect", empty_as_null=True)
        .with_columns(pl.col("suspect").str.extract(_DIGITS))
    )


def _text_if_searched_else_empty(is_searched: pl.Expr, text: pl.Expr) -> pl.Expr:
    """Return the text, or an empty text where no search is needed.

    The text is not null, because polars also searches texts that are hidden by a null.
    """
    return pl.when(is_searched).then(text).otherwise(pl.lit(""))


def _parse_undercover_views_of_speakers(messages: pl.DataFrame) -> pl.DataFrame:
    """Parse the views of the speakers themselves in Undercover's form."""
    return _extract_one_claim_per_row(messages, _SPEAKER_CLAIM).select(
        "message",
        viewer="speaker",
        suspect=pl.col("claim").str.extract(_DIGITS).fill_null(pl.col("speaker")),
    )


def _parse_undercover_views_of_reported_players(messages: pl.DataFrame) -> pl.DataFrame:
    """Parse the views of other players that speakers report in Undercover's form."""
    numbers = pl.col("claim").str.extract_all(_DIGITS)
    return _extract_one_claim_per_row(messages, _REPORTED_CLAIM).select(
        "message", viewer=numbers.list.first(), suspect=numbers.list.last()
    )


def _extract_one_claim_per_row(messages: pl.DataFrame, pattern: str) -> pl.DataFrame:
    """Return one row per match of the pattern, as `claim`."""
    return (
        messages.select("message", "speaker", claim=pl.col("text").str.extract_all(pattern))
        .explode("claim")
        .filter(pl.col("claim").is_not_null())
    )


def judge_role_analyses_by_text(
    rows: pl.DataFrame, messages: pl.DataFrame, players: pl.DataFrame
) -> pl.DataFrame:
    """Judge analyses of roles by their text.

    Args:
        rows: The analyses, with the speaker's `player` and `side`, and the `game_type`.
        messages: The messages of the phase.
        players: The seats of the games.

    Returns:
        The rows in their order, with `is_own_view_stated` and `is_correct_as_read`. The latter is
        null without a message, for players with custom names, and if there is nothing to judge.
    """
    views = parse_suspects_by_viewer(messages)
    messages = messages.select(*_MESSAGE_KEY, "round", "player").with_row_index("message")
    speaker_views = messages.join(
        views, left_on=["message", "player"], right_on=["message", "viewer"]
    )
    is_chameleon = (pl.col("game_type") == GameType.CHAMELEON) & (pl.col("side") == Side.HIDDEN)
    # The chameleon is asked what other players think, not who the chameleon is.
    accusation = pl.col("is_hidden").fill_null(pl.when(~is_chameleon).then(pl.lit(value=False)))
    judged = pl.when(pl.col("kind") == AnalysisKind.GOLD).then(accusation).otherwise("is_right")
    parsed = messages
    for results in (
        _is_suspect_hidden_by_message(speaker_views, players),
        _are_reported_views_correct_by_message(messages, speaker_views, views),
    ):
        parsed = parsed.join(results, on="message", how="left")
    return _join_values_parsed_from_message(
        rows, parsed.select(*_MESSAGE_KEY, "is_hidden", "is_right")
    ).with_columns(
        is_own_view_stated=pl.col("is_hidden").is_not_null(),
        is_correct_as_read=pl.when(pl.col("message_index").is_not_null(), IS_NUMBERED).then(judged),
    )


def _is_suspect_hidden_by_message(
    speaker_views: pl.DataFrame, players: pl.DataFrame
) -> pl.DataFrame:
    """Return, by message, whether the suspect of the speaker's own view is the hidden player."""
    hidden = players.filter(side=Side.HIDDEN).select(GAME_ROW, "player").unique()
    return speaker_views.join(
        hidden.with_columns(is_hidden=pl.lit(value=True)),
        left_on=[GAME_ROW, "suspect"],
        right_on=[GAME_ROW, "player"],
        how="left",
    ).select("message", pl.col("is_hidden").fill_null(value=False))


def _are_reported_views_correct_by_message(
    messages: pl.DataFrame, speaker_views: pl.DataFrame, views: pl.DataFrame
) -> pl.DataFrame:
    """Return, by message, whether it reports correctly whom all other players suspect."""
    stated_by_players = speaker_views.select(GAME_ROW, "round", other="player", suspects="suspect")
    reported_views = views.with_columns(is_stated=pl.lit(value=True))
    is_correct = pl.col("is_stated").fill_null(value=False) & pl.col("suspect").eq_missing(
        pl.col("suspects")
    )
    return (
        messages.join(stated_by_players, on=[GAME_ROW, "round"])
        .filter(pl.col("player") != pl.col("other"))
        .join(
            reported_views, left_on=["message", "other"], right_on=["message", "viewer"], how="left"
        )
        .group_by("message")
        .agg(is_right=is_correct.all())
    )


def judge_role_identifications_by_text(rows: pl.DataFrame, messages: pl.DataFrame) -> pl.DataFrame:
    """Parse which role players say that they have.

    Args:
        rows: The identifications, with the speaker's `player` and `side`, and the `game_type`.
        messages: The messages of the phase.

    Returns:
        The rows in their order, with `claimed_role` and `is_correct_as_read`; null without an
        answer.
    """
    claimed_numbers = pl.col("named")
    parsed = _messages_with_lower_case_text(messages).select(
        *_MESSAGE_KEY, named=_player_numbers_in_self_introductions(), read_side=_only_claimed_side()
    )
    is_own_name = (claimed_numbers.list.len() == 1) & (
        (pl.lit("Player ") + claimed_numbers.list.first()) == pl.col("player")
    )
    is_correct = is_own_name & (pl.col("read_side") == pl.col("side"))
    roles = (
        registered_roles()
        .filter(pl.col("game_type").is_in(HIDDEN_ROLE_GAMES))
        .select("game_type", read_side="side", claimed_role="role")
    )
    parsed_rows = _join_values_parsed_from_message(rows, parsed).join(
        roles, on=["game_type", "read_side"], how="left", maintain_order="left"
    )
    return parsed_rows.with_columns(
        is_correct_as_read=pl.when(claimed_numbers.is_not_null(), IS_NUMBERED).then(
            is_correct.fill_null(value=False)
        ),
    )


def _player_numbers_in_self_introductions() -> pl.Expr:
    """Return the distinct player numbers with which an answer introduces its speaker."""
    return (
        pl.col("text")
        .str.extract_all(_SELF_INTRODUCTION)
        .list.eval(pl.element().str.extract(_DIGITS))
        .list.unique()
    )


def _only_claimed_side() -> pl.Expr:
    """Return the side that an answer claims; null if it claims both sides or none."""
    text = pl.col("text")
    is_hidden = text.str.contains(rf"{_ROLE_PHRASE}{_HIDDEN_ROLE_NAME}")
    is_civilian = text.str.contains(rf"{_ROLE_PHRASE}{_CIVILIAN_ROLE_NAME}")
    is_either = text.str.contains(
        rf"{_HIDDEN_ROLE_NAME}{_ALTERNATIVE}{_CIVILIAN_ROLE_NAME}|{_CIVILIAN_ROLE_NAME}{_ALTERNATIVE}{_HIDDEN_ROLE_NAME}"
    )
    side = pl.when(is_hidden).then(pl.lit(str(Side.HIDDEN))).otherwise(pl.lit(str(Side.CIVILIAN)))
    return pl.when(~is_either & (is_hidden != is_civilian)).then(side)


_SPEAKER_NUMBER = pl.col("player").str.to_lowercase().str.replace("player ", "", literal=True)


def _messages_with_lower_case_text(messages: pl.DataFrame) -> pl.DataFrame:
    """Return the messages in lower case, as `text`."""
    return messages.select(*_MESSAGE_KEY, "player", text=pl.col("content").str.to_lowercase())


def _join_values_parsed_from_message(rows: pl.DataFrame, parsed: pl.DataFrame) -> pl.DataFrame:
    """Add to each row the values that were parsed from its message."""
    return rows.join(parsed, on=_MESSAGE_KEY, how="left", maintain_order="left")


# The amount that a text states: a number in any usual notation with one meaning.
#
# Ambiguous numbers have no value: "1.000", "50%", "10-20", "1/3". The number as written is null
# only if the text has no number, so the two cases can be distinguished.

# Labels with a number that is not an amount: "round 3", "Player 2", "Agent-2".
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
# The speaker's contribution takes precedence: "They contributed 30, I contribute 10".
_TEXT_UP_TO_SPEAKER_AMOUNT = (
    rf"(?is)^.*?(\b(?:I|I['’](?:ll|d|m))\s+{_AUXILIARY_WORDS}contribut(?:e|ing)\b{_FOLLOWING_NUMBER}"
    rf"|\bmy\s+contribution\b{_FOLLOWING_NUMBER})"
)
_CONTRIBUTED_NUMBER = rf"(?i)contribut\w*{_FOLLOWING_NUMBER}"
# Amounts that the speaker does not contribute alone: "The total contribution was 90".
_OTHER_AMOUNT_SIGNS = ["not ", "n't ", "n’t ", "never ", "Never ", "he total ", "he average "]
_OTHER_AMOUNTS = (
    rf"(?i)(?:(?:\b(?:not|never|cannot)|n['’]t)\s+{_AUXILIARY_WORDS}|\bthe\s(?:total|average)\s)"
    rf"contribut\w*{_FOLLOWING_NUMBER}"
)
_WRITTEN_NUMBER_PATTERN = rf"(?i){_NUMBER_AS_WRITTEN}"
_MULTIPLIER_SUFFIX = r"(?i)\s?(k|thousand|hundred|m|million)$"
_MULTIPLIERS = {"k": 1e3, "thousand": 1e3, "hundred": 1e2, "m": 1e6, "million": 1e6}

# Thousands separators are removed, and the decimal separator becomes a point.
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
_HUNDREDS = ("", *(f"{digit} hundred" for digit in _WORDS_BELOW_20[1:10]))
_WORDS_BELOW_100 = (
    *_WORDS_BELOW_20,
    *(f"{ten} {digit}".removesuffix(" zero") for ten in _TENS for digit in _WORDS_BELOW_20[:10]),
)
_VALUES_BY_WORDS = {
    f"{hundred} {rest}".removesuffix(" zero").strip() or "zero": 100 * hundreds + number
    for hundreds, hundred in enumerate(_HUNDREDS)
    for number, rest in enumerate(_WORDS_BELOW_100)
}
# Words count as an amount only with a unit, because "one" is also a pronoun. Consecutive number
# words are one number, or no number as in "ten or twenty points".
_ANY_NUMBER_WORD = "|".join((*_TENS, *reversed(_WORDS_BELOW_20), "hundred", "thousand", "million"))
_WORD_SEPARATOR = rf"[\s{HYPHENS}]+"
_AMOUNT_IN_WORDS = (
    rf"(?i)\b((?:a\s+)?(?:{_ANY_NUMBER_WORD})(?:{_WORD_SEPARATOR}(?:and|or|to|{_ANY_NUMBER_WORD}))*)"
    rf"{_WORD_SEPARATOR}(?:points?|tokens?|coins?|dollars?|credits?|units?)\b"
)


def remove_amounts_not_contributed_by_speaker(texts: pl.Series) -> pl.Series:
    """Remove amounts of other players, and amounts that the speaker does not contribute.

    Args:
        texts: Texts of contributions.

    Returns:
        The texts, from the speaker's own contribution on if others are mentioned before it.
    """
    # Few texts mention other amounts, and the replacements take as long as parsing the amount.
    is_repeated = texts.str.count_matches("ontribut", literal=True) > 1
    has_other_amounts = (is_repeated | contains_any(texts, _OTHER_AMOUNT_SIGNS)).fill_null(
        value=False
    )
    if not has_other_amounts.any():
        return texts
    cleaned_texts = (
        texts.filter(has_other_amounts)
        .str.replace_all(_OTHER_AMOUNTS, "")
        .str.replace(_TEXT_UP_TO_SPEAKER_AMOUNT, "$1")
    )
    return texts.clone().scatter(has_other_amounts.arg_true(), cleaned_texts)


def extract_contributed_number_as_written(text: pl.Expr) -> pl.Expr:
    """Extract the number of a contribution as it is written.

    Args:
        text: A text without the amounts of other players.

    Returns:
        The number after `contribute` or `contribution`; otherwise all numbers, joined by `|`;
        otherwise a number in words with its unit, such as "twenty points", in digits; null if there
        is none.
    """
    unlabelled_text = text.str.replace_all(_NUMBERED_LABEL, "")
    numbers = unlabelled_text.str.extract_all(_WRITTEN_NUMBER_PATTERN)
    all_numbers = pl.when(numbers.list.len() > 0).then(numbers.list.join("|"))
    in_words = unlabelled_text.str.extract(_AMOUNT_IN_WORDS).str.to_lowercase()
    in_words = in_words.str.replace_all(_WORD_SEPARATOR, " ")
    in_words = in_words.str.replace("hundred and ", "hundred ", literal=True).str.replace(
        "^a ", "one "
    )
    as_digits = in_words.replace_strict(_VALUES_BY_WORDS, default=None, return_dtype=pl.String)
    return pl.coalesce(unlabelled_text.str.extract(_CONTRIBUTED_NUMBER), all_numbers, as_digits)


def parse_amount(written: pl.Expr) -> pl.Expr:
    """Parse a written number.

    Args:
        written: A number as written, such as `1,500` or `2k`.

    Returns:
        The value; null if the number is ambiguous, such as `1.000` or `10-20`.
    """
    multiplier = (
        written.str.extract(_MULTIPLIER_SUFFIX)
        .str.to_lowercase()
        .replace_strict(_MULTIPLIERS, default=None)
    )
    digits = (
        written.str.normalize("NFKC")
        .str.replace(_MULTIPLIER_SUFFIX, "")
        .str.strip_chars_end(".,'’_")
    )
    decimal = pl.when(digits.str.contains(_DECIMAL_NUMBER)).then(digits)
    grouped = [
        pl.when(digits.str.contains(form)).then(digits.str.replace_all(separator, ""))
        for form, separator in _GROUPED_NUMBERS
    ]
    number = pl.coalesce(decimal, *grouped).str.replace(",", ".", literal=True)
    value = number.cast(float, strict=False) * multiplier.fill_null(1.0)
    return pl.when(value.is_finite()).then(value)


# The ids of documents, games and settings: hashes that are equal on all machines.

_COMPRESSED_EXTENSION = r"(?:\.(?:gz|zst|xz|bz2))?"
_NUMBERED_JSON_FILE = re.compile(
    rf"(?:.*/)?([0-9]{{1,9}})\.json{_COMPRESSED_EXTENSION}", re.IGNORECASE | re.DOTALL
)
# A part of a file; lines also have a number.
_NUMBERED_PART = re.compile(r".*#([0-9]{1,9})", re.DOTALL)
_NUMBERED_LINE = re.compile(
    rf".*\.(?:jsonl|ndjson){_COMPRESSED_EXTENSION}(?: \([0-9]+\))*#[0-9]+", re.I | re.S
)
# Sorted keys, no spaces and UTF-8, so that equal values have equal bytes.
_JSON_ENCODER = msgspec.json.Encoder(order="sorted")
# MessagePack takes half the time of JSON; only this module reads it.
_MSGPACK_ENCODER = msgspec.msgpack.Encoder(order="deterministic")
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**64 - 1
_round_and_seat = attrgetter("round", "seat")
_all_events = attrgetter(*ACTION_TABLES)
# Fields that `content_id` omits or includes in another form.
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
    """Return the SHA-256 hash of a document.

    Args:
        data: The bytes of the document.

    Returns:
        64 hexadecimal digits.
    """
    return hashlib.sha256(data).hexdigest()


def hash_document(data: bytes, game: GameRecord, content_hash: str) -> str:
    """Return the hash that identifies the document of a game.

    Inspect can rewrite a log, for example to add scores. The bytes differ, but the samples are the
    same, so the hash of a log with an id depends on the id and the content instead.

    Args:
        data: The bytes of the document.
        game: The game in the document.
        content_hash: The `content_id` of the game.

    Returns:
        64 hexadecimal digits.
    """
    return sha256(data if game.log_id is None else f"{game.log_id} {content_hash}".encode())


def game_index(path: str) -> int | None:
    """Return the number of a game in its competition.

    The number is the stem of the file's name, or the position of a section or a row in its file.
    Lines of a file have no number, because lines of many logs can be joined in any order, and the
    stem of the file is the same for all of them.

    Args:
        path: The path of the document.

    Returns:
        The number; None if the path has none.
    """
    match = _NUMBERED_JSON_FILE.fullmatch(path) or (
        not _NUMBERED_LINE.fullmatch(path) and _NUMBERED_PART.fullmatch(path)
    )
    return int(match[1]) if match else None


def game_id(document_sha256: str, index: int | None, assigned_model: str | None) -> str:
    """Return the id of a game.

    The id does not depend on the folder or archive, so a file is the same game in each location.

    Args:
        document_sha256: The hash of the document.
        index: The number of the game in its competition; None if unknown.
        assigned_model: The model that the ingest assigned; None if the log names the models.

    Returns:
        The first hexadecimal digits of a SHA-256 hash, as many as `ID_LENGTH`.
    """
    return _hash_with_id_length(_JSON_ENCODER.encode([document_sha256, index, assigned_model]))


def content_id(game: GameRecord) -> str:
    """Return a hash of the parsed content of a game.

    It does not identify the game (`game_id` does). Two games with equal content are one log in two
    forms: in two formats, or in JSON with other spaces, escapes or order of keys. The hash depends
    neither on the format, the order of events, nor unusable parts, nor on whether the log or the
    ingest names the models.

    Args:
        game: The parsed game.

    Returns:
        The first hexadecimal digits of a SHA-256 hash, as many as `ID_LENGTH`.
    """
    messages = game.messages
    events = [rows and sorted(rows, key=_round_and_seat) for rows in _all_events(game)]
    events_by_table = {
        name: sorted(rows, key=_round_and_seat) for name, rows in game.events.items() if rows
    }
    message_parts = [_message_columns_hash(messages.course), messages.content]
    return _hash_with_id_length(
        _MSGPACK_ENCODER.encode([message_parts, _content_fields(game), events, events_by_table])
    )


# Cached, because many games share the same message columns, which are as long as the game.
@lru_cache(maxsize=1024)
def _message_columns_hash(message_columns: MessageColumns) -> str:
    return _hash_with_id_length(_MSGPACK_ENCODER.encode(message_columns))


def clear_cache() -> None:
    """Release the cached message columns, which only the games of one batch share."""
    _message_columns_hash.cache_clear()


class Setting(NamedTuple):
    """The fixed conditions of a game.

    Attributes:
        setting_id: A hash of the game type and the conditions.
        setting: The conditions as JSON.
    """

    setting_id: str
    setting: str


def setting_with_id(game_type: str, setting: Mapping[str, JsonValue]) -> Setting:
    """Return the setting of a game with its id.

    Args:
        game_type: The type of the game.
        setting: The fixed conditions. Equal numbers give equal ids, whether whole or float.

    Returns:
        The id and the setting as JSON.
    """
    return _cached_setting_from_json(_JSON_ENCODER.encode([game_type, setting]))


# Cached, because hundreds of games share a setting.
@lru_cache(maxsize=4096)
def _cached_setting_from_json(setting: bytes) -> Setting:
    """Return the setting of a JSON list of game type and conditions."""
    game_type, conditions = msgspec.json.decode(setting)
    setting_id = _hash_with_id_length(
        _JSON_ENCODER.encode([game_type, _convert_numbers(conditions, float)])
    )
    # Settings with equal ids have equal JSON, with 10 instead of 10.0 for readers. Engines also
    # read the digits of integers alike, but format floats differently.
    return Setting(
        setting_id,
        _JSON_ENCODER.encode(_convert_numbers(conditions, _to_integer_if_whole)).decode(),
    )


def _convert_numbers(value: JsonValue, convert: Callable[[float], JsonValue]) -> JsonValue:
    """Apply a function to each number of a JSON value."""
    if isinstance(value, dict):
        return {key: _convert_numbers(element, convert) for key, element in value.items()}
    if isinstance(value, list):
        return [_convert_numbers(element, convert) for element in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    number = float(value)
    # No float equals some 64-bit seeds. They stay integers, or two seeds would be one setting.
    return convert(number) if number == value else value


def _to_integer_if_whole(number: float) -> JsonValue:
    """Convert a whole number to an integer if it fits into 64 bits."""
    is_whole = number.is_integer() and _MIN_INTEGER <= number <= _MAX_INTEGER
    return int(number) if is_whole else number


def _hash_with_id_length(data: bytes) -> str:
    """Return the hash of the data, shortened to the length of an id."""
    return sha256(data)[:ID_LENGTH]
