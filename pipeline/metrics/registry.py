"""Which metrics there are, found by their files, and how each is declared.

A metric is a module of its own name that declares `PAPER`, and a SQL file of that name. There is no
list of them. An edition that reads it differently is declared beside `PAPER`, with a SQL file in
the edition's folder. Without one, the edition `audited` takes the declaration of `paper`; the
edition `release` is what one published script computes, and has no other metric.

Other packages add metrics by entry points of the group `magic_pipeline.metrics`. An entry point has
the metric's name. It leads to a module that declares `PAPER`, with its SQL in a file beside it, if
there is any, as `silence.sql` beside `silence.py`; or to an `Added`.

Besides these there are the metrics that a lake was given by `Lake.with_metric`. They are known as
long as one of the lake's methods runs, or a command that was given them by `--metric-file`.
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
from pipeline.errors import MetricError, UsageError, reraise_read_errors, suggest_names
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.plugins import (
    METRICS,
    OWN_PACKAGE,
    Plugin,
    PluginError,
    check_unique_names,
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

# How a metric is declared: the rows that it counts, what a hit is, and how its terms combine.

Tables = Callable[[str], pl.LazyFrame]
IS_READABLE = pl.col("parse_status") != ParseStatus.OUTAGE


class Combine(StrEnum):
    """How the terms become a value. A ratio with nothing counted is null."""

    SUM = "sum"  # of weight × ratio; null if any term is
    MEAN = "mean"  # of the ratios that there are; null if there is none
    POOLED = "pooled"  # all hits over all that was counted
    POOLED_OVER_ALL = "pooled over all"  # the same, null if any term counts nothing


POOLED_COMBINES = (Combine.POOLED, Combine.POOLED_OVER_ALL)  # all terms as one ratio


class Term(Struct, frozen=True):
    """One ratio of hits to counted rows. It exists only in games of its types.

    `fixed_count` gives the denominator where it is not the number of rows; its argument is the
    release edition's number of games. Raises MetricError for a weight that is not above 0: it would
    make the value a difference of ratios, for which there is no interval.
    """

    name: str
    game_types: tuple[str, ...]
    weight: float = 1.0
    fixed_count: Callable[[int], int] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.weight < inf:
            raise MetricError(
                f"the term `{self.name}` has the weight {self.weight:g}: give it one above 0"
            )


class Rows(Struct, frozen=True):
    """Rows of an event table that a metric counts.

    `where` selects the rows that are about the metric at all, `term` names the term that each is
    for, `what` says in a word or two what the player did, `hit` is its share of success in 0..1,
    and `counted` whether it is counted: by default where a hit is known. `table` is a name, or a
    function of the tables for what needs more than one. `roles` is a condition on the lake's table
    `roles` that a role of the row's game type has to meet. `spans_games` says that one of these
    looks at other games than the row's own, as a rank over all games of a model does.
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
    """One metric in one edition. Its range is from 0 to `high`.

    `unknown` is the reason for no value where `{}` games have a counted row without a hit.
    Unless it `has_partial_hits`, each hit is 0 or 1, and hits take less time to add up. Raises
    MetricError for a `high` below the largest value that the terms can have: for `Combine.SUM` the
    sum of their weights, else 1.
    """

    terms: tuple[Term, ...]
    rows: tuple[Rows, ...]
    combine: Combine = Combine.SUM
    high: float = 1.0
    unknown: str = "outcome unknown in {} games"
    has_partial_hits: bool = True

    def __post_init__(self) -> None:
        is_sum = self.combine == Combine.SUM
        most = fsum(term.weight for term in self.terms) if is_sum else 1.0
        # Weights that are parts of 1 may add up to a little more.
        if not most * (1 - RELATIVE_ROUNDING) <= self.high < inf:
            raise MetricError(
                f"`high` is the largest value that there can be, which is {most:g}, not "
                f"{self.high:g}: give the Metric `high={most}`"
            )

    @property
    def game_types(self) -> tuple[str, ...]:
        """The game types that the metric is defined for: rows of others are not counted."""
        of_terms = {str(game_type) for term in self.terms for game_type in term.game_types}
        return tuple(name for name in games.game_type_names() if name in of_terms)

    @property
    def is_share(self) -> bool:
        """Whether its values are made of shares: a weight above 1 gives them a unit of its own."""
        return all(term.weight <= 1 for term in self.terms)

    @property
    def term_of_type(self) -> dict[str, str]:
        """The term of all rows of each game type; empty if rows or declared terms say otherwise."""
        of_types = [(str(one), term.name) for term in self.terms for one in term.game_types]
        is_told = all(part.term.meta.is_literal() for part in self.rows)
        return dict(of_types) if is_told and len(dict(of_types)) == len(of_types) else {}

    def among(self, played: Collection[str]) -> "Metric":
        """The metric without the terms of games that are not among those played.

        Its `high` is the most that the remaining terms can add up to. It is as declared where no
        term would remain.
        """
        kept = tuple(
            replace(term, game_types=types)
            for term in self.terms
            if (types := tuple(name for name in term.game_types if name in played))
        )
        if not kept:
            return self
        is_sum = self.combine == Combine.SUM
        # A term of a fixed count can exceed its weight, so `high` keeps what it is above the sum.
        dropped = fsum(term.weight for term in self.terms) - fsum(term.weight for term in kept)
        return replace(self, terms=kept, high=self.high - dropped if is_sum else self.high)


def types_of(
    metrics: Mapping[str, Metric], types: Callable[[Metric], Iterable[str]]
) -> pl.DataFrame:
    """metric, game_type: a row for each of the types of each metric."""
    rows = [(name, str(one)) for name, declared in metrics.items() for one in types(declared)]
    return pl.DataFrame(rows, {"metric": pl.String, "game_type": pl.String}, orient="row")


def one(name: str) -> pl.Expr:
    """The term of rows that are all for the same one."""
    return pl.lit(name)


def either(flag: pl.Expr, yes: str, no: str) -> pl.Expr:
    """One word where the flag is set, the other where it is not, and null where it is unknown."""
    return pl.when(flag).then(pl.lit(yes)).when(~flag).then(pl.lit(no))


def as_hit(flag: pl.Expr) -> pl.Expr:
    """A yes or no as a hit: 1, 0, or null."""
    return flag.cast(pl.Int64)


class RegisteredMetric(Struct, frozen=True):
    """A metric from outside: its declaration, title, and SQL, if it has any."""

    declared: Metric
    title: str
    sql: str | None = None


_added: ContextVar[Mapping[str, RegisteredMetric]] = ContextVar("added", default={})  # noqa: B039 (never changed)


@contextmanager
def use_metrics(added: Mapping[str, RegisteredMetric]) -> Iterator[None]:
    """Lets every function of the metrics know these, besides those of the files."""
    before = _added.set(added)
    try:
        yield
    finally:
        _added.reset(before)


def registered_metrics() -> Mapping[str, RegisteredMetric]:
    """The metrics that were added to a lake or a command."""
    return _added.get()


def _others() -> Mapping[str, RegisteredMetric]:
    """The metrics of other packages, then those added to a lake or a command."""
    return {**installed(), **_added.get()}


def _order(name: str) -> int:
    """The metric's place among all; raises MetricError for a header that lacks something."""
    header = sql_files.read_header(f"metrics/{name}")
    needed = ("title", "order", "row", "value", "range", "source")
    missing = [key for key in needed if key not in header]
    order = header.get("order", ["0"])[0]
    if missing or not order.isdecimal():
        lacks = ", ".join(f"`-- {key}: ...`" for key in missing) or "a number in `-- order: ...`"
        raise MetricError(f"sql/metrics/{name}.sql has no {lacks} in its header")
    return int(order)


NAMES: tuple[str, ...] = tuple(sorted(sql_files.list_files("metrics"), key=_order))
_OF_RELEASE = tuple(name for name in NAMES if name in sql_files.list_files("metrics/release"))
TITLES = {name: sql_files.read_header(f"metrics/{name}")["title"][0] for name in NAMES}


def metric_titles() -> dict[str, str]:
    """The title of every metric, by its name."""
    return TITLES | {name: metric.title for name, metric in _others().items()}


def metric_title(name: str) -> str:
    """The title of the metric of this name; another name of ours as words."""
    return metric_titles().get(name) or column.display_name(name)


def metric_spec(name: str, edition: Edition = PAPER) -> Metric:
    """The metric as its module, or who added it, declares it.

    Raises UsageError for an unknown name, and MetricError if its module lacks the declaration.
    """
    if name not in metric_names(PAPER):
        raise UsageError(f"no metric `{name}`: {suggest_names([name], metric_names(PAPER))}")
    if name not in metric_names(edition):
        raise UsageError(
            f"the edition {edition} has no metric `{name}`: "
            f"{suggest_names([name], metric_names(edition))}"
        )
    return _found(name, edition).declared


def _found(name: str, edition: Edition) -> RegisteredMetric:
    """The metric with its title and SQL, whether it is ours or was added."""
    return _others().get(name) or _own(name, edition)


@cache
def _own(name: str, edition: Edition) -> RegisteredMetric:
    file = file_of(name, edition)
    wanted = (PAPER if file == file_of(name, PAPER) else edition).upper()
    module = import_module(f"{__package__}.{name}") if find_spec(f"{__package__}.{name}") else None
    declared = getattr(module, wanted, None)
    if not isinstance(declared, Metric):
        raise MetricError(
            f"sql/{file}.sql has no twin in Python: declare {wanted} in pipeline/metrics/{name}.py"
        )
    return RegisteredMetric(declared, TITLES[name], sql_files.read_file(file))


def highest_value(
    name: str, edition: Edition, game_types: Collection[str], row_type: str = ALL_GAME_TYPES
) -> float:
    """Return the highest value of a metric that games of these types can reach.

    `row_type` is the game type of a row, if the row has one that is not `all`.
    """
    counted_types = game_types if row_type == ALL_GAME_TYPES else (row_type,)
    return metric_spec(name, edition).among(counted_types).high


def metric_names(edition: Edition) -> tuple[str, ...]:
    """The metrics of an edition, in order; raises UsageError for an unknown edition."""
    if edition not in EDITIONS:
        raise UsageError(f"no edition `{edition}`: {suggest_names([edition], EDITIONS)}")
    return _OF_RELEASE if edition == RELEASE else (*NAMES, *_others())


def file_of(name: str, edition: Edition) -> str:
    """The SQL file of a metric in an edition, as `pipeline.sql_files` names it."""
    folder = "metrics" if edition == PAPER else f"metrics/{edition}"
    return f"{folder}/{name}" if name in sql_files.list_files(folder) else f"metrics/{name}"


def compared_file(name: str, edition: Edition) -> str | None:
    """The SQL file that adds what a metric's rows are compared with, None without one."""
    files = (f"evidence/{edition}/{name}", f"evidence/{name}")
    return next(
        (file for file in files if (sql_files.sql_folder() / f"{file}.sql").is_file()), None
    )


def is_added(name: str) -> bool:
    """Whether the metric is of another package, or was added to a lake or a command."""
    return name in _others()


def has_sql(name: str) -> bool:
    """Whether the metric is written in SQL too, as all of ours are."""
    return _found(name, PAPER).sql is not None


def metric_sql(name: str, edition: Edition) -> str:
    """The text of a metric's SQL in an edition; raises UsageError where none was given."""
    text = _found(name, edition).sql
    if text is None:
        raise UsageError(
            f"the metric `{name}` was added without SQL: give `sql=` to `Lake.with_metric`, "
            "put a .sql file beside that of --metric-file, or use the engine polars"
        )
    return text


def sql_header(name: str, edition: Edition = PAPER) -> dict[str, list[str]]:
    """The header of a metric's SQL: at least title, row and value."""
    known = _found(name, edition)
    return {
        "row": ["a row that the metric is about"],
        "value": ["hits / counted"],
        "range": [f"0..{known.declared.high:g}"],
        "source": ["added by a package or by `Lake.with_metric`"],
        **sql_files.parse_header(known.sql or ""),
        "title": [known.title],
    }


@cache
def installed() -> Mapping[str, RegisteredMetric]:
    """The metrics of other packages by name.

    Raises PluginError for one that is none, or that has a name that is taken.
    """
    ours: list[tuple[str, str, RegisteredMetric | None]] = [
        (name, OWN_PACKAGE, None) for name in (*NAMES, *TABLES)
    ]
    theirs = ((plugin.name, plugin.package, _of_plugin(plugin)) for plugin in load_plugins(METRICS))
    known = check_unique_names("the metric or table", chain(ours, theirs))
    return {name: metric for name, _, metric in known if metric is not None}


def package_of(name: str) -> str:
    """The package that adds the metric of this name, empty for any other metric."""
    return next((plugin.package for plugin in load_plugins(METRICS) if plugin.name == name), "")


def _of_plugin(plugin: Plugin) -> RegisteredMetric:
    added = plugin.value if isinstance(plugin.value, RegisteredMetric) else None
    declared = added.declared if added else getattr(plugin.value, "PAPER", None)
    if not isinstance(declared, Metric):
        raise PluginError(f"{plugin}: it needs `PAPER = Metric(...)`, or to be an `Added`")
    module = getattr(plugin.value, "__file__", None)
    try:
        return added or written(plugin.name, declared, sql_beside(Path(module)) if module else None)
    except MetricError as error:
        raise PluginError(f"{plugin}: {error}") from None


def written(
    name: str, declared: Metric, sql: str | None, title: str | None = None
) -> RegisteredMetric:
    """The metric; its title is by default that of its SQL, or its name in words.

    Raises MetricError for SQL that does not say which rows it counts.
    """
    if sql is not None:
        if "attempts" not in sql_files.extract_with_clause(sql).names:
            raise MetricError(
                f"the SQL of `{name}` needs a CTE `attempts`, and a final SELECT: see "
                "docs/adding.md"
            )
        sql = sql_files.strip_end(sql)
    plain = name.replace("_", " ").capitalize()
    return RegisteredMetric(
        declared, title or sql_files.parse_header(sql or "").get("title", [plain])[0], sql
    )


def sql_beside(module: Path) -> str | None:
    """The SQL beside a Python file, None where there is none."""
    file = module.with_suffix(".sql")
    try:
        return file.read_text(encoding="utf-8") if file.is_file() else None
    except UnicodeDecodeError:
        raise MetricError(f"{file}: not valid UTF-8") from None


# What the columns of values mean: those of `metrics`, and of the leaderboard.
#
# Numbers also say what they are of: the system whose games they count, and the edition that counts
# them. Who keeps a number needs both: another system may be the largest after the next ingest.

P = ParamSpec("P")
R = TypeVar("R")

_RATIO = {"term": pl.String(), "weight": pl.Float64(), "hits": pl.Float64()}
_RATIO |= {"counted": pl.Int64(), "value": pl.Float64()}
THIN = pl.List(pl.Struct({"term": pl.String(), "n_effective": pl.Float64()}))
LACKS_DTYPE = pl.List(pl.String())
EDITION = column.text_column("the edition: paper, release or audited")
METRIC_COLUMN = column.text_column("the metric's name")
MODEL_COLUMN = column.text_column("the tested model, null if the log does not say", nullable=True)
SYSTEM_COLUMN = column.text_column("the harness that ran the games; each is counted by itself")
ORIGIN_COLUMNS: Mapping[str, column.Column] = {"edition": EDITION, "system": SYSTEM_COLUMN}
VIEW_COLUMNS = ("joined_names", "failures")
"""The columns that say which names of models are counted as one, and that failures are losses."""
GAME_TYPE_COLUMN = column.text_column("the game type, or `all` for all game types of the metric")
CI_LOW_COLUMN = column.proportion_column(
    "the lower end of its confidence interval, in the metric's unit"
)
CI_HIGH_COLUMN = column.proportion_column(
    "the upper end of its confidence interval, in the metric's unit"
)
SMALL_SAMPLE_COLUMN = column.Column(
    THIN, "the terms with very few settings of their own: the interval can be far off"
)
IS_COMPLETE_COLUMN = column.boolean_column(
    "whether no game is missing: the model finished as many of each setting as are expected, in "
    "the competitions that the value counts"
).with_heading("complete")

MISSING_COLUMNS: Mapping[str, column.Column] = {
    "n_missing": column.count_column(
        "games that the model has not finished, of `n_expected`: each counts in each competition "
        "that it is of, if the value counts this one; null if not grouped by model"
    ).with_heading("missing"),
    "n_expected": column.count_column(
        "games expected in the competitions that the value counts: of each setting that any model "
        "played, the median of what the models that finished one have, or the model's own with "
        "those that it began and has to finish; null if not grouped by model"
    ).with_heading("expected"),
}
REPLAY_COLUMNS: Mapping[str, column.Column] = {
    "n_replays": column.count_column(
        "finished games of the model beyond as many as models usually have of their setting and "
        "competition (the lower median), in the competitions that the value counts; null if not "
        "grouped by model"
    ).with_heading("replays"),
    "n_repeats": column.count_column(
        "games of the model with the very content of another one; null if not grouped by model"
    ).with_heading("repeats"),
}

# The columns of `metrics`; those of the groups are between the metric and the value.
METRIC_VALUE_COLUMNS: Mapping[str, column.Column] = {
    "edition": EDITION,
    "metric": METRIC_COLUMN,
    "value": column.proportion_column(
        "hits / counted, or the metric's formula over several such ratios"
    ),
    "ci_low": CI_LOW_COLUMN,
    "ci_high": CI_HIGH_COLUMN,
    "ci_method": column.text_column(
        "how the interval was computed, and its clusters: settings or games"
    ),
    "effective_items": column.number_column(
        "as many independent rows would give an interval as wide"
    ),
    "thin": SMALL_SAMPLE_COLUMN,
    "lacks": column.Column(
        LACKS_DTYPE,
        "the competitions that the value of another model counts in the same group, and this one "
        "does not: the two cannot be compared; null if not grouped by model",
    ),
    "hits": column.number_column(
        "the numerator of the value, null if the value combines several ratios"
    ),
    "counted": column.count_column(
        "the denominator of the value, null if the value combines several ratios"
    ),
    "terms": column.Column(
        pl.List(pl.Struct(_RATIO)),
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
        "rows whose hit is not known, but for outages; they are not counted, or in the edition "
        "release they leave no value"
    ).with_heading("unknown"),
    "n_undecided": column.count_column(
        "rows of these whose text does not decide what was done, and no game registered it"
    ).with_heading("undecided"),
    "reason": column.text_column("why there is no value, null if there is one"),
    "is_complete": IS_COMPLETE_COLUMN,
    **MISSING_COLUMNS,
    **REPLAY_COLUMNS,
}
# A metric in a row of a leaderboard is one column, an estimate. Where it is flat, as for programs,
# its fields are columns with these ends of their names.
ESTIMATE_FIELDS = {
    "": "value",
    "_low": "ci_low",
    "_high": "ci_high",
    "_thin": "thin",
    "_lacks": "lacks",
    "_undecided": "n_undecided",
}
_METRIC = "<metric>"
METRIC_ESTIMATE_COLUMNS: Mapping[str, column.Column] = {
    "": column.proportion_column(f"the value of {_METRIC} over all game types"),
    "_low": column.proportion_column(f"the lower end of the confidence interval of {_METRIC}"),
    "_high": column.proportion_column(f"the upper end of the confidence interval of {_METRIC}"),
    "_thin": column.Column(THIN, f"the terms of {_METRIC} with very few settings of their own"),
    "_undecided": column.count_column(
        f"rows of {_METRIC} that are not counted, since no game registered them and no text decides"
    ),
}
SLICE_ESTIMATE_COLUMNS: Mapping[str, column.Column] = {
    **METRIC_ESTIMATE_COLUMNS,
    "_lacks": column.Column(
        LACKS_DTYPE, f"the competitions that {_METRIC} of another model counts, and this one not"
    ),
}
LEADERBOARD_COLUMNS: Mapping[str, column.Column] = {
    "rank": column.count_column(
        "the place by win rate, from 1; ties share the better one; null if the model lacks a whole "
        "competition",
        low=1,
        nullable=True,
    ),
    "model": MODEL_COLUMN,
    "letters": column.text_column(
        "the win rates of two models differ significantly only if they share no letter"
    ),
    "family": column.count_column("for how many comparisons the letters are adjusted"),
    "n_games": column.count_column("number of games that the win rate counts").with_heading(
        "games"
    ),
    **MISSING_COLUMNS,
    "n_self_play": column.count_column(
        "games in which the model plays every seat: it wins and loses each of them"
    ).with_heading("self-play"),
    **REPLAY_COLUMNS,
    "is_complete": IS_COMPLETE_COLUMN,
    **{f"{_METRIC}{end}": declared for end, declared in METRIC_ESTIMATE_COLUMNS.items()},
    "lacks": column.text_list_column(
        "the competitions that others finished a game of, and this model none"
    ),
    "reasons": column.text_list_column("why a metric has no value"),
}

# What the published script prints, in its order.
_OF_SCRIPT = (
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
    values: pl.DataFrame, metrics: Sequence[str], by: Sequence[str], ends: Iterable[str]
) -> pl.DataFrame:
    """A row for each group of `by`, with these fields of the estimate of each metric."""
    estimate = values.select(*by, "metric", estimate=pl.struct(ESTIMATE_FIELDS.values()))
    rows = estimate.pivot(
        "metric", on_columns=metrics, index=by, values="estimate", maintain_order=True
    )
    fields = ((name, end) for name in metrics for end in ends)
    return rows.select(
        *by,
        *(pl.col(name).struct[ESTIMATE_FIELDS[end]].alias(f"{name}{end}") for name, end in fields),
    )


def leaderboard_columns(
    metrics: Sequence[str] | None = None,
    ends: Mapping[str, column.Column] = METRIC_ESTIMATE_COLUMNS,
) -> dict[str, column.Column]:
    """The columns of `LEADERBOARD`, with those of these metrics, by default of each there is."""
    columns: dict[str, column.Column] = {}
    for name, declared in LEADERBOARD_COLUMNS.items():
        if name == _METRIC:
            columns |= {
                f"{one}{end}": replace(
                    of_end,
                    description=_described(one, end, of_end.description),
                    heading=f"{metric_title(one)}{column.display_name(end)}",
                )
                for one in (metric_names(PAPER) if metrics is None else metrics)
                for end, of_end in ends.items()
            }
        elif not name.startswith(_METRIC):
            columns[name] = declared
    return columns


def _described(metric_name: str, end: str, text: str) -> str:
    """What a column of a metric is; of its value also how it is made, and the most it can be."""
    text = text.replace(_METRIC, metric_name)
    if end or metric_name not in metric_names(PAPER):  # a value of a column
        return text
    return (
        f"{text}: {sql_header(metric_name)['value'][0]}; at most {metric_spec(metric_name).high:g}"
    )


def origin_columns(lake: StoredLake, edition: str | None = PAPER) -> list[pl.Expr]:
    """The columns of `ORIGIN` for numbers of this lake; without an edition, the system alone."""
    system = [pl.lit(lake.system, pl.String).alias("system"), *seen_as(lake)]
    return system if edition is None else [pl.lit(edition).alias("edition"), *system]


def seen_as(lake: StoredLake) -> list[pl.Expr]:
    """The columns of `SEEN_AS` for numbers of this lake, those that it has something to say in."""
    return [pl.lit(text).alias(name) for name, text in lake.view_options.items()]


# The functions of a lake: those that a lake has as methods, and what they are made of.


@contextmanager
def use_lake_metrics(lake: StoredLake) -> Iterator[None]:
    """Let every function of the metrics know those that were added to the lake, too."""
    with use_metrics({**registered_metrics(), **lake._added}):
        yield


def lake_method(
    function: Callable[P, R],
    *,
    has_edition: bool | None = None,
    has_losses: bool = True,
    bind: Callable[..., BoundArguments] | None = None,
) -> Callable[P, R]:
    """Return the function as one of a lake, which is its first argument and can be its method.

    It knows the metrics that were added to the lake. If a library cannot read a file of the lake,
    it raises the error of `read_error`. This is the only function between a caller and what
    computes, so that a traceback is short.

    Args:
        function: The function of a lake.
        has_edition: If it is not None, the function is given the lake of one system: the lake's
            own, or the largest. The columns of `ORIGIN` are added to its rows, or without an
            edition `system` alone.
        has_losses: Whether the rows depend on whether failures are losses.
        bind: Checks the arguments, and returns those that the function is called with.
    """

    @wraps(function)
    def call_with_lake(lake: StoredLake, /, *given: Any, **options: Any) -> Any:
        with reraise_read_errors(), use_lake_metrics(lake):
            seen = lake if has_edition is None else lake.for_single_system()
            seen = seen if has_losses else seen.with_failures(EXCLUDE)
            asked = bind(seen, *given, **options) if bind else None
            arguments, named = (asked.args, asked.kwargs) if asked else ((seen, *given), options)
            rows: Any = cast(Any, function)(*arguments, **named)
            rows = rows.collect() if isinstance(rows, pl.LazyFrame) else rows
            if has_edition is None:
                return rows
            edition = str(options.get("edition", PAPER)) if has_edition else None
            said = origin_columns(seen, edition)
            is_whole = isinstance(rows, pl.DataFrame)
            parts = (_with_origin(part, said) for part in ([rows] if is_whole else rows))
            return next(parts) if is_whole else parts

    return cast("Callable[P, R]", call_with_lake)


def per_system(
    columns: Mapping[str, column.Column],
    *,
    has_edition: bool = True,
    **more: Any,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The function, given the lake of one system; its rows say which that is, and the edition.

    A function that counts several together says so itself, by a null `system`. `columns` are those
    that it returns itself. They are listed in its docstring, with the others. `more` are arguments
    of `of_lake`.
    """
    of_rows = {**columns, **(ORIGIN_COLUMNS if has_edition else {"system": SYSTEM_COLUMN})}
    return lambda function: lake_method(
        column.document_columns(of_rows)(function), has_edition=has_edition, **more
    )


def _with_origin(rows: pl.DataFrame, said: Sequence[pl.Expr]) -> pl.DataFrame:
    """The rows with the columns that say where they are from, or those of them that they have."""
    names = [one.meta.output_name() for one in said]
    own = [pl.col(n) if n in rows.columns else one for n, one in zip(names, said, strict=True)]
    return rows.select(pl.exclude(names), *own)


def format_magic_json(rows: pl.DataFrame) -> str:
    """One model's release metrics over all game types as the benchmark's script prints them."""
    over_all = rows.filter(pl.col("game_type") == ALL_GAME_TYPES)
    value_of = dict(over_all.select("metric", "value").iter_rows())
    # The script rounds with Python's round, half to even.
    printed = {
        TITLES[name]: None if value_of.get(name) is None else round(value_of[name], 3)
        for name in _OF_SCRIPT
    }
    return json.dumps([{"train_split": {**printed, "Total": 1000}}])
