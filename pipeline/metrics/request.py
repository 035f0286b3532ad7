"""A request for values: which metrics, in which edition, grouped how."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, get_args, overload

import polars as pl
from msgspec import Struct

from pipeline.events.contracts import polars_schema
from pipeline.metrics.condition import Condition
from pipeline.metrics.declaration import Metric
from pipeline.vocabulary import ALL, Edition

PAPER: Final = "paper"
RELEASE: Final = "release"
AUDITED: Final = "audited"
EDITIONS: tuple[Edition, ...] = get_args(Edition)
DEFAULT_BY = ("model", "game_type")
BY_TYPE = "; also group by game_type to get the value of each type"
BY_TERM = "; `magic metrics --format json` shows each term in `terms`"
POOL = "pooled"  # the term of a metric that is one ratio over all of its terms
DEFAULT_GAMES = 21

_OF_EVERY_ROW = polars_schema("players")
GAME_COLUMNS: dict[str, pl.DataType] = {
    name: dtype for name, dtype in polars_schema("games").items() if name not in _OF_EVERY_ROW
} | {"opponent": pl.String()}
"""The columns of a game that its rows do not repeat, to group and choose by; `opponent` as in
`results`. A column that `games` has is the game's, even where the rows have one of that name."""

_OF_ONE_TYPE = ("game_id", "setting_id", "competition")
_OF_A_SEAT = ("seat", "player", "final_score", "score_rank")
_OF_A_SIDE = [name for name in _OF_EVERY_ROW if name not in _OF_A_SEAT]


@overload
def several(names: Iterable[str]) -> tuple[str, ...]: ...
@overload
def several(names: Iterable[str] | None) -> tuple[str, ...] | None: ...
def several(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """The names, None for None; a text alone is one name, and no list of its letters."""
    if names is None:
        return None
    return (names,) if isinstance(names, str) else tuple(names)


def chosen(**values: Sequence[str] | None) -> pl.Expr:
    """Whether a row has one of the values in each of these columns; None stands for any."""
    asked = (pl.col(name).is_in(some) for name, some in values.items() if some is not None)
    return pl.all_horizontal(pl.lit(value=True), *asked)


class Request(Struct, frozen=True):
    """A grouping of an edition's rows. `num_of_game` is the release edition's alone."""

    edition: Edition = PAPER
    by: tuple[str, ...] = DEFAULT_BY
    num_of_game: int = DEFAULT_GAMES
    models: tuple[str, ...] | None = None
    game_types: tuple[str, ...] | None = None
    where: Condition | None = None

    @property
    def keys(self) -> list[str]:
        """The columns that identify a value."""
        return ["metric", *self.by]

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

    def tells_type(self, of_metric: Collection[str]) -> bool:
        """Whether a group is of one of a metric's own game types by all that is asked.

        The release edition has values over all of them alone.
        """
        chosen = set(self.game_types or ())
        is_one_alone = len(chosen) == 1 and chosen <= set(of_metric) and self.edition != RELEASE
        return is_one_alone or not {"game_type", *_OF_ONE_TYPE}.isdisjoint(self.by)

    def hint(self, of_metric: Collection[str]) -> str:
        """What to say of a value that lacks some of its terms, for a metric of these types."""
        is_of_all = self.edition == RELEASE or (self.has_every_group and self.where is None)
        # Its groups can lack terms because they are of some of its types only.
        is_mixed = len(of_metric) > 1 and not is_of_all and not self.tells_type(of_metric)
        return BY_TYPE * is_mixed + BY_TERM * (not self.has_every_group)

    @property
    def has_every_group(self) -> bool:
        """Whether a group is shown though it has no game of the metric's types."""
        return set(self.by) <= set(DEFAULT_BY)

    def shown_types(self, metric: Metric) -> tuple[str, ...]:
        """The values of `game_type` that rows of the metric have."""
        of_metric = tuple(str(game_type) for game_type in metric.game_types)
        if self.edition == RELEASE and len(of_metric) > 1:
            of_metric = ()
        shown = (*of_metric, ALL)
        return shown if self.game_types is None else tuple(t for t in shown if t in self.game_types)

    def counted_types(self, metric: Metric) -> tuple[str, ...]:
        """The metric's game types whose rows are counted: the requested ones, if there are any."""
        types = tuple(map(str, metric.game_types))
        chosen = None if self.is_rolled_up else self.game_types
        return tuple(one for one in types if chosen is None or one in chosen) or types
