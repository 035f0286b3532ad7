"""What happens in a game of werewolf, day by day, as any format tells it, made into a game.

A day is a round; the night after day d belongs to round d, and the first night to round 0.
"""

from collections.abc import Callable, Mapping

from pipeline.formats.broken import broken
from pipeline.formats.building import Spoken, messages
from pipeline.formats.players import is_nobody, target
from pipeline.formats.rows import EVERYONE
from pipeline.game import (
    Ability,
    BrokenDocument,
    Elimination,
    Fault,
    GameRecord,
    JsonValue,
    Seat,
    Vote,
)
from pipeline.games.werewolf import KIND

# Whispers and attacks are stored for each werewolf. The largest games known have 15 players.
MOST_PLAYERS = 25
MOST_DAYS = 1_000
WEREWOLF = "werewolf"
TALK, WHISPER = "talk", "whisper"
EXECUTED, ATTACKED = "vote", "attack"


class Village:
    """The players of a game, who of them is still in it, and all that they did so far."""

    def __init__(self, seats: list[Seat]) -> None:
        self.seats = seats
        self.faults: list[Fault] = []
        self.eliminations: list[Elimination] = []
        self.abilities: list[Ability] = []
        self._known = {seat.player: seat.player for seat in seats}
        self._numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
        self._roles = {seat.player: seat.role for seat in seats}
        self._living = dict.fromkeys(self._numbers)
        self._spoken: list[Spoken] = []
        self._votes: dict[tuple[int, str], Vote] = {}
        self._attacked: set[int] = set()
        self._n_used: dict[tuple[int, str], int] = {}

    def is_in(self, player: str) -> bool:
        """Whether a player is still in the game."""
        return player in self._living

    def is_player(self, player: str, at: str) -> bool:
        """Whether whoever acts is a player; if not, it is a fault, `at` where the log says so."""
        if player not in self._roles:
            self.faults.append(Fault(at, "whoever acts is a player", repr(player[:50])))
        return player in self._roles

    def role(self, player: str) -> str | None:
        """The role of a player, None for who is none."""
        return self._roles.get(player)

    def target(self, value: object, at: str) -> str | None:
        """The player at whom an act is aimed; None for nobody, with a fault where it is no name."""
        return target(value, self._known, at, self.faults)

    def somebody(self, name: str | None) -> str | None:
        """A name, null where it is a word for nobody and no player is called so."""
        return None if name not in self._roles and is_nobody(name) else name

    def living(self, role: str) -> tuple[str, ...]:
        """The players of a role who are still in the game."""
        return tuple(player for player in self._living if self._roles[player] == role)

    def n_living(self, *, wolves: bool) -> int:
        """How many werewolves, or others, are still in the game."""
        n_wolves = len(self.living(WEREWOLF))
        return n_wolves if wolves else len(self._living) - n_wolves

    def say(self, player: str, text: str, day: int, turn: int | None = None) -> None:
        """Adds what a player says to all."""
        self._spoken.append(Spoken(player, text, TALK, day, EVERYONE, turn))

    def whisper(self, player: str, text: str, day: int, turn: int | None = None) -> None:
        """Adds what a player says to the werewolves, of whom only the living hear it."""
        self._spoken.append(Spoken(player, text, WHISPER, day, self.living(WEREWOLF), turn))

    def vote(self, player: str, target: str | None, day: int) -> None:
        """Adds a vote, in place of the player's vote before if a tie is voted on again."""
        self._votes[day, player] = Vote(self._numbers[player], day, None, target)

    def use(
        self, player: str, kind: str, target: str | None, day: int, finding: str | None = None
    ) -> None:
        """Adds the use of an ability, and what the player learnt by it."""
        number = self._n_used[day, player] = self._n_used.get((day, player), 0) + 1
        seat = self._numbers[player]
        self.abilities.append(Ability(seat, day, None, number, kind, target, finding))

    def attack(self, target: str, day: int, at: str) -> None:
        """Adds an attack on a player, which is that of all living werewolves."""
        if day in self._attacked:
            raise broken(at, "the werewolves attack once a night", repr(target[:50]))
        self._attacked.add(day)
        attacked = self.target(target, at)
        for wolf in self.living(WEREWOLF):
            self.use(wolf, "attack", attacked, day)

    def eliminate(self, player: str, day: int, cause: str, at: str) -> None:
        """Takes a player out of the game; raises BrokenDocument where it is not in it."""
        if player not in self._living:
            raise broken(at, "whoever leaves the game is still in it", repr(player[:50]))
        self.eliminations.append(Elimination(self._numbers[player], day, None, cause))
        del self._living[player]

    def game(
        self,
        system: str,
        *,
        outcome: str | None,
        n_rounds: int,
        setting: Mapping[str, JsonValue] | None = None,
        ended_by: str | None = None,
    ) -> GameRecord:
        """The game, finished if it has an outcome; the format is called as its system.

        Its setting begins with how many players have each role.
        """
        roles = [seat.role for seat in self.seats]
        composition: JsonValue = {role: roles.count(role) for role in sorted(set(roles))}
        return GameRecord(
            game_type=KIND.name,
            system=system,
            format=system,
            setting={"roles": composition, **(setting or {})},
            is_finished=outcome is not None,
            outcome=outcome,
            ended_by=ended_by,
            n_rounds=n_rounds,
            seats=self.seats,
            messages=messages(self._spoken, self.seats),
            votes=list(self._votes.values()),
            abilities=self.abilities,
            eliminations=self.eliminations,
            faults=self.faults,
        )


def role_of(word: str, refused: Callable[[str], BrokenDocument]) -> str:
    """The role that a log's word stands for; raises what is `refused` by a rule for another."""
    role = KIND.role(word.lower())
    if role is None:
        raise refused(f"a role is one of {', '.join(known.name for known in KIND.roles)}")
    return role.name
