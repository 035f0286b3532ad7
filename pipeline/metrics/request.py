"""What is asked of the metrics: which, in what edition, grouped how."""

from collections.abc import Collection, Iterable, Sequence
from typing import overload

from msgspec import Struct

from pipeline.errors import UsageError
from pipeline.events.contracts import polars_schema
from pipeline.metrics.condition import Condition
from pipeline.metrics.declaration import Metric
from pipeline.metrics.slices import GAME_COLUMNS
from pipeline.vocabulary import GameType

PAPER, RELEASE, AUDITED = "paper", "release", "audited"
EDITIONS = (PAPER, RELEASE, AUDITED)
DEFAULT_BY = ("model", "game_type")
ALL = "all"
BY_TYPE = "; group by game_type too, to have the value of each type"
BY_TERM = "; `magic metrics --format json` has each term, in `terms`"
POOL = "pooled"  # the term of a metric that is one ratio over all of its terms
DEFAULT_GAMES = 21

_OF_ONE_TYPE = ("game_id", "setting_id", "competition")
_OF_A_SEAT = ("seat", "player", "final_score", "score_rank")
_OF_A_SIDE = [name for name in polars_schema("players") if name not in _OF_A_SEAT]


@overload
def several(names: Iterable[str]) -> tuple[str, ...]: ...
@overload
def several(names: Iterable[str] | None) -> tuple[str, ...] | None: ...
def several(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """The names, None for None; a text alone is one name, and no list of its letters."""
    if names is None:
        return None
    return (names,) if isinstance(names, str) else tuple(names)


class Request(Struct, frozen=True):
    """A grouping of an edition's rows. `num_of_game` is the release edition's alone."""

    edition: str = PAPER
    by: tuple[str, ...] = DEFAULT_BY
    num_of_game: int = DEFAULT_GAMES
    models: tuple[str, ...] | None = None
    game_types: tuple[str, ...] | None = None
    where: Condition | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that rows are grouped or chosen by."""
        return (*self.by, *(self.where.columns if self.where else ()))

    @property
    def of_game(self) -> tuple[str, ...]:
        """Those of them that are columns of the game."""
        return tuple(name for name in dict.fromkeys(self.columns) if name in GAME_COLUMNS)

    @property
    def fine(self) -> tuple[str, ...]:
        """The columns that rows are counted by; the groups asked for are sums of these.

        A game is of one type, so what is distinct within types is distinct over several.
        """
        return self.by if self.is_rolled_up else (*self.by, "game_type")

    @property
    def is_rolled_up(self) -> bool:
        """Whether there are also rows over all game types."""
        return "game_type" in self.by

    @property
    def is_of_results(self) -> bool:
        """Whether `results` tells the groups, so that one without any counted row is shown.

        A result may stand for a whole team, so it has no seat or player to group by.
        """
        return set(self.columns) <= {*_OF_A_SIDE, *GAME_COLUMNS}

    @property
    def is_of_one_type(self) -> bool:
        """Whether a group is of one game type by what it is grouped by."""
        return self.is_rolled_up or bool(set(self.by) & set(_OF_ONE_TYPE))

    def tells_type(self, own: Collection[str]) -> bool:
        """Whether a group is of one of a metric's own game types by all that is asked.

        The release edition has values over all of them alone.
        """
        asked = set(self.game_types or ())
        is_one_alone = len(asked) == 1 and asked <= set(own) and self.edition != RELEASE
        return self.is_of_one_type or is_one_alone

    def mixes_types(self, own: Collection[str]) -> bool:
        """Whether groups can lack a metric's terms because they are of some of its types only."""
        is_of_all = self.edition == RELEASE or (self.has_every_group and self.where is None)
        return len(own) > 1 and not is_of_all and not self.tells_type(own)

    def hint(self, own: Collection[str]) -> str:
        """What to say of a value that lacks some of its terms, for a metric of these types."""
        by_type = BY_TYPE if self.mixes_types(own) else ""
        return by_type if self.has_every_group else by_type + BY_TERM

    @property
    def has_every_group(self) -> bool:
        """Whether a group is shown though it has no game of the metric's types."""
        return set(self.by) <= set(DEFAULT_BY)

    def shown_types(self, metric: Metric) -> tuple[str, ...]:
        """The values of `game_type` that rows of the metric have."""
        own = tuple(str(game_type) for game_type in metric.game_types)
        if self.edition == RELEASE and len(own) > 1:
            own = ()
        shown = (*own, ALL)
        return shown if self.game_types is None else tuple(t for t in shown if t in self.game_types)


def check(request: Request, tables: dict[str, list[str]]) -> None:
    """Raises UsageError for a request that cannot be met.

    `tables` names the columns that each metric asked for can be grouped by.
    """
    if request.edition not in EDITIONS:
        raise UsageError(f"no edition `{request.edition}`: there are {', '.join(EDITIONS)}")
    if not tables:
        raise UsageError("no metric is asked for: name one, or leave it to all")
    if not request.is_rolled_up and ALL in (request.game_types or ()):
        raise UsageError(f"game type `{ALL}` is told only where game_type is grouped by")
    if request.edition == RELEASE and request.where:
        raise UsageError("the release edition is defined for all games: it takes no condition")
    if request.num_of_game < 1:
        raise UsageError("the number of games is at least 1")
    if request.edition != RELEASE and request.num_of_game != DEFAULT_GAMES:
        raise UsageError(f"a number of games is for the edition release, not for {request.edition}")
    if request.edition == RELEASE and not set(request.by) <= set(DEFAULT_BY):
        raise UsageError("the release edition is defined for a model: group by model and game_type")
    if request.edition == RELEASE and "model" not in request.by:
        raise UsageError("the release edition is defined for a model: group by model at least")
    known = [*GameType, ALL]
    if strangers := [t for t in request.game_types or () if t not in known]:
        raise UsageError(f"no game type {', '.join(strangers)}: there are {', '.join(known)}")
    if len(set(request.by)) < len(request.by):
        raise UsageError(f"a column to group by is named twice: {', '.join(request.by)}")
    for column in request.by:
        lacking = [metric for metric, columns in tables.items() if column not in columns]
        if lacking:
            raise UsageError(_cannot_group(column, lacking, tables))


def _cannot_group(column: str, lacking: Sequence[str], tables: dict[str, list[str]]) -> str:
    having = [metric for metric in tables if metric not in lacking]
    if having:
        return (
            f"cannot group {', '.join(lacking)} by `{column}`: their rows have no such column; "
            f"{', '.join(having)} can be"
        )
    common = set.intersection(*(set(columns) for columns in tables.values()))
    order = [name for name in (*polars_schema("results"), *GAME_COLUMNS) if name in common]
    order = list(dict.fromkeys(order))
    return f"no column `{column}` to group by: there are {', '.join(order)}"
