"""Evidence: the rows that a metric counted, one decision each, with the message behind each row.

The hits of these rows sum to the metric's hits, because they are the rows that the metric adds up.
Unclear rows can be listed whether they are counted or not. Used by the commands `evidence` and
`transcript` and by the pages; depends on `row_queries`.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack

import polars as pl

from pipeline import column
from pipeline.column import Column
from pipeline.errors import UsageError, known_names_hint
from pipeline.events.contracts import GAME_TABLES, TABLES
from pipeline.lake import StoredLake
from pipeline.lake.row_stream import (
    add_message_texts,
    iter_with_message_texts,
    messages_or_lengths_relation,
)
from pipeline.metrics import DEFAULT_CONFIDENCE, metrics, registry, row_queries
from pipeline.metrics.estimates import check_engine
from pipeline.metrics.registry import (
    METRIC_COLUMN,
    METRIC_VALUE_COLUMNS,
    MISSING_COLUMNS,
    POOLED_COMBINES,
    Combine,
    Tables,
    lake_method_for_single_system,
)
from pipeline.metrics.request import (
    Request,
    as_list,
    check_models_are_tested,
    check_request,
    parse_condition,
)
from pipeline.metrics.row_queries import (
    COMPARED_COLUMN,
    HITS_SQL_TYPE,
    add_compared_with_column,
    matching_rows_select,
    metric_rows,
    unclear_rows_outside_metric,
)
from pipeline.sql_files import quote_identifier, quote_literal
from pipeline.text_format import format_count, format_interval, format_values
from pipeline.vocabulary import DEFAULT_N_GAMES, PAPER, Edition, Engine

# Pages of sorted rows. Rows that are equal in the sort column must always have the same order, so
# the key follows it.


def check_limit_and_offset(limit: int | None, offset: int = 0) -> None:
    """Raise UsageError if the limit of rows is negative, or the offset is out of range."""
    if limit is not None and limit < 0:
        raise UsageError(f"the limit must be 0 or more, not {limit}")
    if not 0 <= offset < 2**40:  # lakes are smaller
        raise UsageError(f"the offset must be 0 or more, and a number of rows, not {offset}")


def sort_rows_and_select_page(
    rows: pl.LazyFrame,
    columns: Mapping[str, Column],
    key_columns: Sequence[str],
    *,
    offset: int,
    limit: int | None,
    sort: str | None,
    descending: bool,
) -> pl.LazyFrame:
    """Sort rows by a column, and return the rows of one page.

    Rows that are equal in this column are sorted by the key columns. Nulls come last.

    Args:
        rows: The rows.
        columns: The columns of the rows.
        key_columns: The columns that identify a row, so that the order is always the same.
        offset: The number of rows to skip.
        limit: The maximum number of rows; None for no limit.
        sort: The column to sort by first; None sorts by the key.
        descending: Whether the first column is sorted in descending order.

    Raises:
        UsageError: If the column is unknown or cannot be sorted, or if limit or offset are out of
            range.
    """
    check_limit_and_offset(limit, offset)
    dtypes = {name: definition.dtype for name, definition in columns.items()}
    sortable = [
        name
        for name, definition in dtypes.items()
        if definition == pl.String or definition.is_numeric()
    ]
    if sort and sort not in sortable:
        raise UsageError(f"cannot sort by {sort}: {known_names_hint([sort], sortable)}")
    sort_columns = list(dict.fromkeys([sort, *key_columns] if sort else key_columns))
    directions = [descending, *[False] * (len(sort_columns) - 1)]
    return rows.sort(sort_columns, descending=directions, nulls_last=True).slice(offset, limit)


_ROW_COLUMNS = (
    *("term", "game_id", "game_type", "setting_id", "game_index", "model", "role", "competition"),
    *("player", "seat", "round", "what", COMPARED_COLUMN, "hit", "is_counted", "parse_status"),
    *("message_index", "content"),
)
_MESSAGE_COLUMNS = TABLES["messages"].columns()
_KNOWN_COLUMNS = {
    **_MESSAGE_COLUMNS,
    **row_queries.VIEW_COLUMNS,
    "game_type": _MESSAGE_COLUMNS["game_type"],
}
EVIDENCE_COLUMNS: Mapping[str, Column] = {
    "metric": METRIC_COLUMN,
    **{name: _KNOWN_COLUMNS[name] for name in _ROW_COLUMNS},
}
# The remaining columns are added only to displayed rows, because they take most of the time.
_COUNTED_COLUMNS = tuple(name for name in _ROW_COLUMNS if name not in (COMPARED_COLUMN, "content"))
# Rows that are equal in all of these columns are equal in every column.
_SORT_COLUMNS = (
    *("model", "game_type", "game_index", "game_id", "term", "round", "seat", "what"),
    *("role", "message_index", "player", "hit", "parse_status", "is_counted"),
)
# Rows that are not counted have no hit, as in `matching_rows_select`.
_HIT_IF_COUNTED = pl.when("is_counted").then("hit").alias("hit")
_ORDER_BY = ", ".join(f"{quote_identifier(column)} NULLS LAST" for column in _SORT_COLUMNS)

# Up to these limits polars finds the rows, and their messages, before DuckDB is loaded.
_MAX_GAMES_FOR_POLARS = 50_000
_MAX_MESSAGE_BYTES_FOR_POLARS = 2**20


class EvidenceOptions(TypedDict, total=False):
    """The options of `evidence` that select rows, and the engine.

    Without an engine, the fastest one for the lake is used.
    """

    engine: Engine
    master: str | None
    edition: Edition
    num_of_game: int
    model: str | Sequence[str] | None
    game_type: str | Sequence[str] | None
    where: str | None


@lake_method_for_single_system(EVIDENCE_COLUMNS)
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
    """Return the rows that the metric counted, sorted by model and game.

    Their hits sum to the metric's hits.

    `where` is a SQL condition on the rows. `hit` selects only hits (true) or only misses (false).
    `unclear` selects the metric's rows whose `parse_status` is not `ok` or whose hit is unknown,
    and all other rows of its tables whose `parse_status` is not `ok`, such as votes of any role in
    any game. Rows that are not counted have no `hit`, and rows that are not the metric's have no
    `term` and `what`. `limit` is the maximum number of rows. The engines polars, duckdb and spark
    return the same rows; `master` is the Spark master to connect to.

    Raises UsageError for an unknown metric, model or engine, for an invalid condition, and for
    `hit` with `unclear`.

    >>> misses = lake.evidence("judgement", model="sim-atlas", hit=False)
    >>> misses.select("player", "what", "hit").rows()[:2]
    [('Player 1', 'nobody', 0.0), ('Player 3', 'Player 1', 0.0)]
    """
    options: EvidenceOptions = {
        "engine": engine,
        "master": master,
        "edition": edition,
        "num_of_game": num_of_game,
        "model": model,
        "game_type": game_type,
        "where": where,
    }
    parts = evidence_parts(lake, metric, hit=hit, unclear=unclear, limit=limit, **options)
    return pl.concat(parts)


@lake_method_for_single_system({})
def evidence_parts(
    lake: StoredLake,
    metric: str,
    *,
    hit: bool | None = None,
    unclear: bool = False,
    limit: int | None = None,
    **options: Unpack[EvidenceOptions],
) -> Iterator[pl.DataFrame]:
    """Return the rows of `evidence` as an iterator of frames, so that memory stays bounded.

    The memory is bounded whatever the size of the lake, except for a metric without SQL, and for
    the engines polars and spark.
    """
    check_limit_and_offset(limit)
    request, engine = (
        _build_evidence_request(lake, metric, options, unclear=unclear),
        options.get("engine"),
    )
    condition = _condition_for_hits_misses_or_unclear_rows(hit, unclear=unclear)
    # A few rows are selected first, and then only their messages are read.
    if limit is not None and (engine == "polars" or (engine is None and limit <= 1_000)):
        return iter(
            [
                _read_evidence_page_with_messages(
                    lake, metric, request, condition, n_rows=limit, options=options
                )
            ]
        )
    if engine == "polars" or (
        engine is None
        and (
            not registry.has_sql(metric)
            or (
                _has_few_enough_games_for_polars(lake)
                and sum(lake.file_sizes_bytes("messages").values()) <= _MAX_MESSAGE_BYTES_FOR_POLARS
            )
        )
    ):
        counted = unsorted_evidence_rows(lake.table, metric, request, condition)
        rows = counted.collect().select(pl.lit(metric).alias("metric"), *_ROW_COLUMNS)
        return iter([rows.sort(_SORT_COLUMNS, nulls_last=True).slice(0, limit)])
    return _iter_evidence_parts_by_sql(lake, metric, request, condition, options, limit=limit)


def _iter_evidence_parts_by_sql(
    lake: StoredLake,
    name: str,
    request: Request,
    condition: str,
    options: EvidenceOptions,
    *,
    limit: int | None,
) -> Iterator[pl.DataFrame]:
    """Yield evidence rows with their messages in parts, from DuckDB or (in one part) from Spark."""
    is_spark = options.get("engine") == "spark"
    row_columns = _ROW_COLUMNS[:-1]
    select = f"""SELECT {quote_literal(name)} AS metric,
    {_format_column_list(row_columns, "counted.")}, messages.content
FROM ({matching_rows_select(condition, name, row_columns, request)}) AS counted
LEFT JOIN {"messages" if is_spark else messages_or_lengths_relation(lake)} AS messages
    ON messages.game_id = counted.game_id AND messages.message_index = counted.message_index
ORDER BY {_ORDER_BY} LIMIT {"ALL" if limit is None else int(limit)}"""
    if is_spark:
        yield _run_select_with_spark(lake, request, select, options)
        return
    # Imported here, so that polars does not wait for it.
    from pipeline.warehouse import connect_with_memory_limit, iter_polars_batches

    with connect_with_memory_limit(
        lake,
        row_queries.views_shared_by_metric_queries(request.num_of_game),
        select,
        sorts_texts=True,
    ) as connection:
        yield from iter_with_message_texts(lake, iter_polars_batches(connection, select))


def _run_select_with_spark(
    lake: StoredLake, request: Request, select: str, options: EvidenceOptions
) -> pl.DataFrame:
    # Imported here: it is an extra, and slow to import.
    from pipeline.spark import SparkViews, get_or_start_session

    views = row_queries.views_shared_by_metric_queries(request.num_of_game)
    return SparkViews(get_or_start_session(options.get("master")), lake, views).run_query(select)


@lake_method_for_single_system(EVIDENCE_COLUMNS)
def evidence_page(
    lake: StoredLake,
    metric: str,
    *,
    hit: bool | None = None,
    unclear: bool = False,
    offset: int = 0,
    limit: int = 50,
    **options: Unpack[EvidenceOptions],
) -> pl.DataFrame:
    """Return a page of the rows of `evidence`: at most `limit` rows after the first `offset`.

    Raises UsageError for an unknown metric or model, and for a limit or offset below 0.

    >>> lake.evidence_page("judgement", offset=60, limit=60).height
    4
    """
    check_limit_and_offset(limit, offset)
    request = _build_evidence_request(lake, metric, options, unclear=unclear)
    condition = _condition_for_hits_misses_or_unclear_rows(hit, unclear=unclear)
    return _read_evidence_page_with_messages(
        lake, metric, request, condition, n_rows=limit, offset=offset, options=options
    )


def _read_evidence_page_with_messages(
    lake: StoredLake,
    name: str,
    request: Request,
    condition: str,
    *,
    n_rows: int,
    options: EvidenceOptions,
    offset: int = 0,
) -> pl.DataFrame:
    """Return one page of evidence rows, and read messages and comparisons for these rows only.

    The tables are filtered by type and game first, because a join would read them completely.
    """
    select = f"""SELECT {_format_column_list(_COUNTED_COLUMNS)}
FROM counted
ORDER BY {_ORDER_BY} LIMIT {int(n_rows)} OFFSET {int(offset)}"""
    counted_rows = _run_select_on_evidence_rows(
        lake, name, request, condition, select, needed_columns=_COUNTED_COLUMNS, options=options
    )
    is_on_page = [
        pl.col(key).is_in(counted_rows[key].unique().to_list()) for key in ("game_type", "game_id")
    ]

    def table(name: str) -> pl.LazyFrame:
        rows = lake.table(name)
        return rows.filter(*is_on_page) if name in GAME_TABLES else rows

    # The hit is no key, because it may depend on other games, which are not read here.
    keys = [column for column in _SORT_COLUMNS if column != "hit"]
    spec = registry.metric_spec(name, request.edition)
    compared_rows = add_compared_with_column(
        name, request.edition, metric_rows(spec, table, request), table
    )
    page_rows = (
        counted_rows.lazy()
        .join(
            compared_rows.select(*keys, COMPARED_COLUMN).unique(keys, keep="any"),
            on=keys,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        .collect()
    )
    return add_message_texts(lake, page_rows).select(pl.lit(name).alias("metric"), *_ROW_COLUMNS)


def evidence_totals(
    lake: StoredLake,
    metric: str,
    *,
    hit: bool | None = None,
    unclear: bool = False,
    **options: Unpack[EvidenceOptions],
) -> pl.DataFrame:
    """Return the number of hits, rows and games in the rows of `evidence`.

    Args:
        lake: The lake.
        metric: The name of the metric.
        hit: Only hits (true) or only misses (false).
        unclear: Only unclear rows, as in `evidence`.
        **options: The options of `evidence`.
    """
    select = f"""SELECT
    CAST(coalesce(sum(CAST(hit AS {HITS_SQL_TYPE})), 0) AS DOUBLE) AS hits,
    CAST(count(*) AS BIGINT) AS counted,
    CAST(count(DISTINCT game_id) AS BIGINT) AS n_games
FROM counted"""
    lake = lake.for_single_system()
    # The messages, which take most of the time, are not needed.
    request, columns = (
        _build_evidence_request(lake, metric, options, unclear=unclear),
        ("game_id", "hit"),
    )
    condition = _condition_for_hits_misses_or_unclear_rows(hit, unclear=unclear)
    return _run_select_on_evidence_rows(
        lake, metric, request, condition, select, needed_columns=columns, options=options
    )


def _run_select_on_evidence_rows(
    lake: StoredLake,
    name: str,
    request: Request,
    condition: str,
    select: str,
    *,
    needed_columns: Sequence[str],
    options: EvidenceOptions,
) -> pl.DataFrame:
    """Run a SELECT on the evidence rows, which it names `counted`, and return its result.

    Without an engine, polars is used for lakes with few games, because it starts at once, and for
    metrics without SQL.
    """
    engine = options.get("engine")
    is_small = _has_few_enough_games_for_polars(lake)
    if engine == "polars" or (engine is None and (is_small or not registry.has_sql(name))):
        metric_rows_frame = _metric_rows_meeting_condition(
            condition, lake.table, name, request
        ).with_columns(_HIT_IF_COUNTED)
        counted_rows = _add_unclear_rows_outside_metric(
            metric_rows_frame, name, lake.table, request
        )
        result = pl.SQLContext(counted=counted_rows).execute(select, eager=False)
        return result.collect(engine="auto" if is_small else "streaming")
    rows_select = matching_rows_select(condition, name, needed_columns, request)
    with_rows = f"WITH counted AS ({rows_select})\n{select}"
    if engine == "spark":
        return _run_select_with_spark(lake, request, with_rows, options)
    # Imported here, so that polars does not wait for it.
    from pipeline.warehouse import query_on_cached_connection

    return query_on_cached_connection(
        lake, row_queries.views_shared_by_metric_queries(request.num_of_game), with_rows
    )


def _has_few_enough_games_for_polars(lake: StoredLake) -> bool:
    return sum(lake.row_counts_by_file("games").values()) <= _MAX_GAMES_FOR_POLARS


def _build_evidence_request(
    lake: StoredLake, name: str, options: EvidenceOptions, *, unclear: bool
) -> Request:
    """Check the options of `evidence` and build a request from them."""
    check_engine(options.get("engine", "polars"), options.get("master"))
    registry.metric_spec(name)
    request = Request(
        edition=options.get("edition", PAPER),
        by=("model",),
        num_of_game=options.get("num_of_game", DEFAULT_N_GAMES),
        models=as_list(options.get("model")),
        game_types=as_list(options.get("game_type")),
        where=parse_condition([name], options.get("where")),
        has_unclear_rows_outside_metric=unclear,
    )
    check_request(lake, request, [name])
    return request


def _format_column_list(columns: Sequence[str], prefix: str = "") -> str:
    return ", ".join(f"{prefix}{quote_identifier(column)}" for column in columns)


def _condition_for_hits_misses_or_unclear_rows(hit: bool | None, *, unclear: bool) -> str:
    """Return the SQL condition that selects hits, misses, unclear rows, or all counted rows."""
    if unclear and hit is not None:
        raise UsageError("rows that are not clear are neither hits nor misses: leave out `hit`")
    if unclear:
        return "parse_status <> 'ok' OR hit IS NULL"
    return (
        "is_counted" if hit is None else f"is_counted AND coalesce(hit, 0) {'>' if hit else '<='} 0"
    )


def unsorted_evidence_rows(
    tables: Tables, name: str, request: Request, condition: str = "is_counted"
) -> pl.LazyFrame:
    """Return the rows of a metric that meet an SQL condition, unsorted, with all their columns.

    Args:
        tables: Returns the frame of an event table by name.
        name: The name of the metric.
        request: The edition, groups and filters.
        condition: The SQL condition on the rows.
    """
    messages = tables("messages").select("game_id", "message_index", "content")
    matching_rows = _metric_rows_meeting_condition(condition, tables, name, request)
    compared_rows = add_compared_with_column(
        name, request.edition, matching_rows, tables
    ).with_columns(_HIT_IF_COUNTED)
    all_rows = _add_unclear_rows_outside_metric(compared_rows, name, tables, request)
    return all_rows.join(messages, on=["game_id", "message_index"], how="left")


def _metric_rows_meeting_condition(
    condition: str, tables: Tables, name: str, request: Request
) -> pl.LazyFrame:
    all_rows = metric_rows(registry.metric_spec(name, request.edition), tables, request)
    return all_rows.filter(pl.sql_expr(condition))


def _add_unclear_rows_outside_metric(
    rows_of_metric: pl.LazyFrame, name: str, tables: Tables, request: Request
) -> pl.LazyFrame:
    """Append the unclear rows that the metric does not count, if the request asks for them."""
    unclear_frames = unclear_rows_outside_metric(name, tables, request)
    return (
        pl.concat([rows_of_metric, *unclear_frames], how="diagonal_relaxed")
        if unclear_frames
        else rows_of_metric
    )


# The sum of evidence rows: each term with its weight and its part of the value.

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
                "small_sample_terms",
                "missing_competitions",
            ),
            *(*MISSING_COLUMNS, "reason"),
        )
    },
}


@lake_method_for_single_system(EVIDENCE_SUM_COLUMNS)
def evidence_sum(
    lake: StoredLake,
    metric: str,
    *,
    confidence: float | None = DEFAULT_CONFIDENCE,
    **options: Unpack[EvidenceOptions],
) -> pl.DataFrame:
    """Return how the rows of `evidence` add up to a value: one row per ratio, then the value.

    The options are those of `evidence`. The values of the terms add up to the value in the last
    row, whose `term` is null. Several models are counted together as one.

    Raises UsageError for an unknown metric or model, and for an invalid condition.

    >>> total = lake.evidence_sum("judgement", model="sim-atlas")
    >>> total.select("term", "hits", "counted", "value").rows()
    [('votes', 8.0, 16, 0.5), (None, 8.0, 16, 0.5)]
    """
    values = partial(metrics, lake, metric=[metric], confidence=confidence)
    models = as_list(options.get("model")) or ()
    if len(models) == 1:
        check_models_are_tested(lake, models)
        # All models are counted, because `missing_competitions` depends on the other models.
        options_for_all_models: EvidenceOptions = {**options, "model": None}
        rows = values(by="model", **options_for_all_models).filter(model=models[0])
        rows = values(by="model", **options) if rows.is_empty() else rows
    else:
        rows = values(by=None, **options)
    edition, empty_sum = (
        options.get("edition", PAPER),
        pl.DataFrame(schema=column.polars_schema(EVIDENCE_SUM_COLUMNS)),
    )
    return pl.concat(
        [split_value_into_term_rows(row, edition) for row in rows.iter_rows(named=True)]
        or [empty_sum]
    )


def split_value_into_term_rows(metric_row: dict[str, Any], edition: Edition) -> pl.DataFrame:
    """Split a row of `metrics` into one row per ratio of the value, and a last row for the value.

    Args:
        metric_row: A row of `metrics`.
        edition: The edition of the row.
    """
    combine = registry.metric_spec(metric_row["metric"], edition).combine
    value_row = {
        name: metric_row.get(name)
        for name in EVIDENCE_SUM_COLUMNS
        if name not in ("term", "weight", "ratio")
    }
    term_rows = [
        _evidence_sum_row_of_term(term, combine, metric_row["terms"])
        for term in metric_row["terms"] or ()
    ]
    return pl.DataFrame([*term_rows, value_row], schema=column.polars_schema(EVIDENCE_SUM_COLUMNS))


def _evidence_sum_row_of_term(
    term: dict[str, Any], combine: Combine, terms: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Return the row of one ratio with its weight and what it adds to the value."""
    is_pooled = combine in POOLED_COMBINES
    weight = None if is_pooled else term["weight"]
    n_pooled = sum(pooled["counted"] for pooled in terms)
    share = term["counted"] / n_pooled if is_pooled and n_pooled else weight
    ratio = term["value"]
    value = None if ratio is None or share is None else share * ratio
    return {**term, "weight": weight, "ratio": ratio, "value": value}


def format_sum_sentence(name: str, rows: pl.DataFrame) -> str:
    """Format a value as one line of text that shows how it is computed and how precise it is.

    Args:
        name: The name of the metric.
        rows: The rows of `evidence_sum`.
    """
    *term_rows, value_row = rows.to_dicts() or [dict.fromkeys(EVIDENCE_SUM_COLUMNS)]
    n_unknown = value_row["n_unknown"]
    unknown = f"; {format_count(n_unknown, 'row')} of unknown hit not counted" if n_unknown else ""
    if value_row["value"] is None:
        return f"{name}: no value: {value_row['reason'] or 'nothing was counted'}{unknown}"
    value = format_values([value_row["value"]], EVIDENCE_SUM_COLUMNS["value"].decimals)[0]
    parts = [f"{name}: {_format_value_as_sum_or_mean_of_ratios(value_row, term_rows)} = {value}"]
    if value_row["ci_low"] is not None:
        parts.append(f"interval {format_interval(value_row['ci_low'], value_row['ci_high'])}")
    small_terms = ", ".join(
        term["term"] or "in all" for term in value_row["small_sample_terms"] or ()
    )
    line = ", ".join([*parts, format_count(value_row["n_games"], "game")])
    missing_competitions = ", ".join(value_row["missing_competitions"] or ())
    n_missing, n_expected = (value_row[name] for name in MISSING_COLUMNS)
    missing_games = f"{n_missing:,} of {n_expected:,} games, by competition" if n_missing else ""
    remarks = {
        "small sample": small_terms,
        "missing competitions": missing_competitions,
        "missing": missing_games,
    }
    remark_text = "".join(f"; {remark}: {names}" for remark, names in remarks.items() if names)
    return f"{line}{remark_text}{unknown}"


def _format_value_as_sum_or_mean_of_ratios(
    value_row: dict[str, Any], term_rows: Sequence[dict[str, Any]]
) -> str:
    if value_row["counted"] is not None:
        return _format_hits_of_counted_rows(value_row)
    terms_with_value = [term for term in term_rows if term["value"] is not None]
    ratios = [f"{_format_hits_of_counted_rows(term)} ({term['term']})" for term in terms_with_value]
    weights = [term["weight"] for term in terms_with_value]
    if len(set(weights)) == 1 and weights[0] != 1:
        return f"the mean of {', '.join(ratios)}"
    factors = ["" if weight == 1 else f"{format_values([weight], 2)[0]} × " for weight in weights]
    return " + ".join(f"{factor}{ratio}" for factor, ratio in zip(factors, ratios, strict=True))


def _format_hits_of_counted_rows(row: dict[str, Any]) -> str:
    """Format hits and counted rows as text, as in `32 of 80`."""
    hits = row["hits"]
    text = (
        format_values([hits], 2)[0].rstrip("0").rstrip(".")
        if isinstance(hits, float)
        else str(hits)
    )
    return f"{text} of {row['counted']}"
