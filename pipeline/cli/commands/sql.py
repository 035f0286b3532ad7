"""`magic sql`: SQL queries on a lake."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.cells import counted
from pipeline.cli import options, progress, terminal
from pipeline.cli.command import Command
from pipeline.cli.options import argument, option, several, size
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.metrics.installed import Added


class KIND(Command):
    """The command, to which a query that begins with a comment is no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = [argument for argument in args if not _is_commented(argument)]
        queries = [argument for argument in args if _is_commented(argument)]
        if queries and "--" not in options:
            options.append("--")
        return super().parse_args(ctx, [*options, *queries])


def _is_commented(argument: str) -> bool:
    """Whether it begins with a comment of SQL, as no option's name does, mistyped or not."""
    name, _, _ = argument.partition("=")
    return name.startswith("--") and (name[2:3].isspace() or "\n" in name)


_NO_QUERY = (
    'give a query, for example `magic sql "FROM games"`, or --file; for a prompt, run '
    "`magic catalog` and then `duckdb -readonly lake/magic.duckdb`"
)


def sql(
    *,
    query: str | None = argument("QUERY", "One SELECT; without it, stdin."),
    file: Path | None = option("FILE", "A file with the query; - is stdin.", "-f", "--file"),
    lake: options.LakeOption = options.DEFAULT_LAKE,
    timeout: int = option(
        "SECONDS", "Stop the query after so many seconds.", min=1, max=10**6, default=300
    ),
    memory: int = size("Memory limit of DuckDB; default: 2GiB.", default=2 << 30),
    parameter: options.Texts = several("NAME=VALUE", "The value of $NAME in the query"),
    out: Path | None = option(
        "FILE",
        "Write the result to a file: .csv, .json, .jsonl, .parquet or .xlsx.",
        "-o",
        "--out",
        check=options.local_folder,
    ),
    form: options.FormOption = "table",
    metric_file: options.MetricFilesOption = None,
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
        from pipeline.cli import table_file

        table_file.check(out, "csv" if is_safe else form)
    if query is None and file is None and terminal.is_in_terminal():
        raise UsageError(_NO_QUERY)
    with Sandbox(
        timeout=timeout, memory=memory, while_waiting=progress.of_waiting, metrics=_known
    ) as sandbox:
        text = query if query is not None else options.sql_text(file)
        if not text.strip():
            raise UsageError('the query is empty; give one, for example `magic sql "FROM games"`')
        sandbox.prepare()  # it starts while we load what shows the answer
        from pipeline.cli.output import show

        rows = sandbox.sql(lake, text, values)
        if out is None:
            show(rows, form)
            return
        table_file.write(rows, out, is_safe=is_safe)
        terminal.note(f"wrote {out} ({counted(rows.height, 'row')})")


def _known() -> "dict[str, Added]":
    """The metrics of --metric-file."""
    # Imported when a query is asked, so that its process starts first.
    from pipeline.metrics.known import known

    return dict(known())
