"""Games of Google's Werewolf Arena: one JSON object a game, in files `game_complete.json`.

A round of the log is a night and the day after it. A day of ours has its night after it, so the
night of the log's first round belongs to round 0, and its day is round 1.
"""

from typing import Annotated, Any

from msgspec import Meta, Raw, Struct

from pipeline.formats.hidden_roles import (
    ATTACKED,
    EXECUTED,
    MAX_DAYS,
    MAX_WEREWOLF_PLAYERS,
    WerewolfGameBuilder,
    parse_werewolf_role,
)
from pipeline.formats.record_builder import check_players, check_unique_keys
from pipeline.formats.sniffer import DocumentSniffer, decode, invalid_document_error
from pipeline.game_record import GameRecord, RecordError, Seat

NAME = "werewolf_arena"
NAMES_MODELS = True

_KEYS = {
    *("players", "rounds", "winner", "session_id"),
    *("villagers", "werewolves", "seer", "doctor"),
}
_OUTCOMES = {"Villagers": "villagers_won", "Werewolves": "werewolves_won"}


class Player(Struct, gc=False):
    """A player; its observations are not read, because the rounds have the same facts."""

    role: str
    model: str | None = None


class Round(Struct, gc=False):
    """A night and the next day; `success` is false for an interrupted round.

    There can be a tally after each turn of the debate, and the last one decides.
    """

    eliminated: str | None = None
    protected: str | None = None
    unmasked: str | None = None
    exiled: str | None = None
    debate: list[tuple[str, str | None]] | None = None
    votes: list[dict[str, Any]] | None = None
    success: bool | None = None


class Log(Struct, gc=False):
    """The document of a game."""

    players: Raw
    rounds: Annotated[list[Round], Meta(max_length=MAX_DAYS)]
    winner: str | None = None
    error_message: str | None = None


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document has the keys of a Werewolf Arena log."""
    return sniffer.has_keys(_KEYS, 6)


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Return the game of a log; it is unfinished if the log has no winner."""
    log = decode(Log, sniffer.data)
    if log.winner and log.winner not in _OUTCOMES:
        raise invalid_document_error(
            "$.winner", "the winner is Villagers or Werewolves", repr(log.winner[:50])
        )
    village = WerewolfGameBuilder(_seats_from_players(log.players))
    for index, round_log in enumerate(log.rounds):
        _add_night_events(village, round_log, index, f"$.rounds[{index}]")
        _add_day_events(village, round_log, index + 1, f"$.rounds[{index}]")
    # A game can end in the night.
    days = [
        day
        for day, round_log in enumerate(log.rounds, start=1)
        if round_log.debate or round_log.votes
    ]
    return village.build_game(
        NAME,
        outcome=_OUTCOMES[log.winner] if log.winner else None,
        n_rounds=max(days, default=0),
        ended_by=log.error_message or None,
    )


def _seats_from_players(players_json: Raw) -> list[Seat]:
    players = decode(dict[str, Player], players_json, "$.players")
    # Each player has a role, so names are unique if there are as many roles as players.
    if bytes(players_json).count(b'"role"') != len(players):
        check_unique_keys(players_json, "$.players")
    check_players(players, "$.players", MAX_WEREWOLF_PLAYERS)
    return [
        Seat(
            name,
            player.model or None,
            parse_werewolf_role(player.role, f"$.players.{name}.role"),
            is_tested=True,
        )
        for name, player in players.items()
    ]


def _add_night_events(
    village: WerewolfGameBuilder, round_log: Round, day: int, json_path: str
) -> None:
    """Add the actions of a night; the attack kills nobody if the doctor protects its target."""
    eliminated = village.none_if_word_for_nobody(round_log.eliminated)
    if eliminated is not None:
        village.add_attack_by_all_werewolves(eliminated, day, f"{json_path}.eliminated")
    for action, role, target in (
        ("protect", "doctor", round_log.protected),
        ("unmask", "seer", round_log.unmasked),
    ):
        players = village.players_in_game_with_role(role)
        if target is not None and players:
            target_name = village.find_target_or_add_fault(target, f"{json_path}.{action}ed")
            finding = (
                village.role_of_player(target_name) if target_name and action == "unmask" else None
            )
            village.add_ability_use(players[0], action, target_name, day, finding)
        elif target is not None:
            rule = f"a {role} is in the game to {action} a player"
            village.faults.append(RecordError(f"{json_path}.{action}ed", rule, repr(target[:50])))
    if eliminated is not None and eliminated != round_log.protected:
        village.eliminate_player(eliminated, day, ATTACKED, f"{json_path}.eliminated")


def _add_day_events(
    village: WerewolfGameBuilder, round_log: Round, day: int, json_path: str
) -> None:
    for index, (player, text) in enumerate(round_log.debate or ()):
        if village.is_player_or_add_fault(player, f"{json_path}.debate[{index}]"):
            village.add_message(player, text or "", day)
    # In an interrupted round the last tally decided nothing.
    tallies = [] if round_log.success is False else round_log.votes or []
    for player, target in tallies[-1].items() if tallies else ():
        tally_path = f"{json_path}.votes[{len(tallies) - 1}]"
        if village.is_player_or_add_fault(player, tally_path):
            target_text = None if target is None else str(target)
            village.set_vote(
                player, village.find_target_or_add_fault(target_text, f"{tally_path}.{player}"), day
            )
    if (exiled := village.none_if_word_for_nobody(round_log.exiled)) is not None:
        village.eliminate_player(exiled, day, EXECUTED, f"{json_path}.exiled")
