"""Parse answers about roles and amounts in texts, and compute the ids of games and settings.

First, the answers to the benchmark's own questions are parsed for the edition `audited`. The
questions prescribe a form, and parsing is strict: it accepts only this form, and a text with two
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
    """Parse from analyses whom each player suspects, as far as the messages state it.

    Args:
        messages: The messages with the analyses.

    Returns:
        One row per message and player whose suspicion the message states: `message` (the number of
        the row in `messages`), `viewer` and `suspect`. The suspect is null if the message names no
        player or more than one.
    """
    lower_case_messages = _messages_with_lower_case_text(messages).select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("message"),
        _SPEAKER_NUMBER.alias("speaker"),
        "text",
    )
    # Search for literal words first, so that few texts are left for the slow regular expressions.
    text, lowest_suspect = pl.col("text"), pl.col("lowest_suspect")
    rating_messages = lower_case_messages.filter(text.str.contains("|".join(_RATINGS)))
    claim_messages = lower_case_messages.filter(text.str.contains("undercover", literal=True))
    return (
        pl.concat(
            [
                _parse_chameleon_suspects(rating_messages),
                _parse_undercover_views_of_speakers(claim_messages),
                _parse_undercover_views_of_reported_players(claim_messages),
            ]
        )
        .group_by("message", "viewer")
        .agg(lowest_suspect=pl.min("suspect"), highest_suspect=pl.max("suspect"))
        .select(
            "message",
            viewer=pl.lit("Player ") + pl.col("viewer"),
            suspect=pl.when(lowest_suspect == pl.col("highest_suspect")).then(
                pl.lit("Player ") + lowest_suspect
            ),
        )
    )


def _parse_chameleon_suspects(messages: pl.DataFrame) -> pl.DataFrame:
    """Parse suspects in the form of Chameleon: one row per suspect, or null for no suspects."""
    block, viewer = pl.col("block"), pl.col("viewer")
    blocks = messages.select("message", "speaker", block=pl.col("text").str.split("i think now"))
    blocks = blocks.explode("block").filter(block.str.contains(_RATING_LINE))
    suspicious_block = _text_if_searched_else_empty(
        block.str.contains(_RATINGS[0], literal=True), block
    )
    rated_blocks = blocks.with_columns(
        viewer=block.str.extract(_VIEWER_LINE),
        suspect=suspicious_block.str.extract_all(_SUSPECT_LINE),
    )
    unattributed_block = _text_if_searched_else_empty(viewer.is_null(), block)
    speaker = pl.when(unattributed_block.str.contains(_SPEAKER_LINE)).then("speaker")
    return (
        rated_blocks.select("message", viewer.fill_null(speaker), "suspect")
        .filter(viewer.is_not_null())
        .explode("suspect", empty_as_null=True)
        .with_columns(pl.col("suspect").str.extract(_DIGITS))
    )


def _text_if_searched_else_empty(is_searched: pl.Expr, text: pl.Expr) -> pl.Expr:
    """Return the text where a condition is true, and an empty string elsewhere.

    It is not null elsewhere, because polars also searches the strings behind nulls.
    """
    return pl.when(is_searched).then(text).otherwise(pl.lit(""))


def _parse_undercover_views_of_speakers(messages: pl.DataFrame) -> pl.DataFrame:
    """Parse whom speakers say that they suspect, in the form of Undercover."""
    return _extract_one_claim_per_row(messages, _SPEAKER_CLAIM).select(
        "message",
        viewer="speaker",
        suspect=pl.col("claim").str.extract(_DIGITS).fill_null(pl.col("speaker")),
    )


def _parse_undercover_views_of_reported_players(messages: pl.DataFrame) -> pl.DataFrame:
    """Parse whom speakers say that other players suspect, in the form of Undercover."""
    numbers = pl.col("claim").str.extract_all(_DIGITS)
    return _extract_one_claim_per_row(messages, _REPORTED_CLAIM).select(
        "message", viewer=numbers.list.first(), suspect=numbers.list.last()
    )


def _extract_one_claim_per_row(messages: pl.DataFrame, pattern: str) -> pl.DataFrame:
    """Return one row per match of a pattern in the texts, with the match as `claim`."""
    return (
        messages.select("message", "speaker", claim=pl.col("text").str.extract_all(pattern))
        .explode("claim")
        .filter(pl.col("claim").is_not_null())
    )


def judge_role_analyses_by_text(
    rows: pl.DataFrame, messages: pl.DataFrame, players: pl.DataFrame
) -> pl.DataFrame:
    """Add whether the text of each role analysis is correct, to `rows`.

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
    is_accusation_correct = pl.col("is_hidden").fill_null(
        pl.when(~is_chameleon).then(pl.lit(value=False))
    )
    is_correct = (
        pl.when(pl.col("kind") == AnalysisKind.GOLD)
        .then(is_accusation_correct)
        .otherwise("are_reported_views_correct")
    )
    parsed = messages
    for results in (
        _is_suspect_hidden_by_message(speaker_views, players),
        _are_reported_views_correct_by_message(messages, speaker_views, views),
    ):
        parsed = parsed.join(results, on="message", how="left")
    parsed = parsed.select(*_MESSAGE_KEY, "is_hidden", "are_reported_views_correct")
    return rows.join(parsed, on=_MESSAGE_KEY, how="left", maintain_order="left").with_columns(
        is_own_view_stated=pl.col("is_hidden").is_not_null(),
        is_correct_as_read=pl.when(pl.col("message_index").is_not_null(), IS_NUMBERED).then(
            is_correct
        ),
    )


def _is_suspect_hidden_by_message(
    speaker_views: pl.DataFrame, players: pl.DataFrame
) -> pl.DataFrame:
    """Return, by message, whether the player that the speaker suspects has the hidden role."""
    hidden_players = players.filter(side=Side.HIDDEN).select(GAME_ROW, "player").unique()
    return speaker_views.join(
        hidden_players.with_columns(is_hidden=pl.lit(value=True)),
        left_on=[GAME_ROW, "suspect"],
        right_on=[GAME_ROW, "player"],
        how="left",
    ).select("message", pl.col("is_hidden").fill_null(value=False))


def _are_reported_views_correct_by_message(
    messages: pl.DataFrame, speaker_views: pl.DataFrame, views: pl.DataFrame
) -> pl.DataFrame:
    """Return, by message, whether all views that it reports equal what the viewers say."""
    stated_by_players = speaker_views.select(
        GAME_ROW, "round", other_player="player", stated_suspect="suspect"
    )
    reported_views = views.with_columns(is_stated=pl.lit(value=True))
    is_correct = pl.col("is_stated").fill_null(value=False) & pl.col("suspect").eq_missing(
        pl.col("stated_suspect")
    )
    return (
        messages.join(stated_by_players, on=[GAME_ROW, "round"])
        .filter(pl.col("player") != pl.col("other_player"))
        .join(
            reported_views,
            left_on=["message", "other_player"],
            right_on=["message", "viewer"],
            how="left",
        )
        .group_by("message")
        .agg(are_reported_views_correct=is_correct.all())
    )


def judge_role_identifications_by_text(rows: pl.DataFrame, messages: pl.DataFrame) -> pl.DataFrame:
    """Add the role that each player claims to have in an answer, and whether it is correct.

    Args:
        rows: The identifications, with the speaker's `player` and `side`, and the `game_type`.
        messages: The messages of the phase.

    Returns:
        The rows in their order, with `claimed_role` and `is_correct_as_read`; null without an
        answer.
    """
    claimed_numbers = pl.col("claimed_numbers")
    parsed = _messages_with_lower_case_text(messages).select(
        *_MESSAGE_KEY,
        claimed_numbers=(
            pl.col("text")
            .str.extract_all(_SELF_INTRODUCTION)
            .list.eval(pl.element().str.extract(_DIGITS))
            .list.unique()
        ),
        claimed_side=_only_claimed_side(),
    )
    is_own_name = (claimed_numbers.list.len() == 1) & (
        (pl.lit("Player ") + claimed_numbers.list.first()) == pl.col("player")
    )
    is_correct = is_own_name & (pl.col("claimed_side") == pl.col("side"))
    roles = (
        registered_roles()
        .filter(pl.col("game_type").is_in(HIDDEN_ROLE_GAMES))
        .select("game_type", claimed_side="side", claimed_role="role")
    )
    parsed_rows = rows.join(parsed, on=_MESSAGE_KEY, how="left", maintain_order="left").join(
        roles, on=["game_type", "claimed_side"], how="left", maintain_order="left"
    )
    return parsed_rows.with_columns(
        is_correct_as_read=pl.when(claimed_numbers.is_not_null(), IS_NUMBERED).then(
            is_correct.fill_null(value=False)
        ),
    )


def _only_claimed_side() -> pl.Expr:
    """Return the side that a text claims; null if it claims both sides or none."""
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
    return messages.select(*_MESSAGE_KEY, "player", text=pl.col("content").str.to_lowercase())


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
    """Remove amounts of other players and denied amounts from texts of contributions.

    Args:
        texts: Texts of contributions.

    Returns:
        The texts. If other contributions are mentioned first, a text begins with the speaker's own.
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
    """Extract the number that a text says the speaker contributes, without converting it.

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
    number_in_words = unlabelled_text.str.extract(_AMOUNT_IN_WORDS).str.to_lowercase()
    number_in_words = number_in_words.str.replace_all(_WORD_SEPARATOR, " ")
    number_in_words = number_in_words.str.replace(
        "hundred and ", "hundred ", literal=True
    ).str.replace("^a ", "one ")
    as_digits = number_in_words.replace_strict(
        _VALUES_BY_WORDS, default=None, return_dtype=pl.String
    )
    return pl.coalesce(unlabelled_text.str.extract(_CONTRIBUTED_NUMBER), all_numbers, as_digits)


def parse_written_number(written: pl.Expr) -> pl.Expr:
    """Convert a number as it is written, such as `1,500` or `2k`, to a float.

    Args:
        written: The number as written.

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
    decimal_number = pl.when(digits.str.contains(_DECIMAL_NUMBER)).then(digits)
    ungrouped_numbers = [
        pl.when(digits.str.contains(form)).then(digits.str.replace_all(separator, ""))
        for form, separator in _GROUPED_NUMBERS
    ]
    number = pl.coalesce(decimal_number, *ungrouped_numbers).str.replace(",", ".", literal=True)
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
# `content_id` hashes these tables by their position and all others by their name if they have rows,
# so that a table that is added does not change the id of games without such rows.
_TABLES_BY_POSITION = (
    "votes",
    "guesses",
    "role_identifications",
    "role_analyses",
    "decisions",
    "contributions",
    "proposals",
    "proposal_votes",
    "transfers",
    "abilities",
    "eliminations",
)
_events_by_position = attrgetter(*_TABLES_BY_POSITION)
_TABLES_BY_NAME = tuple(table for table in ACTION_TABLES if table not in _TABLES_BY_POSITION)
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
    """Return the SHA-256 hash of bytes as hexadecimal text.

    Args:
        data: The bytes.

    Returns:
        64 hexadecimal digits.
    """
    return hashlib.sha256(data).hexdigest()


def hash_document(data: bytes, game: GameRecord, content_hash: str) -> str:
    """Return the hash that identifies the document of a game.

    It is the hash of the bytes, unless the log has an id. Inspect can rewrite such a log, for
    example to add scores, without changing the samples, so its hash depends on the id and the
    parsed content.

    Args:
        data: The bytes of the document.
        game: The game in the document.
        content_hash: The `content_id` of the game.

    Returns:
        64 hexadecimal digits.
    """
    return sha256(data if game.log_id is None else f"{game.log_id} {content_hash}".encode())


def game_index_from_path(path: str) -> int | None:
    """Return the number of a game from the path of its document, such as 7 for `7.json`.

    It is the stem of the file's name, or the position of a section or row in its file. Lines of a
    file have no number, because lines of many logs can be joined in any order, and the stem of the
    file is the same for all of them.

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
    """Return the id of a game, a hash of its document, index and assigned model.

    The id does not depend on the folder or archive, so a file is the same game in each location.

    Args:
        document_sha256: The hash of the document.
        index: The number of the game in its competition; None if unknown.
        assigned_model: The model that the ingest assigned; None if the log names the models.

    Returns:
        `ID_LENGTH` hexadecimal digits.
    """
    return _hash_with_id_length(_JSON_ENCODER.encode([document_sha256, index, assigned_model]))


def content_id(game: GameRecord) -> str:
    """Return a hash of the parsed content of a game, which is equal for copies in other formats.

    It does not identify the game (`game_id` does). Games with equal content are one log in two
    formats, or in JSON with other spaces, escapes or order of keys. The hash depends neither on the
    format, the order of events, nor unusable parts, nor on whether the log or the ingest names the
    models.

    Args:
        game: The parsed game.

    Returns:
        `ID_LENGTH` hexadecimal digits.
    """
    messages = game.messages
    events = [rows and sorted(rows, key=_round_and_seat) for rows in _events_by_position(game)]
    rows_by_table = game.events | {name: getattr(game, name) for name in _TABLES_BY_NAME}
    events_by_table = {
        name: sorted(rows, key=_round_and_seat) for name, rows in rows_by_table.items() if rows
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
    """Release the cached hashes of message columns, which only games of one batch share."""
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
    """Return the fixed conditions of a game as JSON, with an id that is a hash of them.

    Args:
        game_type: The type of the game.
        setting: The fixed conditions. Equal numbers give equal ids, whether integer or float.

    Returns:
        The id and the JSON.
    """
    return _cached_setting_from_json(_JSON_ENCODER.encode([game_type, setting]))


# Cached, because hundreds of games have equal conditions.
@lru_cache(maxsize=4096)
def _cached_setting_from_json(setting_json: bytes) -> Setting:
    game_type, conditions = msgspec.json.decode(setting_json)
    setting_id = _hash_with_id_length(
        _JSON_ENCODER.encode([game_type, _convert_numbers(conditions, float)])
    )
    # Settings with equal ids have equal JSON, with 10 instead of 10.0 for readers. All engines
    # format integers equally, but not floats.
    return Setting(
        setting_id,
        _JSON_ENCODER.encode(_convert_numbers(conditions, _to_integer_if_whole)).decode(),
    )


def _convert_numbers(value: JsonValue, convert: Callable[[float], JsonValue]) -> JsonValue:
    """Apply a function to each number in a JSON value."""
    if isinstance(value, dict):
        return {key: _convert_numbers(element, convert) for key, element in value.items()}
    if isinstance(value, list):
        return [_convert_numbers(element, convert) for element in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    number = float(value)
    # Some 64-bit seeds equal no float. They stay integers, so that two seeds are two settings.
    return convert(number) if number == value else value


def _to_integer_if_whole(number: float) -> JsonValue:
    """Convert a float without fraction to an integer if it fits into 64 bits."""
    is_whole = number.is_integer() and _MIN_INTEGER <= number <= _MAX_INTEGER
    return int(number) if is_whole else number


def _hash_with_id_length(data: bytes) -> str:
    return sha256(data)[:ID_LENGTH]
