"""`magic sql`: SQL queries on a lake."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from pipeline.cli import progress, terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, LakeOption, n_bytes
from pipeline.errors import UsageError


class Command(TyperCommand):
    """The command, to which a query that begins with a comment is no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = [one for one in args if not _is_commented(one)]
        queries = [one for one in args if _is_commented(one)]
        if queries and "--" not in options:
            options.append("--")
        return super().parse_args(ctx, [*options, *queries])


def _is_commented(argument: str) -> bool:
    """Whether it begins with a comment of SQL, as no option's name does, mistyped or not."""
    name, _, _ = argument.partition("=")
    return name.startswith("--") and (name[2:3].isspace() or "\n" in name)


def sql(
    *,
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERY", help="One SELECT; without it: stdin, or a prompt in a terminal."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("-f", "--file", metavar="FILE", help="A file with the query; - is stdin."),
    ] = None,
    lake: LakeOption = DEFAULT_LAKE,
    timeout: Annotated[
        int,
        typer.Option(
            "--timeout", min=1, max=10**6, metavar="SECONDS", help="Stop the query after this time."
        ),
    ] = 300,
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Memory limit of DuckDB.")
    ] = "2GiB",
    form: FormOption = "table",
) -> None:
    """Query the lake with SQL.

    The dialect is DuckDB's. A query can read only this lake, and cannot write.
    Each table and metric has a view: run `magic tables` and `magic schema TABLE` to see them.
    Without a query, a terminal shows a prompt; there a semicolon ends a query.

    \b
    Examples:
      magic sql "SELECT model, avg(is_correct::INT) FROM votes WHERE is_tested GROUP BY ALL"
      magic sql -f query.sql --timeout 3600 --memory 8GiB --format csv > answer.csv
      magic sql
    """
    if query is not None and file is not None:
        raise UsageError("give a query or --file, not both")

    from pipeline.sandbox import Sandbox

    most = n_bytes(memory, "--memory")
    with Sandbox(seconds=timeout, memory=most, while_waiting=progress.of_waiting) as sandbox:
        if query is None and file is None and terminal.is_in_terminal():
            from pipeline.cli.prompt import converse

            converse(sandbox, lake, form)
            return
        asked = query if query is not None else _read(file)
        if not asked.strip():
            raise UsageError('the query is empty; give one, for example `magic sql "FROM games"`')
        sandbox.prepare()  # it starts while we load what shows the answer
        from pipeline.cli.output import show

        show(sandbox.sql(lake, asked), form)


def _read(file: Path | None) -> str:
    """The query in a file, or on stdin."""
    try:
        if file is None or str(file) == "-":
            return sys.stdin.read() if sys.stdin else ""
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file or 'stdin'}: not valid UTF-8") from None
