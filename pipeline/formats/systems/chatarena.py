"""Logs of ChatArena: the message rows of one game, with nothing around them.

See docs/formats/chatarena.md. Roles, words and outcome are in what the moderator says; its
sentences also say which game it is.
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
    build_guesses,
    build_seats,
    messages_with_phases,
    n_clue_rounds,
)
from pipeline.formats.magic.log import TIMELINES
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
    check_players,
    has_highest_score,
    means_nobody,
    messages_from_rows,
    player_number,
    results_of_tested_seats,
    to_history,
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
    type_error,
)
from pipeline.vocabulary import PLAYER, GameType, Outcome, Phase

# Messages as Python writes them: `Message(agent_name='Player 1', turn=1, visible_to=['A', 'B'])`.
#
# Read by patterns and never run. They know what `repr` writes, and nothing else of Python.

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


def parse_message(line: str, at: str) -> dict[str, object]:
    """Return the fields of a message by name; raise InvalidDocumentError for any other line."""
    fields: dict[str, object] = {}
    position, end = len("Message("), ", "
    while end == ", ":
        field = _FIELD.match(line, position)
        if field is None:
            where = f"cannot be read from character {position + 1:,} on"
            rule = "each message is written as Python's repr of a Message"
            raise invalid_document_error(at, rule, f"{where}: {line[position : position + 30]!r}")
        name, value, end = field["name"], field["value"], field[3]
        if name in fields:
            raise invalid_document_error(
                f"{at}.{name}", "each field of a message is there once", "it is there twice"
            )
        fields[name] = _parse_value(value)
        position = field.end()
    return fields


def parse_strings(written: str, at: str) -> list[str]:
    """Parse a list of strings; raise InvalidDocumentError for anything else."""
    if IS_LIST.fullmatch(written) is None:
        raise invalid_document_error(
            at, "a list of names is written as Python's repr of it", repr(written[:50])
        )
    return list(map(_parse_string, _TEXTS.findall(written)))


def _parse_value(written: str) -> object:
    if written[0] in "'\"":
        return _parse_string(written)
    if written[0] in "[({s":
        return list(map(_parse_string, _TEXTS.findall(written)))
    if written in _CONSTANTS:
        return _CONSTANTS[written]
    return float(written) if "." in written or "e" in written else int(written)


def _parse_string(written: str) -> str:
    inner = written[1:-1]
    return _ESCAPES.sub(_decode_escape, inner) if "\\" in inner else inner


def _decode_escape(escape: re.Match[str]) -> str:
    *codes, sign = escape.groups()
    return _CONTROLS.get(sign, sign) if sign else chr(int("".join(filter(None, codes)), 16))


# The three forms of a log, each as message rows: a JSON list, a table, a section of a transcript.
#
# A position such as `$[3].turn` is in the message of that number, counted from 0.


class _Row(Row, gc=False):
    """A row as written, in which null also means nobody."""

    visible_to: str | tuple[str, ...] | None = EVERYONE  # type: ignore[assignment]


_EMPTY = {"[]", "()", "{}", "set()"}
_COLUMNS = {"agent_name", "content", "turn", "visible_to", "msg_type"}
_BANNER = re.compile(rb"={3,200}\r?\n[ \t]{0,20}GAME [0-9]{1,9}/[0-9]{1,9}[ \t]{0,20}\r?(?:\n|$)")
_OF_BANNER = re.compile(rb"={3,}|[ \t]*GAME [0-9]+/[0-9]+")
_IN_UTF_8 = "the document is in UTF-8"
_TRANSCRIPT = re.compile(rb"\s*" + _BANNER.pattern + rb"={3,200}\s{0,99}(?:Message\(|===|$)")


def splitter(path: str, head: bytes) -> Splitter | None:
    """Return the splitter for the games of a transcript, or for a whole table."""
    if _is_table(head):
        return read_whole_file
    return section_splitter(_BANNER) if _TRANSCRIPT.match(head) else None


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether a document has the keys, columns or banner of a ChatArena log."""
    if sniffer.first == "[":
        return sniffer.lists("agent_name", "visible_to", "msg_type")
    if sniffer.first == "=":
        return _TRANSCRIPT.match(sniffer.data) is not None
    return sniffer.first != "{" and _is_table(sniffer.data)


def read_rows(sniffer: DocumentSniffer) -> tuple[list[Row], list[RecordError]]:
    """Read the messages of a claimed document, and an error for each other line."""
    if sniffer.first == "[":
        return _normalise_visibility(decode(list[_Row], sniffer.data)), []
    if sniffer.first == "=":
        return _parse_transcript(sniffer.data)
    return _convert_rows(list(_parse_table(sniffer.data))), []


def _normalise_visibility(rows: list[_Row]) -> list[Row]:
    """Return the rows with one spelling for messages that nobody can see."""
    speakers = {row.agent_name for row in rows}
    for row in rows:
        names = row.visible_to if isinstance(row.visible_to, tuple) else (row.visible_to,)
        if speakers.isdisjoint(names) and all(means_nobody(one) or one in _EMPTY for one in names):
            row.visible_to = ()
    return [*rows]


def _is_table(head: bytes) -> bool:
    header, end, _ = head[:400].partition(b"\n")
    if not end or b"agent_name" not in header:
        return False
    return set(next(csv.reader([header.rstrip(b"\r").decode("latin-1")]))) >= _COLUMNS


def _parse_table(data: bytes) -> Iterator[dict[str, object]]:
    """Return a table's rows as input for `Row`."""
    for number, row in enumerate(iter_csv_rows_by_name(data, _COLUMNS)):
        turn, visible_to = row["turn"], row["visible_to"]
        if turn and not re.fullmatch(r"-?[0-9]{1,18}", turn):
            raise invalid_document_error(
                f"$[{number}].turn", "the turn is a whole number", repr(turn[:50])
            )
        is_list = visible_to.startswith("[") or IS_LIST.fullmatch(visible_to)
        yield {  # numbers and lists are written as texts
            **row,
            "turn": int(turn) if turn else None,
            "visible_to": parse_strings(visible_to, f"$[{number}].visible_to")
            if is_list
            else visible_to or EVERYONE,
            "msg_type": row["msg_type"] or None,
        }


def _parse_transcript(data: bytes) -> tuple[list[Row], list[RecordError]]:
    """Return the messages of a section, and one error if some lines are not messages."""
    lines = [line.rstrip(b"\r") for line in data.split(b"\n")]
    messages = [line for line in lines if line.startswith(b"Message(")]
    others = [
        number
        for number, line in enumerate(lines, start=1)
        if not (line.startswith(b"Message(") or _OF_BANNER.fullmatch(line) or not line.strip())
    ]
    rule = "each line is of the banner, or a message"
    faults = [
        RecordError("$", rule, f"{len(others):,} other lines, the first of them line {first:,}")
        for first in others[:1]
    ]
    texts = [decode_utf8(line, _IN_UTF_8) for line in messages]
    parsed = [parse_message(text, f"$[{n}]") for n, text in enumerate(texts)]
    return _convert_rows(parsed), faults


def _convert_rows(rows: list[dict[str, object]]) -> list[Row]:
    """Return the rows with checked types; raise InvalidDocumentError otherwise."""
    try:
        return _normalise_visibility(msgspec.convert(rows, list[_Row]))
    except msgspec.ValidationError as error:
        raise InvalidDocumentError(type_error(error)) from error


# What is said in a log, and to whom: what all its games are read from.

NAME = SYSTEM = FORMAT = "chatarena"
NAMES_MODELS = False
SHOWN = 200


class Talk:
    """The messages of a game.

    Only the moderator's messages decide what the game is and how it ends.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.history = to_history(rows)
        moderated = [row for row in rows if row.agent_name == MODERATOR]
        # What the moderator says, in order, and what of it is not for all, with its readers.
        self.sentences = [row.content for row in moderated]
        self._private = [
            (row.content, as_name_tuple(row.visible_to))
            for row in moderated
            if row.visible_to != EVERYONE
        ]

    def last_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the last match of a pattern in the moderator's messages."""
        matches = map(pattern.search, reversed(self.sentences))
        return next(filter(None, matches), None)

    def matches_by_player(self, pattern: re.Pattern[str]) -> dict[str, str]:
        """Return what the moderator tells single players by a pattern's group, by player."""
        return {
            player: match[1].strip()
            for text, readers in self._private
            if (match := pattern.fullmatch(text))
            for player in readers
            if player not in RESERVED_NAMES
        }

    def parse_players(self, named: Iterable[str] = ()) -> list[str]:
        """Return the players who speak or are named.

        Raise InvalidDocumentError if there are none.
        """
        names = {*self.history.player, *named} - {MODERATOR}
        if not names:
            raise invalid_document_error(
                "$", "at least one player speaks", "only the moderator does"
            )
        check_players(names, "$")
        return sorted(names, key=lambda name: (player_number(name) or 0, name))


def missing_fact_error(title: str, what: str, sentence: str | None = None) -> InvalidDocumentError:
    """Return the error for a known game whose messages lack a necessary fact.

    `sentence` is what should say it, and cannot be read.
    """
    why = what if sentence is None else f"{what}: {sentence[:SHOWN]!r}"
    return invalid_document_error(
        "$", f"the moderator's words say all that a game of {title} needs", why
    )


# Chameleon and Undercover, as MAgIC plays them in ChatArena: who hides the moderator's words say.
#
# Each player is told alone that it is the chameleon, or is given a word. Votes are as the texts say
# them, and the ending is the one that is announced.

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


def is_chameleon(sentence: str) -> bool:
    """Return whether the moderator's sentence is from Chameleon."""
    return bool(
        _IS_CHAMELEON.fullmatch(sentence)
        or _SECRET_WORD.fullmatch(sentence)
        or sentence.startswith(f"{_VOTE}chameleon")
    )


def read_chameleon(talk: Talk, model: str | None, title: str) -> GameRecord:
    """Read a game of Chameleon; raise InvalidDocumentError without roles or word."""
    hidden = list(talk.matches_by_player(_IS_CHAMELEON))
    if len(hidden) != 1:
        raise missing_fact_error(
            title, f"it tells {len(hidden)} players that they are the chameleon"
        )
    word = talk.last_match(_SECRET_WORD)
    if word is None:
        raise missing_fact_error(title, "it gives the word to nobody")
    topic, code = talk.last_match(_TOPIC), word[1].strip()
    players = talk.parse_players([*hidden, *talk.matches_by_player(_SECRET_WORD)])
    setting: dict[str, JsonValue] = {"topic": topic[1].strip() if topic else None, "code": code}
    models = assign_models(players, model)
    endings = {
        "guessed the code wrong": 0,
        "guessed the code correctly": 1,
        "The accusation is incorrect": 2,
        "There are even votes": 3,
        "There are even notes": 3,
    }
    built = _hidden_role_game(talk, CHAMELEON, hidden[0], models, setting=setting, endings=endings)
    built.guesses = build_guesses(built, CHAMELEON, code)
    return built


def is_undercover(sentence: str) -> bool:
    """Return whether the moderator's sentence is from Undercover."""
    return bool(_WORD.fullmatch(sentence) or sentence.startswith(f"{_VOTE}undercover"))


def read_undercover(talk: Talk, model: str | None, title: str) -> GameRecord:
    """Read a game of Undercover; raise InvalidDocumentError if the undercover is unknown."""
    words = talk.matches_by_player(_WORD)
    players = talk.parse_players(words)
    if without := [player for player in players if player not in words]:
        raise missing_fact_error(title, f"it gives no word to {', '.join(without)[:200]}")
    counts = Counter(words.values()).most_common()
    if len(counts) != 2 or counts[1][1] != 1 or counts[0][1] == 1:
        what = f"it gives {len(words)} players {len(counts)} different words"
        raise missing_fact_error(title, f"{what}, and not all but one of them the same")
    civilian = counts[0][0]
    hidden = next(player for player, word in words.items() if word != civilian)
    setting: dict[str, JsonValue] = {"undercover_code": words[hidden], "civilian_code": civilian}
    models = assign_models(players, model)
    endings = {
        "The accusation is correct": 0,
        "The accusation is incorrect": 1,
        "There are even votes": 2,
        "There are even notes": 2,
    }
    return _hidden_role_game(talk, UNDERCOVER, hidden, models, setting=setting, endings=endings)


def _hidden_role_game(
    talk: Talk,
    rules: HiddenRoleRules,
    hidden: str,
    models: dict[str, str | None],
    *,
    setting: dict[str, JsonValue],
    endings: Mapping[str, int],
) -> GameRecord:
    """Return the game without its results; all of its players are tested."""
    spoken = messages_with_phases(rules, talk.history, models)
    course = spoken.course
    # The ending that the moderator announced last.
    ending = talk.last_match(re.compile("|".join(map(re.escape, endings))))
    flag = endings[ending[0]] if ending else None
    outcome = rules.outcome_of_flag(flag)
    return GameRecord(
        game_type=rules.kind.name,
        system=SYSTEM,
        format=FORMAT,
        setting={**setting, "hidden": hidden},
        is_repeatable=True,
        is_finished=outcome is not None,
        outcome=outcome,
        outcome_code=flag,
        n_rounds=n_clue_rounds(rules, course),
        seats=build_seats(rules, hidden, models, set(models)),
        messages=spoken,
        votes=[
            Vote(course.seat[index] or 0, course.round[index] or 1, index, None, is_logged=False)
            for index in course.message_indices(Phase.VOTE)
        ],
    )


# The Prisoner's Dilemma and Public Good, as MAgIC and its derivatives play them in ChatArena.
#
# A player decides by what it tells the moderator alone, and each plays for itself. In the dilemma
# the moderator says what choices pay: in sentences, or as a matrix that Python printed. In Public
# Good it does not say the pool's multiplier; but all get an equal part of the pool, so whoever puts
# in least in all ends with the most points. Some moderators say the scores at the end.

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


def _parse_printed(kind: type[T], match: re.Match[str] | None) -> T | None:
    """Parse a dictionary that Python printed; None if there is none."""
    try:
        return decode(kind, match[1].replace("'", '"').encode()) if match else None
    except InvalidDocumentError:
        return None


def is_dilemma(sentence: str) -> bool:
    """Return whether the moderator's sentence is from the Prisoner's Dilemma."""
    is_scoring = sentence.lstrip().startswith("The scoring is as follows:")
    return (is_scoring and "to defect" in sentence) or (
        _MATRIX.fullmatch(sentence) is not None and "defect" in sentence
    )


def read_dilemma(talk: Talk, model: str | None, title: str) -> GameRecord:
    """Read a Prisoner's Dilemma, with every choice as MAgIC registers it."""
    matrix, rounds = (
        _parse_printed(PayoffMatrix, talk.last_match(_MATRIX)),
        talk.last_match(_ROUNDS),
    )
    if scoring := talk.last_match(_SCORING):
        payoffs, n_rounds = Payoffs(*map(float, scoring.groups()[:4])), int(scoring[5])
    elif matrix and rounds:
        both, own = matrix.cooperate, matrix.defect
        payoffs = Payoffs(both.two, own.none, own.two, own.one, both.one or None, both.none or None)
        n_rounds = int(rounds[1])
    else:
        what = "it does not say the rounds, or what every combination of three choices pays"
        raise missing_fact_error(title, what, next(filter(is_dilemma, talk.sentences)))
    setting: dict[str, JsonValue] = {"payoffs": to_builtins(payoffs), "rounds": n_rounds}
    kind, phase = GameType.PRISONERS_DILEMMA, Phase.DECISION
    built = _read_point_game(talk, kind, phase, model, setting=setting, n_rounds=n_rounds)
    if len(built.seats) != N_PLAYERS:
        raise missing_fact_error(
            title, f"it says what three players get, and {len(built.seats)} play"
        )
    built.decisions = build_decisions(built, payoffs)
    points = [0.0] * N_PLAYERS
    for decision in built.decisions:
        points[decision.seat - 1] += decision.payoff or 0
    _add_results(built, _read_scores(talk, built) or points)
    return built


def is_public_good(sentence: str) -> bool:
    """Return whether the moderator's sentence is from Public Good."""
    return bool(_START.search(sentence) or _BEGINNING.search(sentence))


def read_public_good(talk: Talk, model: str | None, title: str) -> GameRecord:
    """Read a Public Good game, with every contribution as MAgIC registers it."""
    beginning, rounds = talk.last_match(_BEGINNING), talk.last_match(_ROUNDS)
    if background := talk.last_match(_BACKGROUND):
        start, n_rounds = float(background[1]), int(background[2])
    elif beginning and rounds:
        start, n_rounds = float(beginning[1]), int(rounds[1])
    else:
        what = "it does not say how many rounds are played"
        raise missing_fact_error(title, what, next(filter(is_public_good, talk.sentences)))
    points = int(start) if start.is_integer() else start
    setting: dict[str, JsonValue] = {"starting_points": points, "rounds": n_rounds}
    kind, phase = GameType.PUBLIC_GOOD, Phase.CONTRIBUTION
    built = _read_point_game(talk, kind, phase, model, setting=setting, n_rounds=n_rounds)
    indices = built.messages.course.message_indices(phase)
    amounts = _contributed_amounts(
        talk, [built.messages.content[index] for index in indices], title
    )
    built.contributions = build_contributions(built, amounts)
    scores = _read_scores(talk, built)
    if unread := [index for index, amount in zip(indices, amounts, strict=True) if amount is None]:
        rule = "each contribution states an amount"
        built.faults.append(RecordError(f"$[{unread[0]}]", rule, f"{len(unread)} do not"))
        if scores is None:  # who won is not known
            built.is_finished, built.outcome = False, None
    paid = [0.0] * len(built.seats)
    for contribution in built.contributions:
        paid[contribution.seat - 1] -= contribution.amount or 0
    _add_results(built, scores or paid, are_scores=scores is not None)
    return built


def _contributed_amounts(talk: Talk, texts: Sequence[str], title: str) -> list[float | None]:
    """Return the amount that each text contributes, or None if it states none.

    MAgIC's games register whole numbers. Raises InvalidDocumentError where it is another game.
    """
    if talk.last_match(_START):
        # MAgIC's PGM games, in which amounts are read otherwise, ask for private reflections.
        rows = zip(talk.history.player, talk.history.visible_to, strict=True)
        is_pgm = any(readers in (player, (player,)) for player, readers in rows)
        return [parse_contribution(text, is_pgm) for text in texts]
    if texts and not any("contribut" in text.lower() for text in texts):
        raise missing_fact_error(title, "no player tells it a contribution", texts[0])
    return list(map(_contributed_amount, texts))


def _contributed_amount(text: str) -> float | None:
    """Return the number after a form of "contribute", or else the only number of a text."""
    if stated := _CONTRIBUTED.search(text):
        return float(stated[1])
    numbers = set(map(float, _NUMBERS.findall(text)))
    return numbers.pop() if len(numbers) == 1 else None


def _read_point_game(
    talk: Talk,
    game_type: GameType,
    phase: Phase,
    model: str | None,
    *,
    setting: dict[str, JsonValue],
    n_rounds: int,
) -> GameRecord:
    """Return the game without decisions and winners; the moderator's words tell if it is finished.

    Raises InvalidDocumentError where a decision is missing in a game that is.
    """
    players = talk.parse_players()
    spoken = messages_from_rows(talk.history, players, TIMELINES[phase])
    ended = talk.last_match(_END)
    if ended and int(ended[1]) != n_rounds:
        rule = f"the game ends after its {n_rounds} rounds"
        raise invalid_document_error("$", rule, f"it ends after {int(ended[1])}")
    decided = Counter(spoken.course.round[index] for index in spoken.course.message_indices(phase))
    if ended and (set(decided.values()) != {len(players)} or len(decided) != n_rounds):
        rule = f"each player decides in each of the {n_rounds} rounds"
        raise invalid_document_error(
            "$", rule, f"{decided.total()} decisions of {len(players)} players"
        )
    return GameRecord(
        game_type=game_type,
        system=SYSTEM,
        format=FORMAT,
        setting=setting,
        is_repeatable=True,
        is_finished=ended is not None,
        outcome=Outcome.COMPLETED if ended else None,
        n_rounds=n_rounds,
        seats=[
            Seat(player, name, PLAYER, is_tested=True)
            for player, name in assign_models(players, model).items()
        ],
        messages=spoken,
    )


def _read_scores(talk: Talk, built: GameRecord) -> list[float] | None:
    """Return the final scores that the moderator states, or None if one is missing."""
    said = _parse_printed(dict[str, Points], talk.last_match(_SCORES)) or {}
    scores = [said[seat.player] for seat in built.seats if seat.player in said]
    return scores if built.is_finished and len(scores) == len(built.seats) else None


def _add_results(built: GameRecord, points: Sequence[float], *, are_scores: bool = True) -> None:
    """Add the scores, and as winners of a finished game the players with the most points."""
    known = points if built.is_finished else [None] * len(built.seats)
    built.results = results_of_tested_seats(
        built, dict(enumerate(has_highest_score(known), start=1))
    )
    if are_scores:
        scored = zip(built.seats, known, strict=True)
        built.seats = [replace(seat, final_score=score) for seat, score in scored]


# Which game a log is of, by the moderator's words, and what reads it.


def _refuse_cost_sharing(talk: Talk, model: str | None, title: str) -> GameRecord:
    """Raise InvalidDocumentError: the log does not contain the registered shares and votes."""
    what = "the shares and votes that the game registered are not among the messages"
    raise missing_fact_error(title, what)


# Each game, in the order of the game types: its title, whether a sentence of the moderator's is of
# it, and what reads it.
GAMES: tuple[
    tuple[str, Callable[[str], bool], Callable[[Talk, str | None, str], GameRecord]], ...
] = (
    ("Chameleon", is_chameleon, read_chameleon),
    ("Undercover", is_undercover, read_undercover),
    (
        "Cost Sharing",
        lambda sentence: sentence.startswith("Now everyone propose the cost distribution"),
        _refuse_cost_sharing,
    ),
    ("Prisoner's Dilemma", is_dilemma, read_dilemma),
    ("Public Good", is_public_good, read_public_good),
)


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Read the game; raise InvalidDocumentError if it breaks a rule or is of another kind."""
    rows, faults = read_rows(sniffer)
    talk = Talk(rows)
    for title, is_of_game, read_game in GAMES:
        if any(map(is_of_game, talk.sentences)):
            built = read_game(talk, model, title)
            seats = [seat.player for seat in built.seats]
            built.faults += faults + unknown_audience_faults(talk.history.visible_to, seats, "$")
            return built
    known = ", ".join(title for title, *_ in GAMES)
    rule = (
        f"the moderator's words are those of a known game ({known}): let a script write logs of "
        "another one as interchange JSON (docs/interchange.md)"
    )
    for place, row in enumerate(rows):
        if row.agent_name == MODERATOR:
            raise invalid_document_error(
                f"$[{place}]", rule, f"the first are {row.content[:SHOWN]!r}"
            )
    raise invalid_document_error("$", rule, "the moderator says nothing")
