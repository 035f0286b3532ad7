"""Registry of the metrics: their definitions, their names, and the meaning of their columns.

Used by everything that computes or displays metrics; depends on the event tables and `sql_files`.

A metric of this package is a module that defines `PAPER`, and a SQL file of the same name; there is
no list of metrics. If an edition differs, its definition stands beside `PAPER`, with a SQL file in
the folder of the edition. Otherwise the edition `audited` uses the definition of `paper`. The
edition `release` is what one published script computes; it has no other metrics.

Other packages add metrics by entry points of the group `magic_pipeline.metrics`. The name of the
entry point is the name of the metric. It refers to a module that defines `PAPER`, with an optional
SQL file beside it (`silence.sql` beside `silence.py`), or to a `RegisteredMetric`.

`Lake.with_metric` and the option `--metric-file` add metrics, too. These are registered while a
method of the lake, or the command, runs.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from inspect import BoundArguments
from itertools import chain
from math import fsum, inf
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline import column, games, sql_files
from pipeline.errors import MetricError, UsageError, known_names_hint, reraise_as_lake_read_errors
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.plugins import (
    METRICS,
    OWN_PACKAGE,
    Plugin,
    PluginError,
    iter_plugins_with_unique_names,
    load_plugins,
)
from pipeline.statistics.intervals import RELATIVE_ROUNDING
from pipeline.vocabulary import (
    ALL_GAME_TYPES,
    EDITIONS,
    EXCLUDE,
    PAPER,
    RELEASE,
    Edition,
    ParseStatus,
)

# The definition of a metric: the rows that it counts, what a hit is, and how its terms combine.

Tables = Callable[[str], pl.LazyFrame]
IS_READABLE = pl.col("parse_status") != ParseStatus.OUTAGE


class Combine(StrEnum):
    """How the terms' ratios are combined into a value; a ratio without counted rows is null."""

    SUM = "sum"  # of weight × ratio; null if any term is
    MEAN = "mean"  # of the ratios that there are; null if there is none
    POOLED = "pooled"  # all hits over all that was counted
    POOLED_OVER_ALL = "pooled over all"  # the same, null if any term counts nothing


POOLED_COMBINES = (Combine.POOLED, Combine.POOLED_OVER_ALL)  # all terms as one ratio


class Term(Struct, frozen=True):
    """One ratio of hits to counted rows, for some game types.

    Attributes:
        name: The name of the term.
        game_types: The game types whose rows the term counts.
        weight: The factor of the ratio in a sum, above 0. A negative weight would make the value a
            difference of ratios, for which no interval is computed.
        fixed_count: Returns the denominator from the number of games of the edition release, if it
            is not the number of counted rows.

    Raises:
        MetricError: If the weight is not above 0 and finite.
    """

    name: str
    game_types: tuple[str, ...]
    weight: float = 1.0
    fixed_count: Callable[[int], int] | None = None

    def __post_init__(self) -> None:
        """Raise MetricError if the weight is not positive and finite."""
        if not 0 < self.weight < inf:
            raise MetricError(
                f"the term `{self.name}` has the weight {self.weight:g}: give it one above 0"
            )


class Rows(Struct, frozen=True):
    """The rows of an event table that a metric counts.

    Attributes:
        table: The name of a table, or a function that builds the rows from several tables.
        term: The name of the term that counts the row.
        what: What the player did, in a word or two.
        hit: The share of success of the row, between 0 and 1; null if it is unknown.
        where: The condition that a row is about the metric.
        counted: Whether a row is counted; by default, if its hit is known.
        roles: A condition on the table `roles` that a role of the row's game type must meet.
        spans_games: Whether one of the expressions looks at other games, such as a rank over all
            games of a model.
    """

    table: str | Callable[[Tables], pl.LazyFrame]
    term: pl.Expr
    what: pl.Expr
    hit: pl.Expr
    where: pl.Expr = pl.lit(value=True)
    counted: pl.Expr | None = None
    roles: pl.Expr | None = None
    spans_games: bool = False


class Metric(Struct, frozen=True):
    """The definition of a metric in one edition.

    Attributes:
        terms: The ratios that make up the value.
        rows: The rows that are counted.
        combine: How the ratios are combined into the value.
        high: The largest possible value; the smallest is 0.
        unknown: The reason for a missing value if counted rows have no hit; `{}` stands for the
            number of games with such rows.
        has_partial_hits: Whether hits may lie between 0 and 1. Otherwise they are added up faster.

    Raises:
        MetricError: If `high` is below the largest value that the terms can reach: the sum of their
            weights for `Combine.SUM`, otherwise 1.
    """

    terms: tuple[Term, ...]
    rows: tuple[Rows, ...]
    combine: Combine = Combine.SUM
    high: float = 1.0
    unknown: str = "outcome unknown in {} games"
    has_partial_hits: bool = True

    def __post_init__(self) -> None:
        """Raise MetricError if `high` is infinite, or less than the terms can add up to."""
        is_sum = self.combine == Combine.SUM
        max_value = fsum(term.weight for term in self.terms) if is_sum else 1.0
        # The sum of weights such as 1/7 may exceed 1 by a rounding error.
        if not max_value * (1 - RELATIVE_ROUNDING) <= self.high < inf:
            raise MetricError(
                f"`high` is the largest value that there can be, which is {max_value:g}, not "
                f"{self.high:g}: give the Metric `high={max_value}`"
            )

    @property
    def game_types(self) -> tuple[str, ...]:
        """The game types for which the metric is defined; rows of other types are not counted."""
        types_of_terms = {str(game_type) for term in self.terms for game_type in term.game_types}
        return tuple(name for name in games.game_type_names() if name in types_of_terms)

    @property
    def is_proportion(self) -> bool:
        """Whether the value is a proportion: no ratio of the value has a weight above 1."""
        return all(term.weight <= 1 for term in self.terms)

    @property
    def term_name_by_game_type(self) -> dict[str, str]:
        """The name of the ratio that counts each game type; empty if it depends on the row."""
        terms_by_type = [
            (str(game_type), term.name) for term in self.terms for game_type in term.game_types
        ]
        has_constant_terms = all(row_spec.term.meta.is_literal() for row_spec in self.rows)
        return (
            dict(terms_by_type)
            if has_constant_terms and len(dict(terms_by_type)) == len(terms_by_type)
            else {}
        )

    def with_only_game_types(self, played: Collection[str]) -> "Metric":
        """Return a copy of the metric that counts only games of these types.

        Args:
            played: The game types to keep.

        Returns:
            The metric without the terms of other game types, with `high` reduced by their weights;
            the unchanged metric if no term would remain.
        """
        kept_terms = tuple(
            replace(term, game_types=kept_types)
            for term in self.terms
            if (kept_types := tuple(name for name in term.game_types if name in played))
        )
        if not kept_terms:
            return self
        is_sum = self.combine == Combine.SUM
        # A term with a fixed count can exceed its weight, so `high` may be above the sum of
        # weights.
        dropped_weight = fsum(term.weight for term in self.terms) - fsum(
            term.weight for term in kept_terms
        )
        return replace(
            self, terms=kept_terms, high=self.high - dropped_weight if is_sum else self.high
        )


def game_types_by_metric(
    metrics: Mapping[str, Metric], game_types_of_metric: Callable[[Metric], Iterable[str]]
) -> pl.DataFrame:
    """Return a frame with one row for each pair of a metric and one of its game types.

    Args:
        metrics: The specs by name.
        game_types_of_metric: Returns the game types of a spec.

    Returns:
        The columns `metric` and `game_type`, one row for each game type of each metric.
    """
    rows = [
        (name, str(game_type))
        for name, spec in metrics.items()
        for game_type in game_types_of_metric(spec)
    ]
    return pl.DataFrame(rows, {"metric": pl.String, "game_type": pl.String}, orient="row")


def constant_term(name: str) -> pl.Expr:
    """Return an expression that assigns all rows to the same ratio of the metric."""
    return pl.lit(name)


def text_by_flag(flag: pl.Expr, yes: str, no: str) -> pl.Expr:
    """Return an expression with one text where the flag is true and another where it is false.

    It is null where the flag is null.
    """
    return pl.when(flag).then(pl.lit(yes)).when(~flag).then(pl.lit(no))


def as_hit(flag: pl.Expr) -> pl.Expr:
    """Convert a boolean expression to a number: 1 if true, 0 if false, null if null."""
    return flag.cast(pl.Int64)


class RegisteredMetric(Struct, frozen=True):
    """A metric with its title and SQL.

    Attributes:
        declared: The definition of the metric.
        title: The title for tables and pages.
        sql: The SQL of the metric; None if it has none.
    """

    declared: Metric
    title: str
    sql: str | None = None


_registered_metrics: ContextVar[Mapping[str, RegisteredMetric]] = ContextVar("metrics", default={})  # noqa: B039 (never changed)


@contextmanager
def register_metrics_temporarily(metrics_by_name: Mapping[str, RegisteredMetric]) -> Iterator[None]:
    """Register additional metrics for the duration of a `with` block.

    Args:
        metrics_by_name: The metrics by name.
    """
    token = _registered_metrics.set(metrics_by_name)
    try:
        yield
    finally:
        _registered_metrics.reset(token)


def additional_metrics_of_lake_and_command() -> Mapping[str, RegisteredMetric]:
    """Return the metrics that were added for the current lake or command, by name."""
    return _registered_metrics.get()


def _metrics_of_plugins_lake_and_command() -> Mapping[str, RegisteredMetric]:
    return {**plugin_metrics(), **_registered_metrics.get()}


def _read_metric_position_from_sql_header(name: str) -> int:
    header = sql_files.read_comment_header(f"metrics/{name}")
    required_keys = ("title", "order", "row", "value", "range", "source")
    missing_keys = [key for key in required_keys if key not in header]
    order = header.get("order", ["0"])[0]
    if missing_keys or not order.isdecimal():
        missing_lines = (
            ", ".join(f"`-- {key}: ...`" for key in missing_keys) or "a number in `-- order: ...`"
        )
        raise MetricError(f"sql/metrics/{name}.sql has no {missing_lines} in its header")
    return int(order)


NAMES: tuple[str, ...] = tuple(
    sorted(sql_files.sql_file_names("metrics"), key=_read_metric_position_from_sql_header)
)
_RELEASE_NAMES = tuple(
    name for name in NAMES if name in sql_files.sql_file_names("metrics/release")
)
TITLES = {name: sql_files.read_comment_header(f"metrics/{name}")["title"][0] for name in NAMES}


def metric_titles() -> dict[str, str]:
    """Return the title of every metric by its name."""
    return TITLES | {
        name: metric.title for name, metric in _metrics_of_plugins_lake_and_command().items()
    }


def metric_title(name: str) -> str:
    """Return the title of a metric, or the name itself in words if no metric has this name."""
    return metric_titles().get(name) or column.display_name(name)


def metric_spec(name: str, edition: Edition = PAPER) -> Metric:
    """Return the definition of a metric.

    Args:
        name: The name of the metric.
        edition: The edition: paper, release or audited.

    Raises:
        UsageError: If no metric, or none of the edition, has this name.
        MetricError: If the module of the metric does not define the edition.
    """
    if name not in metric_names(PAPER):
        raise UsageError(f"no metric `{name}`: {known_names_hint([name], metric_names(PAPER))}")
    if name not in metric_names(edition):
        raise UsageError(
            f"the edition {edition} has no metric `{name}`: "
            f"{known_names_hint([name], metric_names(edition))}"
        )
    return _find_builtin_or_registered_metric(name, edition).declared


def _find_builtin_or_registered_metric(name: str, edition: Edition) -> RegisteredMetric:
    return _metrics_of_plugins_lake_and_command().get(name) or _load_builtin_metric(name, edition)


@cache
def _load_builtin_metric(name: str, edition: Edition) -> RegisteredMetric:
    """Import a metric of this package, and read its SQL."""
    file = metric_sql_file_name(name, edition)
    attribute = (PAPER if file == metric_sql_file_name(name, PAPER) else edition).upper()
    module = import_module(f"{__package__}.{name}") if find_spec(f"{__package__}.{name}") else None
    declared = getattr(module, attribute, None)
    if not isinstance(declared, Metric):
        raise MetricError(
            f"sql/{file}.sql has no definition in Python: define {attribute} in "
            f"pipeline/metrics/{name}.py"
        )
    return RegisteredMetric(declared, TITLES[name], sql_files.read_sql_file(file))


def highest_possible_metric_value(
    name: str, edition: Edition, game_types: Collection[str], row_type: str = ALL_GAME_TYPES
) -> float:
    """Return the highest value that a metric can reach in games of these types.

    Args:
        name: The name of the metric.
        edition: The edition: paper, release or audited.
        game_types: The game types of the lake.
        row_type: The game type of a row, if the row has one that is not `all`.
    """
    counted_types = game_types if row_type == ALL_GAME_TYPES else (row_type,)
    return metric_spec(name, edition).with_only_game_types(counted_types).high


def metric_names(edition: Edition) -> tuple[str, ...]:
    """Return the names of the metrics of an edition in their order.

    Raises:
        UsageError: If the edition is unknown.
    """
    if edition not in EDITIONS:
        raise UsageError(f"no edition `{edition}`: {known_names_hint([edition], EDITIONS)}")
    return (
        _RELEASE_NAMES if edition == RELEASE else (*NAMES, *_metrics_of_plugins_lake_and_command())
    )


def metric_sql_file_name(name: str, edition: Edition) -> str:
    """Return the path, without file extension, of a metric's file in the SQL folder."""
    folder = "metrics" if edition == PAPER else f"metrics/{edition}"
    return f"{folder}/{name}" if name in sql_files.sql_file_names(folder) else f"metrics/{name}"


def comparison_sql_file_name(name: str, edition: Edition) -> str | None:
    """Return the SQL file that adds `compared_with` to a metric's rows; None without a file."""
    files = (f"evidence/{edition}/{name}", f"evidence/{name}")
    return next(
        (file for file in files if (sql_files.sql_folder() / f"{file}.sql").is_file()), None
    )


def is_plugin_or_added_metric(name: str) -> bool:
    """Return whether a metric comes from another package, or was added to a lake or command."""
    return name in _metrics_of_plugins_lake_and_command()


def has_sql(name: str) -> bool:
    """Return whether the metric has a SQL definition, as all metrics of this package have."""
    return _find_builtin_or_registered_metric(name, PAPER).sql is not None


def metric_sql(name: str, edition: Edition) -> str:
    """Return the SQL of a metric in an edition.

    Raises:
        UsageError: If the metric has no SQL.
    """
    text = _find_builtin_or_registered_metric(name, edition).sql
    if text is None:
        raise UsageError(
            f"the metric `{name}` was added without SQL: give `sql=` to `Lake.with_metric`, "
            "put a .sql file beside that of --metric-file, or use the engine polars"
        )
    return text


def metric_sql_header_with_defaults(name: str, edition: Edition = PAPER) -> dict[str, list[str]]:
    """Return the comment header of a metric's SQL by key, with defaults for missing keys."""
    metric = _find_builtin_or_registered_metric(name, edition)
    return {
        "row": ["a row that the metric is about"],
        "value": ["hits / counted"],
        "range": [f"0..{metric.declared.high:g}"],
        "source": ["added by a package or by `Lake.with_metric`"],
        **sql_files.parse_comment_header(metric.sql or ""),
        "title": [metric.title],
    }


@cache
def plugin_metrics() -> Mapping[str, RegisteredMetric]:
    """Return the metrics that installed plugin packages add, by name.

    Raises:
        PluginError: If a plugin is not a metric, or if its name is taken.
    """
    builtin_names: list[tuple[str, str, RegisteredMetric | None]] = [
        (name, OWN_PACKAGE, None) for name in (*NAMES, *TABLES)
    ]
    plugin_names = (
        (plugin.name, plugin.package, _metric_from_entry_point(plugin))
        for plugin in load_plugins(METRICS)
    )
    unique_metrics = iter_plugins_with_unique_names(
        "the metric or table", chain(builtin_names, plugin_names)
    )
    return {name: metric for name, _, metric in unique_metrics if metric is not None}


def plugin_package_of_metric(name: str) -> str:
    """Return the package that adds the metric as a plugin, or an empty string if none does."""
    return next((plugin.package for plugin in load_plugins(METRICS) if plugin.name == name), "")


def _metric_from_entry_point(plugin: Plugin) -> RegisteredMetric:
    """Return the metric of a plugin, whose entry point names it or the module of it."""
    registered_metric = plugin.value if isinstance(plugin.value, RegisteredMetric) else None
    spec = registered_metric.declared if registered_metric else getattr(plugin.value, "PAPER", None)
    if not isinstance(spec, Metric):
        raise PluginError(
            f"{plugin}: it needs `PAPER = Metric(...)`, or to be a `RegisteredMetric`"
        )
    module = getattr(plugin.value, "__file__", None)
    try:
        return registered_metric or build_registered_metric(
            plugin.name, spec, read_sql_beside(Path(module)) if module else None
        )
    except MetricError as error:
        raise PluginError(f"{plugin}: {error}") from None


def build_registered_metric(
    name: str, spec: Metric, sql: str | None, title: str | None = None
) -> RegisteredMetric:
    """Build a metric's entry for the registry from its definition, SQL and title.

    Args:
        name: The name of the metric.
        spec: The definition of the metric.
        sql: The SQL of the metric, or None.
        title: The title; None for the default.

    Raises:
        MetricError: If the SQL has no CTE `attempts`.
    """
    if sql is not None:
        if "attempts" not in sql_files.extract_with_clause(sql).names:
            raise MetricError(
                f"the SQL of `{name}` needs a CTE `attempts`, and a final SELECT: see "
                "docs/adding.md"
            )
        sql = sql_files.strip_final_semicolons_and_comments(sql)
    default_title = name.replace("_", " ").capitalize()
    return RegisteredMetric(
        spec,
        title or sql_files.parse_comment_header(sql or "").get("title", [default_title])[0],
        sql,
    )


def read_sql_beside(module: Path) -> str | None:
    """Read the SQL file beside a Python file; return None if there is none.

    Raises:
        MetricError: If the file is not valid UTF-8.
    """
    file = module.with_suffix(".sql")
    try:
        return file.read_text(encoding="utf-8") if file.is_file() else None
    except UnicodeDecodeError:
        raise MetricError(f"{file}: not valid UTF-8") from None


# The columns of `metrics` and of the leaderboard.
#
# Each row names the system whose games it counts and the edition. A stored number needs both,
# because another system may be the largest one after the next ingest.

P = ParamSpec("P")
R = TypeVar("R")

_TERM_FIELDS = {"term": pl.String(), "weight": pl.Float64(), "hits": pl.Float64()}
_TERM_FIELDS |= {"counted": pl.Int64(), "value": pl.Float64()}
SMALL_SAMPLE_DTYPE = pl.List(pl.Struct({"term": pl.String(), "n_effective": pl.Float64()}))
MISSING_COMPETITIONS_DTYPE = pl.List(pl.String())
EDITION_COLUMN = column.text_column("the edition: paper, release or audited")
METRIC_COLUMN = column.text_column("the metric's name")
MODEL_COLUMN = column.text_column("the tested model, null if the log does not say", nullable=True)
SYSTEM_COLUMN = column.text_column("the harness that ran the games; each is counted by itself")
ORIGIN_COLUMNS: Mapping[str, column.Column] = {"edition": EDITION_COLUMN, "system": SYSTEM_COLUMN}
VIEW_OPTION_COLUMNS = ("joined_names", "failures")
"""The columns for view options: merged model names, and failures that count as losses."""
GAME_TYPE_COLUMN = column.text_column("the game type, or `all` for all game types of the metric")
CI_LOW_COLUMN = column.proportion_column(
    "the lower end of its confidence interval, in the metric's unit"
)
CI_HIGH_COLUMN = column.proportion_column(
    "the upper end of its confidence interval, in the metric's unit"
)
SMALL_SAMPLE_COLUMN = column.Column(
    SMALL_SAMPLE_DTYPE, "terms with very few settings, for which the interval can be far off"
)
IS_COMPLETE_COLUMN = column.boolean_column(
    "whether no game is missing: the model finished the expected number of games of each "
    "setting, in the competitions that the value counts"
).with_heading("complete")

MISSING_COLUMNS: Mapping[str, column.Column] = {
    "n_missing": column.count_column(
        "expected games that the model has not finished; a game counts once for each of its "
        "competitions that the value counts; null if not grouped by model"
    ).with_heading("missing"),
    "n_expected": column.count_column(
        "games expected in the competitions that the value counts: for each setting that any "
        "model played, the median over the models that finished a game of it, or the model's own "
        "number with those that it has begun; null if not grouped by model"
    ).with_heading("expected"),
}
REPLAY_COLUMNS: Mapping[str, column.Column] = {
    "n_replays": column.count_column(
        "finished games of the model beyond the usual number for their setting and competition "
        "(the lower median over models), in the competitions that the value counts; null if not "
        "grouped by model"
    ).with_heading("replays"),
    "n_repeats": column.count_column(
        "games of the model with exactly the content of another game; null if not grouped by model"
    ).with_heading("repeats"),
}

# The columns of `metrics`; the columns of the groups are inserted between `metric` and `value`.
METRIC_VALUE_COLUMNS: Mapping[str, column.Column] = {
    "edition": EDITION_COLUMN,
    "metric": METRIC_COLUMN,
    "value": column.proportion_column(
        "hits / counted, or the metric's formula over several such ratios"
    ),
    "ci_low": CI_LOW_COLUMN,
    "ci_high": CI_HIGH_COLUMN,
    "ci_method": column.text_column(
        "how the interval was computed, and whether its clusters are settings or games"
    ),
    "effective_items": column.number_column(
        "number of independent rows that would give an equally wide interval"
    ),
    "small_sample_terms": SMALL_SAMPLE_COLUMN,
    "missing_competitions": column.Column(
        MISSING_COMPETITIONS_DTYPE,
        "competitions that the value of another model counts in the same group and this value "
        "does not, so that they cannot be compared; null if not grouped by model",
    ),
    "hits": column.number_column(
        "the numerator of the value, null if the value combines several ratios"
    ),
    "counted": column.count_column(
        "the denominator of the value, null if the value combines several ratios"
    ),
    "terms": column.Column(
        pl.List(pl.Struct(_TERM_FIELDS)),
        "the ratios that make the value: term, weight, hits, counted and value of each",
    ),
    "n_games": column.count_column("number of games with a counted row").with_heading("games"),
    "n_unfinished": column.count_column(
        "number of unfinished games, which are not counted; null if the groups are within games"
    ).with_heading("unfinished"),
    "n_unreadable": column.count_column(
        "rows whose text is not clear, counted or not"
    ).with_heading("not clear"),
    "n_unknown": column.count_column(
        "rows whose hit is not known, except outages; they are not counted, or in the edition "
        "release the value is missing"
    ).with_heading("unknown"),
    "n_undecided": column.count_column(
        "rows of `n_unknown` whose text is not clear and whose action the log does not register"
    ).with_heading("undecided"),
    "reason": column.text_column("why there is no value, null if there is one"),
    "is_complete": IS_COMPLETE_COLUMN,
    **MISSING_COLUMNS,
    **REPLAY_COLUMNS,
}
# In a table for reading, a metric is one column of estimates. In a flat table for programs, each
# field is a column, whose name is that of the metric with one of these suffixes.
ESTIMATE_FIELDS = {
    "": "value",
    "_low": "ci_low",
    "_high": "ci_high",
    "_small_sample_terms": "small_sample_terms",
    "_missing_competitions": "missing_competitions",
    "_undecided": "n_undecided",
}
_METRIC_PLACEHOLDER = "<metric>"
METRIC_ESTIMATE_COLUMNS: Mapping[str, column.Column] = {
    "": column.proportion_column(f"the value of {_METRIC_PLACEHOLDER} over all game types"),
    "_low": column.proportion_column(
        f"the lower end of the confidence interval of {_METRIC_PLACEHOLDER}"
    ),
    "_high": column.proportion_column(
        f"the upper end of the confidence interval of {_METRIC_PLACEHOLDER}"
    ),
    "_small_sample_terms": column.Column(
        SMALL_SAMPLE_DTYPE,
        f"terms of {_METRIC_PLACEHOLDER} with very few settings",
    ),
    "_undecided": column.count_column(
        f"rows of {_METRIC_PLACEHOLDER} that are not counted, because the log does not "
        "register them and their text is not clear"
    ),
}
SLICE_ESTIMATE_COLUMNS: Mapping[str, column.Column] = {
    **METRIC_ESTIMATE_COLUMNS,
    "_missing_competitions": column.Column(
        MISSING_COMPETITIONS_DTYPE,
        f"the competitions that {_METRIC_PLACEHOLDER} of another model counts, and this one not",
    ),
}
LEADERBOARD_COLUMNS: Mapping[str, column.Column] = {
    "rank": column.count_column(
        "the rank by win rate, from 1; ties share the better rank; null if the model lacks a whole "
        "competition",
        low=1,
        nullable=True,
    ),
    "model": MODEL_COLUMN,
    "group_letters": column.text_column(
        "compact letter display: models that share a letter do not differ significantly"
    ).with_heading("letters"),
    "family": column.count_column("number of comparisons for which the letters are adjusted"),
    "n_games": column.count_column("number of games that the win rate counts").with_heading(
        "games"
    ),
    **MISSING_COLUMNS,
    "n_self_play": column.count_column(
        "games in which the model plays every seat, so that it wins and loses each of them"
    ).with_heading("self-play"),
    **REPLAY_COLUMNS,
    "is_complete": IS_COMPLETE_COLUMN,
    **{
        f"{_METRIC_PLACEHOLDER}{end}": declared for end, declared in METRIC_ESTIMATE_COLUMNS.items()
    },
    "missing_competitions": column.text_list_column(
        "competitions of which other models finished a game and this model did not"
    ),
    "reasons": column.text_list_column("why a metric has no value"),
}

# The metrics that the published script prints, in its order.
_METRICS_OF_SCRIPT = (
    "win_rate",
    "judgement",
    "reasoning",
    "deception",
    "self_awareness",
    "cooperation",
    "coordination",
    "rationality",
)


def pivot_metrics(
    values: pl.DataFrame,
    metrics: Sequence[str],
    group_columns: Sequence[str],
    suffixes: Iterable[str],
) -> pl.DataFrame:
    """Pivot metric values to one row per group, with several columns for each metric.

    Args:
        values: Rows of `metrics`.
        metrics: The names of the metrics.
        group_columns: The columns that identify a group.
        suffixes: The keys of `ESTIMATE_FIELDS` to include, such as `_low`.

    Returns:
        The columns of `group_columns`, then the metric's name plus each suffix for each metric.
    """
    estimates = values.select(
        *group_columns, "metric", estimate=pl.struct(ESTIMATE_FIELDS.values())
    )
    rows = estimates.pivot(
        "metric", on_columns=metrics, index=group_columns, values="estimate", maintain_order=True
    )
    fields = ((name, suffix) for name in metrics for suffix in suffixes)
    return rows.select(
        *group_columns,
        *(
            pl.col(name).struct[ESTIMATE_FIELDS[suffix]].alias(f"{name}{suffix}")
            for name, suffix in fields
        ),
    )


def leaderboard_columns(
    metrics: Sequence[str] | None = None,
    estimate_columns: Mapping[str, column.Column] = METRIC_ESTIMATE_COLUMNS,
) -> dict[str, column.Column]:
    """Return the definitions of the leaderboard's columns, by name.

    Args:
        metrics: The names of the metrics; None stands for all metrics of the edition paper.
        estimate_columns: The columns of each metric, by the suffix of their name.
    """
    columns: dict[str, column.Column] = {}
    for name, declared_column in LEADERBOARD_COLUMNS.items():
        if name == _METRIC_PLACEHOLDER:
            columns |= {
                f"{metric}{suffix}": replace(
                    estimate_column,
                    description=_leaderboard_column_description(
                        metric, suffix, estimate_column.description
                    ),
                    heading=f"{metric_title(metric)}{column.display_name(suffix)}",
                )
                for metric in (metric_names(PAPER) if metrics is None else metrics)
                for suffix, estimate_column in estimate_columns.items()
            }
        elif not name.startswith(_METRIC_PLACEHOLDER):
            columns[name] = declared_column
    return columns


def _leaderboard_column_description(metric_name: str, suffix: str, text: str) -> str:
    """Return a leaderboard column's description, with formula and maximum if it holds the value."""
    text = text.replace(_METRIC_PLACEHOLDER, metric_name)
    if suffix or metric_name not in metric_names(PAPER):  # a value of a column
        return text
    value_text = metric_sql_header_with_defaults(metric_name)["value"][0]
    return f"{text}: {value_text}; at most {metric_spec(metric_name).high:g}"


def system_edition_and_view_option_columns(
    lake: StoredLake, edition: str | None = PAPER
) -> list[pl.Expr]:
    """Return constant columns that say where numbers come from: edition, system, view options.

    Args:
        lake: The lake, of one system.
        edition: The edition of the numbers; None leaves the column out.
    """
    system_columns = [pl.lit(lake.system, pl.String).alias("system"), *view_option_columns(lake)]
    return (
        system_columns if edition is None else [pl.lit(edition).alias("edition"), *system_columns]
    )


def view_option_columns(lake: StoredLake) -> list[pl.Expr]:
    """Return a constant column for each option of the lake's view, such as merged model names."""
    return [pl.lit(text).alias(name) for name, text in lake.view_options.items()]


# Wrappers for functions that are methods of a lake.


@contextmanager
def register_lake_metrics_temporarily(lake: StoredLake) -> Iterator[None]:
    """Register the lake's additional metrics for the duration of a `with` block."""
    with register_metrics_temporarily({**additional_metrics_of_lake_and_command(), **lake._added}):
        yield


def lake_method(
    function: Callable[P, R],
    *,
    has_edition: bool | None = None,
    has_losses: bool = True,
    bind: Callable[..., BoundArguments] | None = None,
) -> Callable[P, R]:
    """Wrap a function whose first argument is a lake, so that it can be a method of `Lake`.

    The wrapped function sees the metrics that were added to the lake. If a library cannot read a
    file of the lake, the error names the file. There is only this wrapper between the caller and
    the function, so that tracebacks are short.

    Args:
        function: The function to wrap.
        has_edition: If it is not None, the function receives the lake of one system: the lake's
            own, or the largest. The columns of `ORIGIN_COLUMNS` are added to its rows; False leaves
            out `edition`.
        has_losses: Whether the result depends on counting failures as losses.
        bind: Checks the arguments and returns those that the function is called with.

    Returns:
        The wrapped function.
    """

    @wraps(function)
    def call_with_lake(lake: StoredLake, /, *arguments: Any, **options: Any) -> Any:
        with reraise_as_lake_read_errors(), register_lake_metrics_temporarily(lake):
            viewed_lake = lake if has_edition is None else lake.for_single_system()
            viewed_lake = viewed_lake if has_losses else viewed_lake.with_failures(EXCLUDE)
            bound = bind(viewed_lake, *arguments, **options) if bind else None
            positional, keywords = (
                (bound.args, bound.kwargs) if bound else ((viewed_lake, *arguments), options)
            )
            rows: Any = cast(Any, function)(*positional, **keywords)
            rows = rows.collect() if isinstance(rows, pl.LazyFrame) else rows
            if has_edition is None:
                return rows
            edition = str(options.get("edition", PAPER)) if has_edition else None
            origin = system_edition_and_view_option_columns(viewed_lake, edition)
            is_frame = isinstance(rows, pl.DataFrame)
            frames = (
                _add_origin_columns(frame, origin) for frame in ([rows] if is_frame else rows)
            )
            return next(frames) if is_frame else frames

    return cast("Callable[P, R]", call_with_lake)


def lake_method_for_single_system(
    columns: Mapping[str, column.Column],
    *,
    has_edition: bool = True,
    **lake_method_options: Any,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that gives a function the lake of one system, and documents its columns.

    The decorator adds the columns for the system and the edition to the rows, and documents all
    columns in the docstring. A function that counts several systems together sets `system` to null
    itself.

    Args:
        columns: The columns that the function itself returns.
        has_edition: Whether the rows get the column `edition`.
        **lake_method_options: Further arguments of `lake_method`.
    """
    all_columns = {**columns, **(ORIGIN_COLUMNS if has_edition else {"system": SYSTEM_COLUMN})}
    return lambda function: lake_method(
        column.add_columns_to_docstring(all_columns)(function),
        has_edition=has_edition,
        **lake_method_options,
    )


def _add_origin_columns(rows: pl.DataFrame, origin_expressions: Sequence[pl.Expr]) -> pl.DataFrame:
    """Add the columns that say where the rows come from, but keep existing columns."""
    names = [expression.meta.output_name() for expression in origin_expressions]
    columns = [
        pl.col(name) if name in rows.columns else expression
        for name, expression in zip(names, origin_expressions, strict=True)
    ]
    return rows.select(pl.exclude(names), *columns)


def format_metrics_as_published_script(rows: pl.DataFrame) -> str:
    """Format the metrics of one model as the JSON text that the published script prints.

    Args:
        rows: Rows of `metrics` of one model.

    Returns:
        A JSON text with the values over all game types, rounded to three decimals.
    """
    over_all = rows.filter(pl.col("game_type") == ALL_GAME_TYPES)
    value_of = dict(over_all.select("metric", "value").iter_rows())
    # The published script uses Python's round, which rounds half to even.
    rounded_values = {
        TITLES[name]: None if value_of.get(name) is None else round(value_of[name], 3)
        for name in _METRICS_OF_SCRIPT
    }
    return json.dumps([{"train_split": {**rounded_values, "Total": 1000}}])
