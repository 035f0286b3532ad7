"""The Python interface of a lake: its tables, metrics and reports, and SQL over all of them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import duckdb
import polars as pl

from pipeline import lake as stored
from pipeline import plots, warehouse
from pipeline.catalog import write_catalog
from pipeline.errors import may_be_of_a_file
from pipeline.events.contracts import TABLES
from pipeline.lake.damage import explanation
from pipeline.metrics import PAPER, metrics
from pipeline.metrics.evidence import evidence, evidence_page
from pipeline.metrics.views import views
from pipeline.reports.audit import audit, findings
from pipeline.reports.cite import cite
from pipeline.reports.compare import compare, contrast, settings_apart
from pipeline.reports.completeness import completeness, readability
from pipeline.reports.diff import diff
from pipeline.reports.games import games
from pipeline.reports.missing import missing
from pipeline.reports.plan import plan
from pipeline.reports.ranking import board, leaderboard
from pipeline.reports.search import search
from pipeline.reports.transcript import transcript, transcripts
from pipeline.sqlfiles import View

P = ParamSpec("P")
R = TypeVar("R")


def _explained(function: Callable[P, R]) -> Callable[P, R]:
    """The function; where a library cannot read a lake, its error names the damaged file."""

    @wraps(function)
    def run(*given: P.args, **options: P.kwargs) -> R:
        try:
            return function(*given, **options)
        except BaseException as error:
            if not may_be_of_a_file(error):
                raise
            lakes = [one for one in given if isinstance(one, stored.Lake)]
            raise explanation(error, lakes) from None

    return run


class Lake(stored.Lake):
    """A lake in one state. Open it again to see what was committed later.

    It can be pickled, for example for parallel processes: the copy has the same state. Each method
    is a function whose first argument is the lake.
    """

    metrics = _explained(metrics)
    evidence = _explained(evidence)
    evidence_page = _explained(evidence_page)
    board = _explained(board)
    leaderboard = _explained(leaderboard)
    compare = _explained(compare)
    contrast = _explained(contrast)
    settings_apart = _explained(settings_apart)
    games = _explained(games)
    plan = _explained(plan)
    diff = _explained(diff)
    completeness = _explained(completeness)
    missing = _explained(missing)
    readability = _explained(readability)
    audit = _explained(audit)
    findings = _explained(findings)
    transcript = _explained(transcript)
    transcripts = _explained(transcripts)
    search = _explained(search)
    cite = _explained(cite)
    write_catalog = _explained(write_catalog)

    @_explained
    def plot_metric(
        self, name: str, *, by: str | None = None, edition: str = PAPER, **asked: Any
    ) -> "plots.Chart":
        """A chart of a metric, see `pipeline.plots.plot_metric`: a dot and interval for each model.

        With `by`, a column such as `game_type`, there is a panel for each of its values. Other
        arguments are those of `metrics`. Plots need the extra `view`.
        """
        columns = list(dict.fromkeys(["model", by or "model"]))
        rows = self.metrics(names=[name], by=columns, edition=edition, **asked)
        return plots.plot_metric(rows, by=by)

    @_explained
    def plot_profile(self, model: str, *, edition: str = PAPER) -> "plots.Chart":
        """A chart of one model over all metrics, against all others.

        See `pipeline.plots.plot_profile`.
        """
        return plots.plot_profile(self.metrics(by=["model"], edition=edition), model)

    @_explained
    def plot_compare(
        self, *pairs: tuple[str, str], names: Sequence[str] | None = None, edition: str = PAPER
    ) -> "plots.Chart":
        """A chart of the differences between models, with the arguments of `compare`."""
        return plots.plot_differences(self.compare(*pairs, names=names, edition=edition))

    @_explained
    def sql(
        self,
        query: str,
        *,
        parameters: Mapping[str, str] | None = None,
        memory: int | None = None,
    ) -> pl.DataFrame:
        """The result of one SELECT on the tables and views.

        Sums of integers are Int64, or Float64 if one value does not fit; decimals are Float64.
        `parameters` has the value of each parameter of the query, for example `{"model": "gpt-4"}`
        for `$model`: a text that DuckDB casts where it is compared with a column. `memory` is
        DuckDB's memory limit in bytes, by default most of the machine's memory. Raises QueryError
        for a wrong statement, and for one that would do more than read the lake.
        """
        # A value can name a table, as in `query_table($name)`.
        wanted = "\n".join([query, *(parameters or {}).values()])
        with warehouse.connect(self, self._views, wanted, memory=memory) as connection:
            return warehouse.query(connection, query, [*TABLES, *self._views], parameters)

    @_explained
    def connect(self, *, memory: int | None = None) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with every table and view, for many queries on this state.

        It can read only the lake's files, and write only to memory. Numbers have DuckDB's own
        types: cast a sum of integers, for example `sum(seat)::BIGINT`, before polars or pandas read
        it.
        """
        return warehouse.connect(self, self._views, memory=memory)

    def settings(self) -> pl.DataFrame:
        """A row for each setting, what was fixed before play: the view `settings`, sorted."""
        return self.sql("FROM settings ORDER BY game_type, setting_id")

    @cached_property
    def _views(self) -> dict[str, View]:
        return views()


def open_lake(path: str | Path, as_of: int | None = None) -> Lake:
    """The lake at the path, in its latest state, or in its state after the ingest `as_of`.

    Raises LakeError if there is no readable lake.
    """
    return stored.open_lake(path, as_of, Lake)
