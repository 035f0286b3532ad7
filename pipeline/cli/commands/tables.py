"""The commands of a lake's tables: their columns, SQL over them, and the documents behind them."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from pipeline.cli import options, terminal
from pipeline.cli.command import CommandContext, print_upgrade_note, rebuild_catalog_if_present
from pipeline.cli.exit_codes import CHECK_FAILED, CONTRADICTED, FAILED
from pipeline.cli.options import DEFAULT_LAKE, Form, TextList, size_option
from pipeline.errors import UsageError
from pipeline.parameters import argument_spec, flag_spec, option_spec, repeatable_option_spec
from pipeline.text_format import format_count

if TYPE_CHECKING:
    from pipeline.metrics.registry import RegisteredMetric


def documents(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    status: TextList = repeatable_option_spec(
        "STATUS", "List documents of this status, such as quarantined", "reports.documents.STATUSES"
    ),
    source: TextList = repeatable_option_spec("SOURCE", "List those of this source"),
    reason: TextList = repeatable_option_spec("TEXT", "List those with this reason"),
    path: str | None = option_spec("TEXT", "List those whose path contains this text."),
    limit: int | None = option_spec("N", "List only the first N.", min=1),
    form: Form = "table",
) -> None:
    """Count what was read and what was not, by source, status and reason, or list it.

    A document is as it was last seen to be. With one of --status, --source, --reason and --path, a
    row is a document; without them, a row is a number of documents. `magic quarantine` has the
    parts of games that could not be used; `magic ingest --reread` reads their games again.

    \b
    Examples:
      magic documents
      magic documents --status quarantined --status ignored
      magic documents --path chameleon/ --format csv
    """
    is_list = status or source or reason or path or limit
    context.print_result("documents" if is_list else "document_counts")


def tables(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    form: Form = "table",
) -> None:
    """List the lake's tables: meaning of a row, number of rows, bytes, and files.

    \b
    Examples:
      magic tables
      magic tables --lake lake/ --format json
    """
    context.print_table(
        context.build_table("tables", context.compute_result("tables"), opened=context.lake)
    )


def schema(
    *,
    table: TextList = argument_spec("TABLE", "Tables or views; default: every table.", "tables"),
    lake: str = DEFAULT_LAKE,
    interchange: bool = flag_spec(
        "--interchange", "Print the JSON Schema of interchange JSON instead."
    ),
    form: Form = "table",
) -> None:
    """Describe the columns of a table or view.

    The description is the same for every lake, so the command needs no lake.

    \b
    Examples:
      magic schema votes
      magic schema judgement evidence.judgement
      magic schema --format markdown > tables.md
      magic schema --interchange > interchange.schema.json
    """
    if interchange:
        from pipeline.formats.interchange import schema as json_schema

        if table or form not in ("table", "json"):
            raise UsageError("--interchange prints JSON, of no table")
        terminal.write_result(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
        return

    from pipeline.cli import output
    from pipeline.events.contracts import TABLES, VERSION
    from pipeline.render import build_result_table
    from pipeline.reports.sql_views import describe_row, find_views, schema as describe_columns

    names = list(dict.fromkeys(table or TABLES))
    columns = describe_columns(names)
    if form not in ("table", "markdown"):
        output.print_table(columns, form)
        return
    views = find_views(names)
    for name in names:
        output.print_heading(f"{name}: {describe_row(name, views)}", form, level=3)
        output.print_table(build_result_table("schema", columns.filter(table=name)), form)
        terminal.write_result("\n")
    if TABLES.keys() & set(names):
        terminal.print_note(
            f"contract version {VERSION}; * marks key columns, ? columns that may be null"
        )


_NO_QUERY_MESSAGE = (
    'give a query, for example `magic sql "FROM games"`, or --file; for a prompt, run '
    "`magic catalog` and then `duckdb -readonly lake/magic.duckdb`"
)


def sql(
    context: CommandContext,
    *,
    query: str | None = argument_spec("QUERY", "One SELECT; without it, stdin."),
    file: Path | None = option_spec("FILE", "A file with the query; - is stdin.", "-f", "--file"),
    lake: str = DEFAULT_LAKE,
    timeout: int = option_spec(
        "SECONDS", "Stop the query after so many seconds.", min=1, max=10**6, default=300
    ),
    memory: int = size_option("Memory limit of DuckDB; default: 2GiB.", default=2 << 30),
    parameter: TextList = repeatable_option_spec("NAME=VALUE", "The value of $NAME in the query"),
    out: Path | None = option_spec(
        "FILE",
        "Write the result to a file: .csv, .json, .jsonl, .parquet or .xlsx.",
        "-o",
        "--out",
        check=options.check_local_folder,
    ),
    form: Form = "table",
    metric_file: list[Path] | None = None,
) -> None:
    """Query the lake with SQL.

    The dialect is DuckDB's. A query can read only this lake, and cannot write.
    Each table and metric has a view: run `magic tables` and `magic schema TABLE` to see them.
    For a prompt, run `magic catalog` and open `lake/magic.duckdb` with DuckDB or another SQL tool.
    A parameter is always a value and never part of the SQL. DuckDB casts it to the type that it is
    compared with. --out replaces an existing file; .xlsx needs the extra `excel`.

    \b
    Examples:
      magic sql "SELECT model, avg(is_correct::INT) FROM votes GROUP BY ALL"
      magic sql 'FROM votes WHERE model = $m' --parameter m=gpt-4 -o votes.xlsx
      magic sql -f query.sql --timeout 3600 --memory 8GiB --format csv > out.csv
    """
    if query is not None and file is not None:
        raise UsageError("give a query or --file, not both")

    from pipeline.query_processes import QueryProcesses

    is_safe = form == options.SAFE_CSV
    values = options.parse_query_parameters(parameter or [])
    if out is not None:
        from pipeline.cli.output import check_output_file

        check_output_file(out, "csv" if is_safe else form)
    if query is None and file is None and terminal.is_stdin_terminal():
        raise UsageError(_NO_QUERY_MESSAGE)
    with QueryProcesses(
        timeout=timeout,
        memory=memory,
        while_waiting=partial(terminal.show_step_progress, "running the query"),
        metrics=_metrics_from_files,
    ) as processes:
        text = query if query is not None else options.read_query(file)
        if not text.strip():
            raise UsageError('the query is empty; give one, for example `magic sql "FROM games"`')
        # The process starts while this one imports modules.
        processes.start_next_process()
        from pipeline.cli.output import print_table, write_rows_to_file

        # Without view options the lake is opened only by the process, to save time.
        lake_or_path = context.open_lake_with_methods() if context.has_view_options else lake
        rows = processes.run_query(lake_or_path, text, values)
        if out is None:
            print_table(rows, form)
            return
        write_rows_to_file(rows, out, neutralizes_formulas=is_safe)
        terminal.print_note(f"wrote {out} ({format_count(rows.height, 'row')})")


def _metrics_from_files() -> "dict[str, RegisteredMetric]":
    # Imported only after the process of the query has started.
    from pipeline.metrics.registry import additional_metrics_of_lake_and_command

    return dict(additional_metrics_of_lake_and_command())


# Commands for maintenance: quarantine, catalogue, merging of files, and verification.


def quarantine(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    raw: bool = flag_spec("--raw", "Show every column, with the raw document."),
    export: Path | None = option_spec(
        "DIR", "Write the documents to a new folder.", check=options.check_local_folder
    ),
    form: Form = "table",
) -> None:
    """List what an ingest could not use, and why.

    A row is a whole document, or one part of a game whose other parts are in the tables.
    `json_path` says which part; `$` means the whole document.

    `magic ingest` reads quarantined documents again each time: run it on their source, with
    --model if logs lack the model, or --max-document if they are too large. With --reread it also
    reads the games again of which a part is quarantined.

    --export writes the bytes of each document, as far as the lake has them, and `manifest.json`.

    \b
    Examples:
      magic quarantine
      magic quarantine --raw --format json > refused.json
      magic quarantine --export refused/
    """
    if export is None:
        context.print_result("quarantine")
        return
    if raw:
        raise UsageError("use only one of --raw and --export")
    from pipeline.ingest.export import MANIFEST_FILE_NAME, export_quarantine

    manifest = export_quarantine(lake, export)
    with terminal.mention_completed_work_in_output_error(f"the documents are in {export}"):
        hidden = ("n_written", "source", "sha256", "game_id", "rules")
        context.print_rows("manifest", manifest, hidden=hidden)
    n_truncated, n_unread = manifest["is_cut"].sum(), manifest["file"].null_count()
    terminal.print_note(
        f"{format_count(manifest.height, 'document')}, {n_truncated:,} cut and {n_unread:,} never "
        f"read: {export / MANIFEST_FILE_NAME} says where each comes from"
    )


def catalog(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    out: Path | None = option_spec(
        "FILE",
        "The file to write; default: magic.duckdb in the lake.",
        "-o",
        "--out",
        check=options.check_local_folder,
    ),
) -> None:
    """Write a DuckDB database that shows the lake to other SQL tools.

    It has the tables and views of `magic sql`, as views over the lake's files, with a comment on
    every view and column. The tables `metrics` and `leaderboard` have the values with intervals.
    The table `about` names the state of the lake. An existing file is replaced.

    Run it once: from then on each ingest renews magic.duckdb, in a lake of up to 250,000 games. Run
    it again after an ingest into a larger lake, and after you moved a lake, because the database
    names the files by their full paths. Delete the file if you no longer need it.

    \b
    Examples:
      magic catalog
      magic catalog --lake s3://bucket/lake -o lake.duckdb
    """
    from pipeline.catalog import rebuild_catalog, write_catalog
    from pipeline.lake.tables import CATALOG_FILE_NAME

    if out is None:
        opened_lake = rebuild_catalog(lake)
    else:
        opened_lake = context.lake
        write_catalog(opened_lake, out)
    file = out or opened_lake.path / CATALOG_FILE_NAME
    terminal.print_note(f"wrote {file}: the lake after ingest {opened_lake.ingest_id}")


def maintain(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    keep_days: float = option_spec("N", "Keep every state of the last N days.", min=0, default=7.0),
    older_than_hours: float = option_spec(
        "N",
        "Delete only files older than N hours; those of a running ingest always stay.",
        min=0,
        default=24.0,
    ),
    dry_run: bool = flag_spec("--dry-run", "Show what would be done, change nothing."),
    form: Form = "table",
) -> None:
    """Merge small files into large sorted ones, and delete files that are no longer used.

    It can run while others read and ingest. Run it after many small ingests.

    \b
    Examples:
      magic maintain --lake lake/ --dry-run
      magic maintain --keep-days 30
    """
    from pipeline.lake import open_lake
    from pipeline.lake.maintain import maintain as maintain_lake

    previous_version = open_lake(lake).contract_version
    rows = maintain_lake(
        lake,
        keep_days=keep_days,
        older_than_hours=older_than_hours,
        dry_run=dry_run,
        on_merged=partial(rebuild_catalog_if_present, lake),
    )
    if dry_run:
        context.print_rows("maintain", rows)
        hint = "; – is a size that is not known before the run"
        terminal.print_note(
            f"dry run: nothing was changed{hint if rows['bytes_after'].has_nulls() else ''}"
        )
        return
    with terminal.mention_completed_work_in_output_error("the lake is maintained"):
        context.print_rows("maintain", rows)
    if open_lake(lake).contract_version != previous_version:
        print_upgrade_note(previous_version)


BRIEF_COLUMNS = ("check", "severity", "table", "n_rows", "row")


def verify(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    limit: int = option_spec("N", "List at most N rows of each check.", min=1, default=20),
    allow_contradictions: bool = flag_spec(
        "--allow-contradictions", "Exit with 0 if contradictions in logs are the only findings."
    ),
    form: Form = "table",
) -> None:
    """Check that a lake is undamaged and that its tables agree with each other.

    It compares every file with its hash and with the log of its table, every row with its contract,
    the parts of each game with each other, and the ingests with the tables. It changes nothing.

    Exit codes: 0 no finding, or only warnings; 1 a file may not be read, an ingest is not in the
    numbers, or the machine lacks memory, disk space or open files; 4 an error: the lake is
    damaged; 5 no error, but a contradiction: a log contradicts itself, and the lake holds what the
    log says. Use --allow-contradictions to accept contradictions, for example in CI.

    \b
    Examples:
      magic verify
      magic verify --lake lake/ --limit 3 --format json
      magic verify --allow-contradictions
    """
    from pipeline.verify import verify as verify_lake

    with terminal.show_step_progress() as on_progress:
        result = verify_lake(lake, limit=limit, on_progress=on_progress)
    context.print_rows("verify", result.faults, brief=lambda rows: rows.select(BRIEF_COLUMNS))
    for check, finds in result.faults.select("check", "finds").unique(maintain_order=True).rows():
        terminal.print_note(f"{check}: {finds}")
    if result.skipped_checks:
        terminal.print_note(
            f"{len(result.skipped_checks)} checks were skipped because a table cannot be read"
        )
    if result.is_whole:
        terminal.print_note(
            f"the lake is undamaged: {result.n_checks} checks, {result.n_files:,} files, "
            f"{result.n_rows:,} rows"
        )
    if result.is_contradicted:
        terminal.print_note(
            "contradictions are in the logs, not damage to the lake: run `magic audit` to count "
            "such games; use --allow-contradictions to accept them"
        )
    if not result.is_whole:
        raise Exit(CHECK_FAILED if result.is_damaged else FAILED)
    if result.is_contradicted and not allow_contradictions:
        raise Exit(CONTRADICTED)
