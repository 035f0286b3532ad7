"""Contradictions between the fields of a log and its texts; one SQL file in `sql/audit/` per kind.

The SELECT of a kind returns the checked rows: the `logged` value, what the text or the rest of the
log `says`, whether the two differ (`is_found`), and the metric's hit according to either. Used by
`pipeline.lake_methods`, the CLI and the pages.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import polars as pl

from pipeline import column, parameters, sql_files
from pipeline.errors import UsageError, known_names_hint
from pipeline.events.contracts import TABLES, table_schema
from pipeline.lake import StoredLake
from pipeline.lake.row_stream import iter_with_message_texts, messages_or_lengths_relation
from pipeline.metrics.registry import (
    SYSTEM_COLUMN,
    lake_method,
    system_edition_and_view_option_columns,
)
from pipeline.metrics.request import as_list, check_known_names, check_players
from pipeline.metrics.row_queries import VIEW_COLUMNS as OF_ROWS, format_sql_string_list
from pipeline.reports.registry import report
from pipeline.vocabulary import EXCLUDE
from pipeline.warehouse import connect_with_memory_limit, iter_polars_batches

FINDING_KINDS: tuple[str, ...] = tuple(
    sorted(
        sql_files.sql_file_names("audit"),
        key=lambda kind: int(sql_files.read_comment_header(f"audit/{kind}")["order"][0]),
    )
)
FINDING_TITLES = {
    kind: sql_files.read_comment_header(f"audit/{kind}")["title"][0] for kind in FINDING_KINDS
}
AUDIT_COLUMNS: Mapping[str, column.Column] = {
    "kind": column.text_column("the kind of contradiction"),
    "title": column.text_column("a description of the kind").with_heading("kind"),
    "checked": column.count_column("rows that were checked"),
    "found": column.count_column("checked rows with a contradiction"),
    "share": column.proportion_column("found / checked"),
    "n_games": column.count_column("games with a finding").with_heading("games"),
    "metric": column.text_column("the metric that such rows affect"),
    "as_logged": column.proportion_column(
        "the mean hit of the metric's checked rows, according to the logged values"
    ),
    "as_read": column.proportion_column(
        "the same mean, according to the text or the rest of the log"
    ),
    "effect": column.proportion_column(
        "as_read − as_logged; all three are null if the metric counts none of the rows"
    ),
}
_AVAILABLE_COLUMNS = {
    **TABLES["players"].columns(),
    **OF_ROWS,
    "kind": AUDIT_COLUMNS["kind"],
    "system": SYSTEM_COLUMN,
}
FINDING_COLUMNS: Mapping[str, column.Column] = {
    name: _AVAILABLE_COLUMNS[name]
    for name in (
        *("kind", "game_id", "game_type", "model", "role", "player", "seat", "round"),
        *("message_index", "logged", "says", "hit_logged", "hit_read", "system", "content"),
    )
}
_PLAYER_COLUMNS = ("model", "role", "player", "seat", "round")
_GAME_COLUMNS = tuple(table_schema("games"))
_JOIN_GAMES = "JOIN games ON games.game_id = findings.game_id"
_WORD = re.compile(r"\w+")
_COMPARISON_COLUMNS = ("message_index", "logged", "says", "hit_logged", "hit_read")


@report(
    columns={
        **AUDIT_COLUMNS,
        "system": column.text_column(
            "the system whose games were checked; null for several systems together"
        ),
    },
    is_of_system=False,
)
def audit(
    lake: StoredLake,
    *,
    by: Annotated[
        str | Sequence[str] | None,
        parameters.repeatable_option_spec(
            "COLUMNS",
            "Columns to group by, separated by commas",
            check=parameters.split_names,
        ),
    ] = None,
    kind: str | Sequence[str] | None = None,
    model: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Find where logs contradict themselves, how often, and the effect on metrics.

    Each row of the result is one kind of contradiction: the number of rows checked, the number of
    contradictions found, and their share. `as_logged` and `as_read` are the metric's mean hit over
    the checked rows: according to the logged values, and according to the text or the rest of the
    log. docs/audit.md explains each kind.

    \b
    Examples:
      magic audit
      magic audit --by game_type,format_version
      magic audit role_identifications --model gpt-4

    Raises UsageError for an unknown kind, column or model.

    `kind` and `model` select rows (by default all). `by` names columns of games or players to group
    by; they are the first columns of the result. The share and the mean hits are between 0 and 1.

    >>> lake.audit(kind="stated_votes").select("checked", "found", "metric").rows()
    [(96, 4, 'judgement')]
    """
    group_columns, kinds = as_list(by) or (), as_list(kind) or FINDING_KINDS
    models = as_list(model)
    _check_kinds_and_group_columns(group_columns, kinds)
    check_players(lake, models)
    lake = lake.with_failures(EXCLUDE)  # a log is compared with itself
    # Planning a query takes time even without rows, so kinds whose tables are empty are left out.
    needs = {
        kind: sql_files.read_comment_header(f"audit/{kind}").get("needs", [""])[0] for kind in kinds
    }
    kinds_with_rows = [
        kind
        for kind, tables in needs.items()
        if not tables or any(map(lake.file_sizes_bytes, tables.split(", ")))
    ] or kinds
    selects = [_finding_counts_select(kind, group_columns, models) for kind in kinds_with_rows]
    with connect_with_memory_limit(lake, {}, _join_event_table_names(*selects)) as connection:
        summaries = pl.concat(
            [part for select in selects for part in iter_polars_batches(connection, select)]
        )
    kind_order = pl.col("kind").replace_strict(
        {kind: position for position, kind in enumerate(FINDING_KINDS)}
    )
    sorted_rows = summaries.filter(pl.col("checked") > 0).sort(
        kind_order, *group_columns, nulls_last=True
    )
    system_lake = lake.for_single_system() if len(lake.systems) == 1 else lake
    return (
        sorted_rows
        if "system" in group_columns
        else sorted_rows.with_columns(system_edition_and_view_option_columns(system_lake, None))
    )


@lake_method
@column.add_columns_to_docstring(FINDING_COLUMNS)
def findings(
    lake: StoredLake, kind: str, *, model: str | Sequence[str] | None = None
) -> pl.DataFrame:
    """Return the contradictions of one kind that `audit` counts, one row each, with the message.

    Raises UsageError for an unknown kind or model.

    >>> lake.findings("stated_votes").select("model", "logged", "says").rows()[0]
    ('sim-atlas', 'Player 1', 'Player 3')
    """
    return pl.concat(iter_findings(lake, kind, model=model))


def iter_findings(
    lake: StoredLake, kind: str, *, model: str | Sequence[str] | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the rows of `findings` in several frames, so that they do not have to fit in memory.

    Args:
        lake: The lake whose logs are checked.
        kind: A kind of contradiction, one of `FINDING_KINDS`.
        model: Only contradictions of these models; by default of all.

    Yields:
        One or more frames with the columns `FINDING_COLUMNS`.

    Raises:
        UsageError: If the kind or a model is unknown.
    """
    models = as_list(model)
    _check_kinds_and_group_columns((), (kind,))
    check_players(lake, models)
    columns = ", ".join(
        f"findings.{sql_files.quote_identifier(name)}"
        for name in (*_PLAYER_COLUMNS, *_COMPARISON_COLUMNS)
    )
    select = sql_files.fill_template(
        "internal/audit_findings",
        kind=kind,
        rows=sql_files.read_select_with_shared_files(f"audit/{kind}"),
        columns=columns,
        messages=messages_or_lengths_relation(lake),
        wanted=_sql_condition_on_models(models),
    )
    lake = lake.with_failures(EXCLUDE)
    with connect_with_memory_limit(
        lake, {}, _join_event_table_names(select), sorts_texts=True
    ) as connection:
        yield from iter_with_message_texts(lake, iter_polars_batches(connection, select))


def _join_event_table_names(*selects: str) -> str:
    """Return the names of the event tables in the SQL queries as one string with spaces."""
    return " ".join(TABLES.keys() & {word for select in selects for word in _WORD.findall(select)})


def _finding_counts_select(
    kind: str, group_columns: Sequence[str], models: Sequence[str] | None
) -> str:
    """Return the SQL query that counts the checked and the contradictory rows of one kind."""
    columns = [
        f"{'findings' if name in _PLAYER_COLUMNS else 'games'}.{sql_files.quote_identifier(name)}"
        for name in group_columns
    ]
    return sql_files.fill_template(
        "internal/audit_summary",
        kind=kind,
        rows=sql_files.read_select_with_shared_files(f"audit/{kind}"),
        title=FINDING_TITLES[kind].replace("'", "''"),
        metric=sql_files.read_comment_header(f"audit/{kind}")["metric"][0],
        columns="".join(f"{column}, " for column in columns),
        games="" if set(group_columns) <= set(_PLAYER_COLUMNS) else _JOIN_GAMES,
        wanted=_sql_condition_on_models(models),
        grouping=f"GROUP BY {', '.join(columns)}" if columns else "",
    )


def _sql_condition_on_models(models: Sequence[str] | None) -> str:
    """Return the SQL condition that selects findings of these models; for None, `TRUE`."""
    return "TRUE" if models is None else f"findings.model IN ({format_sql_string_list(models)})"


def _check_kinds_and_group_columns(group_columns: Sequence[str], kinds: Sequence[str]) -> None:
    """Raise UsageError for an unknown kind, and for an unknown or repeated column."""
    check_known_names("kind", kinds, FINDING_KINDS)
    allowed_columns = (*_PLAYER_COLUMNS, *_GAME_COLUMNS)
    if unknown_columns := [name for name in group_columns if name not in allowed_columns]:
        raise UsageError(
            f"no column {', '.join(unknown_columns)} to group by: "
            f"{known_names_hint(unknown_columns, allowed_columns)}"
        )
    if len(set(group_columns)) < len(group_columns):
        raise UsageError(f"you cannot group by the same column twice: {', '.join(group_columns)}")
