"""The rows that a metric counted, one decision each, with the message behind it.

Their hits sum to the metric's by construction: they are the rows that it sums. Rows that are not
clear, or of unknown hit, are listed whether they are counted or not, whoever did it in which game.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack

import polars as pl

from pipeline import column
from pipeline.column import Column
from pipeline.errors import UsageError, suggest_names
from pipeline.events.contracts import GAME_TABLES, TABLES
from pipeline.lake import StoredLake
from pipeline.lake.row_stream import add_message_texts, iter_with_texts, message_lengths_select
from pipeline.metrics import DEFAULT_CONFIDENCE, metrics, registry, row_queries
from pipeline.metrics.estimates import check_engine
from pipeline.metrics.registry import (
    METRIC_COLUMN,
    METRIC_VALUE_COLUMNS,
    MISSING_COLUMNS,
    POOLED_COMBINES,
    Combine,
    Tables,
    per_system,
)
from pipeline.metrics.request import Request, as_list, check, check_models, parse_condition
from pipeline.metrics.row_queries import (
    COMPARED,
    HITS,
    rows as rows_rows,
    rows_where,
    unclear_others,
    with_compared,
)
from pipeline.sql_files import quote_identifier, quote_literal
from pipeline.text_format import format_count, format_interval, format_values as cells_texts
from pipeline.vocabulary import DEFAULT_N_GAMES, PAPER, Edition, Engine

# Pages of sorted rows: so many rows from a place on.
#
# Rows that are alike in the columns that they are sorted by must come in the same order each time.


def check_limit(limit: int | None, offset: int = 0) -> None:
    """Raises UsageError for a limit below 0, and for an offset that no row has."""
    if limit is not None and limit < 0:
        raise UsageError(f"the limit must be 0 or more, not {limit}")
    if not 0 <= offset < 2**40:  # lakes are smaller
        raise UsageError(f"the offset must be 0 or more, and a number of rows, not {offset}")


def sorted_page(
    rows: pl.LazyFrame,
    columns: Mapping[str, Column],
    key: Sequence[str],
    *,
    offset: int,
    limit: int | None,
    sort: str | None,
    descending: bool,
) -> pl.LazyFrame:
    """The rows sorted by the column `sort`, then by the key, without the first `offset`, at most
    `limit`; nulls come last.

    With `descending`, the first column is. Raises UsageError for a column that is not of these, or
    that has no order, and for a limit or offset below 0.
    """
    check_limit(limit, offset)
    types = {name: one.dtype for name, one in columns.items()}
    known = [name for name, one in types.items() if one == pl.String or one.is_numeric()]
    if sort and sort not in known:
        raise UsageError(f"cannot sort by {sort}: {suggest_names([sort], known)}")
    order = list(dict.fromkeys([sort, *key] if sort else key))
    is_down = [descending, *[False] * (len(order) - 1)]
    return rows.sort(order, descending=is_down, nulls_last=True).slice(offset, limit)


_OF_ROW = (
    *("term", "game_id", "game_type", "setting_id", "game_index", "model", "role", "competition"),
    *("player", "seat", "round", "what", COMPARED, "hit", "is_counted", "parse_status"),
    *("message_index", "content"),
)
_MESSAGE = TABLES["messages"].columns()
_KNOWN = {**_MESSAGE, **row_queries.VIEW_COLUMNS, "game_type": _MESSAGE["game_type"]}
EVIDENCE_COLUMNS: Mapping[str, Column] = {
    "metric": METRIC_COLUMN,
    **{name: _KNOWN[name] for name in _OF_ROW},
}
# The others are looked up for the rows that are shown, since for all it is most of the work.
_COUNTED = tuple(name for name in _OF_ROW if name not in (COMPARED, "content"))
# Rows alike in all of these are alike in every column.
_ORDER = (
    *("model", "game_type", "game_index", "game_id", "term", "round", "seat", "what"),
    *("role", "message_index", "player", "hit", "parse_status", "is_counted"),
)
# What is not counted is no hit and no miss, as in `rows_where`.
_HIT = pl.when("is_counted").then("hit").alias("hit")
_ORDER_BY = ", ".join(f"{quote_identifier(column)} NULLS LAST" for column in _ORDER)

# Of so few games polars finds all rows before DuckDB is loaded, and of so few bytes their messages.
_FEW_GAMES = 50_000
_FEW_BYTES = 2**20


class EvidenceOptions(TypedDict, total=False):
    """The arguments of `evidence` that say which rows a metric counts, and which engine finds them:
    without one, whichever is the fastest.
    """

    engine: Engine
    master: str | None
    edition: Edition
    num_of_game: int
    model: str | Sequence[str] | None
    game_type: str | Sequence[str] | None
    where: str | None


@per_system(EVIDENCE_COLUMNS)
def evidence(
    lake: StoredLake,
    metric: str,
    *,
    edition: Edition = PAPER,
    engine: Engine = "polars",
    master: str | None = None,
    num_of_game: int = DEFAULT_N_GAMES,
    model: str | Sequence[str] | None = None,
    game_type: str | Sequence[str] | None = None,
    where: str | None = None,
    hit: bool | None = None,
    unclear: bool = False,
    limit: int | None = None,
) -> pl.DataFrame:
    """The rows that the metric counted, sorted by model and game. Their hits sum to the metric's.

    `where` is a SQL condition: see `pipeline.metrics.request.condition`. With `hit`, only hits
    (true) or misses (false). With `unclear`, the metric's rows whose `parse_status` is not `ok` or
    whose hit is unknown, and all other rows of its tables whose `parse_status` is not `ok`, such as
    the votes of every role in every game: those that are not counted have no `hit`, and the others
    no `term` and `what`. With `limit`, only so many rows.
    The engines polars, duckdb and spark give the same rows; `master` is for spark: see
    `pipeline.spark.open_session`.

    Raises UsageError for an unknown metric, model or engine, for a wrong condition, and for `hit`
    with `unclear`.

    >>> misses = lake.evidence("judgement", model="sim-atlas", hit=False)
    >>> misses.select("player", "what", "hit").rows()[:2]
    [('Player 1', 'nobody', 0.0), ('Player 3', 'Player 1', 0.0)]
    """
    choices: EvidenceOptions = {
        "engine": engine,
        "master": master,
        "edition": edition,
        "num_of_game": num_of_game,
        "model": model,
        "game_type": game_type,
        "where": where,
    }
    parts = evidence_parts(lake, metric, hit=hit, unclear=unclear, limit=limit, **choices)
    return pl.concat(parts)


@per_system({})
def evidence_parts(
    lake: StoredLake,
    metric: str,
    *,
    hit: bool | None = None,
    unclear: bool = False,
    limit: int | None = None,
    **choices: Unpack[EvidenceOptions],
) -> Iterator[pl.DataFrame]:
    """The same rows as `evidence`, or the first `limit`, some at a time; at least one part.

    Memory is bounded, whatever the lake's size, but for a metric without SQL, and for the engines
    polars and spark.
    """
    check_limit(limit)
    request, engine = _request(lake, metric, choices, unclear=unclear), choices.get("engine")
    condition = _condition(hit, unclear=unclear)
    # Few rows are cut out first, and their messages are looked up.
    if limit is not None and (engine == "polars" or (engine is None and limit <= 1_000)):
        return iter([_page(lake, metric, request, condition, limit=limit, choices=choices)])
    if engine == "polars" or (
        engine is None
        and (
            not registry.has_sql(metric)
            or (
                _has_few_games(lake)
                and sum(lake.file_sizes_bytes("messages").values()) <= _FEW_BYTES
            )
        )
    ):
        counted = evidence_rows(lake.table, metric, request, condition)
        own = counted.collect().select(pl.lit(metric).alias("metric"), *_OF_ROW)
        return iter([own.sort(_ORDER, nulls_last=True).slice(0, limit)])
    return _by_sql(lake, metric, request, condition, choices, limit=limit)


def _by_sql(
    lake: StoredLake,
    name: str,
    request: Request,
    condition: str,
    choices: EvidenceOptions,
    *,
    limit: int | None,
) -> Iterator[pl.DataFrame]:
    """The rows with their messages, or the first `limit`; in one part if Spark finds them."""
    is_spark = choices.get("engine") == "spark"
    of_row = _OF_ROW[:-1]
    select = f"""SELECT {quote_literal(name)} AS metric,
    {_listed(of_row, "counted.")}, messages.content
FROM ({rows_where(condition, name, of_row, request)}) AS counted
LEFT JOIN {"messages" if is_spark else message_lengths_select(lake)} AS messages
    ON messages.game_id = counted.game_id AND messages.message_index = counted.message_index
ORDER BY {_ORDER_BY} LIMIT {"ALL" if limit is None else int(limit)}"""
    if is_spark:
        yield _on_spark(lake, request, select, choices)
        return
    # Imported here, so that polars does not wait for it.
    from pipeline.warehouse import connect_with_memory_limit, iter_parts

    with connect_with_memory_limit(
        lake, row_queries.shared(request.num_of_game), select, sorts_texts=True
    ) as connection:
        yield from iter_with_texts(lake, iter_parts(connection, select))


def _on_spark(
    lake: StoredLake, request: Request, select: str, choices: EvidenceOptions
) -> pl.DataFrame:
    # Imported here: it is an extra, and slow to import.
    from pipeline.spark import SparkViews, open_session

    named = row_queries.shared(request.num_of_game)
    return SparkViews(open_session(choices.get("master")), lake, named).query(select)


@per_system(EVIDENCE_COLUMNS)
def evidence_page(
    lake: StoredLake,
    metric: str,
    *,
    hit: bool | None = None,
    unclear: bool = False,
    offset: int = 0,
    limit: int = 50,
    **choices: Unpack[EvidenceOptions],
) -> pl.DataFrame:
    """At most `limit` rows of `evidence`, without the first `offset`.

    Raises UsageError for an unknown metric or model, and for a limit or offset below 0.

    >>> lake.evidence_page("judgement", offset=60, limit=60).height
    4
    """
    check_limit(limit, offset)
    request = _request(lake, metric, choices, unclear=unclear)
    condition = _condition(hit, unclear=unclear)
    return _page(lake, metric, request, condition, limit=limit, offset=offset, choices=choices)


def _page(
    lake: StoredLake,
    name: str,
    request: Request,
    condition: str,
    *,
    limit: int,
    choices: EvidenceOptions,
    offset: int = 0,
) -> pl.DataFrame:
    """A few rows with what is read for them alone: by type and game, since a join reads all."""
    select = f"""SELECT {_listed(_COUNTED)}
FROM counted
ORDER BY {_ORDER_BY} LIMIT {int(limit)} OFFSET {int(offset)}"""
    counted = _selected(lake, name, request, condition, select, columns=_COUNTED, choices=choices)
    games = [pl.col(key).is_in(counted[key].unique().to_list()) for key in ("game_type", "game_id")]

    def table(name: str) -> pl.LazyFrame:
        rows = lake.table(name)
        return rows.filter(*games) if name in GAME_TABLES else rows

    # Without the hit, which may depend on other games.
    keys = [column for column in _ORDER if column != "hit"]
    declared = registry.metric_spec(name, request.edition)
    about = with_compared(name, request.edition, rows_rows(declared, table, request), table)
    found = (
        counted.lazy()
        .join(
            about.select(*keys, COMPARED).unique(keys, keep="any"),
            on=keys,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        .collect()
    )
    return add_message_texts(lake, found).select(pl.lit(name).alias("metric"), *_OF_ROW)


def evidence_totals(
    lake: StoredLake,
    metric: str,
    *,
    hit: bool | None = None,
    unclear: bool = False,
    **choices: Unpack[EvidenceOptions],
) -> pl.DataFrame:
    """What the rows of `evidence` come to, in one row: hits, counted and n_games."""
    select = f"""SELECT
    CAST(coalesce(sum(CAST(hit AS {HITS})), 0) AS DOUBLE) AS hits,
    CAST(count(*) AS BIGINT) AS counted,
    CAST(count(DISTINCT game_id) AS BIGINT) AS n_games
FROM counted"""
    lake = lake.for_single_system()
    # Without the messages, which are most of the work.
    request, columns = _request(lake, metric, choices, unclear=unclear), ("game_id", "hit")
    condition = _condition(hit, unclear=unclear)
    return _selected(lake, metric, request, condition, select, columns=columns, choices=choices)


def _selected(
    lake: StoredLake,
    name: str,
    request: Request,
    condition: str,
    select: str,
    *,
    columns: Sequence[str],
    choices: EvidenceOptions,
) -> pl.DataFrame:
    """The result of a SELECT on the rows `counted`, of which it needs these columns.

    Without an engine, polars runs it where there are few games, since it needs no time to start,
    and for a metric without SQL.
    """
    engine = choices.get("engine")
    is_small = _has_few_games(lake)
    if engine == "polars" or (engine is None and (is_small or not registry.has_sql(name))):
        own = _rows_where(condition, lake.table, name, request).with_columns(_HIT)
        counted = _with_others(own, name, lake.table, request)
        answer = pl.SQLContext(counted=counted).execute(select, eager=False)
        return answer.collect(engine="auto" if is_small else "streaming")
    with_rows = f"WITH counted AS ({rows_where(condition, name, columns, request)})\n{select}"
    if engine == "spark":
        return _on_spark(lake, request, with_rows, choices)
    # Imported here, so that polars does not wait for it.
    from pipeline.warehouse import query_small

    return query_small(lake, row_queries.shared(request.num_of_game), with_rows)


def _has_few_games(lake: StoredLake) -> bool:
    return sum(lake.row_counts_by_file("games").values()) <= _FEW_GAMES


def _request(lake: StoredLake, name: str, choices: EvidenceOptions, *, unclear: bool) -> Request:
    """The request for these rows; raises UsageError for a name or an engine that does not exist."""
    check_engine(choices.get("engine", "polars"), choices.get("master"))
    registry.metric_spec(name)
    request = Request(
        edition=choices.get("edition", PAPER),
        by=("model",),
        num_of_game=choices.get("num_of_game", DEFAULT_N_GAMES),
        models=as_list(choices.get("model")),
        game_types=as_list(choices.get("game_type")),
        where=parse_condition([name], choices.get("where")),
        has_unclear_others=unclear,
    )
    check(lake, request, [name])
    return request


def _listed(columns: Sequence[str], before: str = "") -> str:
    return ", ".join(f"{before}{quote_identifier(column)}" for column in columns)


def _condition(hit: bool | None, *, unclear: bool) -> str:
    """The condition on the rows that a metric is about, by the arguments of `evidence`."""
    if unclear and hit is not None:
        raise UsageError("rows that are not clear are neither hits nor misses: leave out `hit`")
    if unclear:
        return "parse_status <> 'ok' OR hit IS NULL"
    return (
        "is_counted" if hit is None else f"is_counted AND coalesce(hit, 0) {'>' if hit else '<='} 0"
    )


def evidence_rows(
    tables: Tables, name: str, request: Request, condition: str = "is_counted"
) -> pl.LazyFrame:
    """The rows of the metric that meet the condition, in no order, with all their own columns."""
    spoken = tables("messages").select("game_id", "message_index", "content")
    chosen = _rows_where(condition, tables, name, request)
    own = with_compared(name, request.edition, chosen, tables).with_columns(_HIT)
    compared = _with_others(own, name, tables, request)
    return compared.join(spoken, on=["game_id", "message_index"], how="left")


def _rows_where(condition: str, tables: Tables, name: str, request: Request) -> pl.LazyFrame:
    of_metric = rows_rows(registry.metric_spec(name, request.edition), tables, request)
    return of_metric.filter(pl.sql_expr(condition))


def _with_others(own: pl.LazyFrame, name: str, tables: Tables, request: Request) -> pl.LazyFrame:
    others = unclear_others(name, tables, request)
    return pl.concat([own, *others], how="diagonal_relaxed") if others else own


# How the rows of evidence add up to a value: each term with its weight, and what it adds.

EVIDENCE_SUM_COLUMNS: Mapping[str, column.Column] = {
    "term": column.text_column("the ratio; null for the value itself", nullable=True),
    "hits": column.number_column("its numerator, in rows; null for a value of several ratios"),
    "counted": column.count_column("its denominator, in rows; null like `hits`", nullable=True),
    "ratio": column.proportion_column("hits / counted; null if nothing is counted").with_heading(
        "hits / counted"
    ),
    "weight": column.proportion_column(
        "what the ratio is multiplied by; null if the terms are pooled"
    ),
    "value": column.proportion_column(
        "what the term adds to the value; in the last row the value, null if it is undefined"
    ),
    **{
        name: METRIC_VALUE_COLUMNS[name]
        for name in (
            *(
                "ci_low",
                "ci_high",
                "n_games",
                "n_unknown",
                "thin",
                "lacks",
                *MISSING_COLUMNS,
                "reason",
            ),
        )
    },
}


@per_system(EVIDENCE_SUM_COLUMNS)
def evidence_sum(
    lake: StoredLake,
    metric: str,
    *,
    confidence: float | None = DEFAULT_CONFIDENCE,
    **choices: Unpack[EvidenceOptions],
) -> pl.DataFrame:
    """How the rows of `evidence` add up to the metric's value: a row for each term, then the whole.

    The arguments are those of `evidence`. The values of the terms add up to the value of the last
    row, whose `term` is null. If several models are asked for, they are counted as one.

    Raises UsageError for an unknown metric or model, and for a wrong condition.

    >>> total = lake.evidence_sum("judgement", model="sim-atlas")
    >>> total.select("term", "hits", "counted", "value").rows()
    [('votes', 8.0, 16, 0.5), (None, 8.0, 16, 0.5)]
    """
    values = partial(metrics, lake, metric=[metric], confidence=confidence)
    models = as_list(choices.get("model")) or ()
    if len(models) == 1:
        check_models(lake, models)
        # Others are counted too, since they tell what its value lacks.
        of_all: EvidenceOptions = {**choices, "model": None}
        rows = values(by="model", **of_all).filter(model=models[0])
        rows = values(by="model", **choices) if rows.is_empty() else rows
    else:
        rows = values(by=None, **choices)
    edition, none = (
        choices.get("edition", PAPER),
        pl.DataFrame(schema=column.polars_schema(EVIDENCE_SUM_COLUMNS)),
    )
    return pl.concat(
        [format_value_sum(row, edition) for row in rows.iter_rows(named=True)] or [none]
    )


def format_value_sum(row: dict[str, Any], edition: Edition) -> pl.DataFrame:
    """The same of a row of `metrics`."""
    combine = registry.metric_spec(row["metric"], edition).combine
    whole = {
        name: row.get(name)
        for name in EVIDENCE_SUM_COLUMNS
        if name not in ("term", "weight", "ratio")
    }
    terms = [_term(term, combine, row["terms"]) for term in row["terms"] or ()]
    return pl.DataFrame([*terms, whole], schema=column.polars_schema(EVIDENCE_SUM_COLUMNS))


def _term(
    term: dict[str, Any], combine: Combine, terms: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    is_pooled = combine in POOLED_COMBINES
    weight = None if is_pooled else term["weight"]
    n_pooled = sum(pooled["counted"] for pooled in terms)
    share = term["counted"] / n_pooled if is_pooled and n_pooled else weight
    ratio = term["value"]
    value = None if ratio is None or share is None else share * ratio
    return {**term, "weight": weight, "ratio": ratio, "value": value}


def format_sum_sentence(name: str, rows: pl.DataFrame) -> str:
    """The sum in a line, as in `judgement: 32 of 80 = 0.4000, interval .25 to .56, 40 games`."""
    *terms, whole = rows.to_dicts() or [dict.fromkeys(EVIDENCE_SUM_COLUMNS)]
    n_unknown = whole["n_unknown"]
    unknown = f"; {format_count(n_unknown, 'row')} of unknown hit not counted" if n_unknown else ""
    if whole["value"] is None:
        return f"{name}: no value: {whole['reason'] or 'nothing was counted'}{unknown}"
    value = cells_texts([whole["value"]], EVIDENCE_SUM_COLUMNS["value"].decimals)[0]
    parts = [f"{name}: {_added(whole, terms)} = {value}"]
    if whole["ci_low"] is not None:
        parts.append(f"interval {format_interval(whole['ci_low'], whole['ci_high'])}")
    thin = ", ".join(term["term"] or "in all" for term in whole["thin"] or ())
    line = ", ".join([*parts, format_count(whole["n_games"], "game")])
    lacks = ", ".join(whole["lacks"] or ())
    n_missing, n_expected = (whole[name] for name in MISSING_COLUMNS)
    gone = f"{n_missing:,} of {n_expected:,} games, by competition" if n_missing else ""
    more = {"thin": thin, "lacks what other models have": lacks, "lacks": gone}
    said = "".join(f"; {what}: {names}" for what, names in more.items() if names)
    return f"{line}{said}{unknown}"


def _added(whole: dict[str, Any], terms: Sequence[dict[str, Any]]) -> str:
    if whole["counted"] is not None:
        return _share(whole)
    valued = [term for term in terms if term["value"] is not None]
    shares = [f"{_share(term)} ({term['term']})" for term in valued]
    weights = [term["weight"] for term in valued]
    if len(set(weights)) == 1 and weights[0] != 1:
        return f"the mean of {', '.join(shares)}"
    times = ["" if weight == 1 else f"{cells_texts([weight], 2)[0]} × " for weight in weights]
    return " + ".join(f"{before}{share}" for before, share in zip(times, shares, strict=True))


def _share(row: dict[str, Any]) -> str:
    hits = row["hits"]
    text = (
        cells_texts([hits], 2)[0].rstrip("0").rstrip(".") if isinstance(hits, float) else str(hits)
    )
    return f"{text} of {row['counted']}"
