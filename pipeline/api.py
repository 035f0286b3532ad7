"""The Python face of a lake: its tables, its metrics, and SQL over both."""

from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

import duckdb
import polars as pl

from pipeline import audit as audit_
from pipeline import metrics as metrics_
from pipeline import warehouse
from pipeline.errors import may_be_of_a_file
from pipeline.events.contracts import TABLES
from pipeline.lake import Lake, open_lake
from pipeline.lake.damage import explanation
from pipeline.metrics import evidence as evidence_
from pipeline.metrics.views import views
from pipeline.reports import compare as compare_
from pipeline.reports import completeness as completeness_
from pipeline.reports import diff as diff_
from pipeline.reports import plan as plan_
from pipeline.reports import ranking
from pipeline.warehouse.views import View

P = ParamSpec("P")
R = TypeVar("R")


def _explained(method: Callable[P, R]) -> Callable[P, R]:
    """The method, which names the damaged file where a library cannot read the lake."""

    @wraps(method)
    def run(*given: P.args, **options: P.kwargs) -> R:
        try:
            return method(*given, **options)
        except BaseException as error:
            if not may_be_of_a_file(error):
                raise
            lakes = [one.lake for one in given if isinstance(one, OpenLake)]
            raise explanation(error, lakes) from None

    return run


class OpenLake:
    """A lake at one state; what is committed later is seen by opening it anew.

    It can be pickled, as for processes that work side by side: copies are of the same state.
    """

    def __init__(self, lake: Lake) -> None:
        self.lake = lake

    def __repr__(self) -> str:
        return f"<OpenLake {self.lake.path} after ingest {self.lake.ingest_id}>"

    def table(self, name: str) -> pl.LazyFrame:
        """An event table with its contract's columns; raises UsageError for a name unknown."""
        return self.lake.table(name)

    @_explained
    def metrics(
        self,
        *,
        by: Sequence[str] | None = metrics_.DEFAULT_BY,
        edition: str = "paper",
        engine: str = "polars",
        master: str | None = None,
        names: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
        game_types: Sequence[str] | None = None,
        where: str | None = None,
        num_of_game: int = metrics_.DEFAULT_GAMES,
        confidence: float | None = metrics_.DEFAULT_CONFIDENCE,
    ) -> pl.DataFrame:
        """A row for each metric and group: its value, interval, and what it was made of.

        `by` are columns of the metric's rows or of `games`; `names` are metrics, all by default.
        `where` is a condition in SQL, such as "role = 'civilian' AND round > 1". `num_of_game` is
        for the edition release, `master` for the engine spark. A `confidence` of None leaves out
        the intervals, and is twice as quick. `pipeline.metrics.metrics` says what the columns are.
        """
        return metrics_.metrics(
            self.lake,
            by=by,
            edition=edition,
            engine=engine,
            master=master,
            names=names,
            models=models,
            game_types=game_types,
            where=where,
            num_of_game=num_of_game,
            confidence=confidence,
        )

    @_explained
    def evidence(
        self,
        name: str,
        *,
        edition: str = "paper",
        engine: str = "polars",
        models: Sequence[str] | None = None,
        game_types: Sequence[str] | None = None,
        where: str | None = None,
        num_of_game: int = metrics_.DEFAULT_GAMES,
        is_hit: bool | None = None,
    ) -> pl.DataFrame:
        """A row for each row that the metric `name` counted, with the message behind it.

        `is_hit` asks for rows with some hit, or with none. The engines are polars and duckdb; the
        other arguments are those of `metrics`. `pipeline.metrics.evidence.evidence` says what the
        columns are.
        """
        return evidence_.evidence(
            self.lake,
            name,
            edition=edition,
            engine=engine,
            models=models,
            game_types=game_types,
            where=where,
            num_of_game=num_of_game,
            is_hit=is_hit,
        )

    @_explained
    def leaderboard(
        self,
        *,
        edition: str = "paper",
        engine: str = "polars",
        master: str | None = None,
        models: Sequence[str] | None = None,
        num_of_game: int = metrics_.DEFAULT_GAMES,
        confidence: float = metrics_.DEFAULT_CONFIDENCE,
        include_incomplete: bool = False,
    ) -> pl.DataFrame:
        """A row for each model, ranked by win rate, with all metrics over all game types.

        Columns: rank, model, letters (models that share one are not told apart by win rate), family
        (how many p-values they were adjusted for), n_games finished, n_missing (settings that
        others played and it did not finish), n_self_play (games in which it holds every seat, whose
        win rate is 0.5 by construction), is_complete, each metric with its interval (`<metric>_low`
        and `_high`), lacks (competitions that it has no finished game of), and reasons for metrics
        without a value. A model that lacks a whole competition has no rank and comes after the
        others, unless `include_incomplete`. Other arguments are those of `metrics`.
        """
        return ranking.leaderboard(
            self.lake,
            edition=edition,
            engine=engine,
            master=master,
            models=models,
            num_of_game=num_of_game,
            confidence=confidence,
            include_incomplete=include_incomplete,
        )

    @_explained
    def compare(
        self,
        *pairs: tuple[str, str],
        edition: str = "paper",
        names: Sequence[str] | None = None,
        confidence: float = metrics_.DEFAULT_CONFIDENCE,
    ) -> pl.DataFrame:
        """A row for each metric and pair of models: the difference, its interval and p-value.

        Pairs are such as ("gpt-4", "cohere"); all are compared if none is named. `names` are
        metrics, all by default. `pipeline.reports.compare.compare` says what the columns are.
        """
        return compare_.compare(
            self.lake, pairs or None, names=names, edition=edition, confidence=confidence
        )

    @_explained
    def plan(
        self,
        name: str,
        difference: float,
        *,
        power: float = 0.8,
        level: float = 0.05,
        edition: str = "paper",
    ) -> pl.DataFrame:
        """A row for each two models: settings needed to see so large a difference in a metric.

        `power` is how sure to see it, `level` how many false alarms are allowed.
        `pipeline.reports.plan.plan` says what the columns are.
        """
        return plan_.plan(self.lake, name, difference, power=power, level=level, edition=edition)

    @_explained
    def diff(
        self,
        after: "OpenLake | str | Path",
        *,
        edition: str = "paper",
        confidence: float = metrics_.DEFAULT_CONFIDENCE,
    ) -> pl.DataFrame:
        """A row for each metric and model: how its value moved from this lake to the one after.

        `after` is an open lake, or the path of one.
        `pipeline.reports.diff.diff` says what the columns are.
        """
        opened = after if isinstance(after, OpenLake) else open_lake_at(after)
        return diff_.diff(self.lake, opened.lake, edition=edition, confidence=confidence)

    @_explained
    def completeness(self, *, expected: int | None = None) -> pl.DataFrame:
        """A row for each model and competition: what is there of its games, and what is missing.

        `expected` is how many games it should have finished, by default one of each setting that
        any model played. `pipeline.reports.completeness.completeness` says what the columns are.
        """
        return completeness_.completeness(self.lake, expected=expected)

    @_explained
    def readability(self, *, edition: str = "paper") -> pl.DataFrame:
        """A row for each model and metric: what could not be read, and the bounds that leaves.

        `pipeline.reports.completeness.readability` says what the columns are.
        """
        return completeness_.readability(self.lake, edition=edition)

    @_explained
    def audit(self, *, by: Sequence[str] = ()) -> pl.DataFrame:
        """A row for each kind, and each group of it: how often logs are at odds with themselves.

        `pipeline.audit.audit` says what the columns are.
        """
        return audit_.audit(self.lake, by=by)

    @_explained
    def sql(self, query: str, *, memory: int | None = None) -> pl.DataFrame:
        """The result of one reading statement over the tables and the metrics' views.

        Sums of integers are Int64, or Float64 if one value does not fit; decimals are Float64.
        `memory` is how many bytes DuckDB may take, by default most of the machine's. Raises
        QueryError for a statement that is wrong, or that would do more than read the lake.
        """
        with warehouse.connect(self.lake, self._views, query, memory=memory) as connection:
            return warehouse.query(connection, query, [*TABLES, *self._views])

    @_explained
    def connect(self, *, memory: int | None = None) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with every table and view, for many queries on the one state.

        It can read only the lake's files, and write only to memory. Numbers have DuckDB's own
        types: cast a sum of integers, as in `sum(seat)::BIGINT`, before polars or pandas take it.
        """
        return warehouse.connect(self.lake, self._views, memory=memory)

    @cached_property
    def _views(self) -> dict[str, View]:
        return views()


def open_lake_at(path: str | Path) -> OpenLake:
    """The lake at the path; raises LakeError where there is none that can be read."""
    return OpenLake(open_lake(path))
