"""Contradictions between what a log states and what its texts say; a file of `sql/audit/` a kind.

The SELECT of a kind returns the rows that were checked: what is `logged`, what the text or the rest
of the log `says`, whether the two differ (`is_found`), and the hit of the row's metric by either.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import polars as pl

from pipeline import column, parameters, sql_files
from pipeline.errors import UsageError, suggest_names
from pipeline.events.contracts import TABLES, table_schema
from pipeline.lake import StoredLake
from pipeline.lake.row_stream import iter_with_texts, message_lengths_select
from pipeline.metrics.registry import SYSTEM_COLUMN, lake_method, origin_columns
from pipeline.metrics.request import as_list, check_players, check_words
from pipeline.metrics.row_queries import VIEW_COLUMNS as OF_ROWS, sql_literals
from pipeline.reports.registry import report
from pipeline.vocabulary import EXCLUDE
from pipeline.warehouse import connect_with_memory_limit, iter_parts

KINDS: tuple[str, ...] = tuple(
    sorted(
        sql_files.list_files("audit"),
        key=lambda kind: int(sql_files.read_header(f"audit/{kind}")["order"][0]),
    )
)
FINDING_TITLES = {kind: sql_files.read_header(f"audit/{kind}")["title"][0] for kind in KINDS}
AUDIT_COLUMNS: Mapping[str, column.Column] = {
    "kind": column.text_column("the kind of contradiction"),
    "title": column.text_column("the kind in words").with_heading("kind"),
    "checked": column.count_column("rows that were checked"),
    "found": column.count_column("those that contradict themselves"),
    "share": column.proportion_column("found / checked"),
    "n_games": column.count_column("games with a finding").with_heading("games"),
    "metric": column.text_column("the metric that such rows matter to"),
    "as_logged": column.proportion_column("the mean hit of the metric's checked rows as logged"),
    "as_read": column.proportion_column("the same as the rest of the log says"),
    "effect": column.proportion_column(
        "as_read − as_logged; all three are null if the metric counts none of the rows"
    ),
}
_KNOWN = {
    **TABLES["players"].columns(),
    **OF_ROWS,
    "kind": AUDIT_COLUMNS["kind"],
    "system": SYSTEM_COLUMN,
}
FINDING_COLUMNS: Mapping[str, column.Column] = {
    name: _KNOWN[name]
    for name in (
        *("kind", "game_id", "game_type", "model", "role", "player", "seat", "round"),
        *("message_index", "logged", "says", "hit_logged", "hit_read", "system", "content"),
    )
}
_OF_A_ROW = ("model", "role", "player", "seat", "round")
_OF_A_GAME = tuple(table_schema("games"))
_GAMES = "JOIN games ON games.game_id = findings.game_id"
_WORD = re.compile(r"\w+")
_SEEN = ("message_index", "logged", "says", "hit_logged", "hit_read")


@report(
    columns={
        **AUDIT_COLUMNS,
        "system": column.text_column("whose games were checked, null for several systems together"),
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

    A row is one kind of contradiction: the rows checked, the contradictions found, and their share.
    `as_logged` and `as_read` are the metric's mean hit over the checked rows: by the log's own
    judgement, and by the text or the rest of the log. docs/audit.md explains each kind.

    \b
    Examples:
      magic audit
      magic audit --by game_type,format_version
      magic audit role_identifications --model gpt-4

    Raises UsageError for an unknown kind, column or model.

    `kind` and `model` choose rows, by default all; `by` are columns of games or players,
    which come first. The share and the mean hits are in 0..1.

    >>> lake.audit(kind="stated_votes").select("checked", "found", "metric").rows()
    [(96, 4, 'judgement')]
    """
    by, kinds, models = as_list(by) or (), as_list(kind) or KINDS, as_list(model)
    _check(by, kinds)
    check_players(lake, models)
    lake = lake.with_failures(EXCLUDE)  # logs are held against themselves
    # Each question takes its time to plan, however few rows there are.
    needs = {kind: sql_files.read_header(f"audit/{kind}").get("needs", [""])[0] for kind in kinds}
    asked = [
        kind
        for kind, tables in needs.items()
        if not tables or any(map(lake.file_sizes_bytes, tables.split(", ")))
    ] or kinds
    selects = [_summary(kind, by, models) for kind in asked]
    with connect_with_memory_limit(lake, {}, _tables(*selects)) as connection:
        rows = pl.concat([part for select in selects for part in iter_parts(connection, select)])
    place = pl.col("kind").replace_strict({kind: at for at, kind in enumerate(KINDS)})
    shown = rows.filter(pl.col("checked") > 0).sort(place, *by, nulls_last=True)
    one = lake.for_single_system() if len(lake.systems) == 1 else lake
    return shown if "system" in by else shown.with_columns(origin_columns(one, None))


@lake_method
@column.document_columns(FINDING_COLUMNS)
def findings(
    lake: StoredLake, kind: str, *, model: str | Sequence[str] | None = None
) -> pl.DataFrame:
    """The contradictions of one kind that `audit` counts, each with its message.

    Raises UsageError for an unknown kind or model.

    >>> lake.findings("stated_votes").select("model", "logged", "says").rows()[0]
    ('sim-atlas', 'Player 1', 'Player 3')
    """
    return pl.concat(findings_parts(lake, kind, model=model))


def findings_parts(
    lake: StoredLake, kind: str, *, model: str | Sequence[str] | None = None
) -> Iterator[pl.DataFrame]:
    """The same rows in one or more parts, so that memory is bounded."""
    models = as_list(model)
    _check((), (kind,))
    check_players(lake, models)
    columns = ", ".join(
        f"findings.{sql_files.quote_identifier(name)}" for name in (*_OF_A_ROW, *_SEEN)
    )
    select = sql_files.fill_template(
        "internal/audit_findings",
        kind=kind,
        rows=sql_files.read_select(f"audit/{kind}"),
        columns=columns,
        messages=message_lengths_select(lake),
        wanted=_of(models),
    )
    lake = lake.with_failures(EXCLUDE)
    with connect_with_memory_limit(lake, {}, _tables(select), sorts_texts=True) as connection:
        yield from iter_with_texts(lake, iter_parts(connection, select))


def _tables(*selects: str) -> str:
    """The tables that the SELECTs can name: words enough to make them by."""
    return " ".join(TABLES.keys() & {word for text in selects for word in _WORD.findall(text)})


def _summary(kind: str, by: Sequence[str], models: Sequence[str] | None) -> str:
    tables = ("findings" if name in _OF_A_ROW else "games" for name in by)
    columns = [
        f"{table}.{sql_files.quote_identifier(name)}"
        for table, name in zip(tables, by, strict=True)
    ]
    return sql_files.fill_template(
        "internal/audit_summary",
        kind=kind,
        rows=sql_files.read_select(f"audit/{kind}"),
        title=FINDING_TITLES[kind].replace("'", "''"),
        metric=sql_files.read_header(f"audit/{kind}")["metric"][0],
        columns="".join(f"{column}, " for column in columns),
        games="" if set(by) <= set(_OF_A_ROW) else _GAMES,
        wanted=_of(models),
        grouping=f"GROUP BY {', '.join(columns)}" if columns else "",
    )


def _of(models: Sequence[str] | None) -> str:
    return "TRUE" if models is None else f"findings.model IN ({sql_literals(models)})"


def _check(by: Sequence[str], kinds: Sequence[str]) -> None:
    check_words("kind", kinds, KINDS)
    known = (*_OF_A_ROW, *_OF_A_GAME)
    if strangers := [name for name in by if name not in known]:
        raise UsageError(
            f"no column {', '.join(strangers)} to group by: {suggest_names(strangers, known)}"
        )
    if len(set(by)) < len(by):
        raise UsageError(f"you cannot group by the same column twice: {', '.join(by)}")
