"""The Python face of a lake: its tables, its metrics, and SQL over both."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import duckdb
import polars as pl

from pipeline import audit as audit_
from pipeline import metrics as metrics_
from pipeline import warehouse
from pipeline.events.contracts import TABLES
from pipeline.lake import Lake, open_lake
from pipeline.metrics import evidence as evidence_
from pipeline.metrics import sql as metrics_sql
from pipeline.reports import compare as compare_
from pipeline.reports import completeness as completeness_
from pipeline.reports import ranking


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
        """The metrics by any grouping: see `pipeline.metrics.metrics`."""
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
        """The rows that a metric counted: see `pipeline.metrics.evidence`."""
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

    def leaderboard(
        self, *, edition: str = "paper", engine: str = "polars", master: str | None = None
    ) -> pl.DataFrame:
        """A row for each model, ranked: see `pipeline.reports.ranking.leaderboard`."""
        return ranking.leaderboard(self.lake, edition=edition, engine=engine, master=master)

    def compare(
        self,
        *pairs: tuple[str, str],
        edition: str = "paper",
        names: Sequence[str] | None = None,
        confidence: float = metrics_.DEFAULT_CONFIDENCE,
    ) -> pl.DataFrame:
        """Pairs of models, all if none is named: see `pipeline.reports.compare.compare`."""
        return compare_.compare(
            self.lake, pairs or None, names=names, edition=edition, confidence=confidence
        )

    def completeness(self, *, expected: int | None = None) -> pl.DataFrame:
        """What is there of each model: see `pipeline.reports.completeness.completeness`."""
        return completeness_.completeness(self.lake, expected=expected)

    def audit(self, *, by: Sequence[str] = ()) -> pl.DataFrame:
        """Where logs are at odds with themselves, by kind: see `pipeline.audit`."""
        return audit_.audit(self.lake, by=by)

    def sql(self, query: str, *, memory: int | None = None) -> pl.DataFrame:
        """The result of one reading statement over the tables and the metrics' views.

        `memory` is how many bytes DuckDB may take, by default most of the machine's. Raises
        QueryError for a statement that is wrong, or that would do more than read the lake.
        """
        with warehouse.connect(self.lake, self._views, query, memory=memory) as connection:
            return warehouse.query(connection, query, [*TABLES, *self._views])

    def connect(self, *, memory: int | None = None) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with every table and view, for many queries on the one state.

        Whatever it is told, it reads but the lake's files, and writes nowhere but in memory.
        """
        return warehouse.connect(self.lake, self._views, memory=memory)

    @cached_property
    def _views(self) -> dict[str, str]:
        return metrics_sql.views(metrics_.NAMES)


def open_lake_at(path: str | Path) -> OpenLake:
    """The lake at the path; raises LakeError where there is none that can be read."""
    return OpenLake(open_lake(path))
