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
    """Read the game; a game without a winner is unfinished."""
    log = decode(Log, sniffer.data)
    if log.winner and log.winner not in _OUTCOMES:
        raise invalid_document_error(
            "$.winner", "the winner is Villagers or Werewolves", repr(log.winner[:50])
        )
    village = WerewolfGameBuilder(_read_seats(log.players))
    for number, one in enumerate(log.rounds):
        _add_night(village, one, number, f"$.rounds[{number}]")
        _add_day(village, one, number + 1, f"$.rounds[{number}]")
    # A game can end in the night.
    days = [number for number, one in enumerate(log.rounds, 1) if one.debate or one.votes]
    return village.build_game(
        NAME,
        outcome=_OUTCOMES[log.winner] if log.winner else None,
        n_rounds=max(days, default=0),
        ended_by=log.error_message or None,
    )


def _read_seats(listed: Raw) -> list[Seat]:
    players = decode(dict[str, Player], listed, "$.players")
    # Each has a role. With no more roles than players, no name comes twice.
    if bytes(listed).count(b'"role"') != len(players):
        check_unique_keys(listed, "$.players")
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


def _add_night(village: WerewolfGameBuilder, one: Round, day: int, at: str) -> None:
    """Add a night; its attack kills nobody if the doctor protects the target."""
    eliminated = village.somebody(one.eliminated)
    if eliminated is not None:
        village.attack(eliminated, day, f"{at}.eliminated")
    for kind, role, target in (
        ("protect", "doctor", one.protected),
        ("unmask", "seer", one.unmasked),
    ):
        players = village.living(role)
        if target is not None and players:
            aim = village.target(target, f"{at}.{kind}ed")
            finding = village.role(aim) if aim and kind == "unmask" else None
            village.use(players[0], kind, aim, day, finding)
        elif target is not None:
            rule = f"a {role} is in the game to {kind} a player"
            village.faults.append(RecordError(f"{at}.{kind}ed", rule, repr(target[:50])))
    if eliminated is not None and eliminated != one.protected:
        village.eliminate(eliminated, day, ATTACKED, f"{at}.eliminated")


def _add_day(village: WerewolfGameBuilder, one: Round, day: int, at: str) -> None:
    for number, (player, text) in enumerate(one.debate or ()):
        if village.is_player(player, f"{at}.debate[{number}]"):
            village.add_message(player, text or "", day)
    # In an interrupted round the last tally decided nothing.
    tallies = [] if one.success is False else one.votes or []
    for player, target in tallies[-1].items() if tallies else ():
        tally = f"{at}.votes[{len(tallies) - 1}]"
        if village.is_player(player, tally):
            named = None if target is None else str(target)
            village.vote(player, village.target(named, f"{tally}.{player}"), day)
    if (exiled := village.somebody(one.exiled)) is not None:
        village.eliminate(exiled, day, EXECUTED, f"{at}.exiled")
