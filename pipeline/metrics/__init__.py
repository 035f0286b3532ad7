"""The eight metrics, each written twice: in polars here, and in SQL in `sql/metrics/`.

The SQL runs in DuckDB. Where Spark is the engine, it counts, by the same SQL translated.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from pipeline.errors import UsageError
from pipeline.lake import Lake
from pipeline.metrics import compute, settings, sql
from pipeline.metrics.catalogue import NAMES, TITLES, metric
from pipeline.metrics.complete import with_completeness
from pipeline.metrics.compute import (
    FOR_FEW,
    VALUE_COLUMNS,
    Counts,
    combined,
    values,
    with_intervals,
)
from pipeline.metrics.declaration import Metric, Tables
from pipeline.metrics.models import check_models
from pipeline.metrics.request import ALL, DEFAULT_BY, DEFAULT_GAMES, PAPER, Request, check, several
from pipeline.metrics.rows import chosen_by, row_schema

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "ALL",
    "DEFAULT_BY",
    "DEFAULT_CONFIDENCE",
    "DEFAULT_GAMES",
    "ENGINES",
    "NAMES",
    "PAPER",
    "TITLES",
    "Answer",
    "answered",
    "magic_json",
    "metric",
    "metrics",
]

DEFAULT_CONFIDENCE = 0.95
ENGINES = ("polars", "duckdb", "spark")


def metrics(
    lake: Lake,
    *,
    edition: str = PAPER,
    engine: str = "polars",
    master: str | None = None,
    by: Sequence[str] | None = DEFAULT_BY,
    num_of_game: int = DEFAULT_GAMES,
    models: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    game_types: Sequence[str] | None = None,
    where: str | None = None,
    confidence: float | None = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """The metrics' values, a row for each metric and group, with what each was made of.

    Columns: edition, metric, those of `by`, value, its interval at that `confidence` (ci_low,
    ci_high, ci_method, n_eff), hits and counted (null where a value is of several ratios), terms,
    n_games (with a counted row), n_unfinished (null by what neither a game nor its result says,
    such as `round`), n_unreadable (rows whose text could not be read for sure), reason where the
    value is null, and is_complete, whether the model finished a game of every setting that any
    model played of these game types. A `confidence` of None leaves out the interval and
    is_complete, which take as long as all the rest. With `game_type` among `by` there are also rows
    over all of them, called `all`; without `by`, None or empty, all is one group. `num_of_game` is
    the release edition's: games numbered below it count. `master` is Spark's alone: see
    `pipeline.spark.open_session`. `where` is a condition in SQL on the rows: see
    `pipeline.metrics.condition`. Raises UsageError for a name that does not exist, also of a model.
    """
    asked = several(NAMES if names is None else names)
    request = Request(
        edition=edition,
        by=several(by or ()),
        num_of_game=num_of_game,
        models=several(models),
        game_types=several(game_types),
        where=None if where is None else chosen_by(lake, asked, where),
    )
    return answered(
        lake, request, engine=engine, master=master, names=asked, confidence=confidence
    ).rows


class Answer(NamedTuple):
    """The rows of `metrics`, and sums by setting.

    There are no sums where there is no interval, or games of several tested sides.
    """

    rows: pl.DataFrame
    settings: pl.DataFrame | None


def answered(
    lake: Lake,
    request: Request,
    *,
    names: Sequence[str] = NAMES,
    engine: str = "polars",
    master: str | None = None,
    confidence: float | None = DEFAULT_CONFIDENCE,
    with_games: Collection[str] = NAMES,
) -> Answer:
    """What is asked for; telling games apart is half of the work, so only where it is asked."""
    for name in names:
        metric(name, PAPER)
    check(request, {name: list(row_schema(lake, name)) for name in names})
    if engine not in ENGINES:
        raise UsageError(f"no engine `{engine}`: there are {', '.join(ENGINES)}")
    if master is not None and engine != "spark":
        raise UsageError(f"a master is for the engine spark, not for {engine}")
    if engine == "spark" and not lake.path.is_local:
        raise UsageError(
            f"{lake.path}: Spark computes on a lake in a folder that its executors share: "
            "copy it to one, or take the engine polars or duckdb"
        )
    if confidence is not None and not 0 < confidence < 1:
        raise UsageError(f"a confidence is between 0 and 1, such as 0.95, not {confidence:g}")
    check_models(lake, request.models)
    is_one_sided = confidence is not None and _is_one_sided(lake)
    asked = _Asked(lake, names, request, with_games, confidence is not None, is_one_sided)
    if engine == "spark":
        found = _by_spark(asked, master)
    else:
        found = _by_polars(asked) if engine == "polars" else _by_duckdb(asked)
    rows = pl.concat(found.rows)
    if confidence is None or found.settings is None:
        return Answer(_sorted(rows, names, request), None)
    sums = compute.moments(found.settings, request, is_one_sided=is_one_sided)
    rows = with_completeness(
        with_intervals(rows, asked.metrics, sums, request, confidence),
        asked.metrics,
        lake.table("results").filter("is_tested") if found.results is None else found.results,
        request,
    )
    return Answer(_sorted(rows, names, request), found.settings if is_one_sided else None)


class _Asked(NamedTuple):
    """What an engine is asked for."""

    lake: Lake
    names: Sequence[str]
    request: Request
    with_games: Collection[str]
    with_intervals: bool
    is_one_sided: bool

    @property
    def metrics(self) -> dict[str, Metric]:
        return {name: metric(name, self.request.edition) for name in self.names}


class _Found(NamedTuple):
    """What an engine found: each metric's rows, and of all the sums by setting, if asked for.

    `results` are the tested ones, where the engine read them for more than counting.
    """

    rows: list[pl.DataFrame]
    settings: pl.DataFrame | None = None
    results: pl.LazyFrame | None = None


def _is_one_sided(lake: Lake) -> bool:
    """Whether each game is of one tested side, and so of one competition and one term.

    Every game has a result for each side: as many as there are games, and each of another game. The
    numbers alone do not tell, since a game of no tested side makes up for one of two.
    """
    n_games, n_results = (
        lake.table(table).select(pl.len()).collect().item() for table in ("games", "results")
    )
    return bool(n_games == n_results) and _is_unique(lake.table("results"), "game_id")


def _is_unique(rows: pl.LazyFrame, column: str) -> bool:
    """Whether no value of the column comes twice.

    Sorted hashes of which no two are alike tell so in a third of the time and memory that a set of
    texts takes. Alike can be two of one text, or of two by chance, which only the texts tell.
    """
    hashes = rows.select(hash=pl.col(column).hash()).sort("hash")
    is_alike = (pl.col("hash") == pl.col("hash").shift()).any()
    if not hashes.select(is_alike).collect(engine="streaming").item():
        return True
    return bool(rows.select(pl.col(column).is_unique().all()).collect().item())


def _by_polars(asked: _Asked) -> _Found:
    tables = cache(asked.lake.table)
    return (_of_one_side if asked.is_one_sided else _of_all_sides)(asked, tables)


def _of_one_side(asked: _Asked, tables: Tables) -> _Found:
    """What is found where each game is of one tested side: all but a little by setting."""
    metrics, request = asked.metrics, asked.request
    results = settings.alike(metrics.values(), tables, request)
    # One after the other, since each takes room for what it tells apart.
    parts = {
        name: [settings.by_setting(one, tables, results, request)] for name, one in metrics.items()
    }
    by_setting = _combined(metrics, [sums for (sums,) in parts.values()])
    of_rows = [name for name, one in metrics.items() if not one.is_of_results]
    lazy = [compute.unread(metrics[name], tables, request) for name in of_rows]
    for name, unread in zip(of_rows, pl.collect_all(lazy, engine="streaming"), strict=True):
        parts[name].append(unread)
    counted = [settings.counts(found, request) for found in parts.values()]
    sides = settings.sides(results, request)
    return _Found(_values(asked, counted, sides), by_setting, results)


def _of_all_sides(asked: _Asked, tables: Tables) -> _Found:
    """What is found of any games, all that is asked for in passes of its own."""
    metrics, request = asked.metrics, asked.request
    by_setting = None
    if asked.with_intervals:
        found = [compute.by_setting(one, tables, request) for one in metrics.values()]
        by_setting = _combined(metrics, found)
    counts = [
        compute.counts(one, tables, request, with_games=name in asked.with_games)
        for name, one in metrics.items()
    ]
    lazy = [compute.sides(tables, request), *chain.from_iterable(counts)]
    sides, *told = (frame.lazy() for frame in pl.collect_all(lazy, engine="streaming"))
    counted = list(map(Counts, told[0::2], told[1::2]))
    return _Found(_values(asked, counted, sides), by_setting)


def _values(asked: _Asked, counted: Sequence[Counts], sides: pl.LazyFrame) -> list[pl.DataFrame]:
    """Each metric's rows."""
    told = zip(asked.metrics.items(), counted, strict=True)
    lazy = [values(name, one, each, sides, asked.request) for (name, one), each in told]
    return pl.collect_all(lazy, engine=FOR_FEW)


def _combined(metrics: Mapping[str, Metric], found: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Each metric's sums by setting as those of all."""
    told = zip(metrics.items(), found, strict=True)
    return pl.concat([combined(name, one, each) for (name, one), each in told])


def _by_duckdb(asked: _Asked) -> _Found:
    # Imported here, so that the other engine's answers do not wait for it.
    from pipeline.warehouse import answer, connect

    made = sql.views(NAMES, asked.request.num_of_game)
    selects = _selects(asked)
    with connect(asked.lake, made, "\n".join(["release_parameters", *selects])) as connection:
        found = [answer(connection, select) for select in selects]
        return _of_sql(asked, connection, found)


def _by_spark(asked: _Asked, master: str | None) -> _Found:
    # Imported here: it is there only with the extra, and takes its time.
    from pipeline.spark import Views, open_session
    from pipeline.warehouse import connect

    made = sql.views(NAMES, asked.request.num_of_game)
    found = Views(open_session(master), asked.lake, made).queries(_selects(asked))
    # What is counted is few rows. To plan what they are combined by takes a cluster minutes.
    with connect(asked.lake, made, "release_parameters") as connection:
        return _of_sql(asked, connection, found)


def _selects(asked: _Asked) -> list[str]:
    """What an engine of SQL counts: the sides, then for each metric by turns what it asks."""
    request = asked.request
    found = [sql.sides(request)]
    for name, one in asked.metrics.items():
        declared = sql.sql_metric(name, request.edition)
        if asked.is_one_sided:
            is_of_results = one.is_of_results
            found.append(sql.by_setting_of_one_side(declared, request, is_of_results=is_of_results))
            continue
        counted = sql.counted(declared, request, with_games=name in asked.with_games)
        found += [counted.counts, counted.games]
        if asked.with_intervals:
            found.append(sql.by_setting(declared, request))
    return found


def _of_sql(
    asked: _Asked, connection: "DuckDBPyConnection", found: Sequence[pl.DataFrame]
) -> _Found:
    """What is found of what an engine of SQL counted."""
    from pipeline.warehouse import hold

    sides, *told = found
    size = len(told) // len(asked.metrics)
    hold(connection, "kept_sides", sides)
    rows, by_setting = [], []
    for place, (name, one) in enumerate(asked.metrics.items()):
        answers = told[place * size : (place + 1) * size]
        if asked.is_one_sided:
            counted, summed = settings.counts(answers, asked.request), answers
        else:
            counts, games, *summed = answers
            counted = Counts(counts.lazy(), games.lazy())
        by_setting += [combined(name, one, each) for each in summed]
        hold(connection, "kept_counts", counted.sums.collect())
        hold(connection, "kept_games", counted.games.collect())
        rows.append(_valued(connection, sql.sql_metric(name, asked.request.edition), asked.request))
    sums = pl.concat(by_setting, how="vertical_relaxed") if by_setting else None
    return _Found(rows, sums)


_KEPT = sql.Counted(*(f"SELECT * FROM kept_{name}" for name in sql.Counted._fields))


def _valued(connection: "DuckDBPyConnection", one: sql.SqlMetric, request: Request) -> pl.DataFrame:
    """The metric's rows from what the connection keeps of it."""
    from pipeline.warehouse import answer, keep

    keep(connection, "kept_by_term", sql.by_term(one, request, _KEPT))
    termed = "SELECT * FROM kept_by_term"
    valued = answer(connection, sql.values(one, request, _KEPT, termed))
    return _with_terms(valued, answer(connection, termed), one.combine, request)


def _with_terms(
    valued: pl.DataFrame, by_term: pl.DataFrame, combine: str, request: Request
) -> pl.DataFrame:
    """The values with their terms nested in, which SQL gives as rows of their own."""
    by = list(request.by)
    ratio = pl.when(pl.col("counted") > 0).then(pl.col("hits") / pl.col("counted"))
    told = by_term.sort("place").with_columns(value=ratio)
    if combine == "mean":
        n_ratios = pl.col("value").count()
        weight = 1 / (n_ratios.over(by) if by else n_ratios)
        told = told.with_columns(weight=pl.when(pl.col("value").is_not_null()).then(weight))
    fields = pl.struct("term", "weight", "hits", "counted", "value").alias("terms")
    if by:
        nested = told.group_by(by, maintain_order=True).agg(fields)
        joined = valued.join(nested, on=by, how="left", nulls_equal=True)
    else:
        joined = valued.join(told.select(fields.implode()), how="cross")
    return joined.select("edition", "metric", *by, *VALUE_COLUMNS).cast(VALUE_COLUMNS)


def _sorted(rows: pl.DataFrame, names: Sequence[str], request: Request) -> pl.DataFrame:
    """The rows in the metrics' order, then the groups'; `all` after the game types."""
    by = [
        (pl.col(column) == ALL) if column == "game_type" else pl.col(column)
        for column in request.by
    ]
    rank = pl.col("metric").replace_strict({name: i for i, name in enumerate(names)})
    return rows.sort(rank, *by, *request.by, nulls_last=True)


def magic_json(rows: pl.DataFrame) -> str:
    """One model's release metrics over all as the benchmark's script prints them."""
    over_all = rows.filter(pl.col("game_type") == ALL)
    found = dict(over_all.select("metric", "value").iter_rows())
    # The script rounds with Python's round, half to even.
    told = {
        TITLES[name]: None if found.get(name) is None else round(found[name], 3) for name in NAMES
    }
    return json.dumps([{"train_split": {**told, "Total": 1000}}])
