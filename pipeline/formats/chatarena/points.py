"""The Prisoner's Dilemma and Public Good, as MAgIC and its derivatives play them in ChatArena.

A player decides by what it tells the moderator alone, and each plays for itself. In the dilemma the
moderator says what choices pay: in sentences, or as a matrix that Python printed. In Public Good it
does not say the pool's multiplier; but all get an equal part of the pool, so whoever puts in least
in all ends with the most points. Some moderators say the scores at the end.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct, field, to_builtins
from msgspec.structs import replace

from pipeline.formats.broken import broken
from pipeline.formats.building import contributions, most_points, results
from pipeline.formats.chatarena.talk import FORMAT, SYSTEM, Talk, lacking
from pipeline.formats.look import UNDECODABLE
from pipeline.formats.magic.point_game import TIMELINES
from pipeline.formats.magic.prisoners_dilemma import N_PLAYERS, Payoffs, decisions
from pipeline.formats.magic.public_good import registered
from pipeline.formats.players import models_of
from pipeline.formats.rows import messages
from pipeline.game import Fault, GameRecord, JsonValue, Seat
from pipeline.vocabulary import PLAYER, GameType, Outcome, Phase

T = TypeVar("T")

_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_POINTS = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s{1,9}points?"
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


class Row(Struct, forbid_unknown_fields=True):
    """What a choice pays, by how many of the two others cooperate."""

    none: Points = field(name="0_others_cooperate")
    one: Points = field(name="1_others_cooperate")
    two: Points = field(name="2_others_cooperate")


class Matrix(Struct, forbid_unknown_fields=True):
    cooperate: Row
    defect: Row


_MATRICES = msgspec.json.Decoder(Matrix)
_SCORE_LISTS = msgspec.json.Decoder(dict[str, Points])


def _parse_printed(decoder: msgspec.json.Decoder[T], match: re.Match[str] | None) -> T | None:
    """Return what is in a dictionary that Python printed; None where there is none such."""
    try:
        return decoder.decode(match[1].replace("'", '"')) if match else None
    except UNDECODABLE:
        return None


def is_dilemma(sentence: str) -> bool:
    is_scoring = sentence.lstrip().startswith("The scoring is as follows:")
    return (is_scoring and "to defect" in sentence) or (
        _MATRIX.fullmatch(sentence) is not None and "defect" in sentence
    )


def _payoffs(talk: Talk) -> tuple[Payoffs, int] | None:
    """Return what choices pay, and the number of rounds; None where one of both is not said."""
    if scoring := talk.last(_SCORING):
        return Payoffs(*map(float, scoring.groups()[:4])), int(scoring[5])
    matrix, rounds = _parse_printed(_MATRICES, talk.last(_MATRIX)), talk.last(_ROUNDS)
    if matrix is None or rounds is None:
        return None
    both, own = matrix.cooperate, matrix.defect
    return Payoffs(both.two, own.none, own.two, own.one, both.one or None, both.none or None), int(
        rounds[1]
    )


def dilemma(talk: Talk, model: str | None, title: str) -> GameRecord:
    """The game with every choice as MAgIC registers it; raises BrokenDocument."""
    if (known := _payoffs(talk)) is None:
        what = "it does not say the rounds, or what every combination of three choices pays"
        raise lacking(title, what, next(filter(is_dilemma, talk.sentences)))
    payoffs, n_rounds = known
    setting: dict[str, JsonValue] = {"payoffs": to_builtins(payoffs), "rounds": n_rounds}
    kind, phase = GameType.PRISONERS_DILEMMA, Phase.DECISION
    built = _game(talk, kind, phase, model, setting=setting, n_rounds=n_rounds)
    if len(built.seats) != N_PLAYERS:
        raise lacking(title, f"it says what three players get, and {len(built.seats)} play")
    built.decisions = decisions(built, payoffs)
    points = [0.0] * N_PLAYERS
    for decision in built.decisions:
        points[decision.seat - 1] += decision.payoff or 0
    _add_results(built, _scores(talk, built) or points)
    return built


def is_public_good(sentence: str) -> bool:
    return bool(_START.search(sentence) or _BEGINNING.search(sentence))


def public_good(talk: Talk, model: str | None, title: str) -> GameRecord:
    """The game with every contribution as MAgIC registers it; raises BrokenDocument."""
    if (pool := _pool(talk)) is None:
        what = "it does not say how many rounds are played"
        raise lacking(title, what, next(filter(is_public_good, talk.sentences)))
    start, n_rounds = pool
    setting: dict[str, JsonValue] = {"starting_points": start, "rounds": n_rounds}
    kind, phase = GameType.PUBLIC_GOOD, Phase.CONTRIBUTION
    built = _game(talk, kind, phase, model, setting=setting, n_rounds=n_rounds)
    indices = built.messages.course.said(phase)
    amounts = _amounts(talk, [built.messages.content[index] for index in indices], title)
    built.contributions = contributions(built, amounts)
    scores = _scores(talk, built)
    if unread := [index for index, amount in zip(indices, amounts, strict=True) if amount is None]:
        rule = "each contribution states an amount"
        built.faults.append(Fault(f"$[{unread[0]}]", rule, f"{len(unread)} do not"))
        if scores is None:  # who won is not known
            built.is_finished, built.outcome = False, None
    paid = [0.0] * len(built.seats)
    for contribution in built.contributions:
        paid[contribution.seat - 1] -= contribution.amount or 0
    _add_results(built, scores or paid, are_scores=scores is not None)
    return built


def _pool(talk: Talk) -> tuple[float, int] | None:
    """Return the starting points and the number of rounds; None where one of both is not said."""
    if background := talk.last(_BACKGROUND):
        return int(background[1]), int(background[2])
    beginning, rounds = talk.last(_BEGINNING), talk.last(_ROUNDS)
    if beginning is None or rounds is None:
        return None
    start = float(beginning[1])
    return int(start) if start.is_integer() else start, int(rounds[1])


def _amounts(talk: Talk, texts: Sequence[str], title: str) -> list[float | None]:
    """Return the amount that each text contributes, None where it states none.

    MAgIC's games register whole numbers. Raises BrokenDocument where it is another game.
    """
    if talk.last(_START):
        # MAgIC's PGM games, in which amounts are read otherwise, ask for private reflections.
        rows = zip(talk.history.player, talk.history.visible_to, strict=True)
        is_pgm = any(readers in (player, (player,)) for player, readers in rows)
        return [registered(text, is_pgm) for text in texts]
    if texts and not any("contribut" in text.lower() for text in texts):
        raise lacking(title, "no player tells it a contribution", texts[0])
    return list(map(_amount, texts))


def _amount(text: str) -> float | None:
    """Return the number after a form of "contribute", else the only number of a text."""
    if stated := _CONTRIBUTED.search(text):
        return float(stated[1])
    numbers = set(map(float, _NUMBERS.findall(text)))
    return numbers.pop() if len(numbers) == 1 else None


def _game(
    talk: Talk,
    game_type: GameType,
    phase: Phase,
    model: str | None,
    *,
    setting: dict[str, JsonValue],
    n_rounds: int,
) -> GameRecord:
    """The game without decisions and winners; it is finished if the moderator says so.

    Raises BrokenDocument where a decision is missing in a game that is.
    """
    players = talk.players()
    spoken = messages(talk.history, players, TIMELINES[phase])
    ended = talk.last(_END)
    if ended and int(ended[1]) != n_rounds:
        rule = f"the game ends after its {n_rounds} rounds"
        raise broken("$", rule, f"it ends after {int(ended[1])}")
    decided = Counter(spoken.course.round[index] for index in spoken.course.said(phase))
    if ended and (set(decided.values()) != {len(players)} or len(decided) != n_rounds):
        rule = f"each player decides in each of the {n_rounds} rounds"
        raise broken("$", rule, f"{decided.total()} decisions of {len(players)} players")
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
            for player, name in models_of(players, model).items()
        ],
        messages=spoken,
    )


def _scores(talk: Talk, built: GameRecord) -> list[float] | None:
    """Return the scores of a finished game that the moderator says; None where one is missing."""
    said = _parse_printed(_SCORE_LISTS, talk.last(_SCORES)) or {}
    scores = [said[seat.player] for seat in built.seats if seat.player in said]
    return scores if built.is_finished and len(scores) == len(built.seats) else None


def _add_results(built: GameRecord, points: Sequence[float], *, are_scores: bool = True) -> None:
    """Adds who won: each with the most points of all, if the game is finished; and the scores."""
    known = points if built.is_finished else [None] * len(built.seats)
    built.results = results(built, dict(enumerate(most_points(known), start=1)))
    if are_scores:
        scored = zip(built.seats, known, strict=True)
        built.seats = [replace(seat, final_score=score) for seat, score in scored]
