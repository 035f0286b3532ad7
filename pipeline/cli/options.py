"""Options that several commands share, each declared once, by the name of its parameter."""

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click import BadParameter

import pipeline
from pipeline.cli import terminal
from pipeline.errors import PipelineError, UsageError
from pipeline.parameters import ParameterSpec, argument_spec, option_spec, repeatable_option_spec
from pipeline.vocabulary import ALL_GAME_TYPES, Failures

if TYPE_CHECKING:
    from pipeline.api import Lake
    from pipeline.lake import StoredLake

L = TypeVar("L", bound="StoredLake")

Form = Literal["table", "json", "csv", "markdown", "parquet"]
Texts = list[str] | None

SAFE_CSV = "csv-safe"
DEFAULT_LAKE = pipeline.DEFAULT_LAKE
DEFAULT_CONFIDENCE = 0.95
LARGEST_DOCUMENT = 64 << 20


_NO_SIZE = 2**63  # systems count no more bytes
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b)?", re.IGNORECASE)


def parse_n_bytes(size: str | int) -> int:
    """Parse a size such as 64MiB, 2GB or 1000000 into bytes.

    Raise BadParameter if it is invalid.
    """
    parts = _SIZE.fullmatch(str(size).strip())
    if parts is None:
        raise BadParameter(f"{size!r} is not a size such as 64MiB, 2GB or 1000000")
    number, unit, is_binary = parts.groups()
    power = "kmgt".index(unit.lower()) + 1 if unit else 0
    n_bytes = float(number) * (1024 if is_binary else 1000) ** power
    if n_bytes >= _NO_SIZE:
        raise BadParameter(f"{size!r} is more than any machine has")
    return int(n_bytes)


def size_option(meaning: str, *, default: int | None = None) -> Any:
    """Return the specification of an option for a size in bytes with a unit."""
    return option_spec("SIZE", meaning, default=default, parse=parse_n_bytes, shows_default=False)


def format_option(last: str = "or parquet", json: str = "a list of records") -> Any:
    """Return the specification of the option --format."""
    meaning = f"Output format: table, json ({json}), csv, markdown, {last}."
    return option_spec("FORM", meaning, "--format", default="table", check=_format_name)


def _format_name(form: str) -> str:
    if form == "parquet" and terminal.is_out_terminal():
        raise BadParameter(
            "parquet is binary; write it to a file, for example with `> rows.parquet`"
        )
    return form


OF_ANY_SYSTEM = option_spec(
    "SYSTEM",
    "Only the games of this system (harness); default: those of all.",
    suggested="systems",
)
PLAYED_BY = option_spec("NAME", "The model that played, for logs that do not name it.")
SHARED: Mapping[str, ParameterSpec] = {
    "lake": option_spec(
        "DIR",
        "The lake: the folder with the tables, or a URL such as s3://bucket/lake.",
        variable=pipeline.LAKE_VARIABLE,
    ),
    "form": format_option(),
    "system": option_spec(
        "SYSTEM",
        "Count the games of this system (harness); default: the one with the most games.",
        suggested="systems",
    ),
    "names": option_spec(
        "FILE", "Count names of models as one: TOML with the name by each name in logs."
    ),
    "failures": option_spec(
        "WHAT",
        "exclude: leave out games without a result; loss: count a game as a loss of the model that "
        "failed it, by an outage, a forfeit or a time-out.",
    ),
    "metric_file": repeatable_option_spec(
        "FILE", "Also know the metric that this Python file declares"
    ),
    "source": argument_spec(
        "SOURCE", "Folders, log files, archives (.zip, .tar; .gz, .zst, .xz, .bz2), or patterns."
    ),
    "models_from": option_spec(
        "FILE", "The same by path and player: TOML or JSON that maps patterns to models."
    ),
    "max_document": size_option("Refuse larger documents unread; default: 64MiB."),
    "strict": option_spec("", "Exit with 3 if anything was quarantined."),
}
"""What options of commands mean that are no parameters of reports, by their names."""


def with_failures(lake: L, failures: Failures, of: str = "") -> L:
    """Return the lake with failed games counted as requested, and print how many became losses."""
    lake = lake.with_failures(failures)
    if failures == "loss":
        failed = lake.failed_results().filter("is_tested", "is_failed")
        n = failed.select("game_id").collect().height
        terminal.print_note(f"results of failed games{of} that count as losses, in all: {n:,}")
    return lake


def with_model_names(lake: L, names: Path | None) -> L:
    """Return the lake with the model names of a file; see `named_together`."""
    return lakes_with_model_names([lake], names)[0]


def lakes_with_model_names(lakes: Sequence[L], names: Path | None) -> list[L]:
    """Return the lakes with the model names of a file, if a file is given.

    Notes say which names are joined in each, and which of them none of the lakes has.
    """
    if names is None:
        return [*lakes]
    joined = [lake.with_names(names) for lake in lakes]
    for lake in joined:
        if lake.merged_names_text:
            terminal.print_note(f"names of models joined by {names}: {lake.merged_names_text}")
    there = {name for lake in joined for name in lake.used_names}
    if lacking := [f'"{name}"' for name in joined[0].names if name not in there]:
        terminal.print_note(
            f"{names}: no game has a model {' or '.join(lacking)}; `magic models` lists the names"
        )
    return joined


def open_lake_of_system(
    path: str,
    system: str | None,
    as_of: int | None = None,
    names: Path | None = None,
    failures: Failures = "exclude",
) -> "StoredLake":
    """Open the lake of one system, by default the largest, and print a note about other systems.

    Another note says if a later ingest is not in it. Raises UsageError for a system that ran none
    of its games.
    """
    from pipeline.lake import open_lake

    opened = with_model_names(open_lake(path, as_of), names)
    if as_of is None and opened.has_later_commits():
        terminal.print_note(
            "an ingest is not in these numbers: it is running, was interrupted, or was lost; "
            f"`magic verify --lake {shlex.quote(path)}` says more"
        )
    chosen = opened.for_single_system(system)
    others = [f"{name} ({n:,})" for name, n in opened.systems.items() if name != chosen.system]
    if others and system is None:
        terminal.print_note(
            f"games of {chosen.system} alone; use --system to count those of {', '.join(others)}"
        )
    return with_failures(chosen, failures)


_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


def check_local_folder(folder: Path | None) -> Path | None:
    """Return the folder; raise BadParameter for a URL."""
    if folder is not None and _URL.match(str(folder)):
        raise BadParameter("choose a folder on this machine: only sources and lakes can be URLs")
    return folder


def parse_query_parameters(texts: Sequence[str]) -> dict[str, str]:
    """Parse query parameters such as `model=gpt-4`; raise UsageError for invalid ones."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().removeprefix("$")
        if not equals or not re.fullmatch(r"\w+", name):
            raise UsageError(f"{text!r} is not NAME=VALUE, for example model=gpt-4")
        if name in values:
            raise UsageError(f"--parameter {name} is given twice: give one value for each name")
        values[name] = value
    return values


def read_query(file: Path | None) -> str:
    """Read a query from a file, or from stdin for None and `-`."""
    try:
        if file is None or str(file) == "-":
            return sys.stdin.read() if sys.stdin else ""
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file or 'stdin'}: not valid UTF-8") from None


# What the shell offers after Tab: columns, tables, and what the lake has.
#
# Each is loaded only when somebody presses Tab; what does not begin as typed is left out later.

Suggested = Callable[[click.Context, str], Iterable[str]]
_MOST_GAMES = 50


def requested_lakes(
    lake: str,
    lakes: Sequence[str] | None = None,
    as_of: Sequence[int] | None = None,
    **_: Any,
) -> list[str]:
    """Return the lakes that the arguments name; `magic diff` names one or two, others use --lake.

    One that `magic diff` names is compared with that of --lake, or with itself, --as-of an ingest.
    """
    named = [*(lakes or ())]
    return [*named, lake] if not named or (len(named) == 1 and not as_of) else named


def _complete_from_lake(names: Callable[["Lake", str], Iterable[str]]) -> Suggested:
    """Return a completion function for names in the lakes of the command line."""

    def complete(ctx: click.Context, incomplete: str) -> Iterable[str]:
        offered: dict[str, None] = {}
        for lake in requested_lakes(**{**ctx.params, "lake": ctx.params.get("lake") or ""}):
            with suppress(PipelineError, OSError):  # no place for an error
                opened = pipeline.open_lake(lake or None, names=ctx.params.get("names"))
                offered |= dict.fromkeys(names(opened, incomplete))
        return [*offered]

    return complete


def _complete_models(lake: "Lake", _: str) -> Iterable[str]:
    tested = lake.table("results").filter("is_tested").select("model").drop_nulls().unique()
    return tested.collect()["model"].sort()


def _complete_games(lake: "Lake", begin: str) -> Iterable[str]:
    """Return the first game ids that begin with the typed text. A lake may have millions."""
    import polars as pl

    begins = pl.col("game_id").str.starts_with(begin)
    rows = lake.table("games").filter(begins).select("game_id").head(_MOST_GAMES)
    return rows.collect()["game_id"].sort()


complete_systems = _complete_from_lake(lambda lake, _: lake.systems)
complete_games = _complete_from_lake(_complete_games)
complete_models = _complete_from_lake(_complete_models)


def complete_metrics(_context: click.Context, _incomplete: str) -> Iterable[str]:
    """Return the names of all metrics."""
    from pipeline.metrics.registry import metric_names

    return metric_names("paper")


def complete_game_types(_context: click.Context, _incomplete: str) -> Iterable[str]:
    """Return the game types of metric values, with the name of all types together."""
    from pipeline.games import game_type_names

    return [*game_type_names(), ALL_GAME_TYPES]


def complete_tables(_context: click.Context, _incomplete: str) -> Iterable[str]:
    """Return the names of all tables."""
    from pipeline.events.contracts import TABLES
    from pipeline.reports.sql_views import all_views

    return [*TABLES, *all_views()]


def complete_columns(_context: click.Context, incomplete: str) -> Iterable[str]:
    """Return the columns of results and games.

    Of a list with commas, the last name is completed.
    """
    from pipeline.events.contracts import table_schema
    from pipeline.metrics.request import GAME_COLUMNS

    before, comma, _ = incomplete.rpartition(",")
    known = dict.fromkeys([*table_schema("results"), *GAME_COLUMNS])
    return [f"{before}{comma}{name}" for name in known]
