"""What has to hold of the players of any game, so that each can be told by its name."""

from collections.abc import Collection

from pipeline.formats.broken import broken
from pipeline.formats.rows import EVERYONE, MODERATOR
from pipeline.game import Fault, Messages

MOST_PLAYERS = 1_000
LONGEST_NAME = 1_000


def check_number(n_players: int, at: str, most: int = MOST_PLAYERS) -> None:
    """Raises BrokenDocument where there are more players than a table seats."""
    if n_players > most:
        raise broken(at, f"a game has at most {most:,} players", f"{n_players:,} players")


def check_players(players: Collection[str], at: str, most: int = MOST_PLAYERS) -> None:
    """Raises BrokenDocument where there are more than a table seats, or one has no name to go by.

    `at` is where the log lists them. What is made of a game grows with its players, in places with
    their square.
    """
    check_number(len(players), at, most)
    for player in players:
        if player in (MODERATOR, EVERYONE) or len(player) > LONGEST_NAME:
            rule = f"a player has a name of its own, of at most {LONGEST_NAME:,} characters"
            raise broken(at, rule, repr(player[:50]))


def unseated(spoken: Messages) -> list[Fault]:
    """A fault for each player who speaks and has no seat, at the first message.

    The message is in the tables, and what the player does in it is not.
    """
    if spoken.seat.count(None) == spoken.player.count(MODERATOR):
        return []
    first: dict[str, int] = {}
    for index, (player, seat) in enumerate(zip(spoken.player, spoken.seat, strict=True)):
        if seat is None and player != MODERATOR:
            first.setdefault(player, index)
    rule = "every player who speaks has a seat"
    return [Fault(f"$.history[{index}]", rule, repr(player)) for player, index in first.items()]
