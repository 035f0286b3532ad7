"""The class `LakeWithMethods`: a lake with methods for its tables, metrics, reports and SQL."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import duckdb
import polars as pl

from pipeline import (
    catalog as catalogs,
    exports,
    lake as stored,
    metrics as metric_values,
    warehouse,
)
from pipeline.errors import MetricError, UsageError, known_names_hint
from pipeline.events.contracts import TABLES
from pipeline.lake.stored_lake import view_property
from pipeline.metrics import evidence as metric_evidence
from pipeline.metrics.custom import check_and_build_registered_metric, load_metric_file
from pipeline.metrics.registry import (
    Metric,
    RegisteredMetric,
    lake_method,
    register_lake_metrics_temporarily,
)
from pipeline.render import ResultTable, build_result_table, result_names
from pipeline.reports import (
    audit as audits,
    cite as citations,
    compare as comparisons,
    completeness as complete,
    diff as differences,
    documents as of_documents,
    games as of_games,
    lake_tables as of_tables,
    plan as plans,
    ranking as rankings,
    ratings as rated,
    sql_views as contracts,
    transcript as game_transcripts,
)
from pipeline.reports.sql_views import (
    all_views,
    grouping_hint_for_missing_column,
    unknown_table_message,
)
from pipeline.verify import DEFAULT_LIMIT, Verification, verify
from pipeline.warehouse.statements import ViewsByName

L = TypeVar("L", bound="LakeWithMethods")


class LakeWithMethods(stored.StoredLake):
    """A lake with methods for metrics, reports, their tables, and SQL.

    Pages use this class; `pipeline.Lake` is derived from it, and adds pages, plots and notebooks.
    """

    metrics = metric_values.metrics
    evidence = metric_evidence.evidence
    evidence_page = metric_evidence.evidence_page
    evidence_sum = metric_evidence.evidence_sum
    leaderboard = rankings.leaderboard
    radar = rankings.radar
    compare = comparisons.compare
    compare_with = comparisons.compare_with
    contrast = comparisons.contrast
    settings_apart = comparisons.settings_apart
    plan = plans.plan
    diff = differences.diff
    diff_games = differences.diff_games
    completeness = complete.completeness
    readability = complete.readability
    missing = of_games.missing
    audit = audits.audit
    findings = audits.findings
    game = game_transcripts.transcript
    transcripts = game_transcripts.transcripts
    games = of_games.games
    usage = of_games.usage
    models = of_games.models
    ratings = rated.ratings
    search = of_documents.search
    document_counts = of_documents.document_counts
    documents = of_documents.documents
    quarantine = of_documents.quarantine
    tables = of_tables.tables
    cite = citations.cite
    export = exports.export
    write_catalog = catalogs.write_catalog

    @lake_method
    def with_metric(
        self, declared: Metric, *, name: str, title: str | None = None, sql: str | None = None
    ) -> Self:
        """Return a copy of the lake with an additional metric, which all its methods can compute.

        The metric has values, intervals, evidence, comparisons, plots and pages like a built-in
        one. The lake on the disk does not change. `sql` is the same metric in SQL: a CTE `attempts`
        and a final SELECT, see docs/adding.md. With `sql`, the metric also has views in `Lake.sql`,
        and the engine duckdb can count it. The engine spark cannot.

        To check the metric, it is counted once, with `sql` by both engines; this takes as long as
        `Lake.metrics` with `confidence=None`. Raises MetricError if polars and SQL differ, if one
        of them fails, if the name is taken, and if a term has no game type or an unknown one.

        >>> from pipeline.metrics import judgement
        >>> mine = lake.with_metric(judgement.PAPER, name="accusations")
        >>> mine.metrics(metric="accusations", by=None)["value"].item()
        0.703125
        """
        metric = check_and_build_registered_metric(self, declared, name, title=title, sql=sql)
        return with_registered_metrics(self, {name: metric})

    @lake_method
    def with_metric_file(self, file: str | Path) -> Self:
        """Return a copy of the lake with a metric from a Python file; see `Lake.with_metric`.

        The file is a Python module that defines `PAPER = Metric(...)`; it is run. The metric has
        the name of the file: `silence.py` defines `silence`. If there is a `silence.sql` beside
        it, this is the metric's SQL. Raises MetricError like `Lake.with_metric`, and for a file
        that defines no metric.
        """
        name, definition, sql = load_metric_file(Path(file))
        if name in self._added:
            raise MetricError(
                f"{file}: the lake already has another metric `{name}`: rename the file"
            )
        return self.with_metric(definition, name=name, sql=sql)

    @lake_method
    def schema(self, *names: str) -> pl.DataFrame:
        """Return one row for each column of the tables or views `names`, by default of all tables.

        Columns:

        - `table`, `column`: the table or view, and the column.
        - `type`: the type of its values, such as `string`, `int64` or `list of string`.
        - `is_nullable`, `is_key`: whether it can be null, and whether it is part of the key;
          both null for a view.
        - `low`, `high`: the range of its values, in the column's unit; null without a limit.
        - `words`: the only values that it can have; null if there is no list.
        - `pattern`: the regular expression that its values match; null if there is none.
        - `description`: what it means, with its unit.

        Raises UsageError for a name that is neither a table nor a view.

        >>> lake.schema("votes").select("column", "type", "is_nullable").rows()[0]
        ('game_id', 'string', False)
        """
        return contracts.schema(names)

    @lake_method
    def verify(self, *, limit: int = DEFAULT_LIMIT) -> Verification:
        """Check that the latest state of the lake is undamaged, by reading all files and rows.

        The result's `faults` has at most `limit` rows for each check and table: check, severity
        (error, contradiction or warning), table, finds (what the check looks for), n_rows (how
        many rows it found), and row (one of them as JSON). `is_whole` is true if nothing is
        damaged, `is_contradicted` if logs contradict themselves.

        >>> lake.verify().is_whole
        True
        """
        return verify(self.path, limit=limit)

    @lake_method
    def present(
        self, name: str, *arguments: Any, percent: bool = False, **options: Any
    ) -> ResultTable:
        """Call a method of the lake, and return its result as a formatted table with notes.

        `name` is the method, such as "leaderboard" or "compare"; further arguments are passed to
        it. The table is displayed by a notebook, and as text by `print`;
        `text(width)`, `markdown()`, `latex()` and `html()` write it, `csv()` and `json()` its
        `rows` with all columns. With `percent`, values are shown in percent, and the highest of
        each column is bold; `rows` stay as they are. Raises UsageError for a name that has no
        table, and what the method raises.

        >>> print(lake.present("audit", kind="stated_votes").markdown().rstrip())
        | kind | checked | found | share | games | metric | as logged | as read |
        | --- | --: | --: | --: | --: | --- | --: | --: |
        | stated_votes | 96 | 4 | 0.042 | 3 | judgement | 0.703 | 0.688 |
        <BLANKLINE>
        - system magic
        """
        if not isinstance(name, str):
            raise UsageError("name the method, such as `present('metrics')`, not its result")
        if name not in result_names():
            raise UsageError(f"no table `{name}`: {known_names_hint([name], result_names())}")
        result = getattr(self, name)(*arguments, **options)
        rows = result if isinstance(result, pl.DataFrame) else result.rows
        return build_result_table(name, rows, lake=self, percent=percent, **options)

    @lake_method
    def sql(
        self,
        query: str,
        *,
        parameters: Mapping[str, str | float] | None = None,
        memory: int | None = None,
        temporary: Mapping[str, str] | None = None,
    ) -> pl.DataFrame:
        """Run one SELECT statement on the lake's tables and views, and return its rows.

        Sums of integers are Int64, or Float64 if one value does not fit; decimals are Float64.
        `parameters` gives a value for each parameter of the query, for example `{"model": "gpt-4"}`
        for `$model`. A value is a text or a number, and is passed as text; DuckDB casts it to the
        type that it is compared with. `memory` is DuckDB's memory limit in bytes, by default most
        of the machine's memory. `temporary` defines views for this query alone: the SELECT of each
        by its name; a view can use those before it. Raises UsageError for a parameter of another
        type and for a view whose name is taken, and QueryError for a statement that is wrong or
        would do more than read the lake.

        >>> query = "SELECT count(*) AS n FROM votes WHERE model = $model"
        >>> lake.sql(query, parameters={"model": "sim-atlas"}).rows()
        [(24,)]
        """
        for name, value in (parameters or {}).items():
            if not isinstance(value, str | int | float):
                raise UsageError(
                    f"the parameter `{name}` must be a text or a number, not {value!r}"
                )
        texts = {name: str(value) for name, value in (parameters or {}).items()}
        temporary_views = temporary or {}
        if taken := [name for name in temporary_views if name.lower() in (*TABLES, *self._views)]:
            raise UsageError(f"the lake has a table or view `{taken[0]}`: choose another name")
        # A value can name a table, as in `query_table($name)`.
        query_texts = "\n".join([query, *texts.values(), *temporary_views.values()])
        with warehouse.connect(self, self._views, query_texts, memory=memory) as connection:
            for name, select in temporary_views.items():
                warehouse.create_checked_user_view(connection, name, select)
            table_names = [*TABLES, *self._views, *temporary_views]
            return warehouse.run_query(
                connection, query, table_names, texts, grouping_hint_for_missing_column
            )

    @lake_method
    def connect(self, *, memory: int | None = None) -> duckdb.DuckDBPyConnection:
        """Return a DuckDB connection that contains the lake's tables and views, for many queries.

        All queries read the same state of the lake. The connection can read only the lake's files,
        and write only to memory. Numbers have DuckDB's own types: cast a sum of integers, for
        example `sum(seat)::BIGINT`, before polars or pandas read it.

        >>> with lake.connect() as connection:
        ...     connection.sql("SELECT count(*) FROM games").fetchall()
        [(112,)]
        """
        return warehouse.connect(self, self._views, memory=memory)

    @lake_method
    def settings(self) -> pl.DataFrame:
        """Return one row for each setting, which is a set of conditions fixed before a game.

        Columns:

        - `setting_id`, `game_type`, `system`: the setting, the game, and the harnesses that ran
          it.
        - `topic`, `word`, `other_word`: the words of a game of hidden roles.
        - `hidden_player`, `tested_player`: who has the hidden role, and who is tested.
        - `n_rounds_fixed`: the number of rounds.
        - `multiplier`: by what contributions to the public good are multiplied.
        - `payoff_cooperate`, `payoff_defect`, `payoff_one_defect`, `payoff_two_defect`: the
          payoffs of the Prisoner's Dilemma, in points.
        - `n_games`, `n_finished`: games with this setting, and those with an end.
        - `setting`: the whole as JSON.

        Values that a game does not have are null.

        >>> lake.settings().select("game_type", "topic", "n_games").rows()[0]
        ('chameleon', 'Desserts', 8)
        """
        return self.sql("FROM settings ORDER BY game_type, setting_id")

    @lake_method
    def judgement_by_chance(self) -> pl.DataFrame:
        """Return each model's share of right votes by game type, and the share of random votes.

        The game type `all` is over all types. The chance of a vote is the share of sought players
        among those who are still in the game, without the voter. The rows are those of the view
        `judgement_by_chance`, for one system.

        Columns:

        - `system`, `model`, `game_type`: whose votes, and in which game.
        - `value`: judgement, hits / counted, in 0..1.
        - `chance`: the value that chance alone leads to, expected / counted.
        - `hits`, `expected`: right votes, and how many of them to expect by chance, the sum of the
          votes' chances; null if a vote had nobody to name.
        - `counted`, `n_games`: votes that judgement counts, and their games.

        >>> rows = lake.judgement_by_chance().filter(model="sim-atlas")
        >>> rows.select("game_type", "value", "chance").rows()[0]
        ('all', 0.5, 0.5)
        """
        return self.for_single_system().sql(
            "FROM judgement_by_chance ORDER BY model NULLS LAST, game_type"
        )

    @view_property
    def _views(self) -> ViewsByName:
        return all_views()

    def _unknown_table_message(self, name: str) -> str:
        with register_lake_metrics_temporarily(self):
            return unknown_table_message(name, self._views)


def with_registered_metrics(lake: L, metrics: Mapping[str, RegisteredMetric]) -> L:
    """Return a copy of the lake with additional metrics, by name, without checking them."""
    return lake._copy_with(_added={**lake._added, **metrics}) if metrics else lake
