"""The commands of a lake's tables: their columns, SQL over them, and the documents behind them."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pipeline
from pipeline.cells import counted
from pipeline.cli import options, progress, terminal
from pipeline.cli.command import Asked
from pipeline.cli.options import DEFAULT_LAKE, Form, Texts, size
from pipeline.declared import argument, flag, option, several
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.metrics.known import Added


def documents(
    asked: Asked,
    *,
    lake: str = DEFAULT_LAKE,
    status: Texts = several(
        "STATUS", "List documents of this status, such as quarantined", "reports.documents.STATUSES"
    ),
    source: Texts = several("SOURCE", "List those of this source"),
    reason: Texts = several("TEXT", "List those with this reason"),
    path: str | None = option("TEXT", "List those whose path contains this text."),
    limit: int | None = option("N", "List only the first N.", min=1),
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
    asked.show(f"reports.documents.{'documents' if is_list else 'document_counts'}")


def tables(
    asked: Asked,
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
    rows = asked.answer("reports.tables.tables")
    asked.show_table(asked.table("tables", rows, opened=asked.lake))


def schema(
    *,
    table: Texts = argument("TABLE", "Tables or views; default: every table.", "tables"),
    lake: str = DEFAULT_LAKE,
    interchange: bool = flag("--interchange", "Print the JSON Schema of interchange JSON instead."),
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
        terminal.out(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
        return

    from pipeline.cli import output
    from pipeline.events.contracts import TABLES, VERSION
    from pipeline.present import present
    from pipeline.reports.schema import known_views, meaning, schema as contracts_of

    wanted = list(dict.fromkeys(table or TABLES))
    contracts = contracts_of(wanted)
    if form not in ("table", "markdown"):
        output.show(contracts, form)
        return
    views = known_views(wanted)
    for name in wanted:
        output.heading(f"{name}: {meaning(name, views)}", form, level=3)
        output.show(present("schema", contracts.filter(table=name)), form)
        terminal.out("\n")
    if TABLES.keys() & set(wanted):
        terminal.note(
            f"contract version {VERSION}; * marks key columns, ? columns that may be null"
        )


_NO_QUERY = (
    'give a query, for example `magic sql "FROM games"`, or --file; for a prompt, run '
    "`magic catalog` and then `duckdb -readonly lake/magic.duckdb`"
)


def sql(
    *,
    query: str | None = argument("QUERY", "One SELECT; without it, stdin."),
    file: Path | None = option("FILE", "A file with the query; - is stdin.", "-f", "--file"),
    lake: str = DEFAULT_LAKE,
    names: Path | None = None,
    timeout: int = option(
        "SECONDS", "Stop the query after so many seconds.", min=1, max=10**6, default=300
    ),
    memory: int = size("Memory limit of DuckDB; default: 2GiB.", default=2 << 30),
    parameter: Texts = several("NAME=VALUE", "The value of $NAME in the query"),
    out: Path | None = option(
        "FILE",
        "Write the result to a file: .csv, .json, .jsonl, .parquet or .xlsx.",
        "-o",
        "--out",
        check=options.local_folder,
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

    from pipeline.sandbox import Sandbox

    is_safe = form == options.SAFE_CSV
    values = options.parameters(parameter or [])
    if out is not None:
        from pipeline.cli.output import check_file

        check_file(out, "csv" if is_safe else form)
    if query is None and file is None and terminal.is_in_terminal():
        raise UsageError(_NO_QUERY)
    with Sandbox(
        timeout=timeout,
        memory=memory,
        while_waiting=partial(progress.of_steps, "running the query"),
        metrics=_known,
    ) as sandbox:
        text = query if query is not None else options.sql_text(file)
        if not text.strip():
            raise UsageError('the query is empty; give one, for example `magic sql "FROM games"`')
        sandbox.prepare()  # it starts while we load what shows the answer
        from pipeline.cli.output import show, write_file

        # Only with names it is opened here, since that takes as long as to start a process.
        opened = lake if names is None else options.named(pipeline.open_lake(lake), names)
        rows = sandbox.sql(opened, text, values)
        if out is None:
            show(rows, form)
            return
        write_file(rows, out, is_safe=is_safe)
        terminal.note(f"wrote {out} ({counted(rows.height, 'row')})")


def _known() -> "dict[str, Added]":
    """The metrics of --metric-file."""
    # Imported when a query is asked, so that its process starts first.
    from pipeline.metrics.known import known

    return dict(known())
