"""All views of SQL: those written in SQL, and those that Python computes.

Python computes views with intervals. `magic sql` and `Lake.sql` compute such a view when a query
reads it; in `magic.duckdb` it is a table.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

import polars as pl
from polars.datatypes import DataTypeClass

from pipeline import sqlfiles
from pipeline.errors import choose, nearest
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake, by_system
from pipeline.metrics import DEFAULT_CONFIDENCE, metrics
from pipeline.metrics import views as in_sql
from pipeline.metrics.known import names
from pipeline.metrics.request import EDITIONS, PAPER
from pipeline.metrics.thin import THIN
from pipeline.metrics.values import VALUE_COLUMNS
from pipeline.metrics.views import COLUMNS, LEADERBOARD, OF_ALL, in_schema
from pipeline.reports.ranking import leaderboard
from pipeline.vocabulary import Edition
from pipeline.warehouse.views import Computed, Views


class _Column(NamedTuple):
    dtype: pl.DataType | DataTypeClass
    description: str


_LEVEL = f"{DEFAULT_CONFIDENCE:.0%}"
_MODEL = _Column(pl.String, "the tested model, null if the log does not say")
_SYSTEM = _Column(pl.String, "the harness that ran the games; each is counted by itself")
_IS_COMPLETE = _Column(
    pl.Boolean, "whether the model finished a game of every setting that any model played"
)
_IS_THIN = "terms with very few settings of their own: the interval can be far off"
_OF_METRICS = {
    **{name: _Column(pl.String, COLUMNS[name]) for name in ("edition", "metric")},
    "system": _SYSTEM,
    "model": _MODEL,
    "game_type": _Column(pl.String, COLUMNS["game_type"]),
    "value": _Column(VALUE_COLUMNS["value"], COLUMNS["value"]),
    "ci_low": _Column(pl.Float64, f"the lower end of the value's {_LEVEL} confidence interval"),
    "ci_high": _Column(pl.Float64, f"the upper end of the value's {_LEVEL} confidence interval"),
    "ci_method": _Column(pl.String, "what the interval's clusters are, and how it was computed"),
    "effective_items": _Column(pl.Float64, "for how many independent items the interval is drawn"),
    "thin": _Column(THIN, _IS_THIN),
    **{
        name: _Column(VALUE_COLUMNS[name], text)
        for name, text in {
            "hits": COLUMNS["hits"],
            "counted": COLUMNS["counted"],
            "terms": "the ratios that make the value: weight, hits, counted and value of each",
            "n_games": COLUMNS["n_games"],
            "n_unfinished": "number of unfinished games, which are not counted",
            "n_unreadable": "rows whose text is not clear, counted or not",
            "reason": "why there is no value, null if there is one",
        }.items()
    },
    "is_complete": _IS_COMPLETE,
}
_OF_LEADERBOARD = {
    "system": _SYSTEM,
    "rank": _Column(
        pl.Int64, "1 for the highest win rate; null if the model lacks a whole competition"
    ),
    "model": _MODEL,
    "letters": _Column(
        pl.String, "two models whose letters have none in common differ significantly in win rate"
    ),
    "family": _Column(pl.Int64, "for how many comparisons the letters are adjusted"),
    "n_games": _Column(pl.Int64, "number of finished games"),
    "n_missing": _Column(
        pl.Int64, "settings that any model played and this model has not finished"
    ),
    "n_self_play": _Column(
        pl.Int64, "games in which the model plays every seat: it wins and loses each of them"
    ),
    "is_complete": _IS_COMPLETE,
}
_OF_A_METRIC = {
    "": _Column(pl.Float64, "the value of {} over all game types"),
    "_low": _Column(pl.Float64, f"the lower end of the {_LEVEL} confidence interval of {{}}"),
    "_high": _Column(pl.Float64, f"the upper end of the {_LEVEL} confidence interval of {{}}"),
    "_thin": _Column(THIN, f"of {{}}: {_IS_THIN}"),
}
_OF_EDITIONS = {
    "": f"the values of a metric; those of all metrics ({OF_ALL}) and models ({LEADERBOARD}), "
    "with intervals",
    "terms": "the terms (ratios) that values are made of",
    "evidence": "the rows that a metric counted, with their messages",
    "attempts": "the rows that a metric is about, counted or not",
}
_OF_NO_EDITION = {
    "audit": "the rows that magic audit checks",
    "shared": "what several metrics have in common, such as what texts say about roles",
}
_AT_THE_END = {
    "lacks": _Column(
        pl.List(pl.String), "the competitions that others finished a game of, and this model none"
    ),
    "reasons": _Column(pl.List(pl.String), "why a metric has no value"),
}


def views() -> Views:
    """Every view by its name; each comes after the views that it uses."""
    return {**in_sql.views(), **computed()}


def not_a_table(name: str, known: Collection[str]) -> str:
    """The text of the error for a name that is no table; `known` are the views."""
    if name in known:
        hint = f" or `{method}`" if (method := _method(name)) else ""
        return f'`{name}` is a view, not a table: use `lake.sql("FROM {name}")`{hint}'
    hint = nearest([name], TABLES) or nearest([name], known) or choose([name], TABLES)
    return f"no table `{name}`: {hint}"


def _method(view: str) -> str | None:
    """The call of a method that returns the rows of a view; None if there is no such method."""
    schema, _, name = view.rpartition(".")
    if schema == "evidence" and name != OF_ALL:
        return f'lake.evidence("{name}")'
    if schema == "audit":
        return f'lake.findings("{name}")'
    if schema == "" and name in (OF_ALL, LEADERBOARD, *sqlfiles.names("")):
        return f"lake.{name}()"
    return f'lake.metrics(metric="{name}")' if schema == "" else None


class Schema(NamedTuple):
    """A schema of SQL: its name, what its views have, and their names without it."""

    name: str
    meaning: str
    views: tuple[str, ...]


def schemas() -> list[Schema]:
    """The schemas with all views, the main one first; its name is empty."""
    found: dict[str, list[str]] = {}
    for view in views():
        schema, _, name = view.rpartition(".")
        found.setdefault(schema, []).append(name)
    meanings = dict(_meanings())
    listed = sorted(found, key=[*meanings].index)
    return [Schema(schema, meanings[schema], tuple(found[schema])) for schema in listed]


def _meanings() -> Iterator[tuple[str, str]]:
    """What the views of a schema have, by its name, in the order in which schemas are listed."""
    for kind, meaning in _OF_EDITIONS.items():
        for edition in EDITIONS:
            yield in_schema(kind, edition, "").removesuffix("."), f"edition {edition}: {meaning}"
    yield from _OF_NO_EDITION.items()


def computed() -> dict[str, Computed]:
    """The views of every edition that Python computes: `system`, and what `Lake`'s methods give."""
    found = {}
    for edition in EDITIONS:
        found[in_schema("", edition, OF_ALL)] = _metrics(edition)
        found[in_schema("", edition, LEADERBOARD)] = _leaderboard(edition)
    return found


def _metrics(edition: Edition) -> Computed:
    row = "the value of one metric for one model and game type"
    return _computed(_OF_METRICS, row, edition, lambda lake: metrics(lake, edition=edition))


def _leaderboard(edition: Edition) -> Computed:
    of_metrics = {
        f"{name}{end}": column._replace(description=column.description.format(name))
        for name in names(PAPER)
        for end, column in _OF_A_METRIC.items()
    }
    columns = _OF_LEADERBOARD | of_metrics | _AT_THE_END
    row = "one model with all metrics"
    return _computed(columns, row, edition, lambda lake: leaderboard(lake, edition=edition))


def _computed(
    columns: Mapping[str, _Column],
    row: str,
    edition: Edition,
    rows: Callable[[StoredLake], pl.DataFrame],
) -> Computed:
    return Computed(
        lambda lake: by_system(lake, rows).select(list(columns)),
        pl.Schema({name: column.dtype for name, column in columns.items()}),
        f"{row}, edition {edition}, with {_LEVEL} confidence intervals",
        {name: column.description for name, column in columns.items()},
    )
