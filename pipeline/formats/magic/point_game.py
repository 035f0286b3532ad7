"""What MAgIC's Prisoner's Dilemma and Public Good logs share: seats, decisions by round, scores."""

from functools import partial

from msgspec import UNSET, Struct, UnsetType, field

from pipeline.formats.broken import broken
from pipeline.formats.building import results
from pipeline.formats.magic.log import (
    FORMAT,
    PGM,
    PGM_SUFFIX,
    PLAIN,
    SYSTEM,
    Backend,
    Log,
    history_of,
    known,
    result,
)
from pipeline.formats.players import check_number, check_players, player_number
from pipeline.formats.rows import (
    MODERATOR,
    TO_MODERATOR,
    History,
    Prompted,
    Timeline,
    messages,
    once,
)
from pipeline.game import GameRecord, JsonValue, Seat
from pipeline.vocabulary import PLAYER, Outcome, Phase

WIN, LOSE = "win", "lose"
MOST_SILENT_SEATS = 100


class Opponents(Struct, kw_only=True):
    """What both games' settings say of the players."""

    test_player: Backend
    other_player: Backend | UnsetType = field(default=UNSET, name="non-test_player")
    test_player_name: str | UnsetType = UNSET


def _timeline(logged: History, _: Prompted, *, decision: Phase) -> Timeline:
    """Each row's phase and round; what a player tells the moderator alone is its decision.

    The log does not number decisions. A round ends where the moderator speaks, or where a player
    decides a second time; so one decision missing does not shift those after it.
    """
    found = Timeline([], [])
    round_ = 1
    decided: set[str] = set()
    for player, visible_to in zip(logged.player, logged.visible_to, strict=True):
        is_moderator = player == MODERATOR
        is_decision = not is_moderator and visible_to in TO_MODERATOR
        if decided and (is_moderator or (is_decision and player in decided)):
            round_ += 1
            decided.clear()
        if is_decision:
            decided.add(player)
        said = decision if is_decision else Phase.REFLECTION
        found.phase.append(Phase.MODERATION if is_moderator else said)
        found.round.append(None if is_moderator else round_)
    return found


# Named, since a course is known by what placed it.
TIMELINES = {
    phase: partial(_timeline, decision=phase) for phase in (Phase.DECISION, Phase.CONTRIBUTION)
}


def game(
    log: Log,
    game_type: str,
    phase: Phase,
    players: Opponents,
    *,
    setting: dict[str, JsonValue],
    n_rounds: int | None,
) -> GameRecord:
    """The game without its decisions. `n_rounds` is None where the setting does not fix it."""
    tested = log.test_player_name
    if tested is UNSET:
        tested = players.test_player_name
    if tested is UNSET:
        raise broken(
            "$.test_player_name",
            "the log or its game_setting names the tested player",
            "neither does",
        )
    ended = result(log, (WIN, LOSE))
    logged = history_of(log)
    scores = known(log.scores) or []
    names = once(_names, len(scores), logged.player, logged.visible_to, tested)
    other = None if players.other_player is UNSET else players.other_player.model
    seats = [
        Seat(
            player=name,
            model=players.test_player.model if name == tested else other,
            role=PLAYER,
            is_tested=name == tested,
            final_score=scores[number] if number < len(scores) else None,
        )
        for number, name in enumerate(names)
    ]
    numbers = {name: number for number, name in enumerate(names, start=1)}
    spoken = messages(logged, names, TIMELINES[phase])
    built = GameRecord(
        game_type=game_type,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if players.test_player.model.endswith(PGM_SUFFIX) else PLAIN,
        setting={**setting, "tested": tested},
        is_repeatable=True,
        is_finished=ended is not None,
        outcome=Outcome.COMPLETED if ended is not None else None,
        n_rounds=spoken.course.last_round(phase) if n_rounds is None else n_rounds,
        seats=seats,
        messages=spoken,
    )
    built.results = results(built, {numbers[tested]: None if ended is None else ended == WIN})
    return built


def _names(
    n_scores: int, speakers: tuple[str, ...], shown: tuple[str | tuple[str, ...], ...], tested: str
) -> tuple[str, ...]:
    """The players by seat. Seats are known by number, so a silent player keeps its seat."""
    audible = zip(speakers, shown, strict=True)
    spoke = {player for player, visible_to in audible if visible_to in TO_MODERATOR}
    named = spoke - {MODERATOR} | {tested}
    check_players(named, "$")
    numbers = [number for name in named if (number := player_number(name))]
    n_seats = max([n_scores, *numbers])
    if n_seats > n_scores + len(speakers) + MOST_SILENT_SEATS:
        raise broken("$.test_player_name", "players are numbered from 1 without gaps", repr(tested))
    strangers = sorted(name for name in named if player_number(name) is None)
    check_number(n_seats + len(strangers), "$")
    return (*(f"Player {number}" for number in range(1, n_seats + 1)), *strangers)
