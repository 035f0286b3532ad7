"""Logs of ChatArena: the message rows of one game, with nothing around them.

See docs/formats/chatarena.md. The messages of the moderator tell which game it is, the roles, the
words and the outcome.
"""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct, field, to_builtins
from msgspec.structs import replace

from pipeline.archives.splitting import Splitter, read_whole_file, section_splitter
from pipeline.formats.hidden_roles import (
    CHAMELEON,
    UNDERCOVER,
    HiddenRoleRules,
    build_guess_of_hidden_player,
    build_hidden_role_messages,
    build_hidden_role_seats,
    n_clue_rounds,
)
from pipeline.formats.magic.log import TIMELINE_BUILDERS
from pipeline.formats.magic.prisoners_dilemma import N_PLAYERS, Payoffs, build_decisions
from pipeline.formats.magic.public_good import parse_contribution
from pipeline.formats.record_builder import (
    EVERYONE,
    MODERATOR,
    RESERVED_NAMES,
    Row,
    as_name_tuple,
    assign_models,
    build_contributions,
    build_messages_from_columns,
    check_players,
    has_highest_score,
    is_word_for_nobody,
    number_in_player_name,
    results_of_tested_seats,
    rows_to_columns,
    unknown_audience_faults,
)
from pipeline.formats.sniffer import (
    DocumentSniffer,
    decode,
    decode_utf8,
    invalid_document_error,
    iter_csv_rows_by_name,
)
from pipeline.game_record import (
    GameRecord,
    InvalidDocumentError,
    JsonValue,
    RecordError,
    Seat,
    Vote,
    to_record_error,
)
from pipeline.vocabulary import PLAYER, GameType, Outcome, Phase

# Messages as Python writes them: `Message(agent_name='Player 1', turn=1, visible_to=['A', 'B'])`.
#
# Messages are parsed by regular expressions, never evaluated: only what `repr` writes is accepted.

# Possessive, so that no text makes a search slow. Half a surrogate pair is no character.
_CODE = r"x[0-9a-f]{2}|u(?!d[89a-f])[0-9a-f]{4}|U00(?:0[1-9a-f]|10)[0-9a-f]{4}"
_ESCAPE = rf"\\(?:[\\'\"nrt]|{_CODE})"
_TEXT = rf"(?:'(?:[^'\\\n]++|{_ESCAPE})*+'|\"(?:[^\"\\\n]++|{_ESCAPE})*+\")"
_ITEMS = rf"{_TEXT}(?:, {_TEXT})*+"
_LIST = rf"\[(?:{_ITEMS})?\]|\((?:{_ITEMS},?)?\)|\{{{_ITEMS}\}}|set\(\)"
_OTHER = r"True|False|None|-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[-+]?[0-9]{1,3})?"
_FIELD = re.compile(rf"(?P<name>[a-z_]{{1,50}})=(?P<value>{_TEXT}|{_LIST}|{_OTHER})(, |\)$)")
_TEXTS = re.compile(_TEXT)
_ESCAPES = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")
IS_LIST = re.compile(_LIST)
_CONSTANTS = {"True": True, "False": False, "None": None}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


def parse_message_repr(line: str, json_path: str) -> dict[str, object]:
    """Parse a message that Python's `repr` wrote into its fields, by their names.

    Raises InvalidDocumentError for any other line.
    """
    fields: dict[str, object] = {}
    position, end = len("Message("), ", "
    while end == ", ":
        field = _FIELD.match(line, position)
        if field is None:
            rule = "each message is written as Python's repr of a Message"
            raise invalid_document_error(
                json_path,
                rule,
                f"cannot be read from character {position + 1:,} on: "
                f"{line[position : position + 30]!r}",
            )
        name, value, end = field["name"], field["value"], field[3]
        if name in fields:
            raise invalid_document_error(
                f"{json_path}.{name}", "each field of a message is there once", "it is there twice"
            )
        fields[name] = _parse_value(value)
        position = field.end()
    return fields


def parse_list_repr(literal: str, json_path: str) -> list[str]:
    """Parse a list of strings that Python's `repr` wrote; raise InvalidDocumentError otherwise."""
    if IS_LIST.fullmatch(literal) is None:
        raise invalid_document_error(
            json_path, "a list of names is written as Python's repr of it", repr(literal[:50])
        )
    return list(map(_parse_string, _TEXTS.findall(literal)))


def _parse_value(literal: str) -> object:
    if literal[0] in "'\"":
        return _parse_string(literal)
    if literal[0] in "[({s":
        return list(map(_parse_string, _TEXTS.findall(literal)))
    if literal in _CONSTANTS:
        return _CONSTANTS[literal]
    return float(literal) if "." in literal or "e" in literal else int(literal)


def _parse_string(literal: str) -> str:
    inner = literal[1:-1]
    return _ESCAPES.sub(_decode_escape, inner) if "\\" in inner else inner


def _decode_escape(escape: re.Match[str]) -> str:
    *codes, character = escape.groups()
    return (
        _CONTROLS.get(character, character)
        if character
        else chr(int("".join(filter(None, codes)), 16))
    )


# The three forms of a log, each as message rows: a JSON list, a table, a section of a transcript.
#
# The index in a JSON path such as `$[3].turn` is the number of the message, counted from 0.


class _Row(Row, gc=False):
    """A row as written, in which null also means nobody."""

    visible_to: str | tuple[str, ...] | None = EVERYONE  # type: ignore[assignment]


_EMPTY = {"[]", "()", "{}", "set()"}
_COLUMNS = {"agent_name", "content", "turn", "visible_to", "msg_type"}
_BANNER = re.compile(rb"={3,200}\r?\n[ \t]{0,20}GAME [0-9]{1,9}/[0-9]{1,9}[ \t]{0,20}\r?(?:\n|$)")
_BANNER_LINE = re.compile(rb"={3,}|[ \t]*GAME [0-9]+/[0-9]+")
_IN_UTF_8 = "the document is in UTF-8"
_TRANSCRIPT = re.compile(rb"\s*" + _BANNER.pattern + rb"={3,200}\s{0,99}(?:Message\(|===|$)")


def splitter(path: str, head: bytes) -> Splitter | None:
    """Return the function that splits a file into games; None if it is no table or transcript."""
    if _is_csv_table(head):
        return read_whole_file
    return section_splitter(_BANNER) if _TRANSCRIPT.match(head) else None


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document has the keys, columns or banner of a ChatArena log."""
    if sniffer.first == "[":
        return sniffer.lists("agent_name", "visible_to", "msg_type")
    if sniffer.first == "=":
        return _TRANSCRIPT.match(sniffer.data) is not None
    return sniffer.first != "{" and _is_csv_table(sniffer.data)


def read_rows_and_errors(sniffer: DocumentSniffer) -> tuple[list[Row], list[RecordError]]:
    """Return the messages of a document as rows, and the errors of lines that are no messages."""
    if sniffer.first == "[":
        return _clear_visibility_of_unseen_rows(decode(list[_Row], sniffer.data)), []
    if sniffer.first == "=":
        return _parse_transcript_rows_and_errors(sniffer.data)
    return _rows_from_dictionaries(list(_iter_table_rows(sniffer.data))), []


def _clear_visibility_of_unseen_rows(rows: list[_Row]) -> list[Row]:
    """Set `visible_to` to an empty tuple in the rows that nobody can see; return all rows."""
    speakers = {row.agent_name for row in rows}
    for row in rows:
        names = row.visible_to if isinstance(row.visible_to, tuple) else (row.visible_to,)
        if speakers.isdisjoint(names) and all(
            is_word_for_nobody(name) or name in _EMPTY for name in names
        ):
            row.visible_to = ()
    return [*rows]


def _is_csv_table(head: bytes) -> bool:
    header, end, _ = head[:400].partition(b"\n")
    if not end or b"agent_name" not in header:
        return False
    return set(next(csv.reader([header.rstrip(b"\r").decode("latin-1")]))) >= _COLUMNS


def _iter_table_rows(data: bytes) -> Iterator[dict[str, object]]:
    """Yield the rows of a CSV table as dictionaries by column."""
    for index, row in enumerate(iter_csv_rows_by_name(data, _COLUMNS)):
        turn, visible_to = row["turn"], row["visible_to"]
        if turn and not re.fullmatch(r"-?[0-9]{1,18}", turn):
            raise invalid_document_error(
                f"$[{index}].turn", "the turn is a whole number", repr(turn[:50])
            )
        is_list = visible_to.startswith("[") or IS_LIST.fullmatch(visible_to)
        yield {  # numbers and lists are strings in CSV
            **row,
            "turn": int(turn) if turn else None,
            "visible_to": parse_list_repr(visible_to, f"$[{index}].visible_to")
            if is_list
            else visible_to or EVERYONE,
            "msg_type": row["msg_type"] or None,
        }


def _parse_transcript_rows_and_errors(data: bytes) -> tuple[list[Row], list[RecordError]]:
    """Return the messages of a game in a transcript, and the errors.

    There is at most one error, which counts the lines that are no messages.
    """
    lines = [line.rstrip(b"\r") for line in data.split(b"\n")]
    messages = [line for line in lines if line.startswith(b"Message(")]
    other_lines = [
        line_number
        for line_number, line in enumerate(lines, start=1)
        if not (line.startswith(b"Message(") or _BANNER_LINE.fullmatch(line) or not line.strip())
    ]
    rule = "each line is of the banner, or a message"
    faults = [
        RecordError(
            "$", rule, f"{len(other_lines):,} other lines, the first of them line {line_number:,}"
        )
        for line_number in other_lines[:1]
    ]
    texts = [decode_utf8(line, _IN_UTF_8) for line in messages]
    rows = [parse_message_repr(text, f"$[{index}]") for index, text in enumerate(texts)]
    return _rows_from_dictionaries(rows), faults


def _rows_from_dictionaries(rows: list[dict[str, object]]) -> list[Row]:
    """Convert dictionaries into rows; raise InvalidDocumentError if a value has a wrong type."""
    try:
        return _clear_visibility_of_unseen_rows(msgspec.convert(rows, list[_Row]))
    except msgspec.ValidationError as error:
        raise InvalidDocumentError(to_record_error(error)) from error


# The messages of a log, from which all its games are read.

NAME = SYSTEM = FORMAT = "chatarena"
NAMES_MODELS = False
MAX_QUOTED_CHARACTERS = 200


class Conversation:
    """The messages of a game.

    Only the moderator's messages decide which game it is and how it ends.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.history = rows_to_columns(rows)
        moderator_rows = [row for row in rows if row.agent_name == MODERATOR]
        self.moderator_texts = [row.content for row in moderator_rows]
        # The texts that not everyone sees, with the names of their readers.
        self._private_texts = [
            (row.content, as_name_tuple(row.visible_to))
            for row in moderator_rows
            if row.visible_to != EVERYONE
        ]

    def last_match_by_moderator(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the last match of a pattern in the moderator's messages; None if there is none."""
        matches = map(pattern.search, reversed(self.moderator_texts))
        return next(filter(None, matches), None)

    def private_matches_by_player(self, pattern: re.Pattern[str]) -> dict[str, str]:
        """Return the first group of a pattern in private messages of the moderator, by player."""
        return {
            player: match[1].strip()
            for text, readers in self._private_texts
            if (match := pattern.fullmatch(text))
            for player in readers
            if player not in RESERVED_NAMES
        }

    def sorted_player_names(self, extra_names: Iterable[str] = ()) -> list[str]:
        """Return the names of all players who speak or are in `extra_names`, in the order of seats.

        Raises InvalidDocumentError if there are none.
        """
        names = {*self.history.player, *extra_names} - {MODERATOR}
        if not names:
            raise invalid_document_error(
                "$", "at least one player speaks", "only the moderator does"
            )
        check_players(names, "$")
        return sorted(names, key=lambda name: (number_in_player_name(name) or 0, name))


def missing_fact_error(
    game_title: str, problem: str, unreadable_text: str | None = None
) -> InvalidDocumentError:
    """Return the error for a known game if its moderator does not say a necessary fact.

    The message is `problem`, with the text that should contain the fact if it cannot be read.
    """
    return invalid_document_error(
        "$",
        f"the moderator's words say all that a game of {game_title} needs",
        problem
        if unreadable_text is None
        else f"{problem}: {unreadable_text[:MAX_QUOTED_CHARACTERS]!r}",
    )


# Chameleon and Undercover, as MAgIC plays them in ChatArena.
#
# The moderator tells each player privately that it is the chameleon, or tells it a word. Votes are
# parsed from the texts, and the ending is the one that the moderator announces.

# A word ends with its line, or with a sentence that another of several words follows. A title or an
# initial, as in "Dr. Martin Luther King", ends no sentence.
_NAMED = (
    r"\s*(.+?)\s{0,9}"
    r"(?:(?<!\b\w)(?<!\b(?:Dr|Mr|Ms|St))(?<!\bMrs)[.!](?:\s+[\w']+,?\s+\w.*|\s*)|\n.*|)\Z"
)
_TOPIC = re.compile(rf"The topic is:{_NAMED}", re.DOTALL)
_IS_CHAMELEON = re.compile(r"(You are the chameleon!)")
_SECRET_WORD = re.compile(rf"You are not (?:the )?chameleon\. The word is:{_NAMED}", re.DOTALL)
_WORD = re.compile(rf"Your word is:{_NAMED}", re.DOTALL)
_VOTE = "Now vote which of the other players (excluding yourself) is the "


def is_text_of_chameleon(moderator_text: str) -> bool:
    """Return whether a message of the moderator belongs to a game of Chameleon."""
    return bool(
        _IS_CHAMELEON.fullmatch(moderator_text)
        or _SECRET_WORD.fullmatch(moderator_text)
        or moderator_text.startswith(f"{_VOTE}chameleon")
    )


def read_chameleon(conversation: Conversation, model: str | None, game_title: str) -> GameRecord:
    """Return a game of Chameleon; raise InvalidDocumentError if a role or the word is unknown."""
    chameleons = list(conversation.private_matches_by_player(_IS_CHAMELEON))
    if len(chameleons) != 1:
        raise missing_fact_error(
            game_title, f"it tells {len(chameleons)} players that they are the chameleon"
        )
    word = conversation.last_match_by_moderator(_SECRET_WORD)
    if word is None:
        raise missing_fact_error(game_title, "it gives the word to nobody")
    topic, code = conversation.last_match_by_moderator(_TOPIC), word[1].strip()
    players = conversation.sorted_player_names(
        [*chameleons, *conversation.private_matches_by_player(_SECRET_WORD)]
    )
    setting: dict[str, JsonValue] = {"topic": topic[1].strip() if topic else None, "code": code}
    models = assign_models(players, model)
    outcome_codes = {
        "guessed the code wrong": 0,
        "guessed the code correctly": 1,
        "The accusation is incorrect": 2,
        "There are even votes": 3,
        "There are even notes": 3,
    }
    game = _build_hidden_role_game_without_results(
        conversation, CHAMELEON, chameleons[0], models, setting=setting, outcome_codes=outcome_codes
    )
    game.guesses = build_guess_of_hidden_player(game, CHAMELEON, code)
    return game


def is_text_of_undercover(moderator_text: str) -> bool:
    """Return whether a message of the moderator belongs to a game of Undercover."""
    return bool(_WORD.fullmatch(moderator_text) or moderator_text.startswith(f"{_VOTE}undercover"))


def read_undercover(conversation: Conversation, model: str | None, game_title: str) -> GameRecord:
    """Return a game of Undercover; raise InvalidDocumentError if the undercover is unknown."""
    words = conversation.private_matches_by_player(_WORD)
    players = conversation.sorted_player_names(words)
    if players_without_word := [player for player in players if player not in words]:
        raise missing_fact_error(
            game_title, f"it gives no word to {', '.join(players_without_word)[:200]}"
        )
    counts = Counter(words.values()).most_common()
    if len(counts) != 2 or counts[1][1] != 1 or counts[0][1] == 1:
        raise missing_fact_error(
            game_title,
            f"it gives {len(words)} players {len(counts)} different words, and not all but one of "
            "them the same",
        )
    civilian_word = counts[0][0]
    undercover = next(player for player, word in words.items() if word != civilian_word)
    setting: dict[str, JsonValue] = {
        "undercover_code": words[undercover],
        "civilian_code": civilian_word,
    }
    models = assign_models(players, model)
    outcome_codes = {
        "The accusation is correct": 0,
        "The accusation is incorrect": 1,
        "There are even votes": 2,
        "There are even notes": 2,
    }
    return _build_hidden_role_game_without_results(
        conversation, UNDERCOVER, undercover, models, setting=setting, outcome_codes=outcome_codes
    )


def _build_hidden_role_game_without_results(
    conversation: Conversation,
    rules: HiddenRoleRules,
    hidden_player: str,
    models: dict[str, str | None],
    *,
    setting: dict[str, JsonValue],
    outcome_codes: Mapping[str, int],
) -> GameRecord:
    messages = build_hidden_role_messages(rules, conversation.history, models)
    course = messages.course
    # The ending that the moderator announced last.
    ending = conversation.last_match_by_moderator(
        re.compile("|".join(map(re.escape, outcome_codes)))
    )
    outcome_code = outcome_codes[ending[0]] if ending else None
    outcome = rules.outcome_of_win_flag(outcome_code)
    return GameRecord(
        game_type=rules.definition.name,
        system=SYSTEM,
        format=FORMAT,
        setting={**setting, "hidden": hidden_player},
        is_repeatable=True,
        is_finished=outcome is not None,
        outcome=outcome,
        outcome_code=outcome_code,
        n_rounds=n_clue_rounds(rules, course),
        seats=build_hidden_role_seats(rules, hidden_player, models, set(models)),
        messages=messages,
        votes=[
            Vote(course.seat[index] or 0, course.round[index] or 1, index, None, is_logged=False)
            for index in course.message_indices(Phase.VOTE)
        ],
    )


# The Prisoner's Dilemma and Public Good, as MAgIC and its derivatives play them in ChatArena.
#
# Each player tells its decision to the moderator only, and plays for itself. In the dilemma, the
# moderator says what choices pay: in sentences, or as a matrix that Python printed. In Public Good
# it does not say the multiplier of the pool. But all get an equal part of the pool, so the player
# that contributes least in total has the most points. Some moderators say the scores at the end.

T = TypeVar("T")

_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_POINTS = rf"({_NUMBER})\s{{1,9}}points?"
_SCORING = re.compile(
    rf"If all three choose to cooperate, they each get\s{{1,9}}{_POINTS}\.\s{{1,9}}"
    rf"- If all three choose to defect, they each get\s{{1,9}}{_POINTS}\.\s{{1,9}}"
    rf"- If one chooses to defect and the others choose to cooperate, the betrayer gets\s{{1,9}}"
    rf"{_POINTS} and the collaborators each get 0 points\.\s{{1,9}}"
    r"- If two choose to defect and the other chooses to cooperate, the betrayers each get"
    rf"\s{{1,9}}{_POINTS}, and the collaborator gets 0 points\.\s{{1,9}}"
    r"The game is played for ([0-9]{1,6}) rounds"
)
_BACKGROUND = re.compile(
    r"You have ([0-9]{1,9}) starting points to contribute to the communal pool each round\."
    r"[^\n]{1,200}? points in ([0-9]{1,6}) rounds"
)
_START = re.compile(r"You have [0-9]+ starting points to contribute to the communal pool")
_ROUNDS = re.compile(r"There (?:are|is) ([0-9]{1,6}) rounds?\b")
_MATRIX = re.compile(
    r"\s*The pay(?:out|off)s? matrix is(?: as follows)?:?\s*(\{.{0,999}\})\W{0,9}", re.DOTALL
)
_BEGINNING = re.compile(
    rf"Each player (?:has|starts with)\s{{1,9}}{_POINTS} at the (?:beginning|start)"
)
_SCORES = re.compile(r"The (?:final )?scores are\b[^{]{0,50}(\{[^{}]*\})")
_CONTRIBUTED = re.compile(
    rf"\bcontribut[a-z]{{0,5}}[:\s]{{1,9}}(?:[a-z]{{1,20}}\s{{1,9}}){{0,2}}({_NUMBER})",
    re.IGNORECASE,
)
_NUMBERS = re.compile(_NUMBER)
_END = re.compile(r"([0-9]{1,6}) rounds of decisions have been completed\.?")


Points = Annotated[float, Meta(ge=-1e9, le=1e9)]


class PayoffRow(Struct, forbid_unknown_fields=True):
    """The payoffs of a choice, by the number of other players who cooperate."""

    none: Points = field(name="0_others_cooperate")
    one: Points = field(name="1_others_cooperate")
    two: Points = field(name="2_others_cooperate")


class PayoffMatrix(Struct, forbid_unknown_fields=True):
    """The payoffs of both choices."""

    cooperate: PayoffRow
    defect: PayoffRow


def _parse_printed_dictionary(value_type: type[T], match: re.Match[str] | None) -> T | None:
    """Parse the dictionary in the first group of a match; None if it is missing or invalid."""
    try:
        return decode(value_type, match[1].replace("'", '"').encode()) if match else None
    except InvalidDocumentError:
        return None


def is_text_of_prisoners_dilemma(moderator_text: str) -> bool:
    """Return whether a message of the moderator belongs to a Prisoner's Dilemma."""
    is_scoring = moderator_text.lstrip().startswith("The scoring is as follows:")
    return (is_scoring and "to defect" in moderator_text) or (
        _MATRIX.fullmatch(moderator_text) is not None and "defect" in moderator_text
    )


def read_prisoners_dilemma(
    conversation: Conversation, model: str | None, game_title: str
) -> GameRecord:
    """Return a Prisoner's Dilemma; each decision is read as the MAgIC benchmark reads it."""
    matrix, rounds = (
        _parse_printed_dictionary(PayoffMatrix, conversation.last_match_by_moderator(_MATRIX)),
        conversation.last_match_by_moderator(_ROUNDS),
    )
    if scoring := conversation.last_match_by_moderator(_SCORING):
        payoffs, n_rounds = Payoffs(*map(float, scoring.groups()[:4])), int(scoring[5])
    elif matrix and rounds:
        cooperate, defect = matrix.cooperate, matrix.defect
        payoffs = Payoffs(
            cooperate.two,
            defect.none,
            defect.two,
            defect.one,
            cooperate.one or None,
            cooperate.none or None,
        )
        n_rounds = int(rounds[1])
    else:
        problem = "it does not say the rounds, or what every combination of three choices pays"
        raise missing_fact_error(
            game_title,
            problem,
            next(filter(is_text_of_prisoners_dilemma, conversation.moderator_texts)),
        )
    setting: dict[str, JsonValue] = {"payoffs": to_builtins(payoffs), "rounds": n_rounds}
    game = _build_point_game_without_results(
        conversation,
        GameType.PRISONERS_DILEMMA,
        Phase.DECISION,
        model,
        setting=setting,
        n_rounds=n_rounds,
    )
    if len(game.seats) != N_PLAYERS:
        raise missing_fact_error(
            game_title, f"it says what three players get, and {len(game.seats)} play"
        )
    game.decisions = build_decisions(game, payoffs)
    points = [0.0] * N_PLAYERS
    for decision in game.decisions:
        points[decision.seat - 1] += decision.payoff or 0
    _add_scores_and_winners(game, _scores_stated_by_moderator(conversation, game) or points)
    return game


def is_text_of_public_good(moderator_text: str) -> bool:
    """Return whether a message of the moderator belongs to a game of Public Good."""
    return bool(_START.search(moderator_text) or _BEGINNING.search(moderator_text))


def read_public_good(conversation: Conversation, model: str | None, game_title: str) -> GameRecord:
    """Return a game of Public Good; each amount is read as the MAgIC benchmark reads it."""
    beginning, rounds = (
        conversation.last_match_by_moderator(_BEGINNING),
        conversation.last_match_by_moderator(_ROUNDS),
    )
    if background := conversation.last_match_by_moderator(_BACKGROUND):
        start, n_rounds = float(background[1]), int(background[2])
    elif beginning and rounds:
        start, n_rounds = float(beginning[1]), int(rounds[1])
    else:
        problem = "it does not say how many rounds are played"
        raise missing_fact_error(
            game_title, problem, next(filter(is_text_of_public_good, conversation.moderator_texts))
        )
    setting: dict[str, JsonValue] = {
        "starting_points": int(start) if start.is_integer() else start,
        "rounds": n_rounds,
    }
    game = _build_point_game_without_results(
        conversation,
        GameType.PUBLIC_GOOD,
        Phase.CONTRIBUTION,
        model,
        setting=setting,
        n_rounds=n_rounds,
    )
    indices = game.messages.course.message_indices(Phase.CONTRIBUTION)
    amounts = _amounts_of_contributions(
        conversation, [game.messages.content[index] for index in indices], game_title
    )
    game.contributions = build_contributions(game, amounts)
    scores = _scores_stated_by_moderator(conversation, game)
    if unknown_indices := [
        index for index, amount in zip(indices, amounts, strict=True) if amount is None
    ]:
        rule = "each contribution states an amount"
        game.faults.append(
            RecordError(f"$[{unknown_indices[0]}]", rule, f"{len(unknown_indices)} do not")
        )
        if scores is None:  # who won is not known
            game.is_finished, game.outcome = False, None
    points = [0.0] * len(game.seats)
    for contribution in game.contributions:
        points[contribution.seat - 1] -= contribution.amount or 0
    _add_scores_and_winners(game, scores or points, are_final_scores=scores is not None)
    return game


def _amounts_of_contributions(
    conversation: Conversation, texts: Sequence[str], game_title: str
) -> list[float | None]:
    """Return the amount that each text contributes; None for a text without an amount.

    MAgIC's own games have whole numbers. Raises InvalidDocumentError if no text contributes.
    """
    if conversation.last_match_by_moderator(_START):
        # MAgIC's PGM games have private reflections, and another rule to read amounts.
        rows = zip(conversation.history.player, conversation.history.visible_to, strict=True)
        is_pgm = any(readers in (player, (player,)) for player, readers in rows)
        return [parse_contribution(text, is_pgm) for text in texts]
    if texts and not any("contribut" in text.lower() for text in texts):
        raise missing_fact_error(game_title, "no player tells it a contribution", texts[0])
    return list(map(_amount_in_contribution, texts))


def _amount_in_contribution(text: str) -> float | None:
    """Return the number after a form of "contribute", or else the only number in a text."""
    if match := _CONTRIBUTED.search(text):
        return float(match[1])
    numbers = set(map(float, _NUMBERS.findall(text)))
    return numbers.pop() if len(numbers) == 1 else None


def _build_point_game_without_results(
    conversation: Conversation,
    game_type: GameType,
    phase: Phase,
    model: str | None,
    *,
    setting: dict[str, JsonValue],
    n_rounds: int,
) -> GameRecord:
    """Return the game without decisions and winners; it is finished if the moderator says so.

    Raises InvalidDocumentError if a finished game lacks a decision.
    """
    players = conversation.sorted_player_names()
    messages = build_messages_from_columns(conversation.history, players, TIMELINE_BUILDERS[phase])
    end = conversation.last_match_by_moderator(_END)
    if end and int(end[1]) != n_rounds:
        rule = f"the game ends after its {n_rounds} rounds"
        raise invalid_document_error("$", rule, f"it ends after {int(end[1])}")
    n_decisions_by_round = Counter(
        messages.course.round[index] for index in messages.course.message_indices(phase)
    )
    if end and (
        set(n_decisions_by_round.values()) != {len(players)}
        or len(n_decisions_by_round) != n_rounds
    ):
        rule = f"each player decides in each of the {n_rounds} rounds"
        raise invalid_document_error(
            "$", rule, f"{n_decisions_by_round.total()} decisions of {len(players)} players"
        )
    return GameRecord(
        game_type=game_type,
        system=SYSTEM,
        format=FORMAT,
        setting=setting,
        is_repeatable=True,
        is_finished=end is not None,
        outcome=Outcome.COMPLETED if end else None,
        n_rounds=n_rounds,
        seats=[
            Seat(player, model_name, PLAYER, is_tested=True)
            for player, model_name in assign_models(players, model).items()
        ],
        messages=messages,
    )


def _scores_stated_by_moderator(conversation: Conversation, game: GameRecord) -> list[float] | None:
    """Return the final scores that the moderator states; None if one is missing."""
    scores_by_player = (
        _parse_printed_dictionary(dict[str, Points], conversation.last_match_by_moderator(_SCORES))
        or {}
    )
    scores = [
        scores_by_player[seat.player] for seat in game.seats if seat.player in scores_by_player
    ]
    return scores if game.is_finished and len(scores) == len(game.seats) else None


def _add_scores_and_winners(
    game: GameRecord, points: Sequence[float], *, are_final_scores: bool = True
) -> None:
    """Set the winners of a finished game to the players with the most points.

    If the points are the final scores, set these too.
    """
    final_points = points if game.is_finished else [None] * len(game.seats)
    game.results = results_of_tested_seats(
        game, dict(enumerate(has_highest_score(final_points), start=1))
    )
    if are_final_scores:
        game.seats = [
            replace(seat, final_score=score)
            for seat, score in zip(game.seats, final_points, strict=True)
        ]


# The games, which are recognized by a sentence of the moderator.


def _raise_for_cost_sharing(
    conversation: Conversation, model: str | None, game_title: str
) -> GameRecord:
    """Raise InvalidDocumentError, because the messages lack the registered shares and votes."""
    raise missing_fact_error(
        game_title, "the shares and votes that the game registered are not among the messages"
    )


# By game type: the title, the test of a sentence of the moderator, and the function that reads it.
GAMES: tuple[
    tuple[str, Callable[[str], bool], Callable[[Conversation, str | None, str], GameRecord]], ...
] = (
    ("Chameleon", is_text_of_chameleon, read_chameleon),
    ("Undercover", is_text_of_undercover, read_undercover),
    (
        "Cost Sharing",
        lambda sentence: sentence.startswith("Now everyone propose the cost distribution"),
        _raise_for_cost_sharing,
    ),
    ("Prisoner's Dilemma", is_text_of_prisoners_dilemma, read_prisoners_dilemma),
    ("Public Good", is_text_of_public_good, read_public_good),
)


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Return the game of a log; raise InvalidDocumentError for an unknown game."""
    rows, faults = read_rows_and_errors(sniffer)
    conversation = Conversation(rows)
    for title, is_text_of_game, read_game in GAMES:
        if any(map(is_text_of_game, conversation.moderator_texts)):
            game = read_game(conversation, model, title)
            seats = [seat.player for seat in game.seats]
            game.faults += faults + unknown_audience_faults(
                conversation.history.visible_to, seats, "$"
            )
            return game
    titles = ", ".join(title for title, *_ in GAMES)
    rule = (
        f"the moderator's words are those of a known game ({titles}): let a script write logs of "
        "another one as interchange JSON (docs/interchange.md)"
    )
    for index, row in enumerate(rows):
        if row.agent_name == MODERATOR:
            raise invalid_document_error(
                f"$[{index}]", rule, f"the first are {row.content[:MAX_QUOTED_CHARACTERS]!r}"
            )
    raise invalid_document_error("$", rule, "the moderator says nothing")
