"""What a kind of game is, as data: its roles and sides, how it ends, what is done in it."""

from collections.abc import Mapping

from msgspec import Struct

from pipeline.column import Column
from pipeline.game import Event
from pipeline.vocabulary import PLAYER, Side

# Fields of an event that name a player, whose seat is another column.
SEATED = ("target", "leader")


class Role(Struct, frozen=True):
    """A role of a game, and the side that it is on.

    `competition` is what its results count for in Win Rate; roles can share one, and a side then
    wins or loses as a whole. `is_sought` says that votes are right if they name a player of this
    role.
    """

    name: str
    side: Side
    competition: str
    is_sought: bool = False


class Ending(Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a game ends, and what each side is credited with for it (0..1).

    Null is for games in which points or proposals decide who won. `hidden_wins` is needed only
    where a credit of less than 1 is a win of the hidden side.
    """

    outcome: str
    hidden: float | None = None
    civilian: float | None = None
    hidden_wins: bool | None = None

    def credit(self, side: str) -> float | None:
        """What the side is credited with."""
        if side == Side.HIDDEN:
            return self.hidden
        return self.civilian if side == Side.CIVILIAN else None

    def is_win(self, side: str) -> bool | None:
        """Whether the side won."""
        if side == Side.HIDDEN and self.hidden_wins is not None:
            return self.hidden_wins
        credit = self.credit(side)
        return None if credit is None else credit == 1


class EventTable(Struct, frozen=True):
    """A table that only games of one kind have: what a row is, and its own columns.

    A row is something that a seat did, an `event` that a format puts into `GameRecord.events`. Its
    fields are columns; those of game, player, seat, round and message come with every such table.
    Of a column in `SEATED`, such as `target`, the column `target_seat` is derived.
    """

    event: type[Event]
    row: str
    columns: Mapping[str, Column]


class GameKind(Struct, frozen=True, eq=False):
    """A kind of game. `phases` are those of its messages that no other game has.

    `order` is how a round goes, for readers of a transcript: phases, and the tables of acts that
    have no message. `eliminations.vote` are the rows of a table of that `cause` or `kind`. What it
    leaves out comes last, in the order of the tables. In a phase of `secret_phases`, whoever speaks
    has a certain role. `most_points_win` says that the highest score wins, also a shared one.
    """

    name: str
    roles: tuple[Role, ...]
    endings: tuple[Ending, ...]
    phases: tuple[str, ...] = ()
    tables: Mapping[str, EventTable] = {}
    order: tuple[str, ...] = ()
    secret_phases: tuple[str, ...] = ()
    most_points_win: bool = False

    def role(self, name: str) -> Role | None:
        """The role of this name, None if the game has no such role."""
        return next((role for role in self.roles if role.name == name), None)

    def side(self, role: str) -> Side:
        """The side that a role is on, `Side.NONE` for a role that the game does not have."""
        found = self.role(role)
        return found.side if found else Side.NONE

    def ending(self, outcome: str | None) -> Ending | None:
        """The ending of this outcome, None if no game of the kind ends so."""
        return next((ending for ending in self.endings if ending.outcome == outcome), None)

    @property
    def competitions(self) -> tuple[str, ...]:
        """What results of the game count for, in the order of its roles."""
        return tuple(dict.fromkeys(role.competition for role in self.roles))

    @property
    def has_sides(self) -> bool:
        """Whether some players are on a hidden side, and the others do not know who."""
        return any(role.side == Side.HIDDEN for role in self.roles)

    @property
    def has_sought_roles(self) -> bool:
        """Whether players vote to find others."""
        return any(role.is_sought for role in self.roles)


def of_players(
    name: str,
    *endings: Ending,
    phases: tuple[str, ...] = (),
    order: tuple[str, ...] = (),
    most_points_win: bool = False,
) -> GameKind:
    """A game without roles: each player plays for itself, and all compete in one."""
    roles = (Role(PLAYER, Side.NONE, name),)
    return GameKind(name, roles, endings, phases, order=order, most_points_win=most_points_win)
