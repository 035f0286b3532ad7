"""Options that several commands share, and the values that the shell completes for them.

Commands use the specifications, the functions that apply an option to a lake, and the parsers.
`cli.command` looks up completions here by the names in `ParameterSpec.suggested`.
"""

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from inspect import signature
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
TextList = list[str] | None

SAFE_CSV = "csv-safe"
DEFAULT_LAKE = pipeline.DEFAULT_LAKE
DEFAULT_CONFIDENCE = 0.95
MAX_DOCUMENT_BYTES = 64 << 20

# Operating systems store sizes as signed 64-bit integers.
_SIZE_LIMIT = 2**63
_SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b)?", re.IGNORECASE)


def parse_size_in_bytes(size: str | int) -> int:
    """Parse a size such as 64MiB, 2GB or 1000000 into a number of bytes.

    Args:
        size: The size with its unit; a number, such as a default, is a size in bytes.

    Returns:
        The number of bytes; units with an i are powers of 1024, others are powers of 1000.

    Raises:
        BadParameter: If the text is not a size, or if the size is not less than 2**63 bytes.
    """
    match = _SIZE_PATTERN.fullmatch(str(size).strip())
    if match is None:
        raise BadParameter(f"{size!r} is not a size such as 64MiB, 2GB or 1000000")
    number, unit, is_binary = match.groups()
    power = "kmgt".index(unit.lower()) + 1 if unit else 0
    n_bytes = float(number) * (1024 if is_binary else 1000) ** power
    if n_bytes >= _SIZE_LIMIT:
        raise BadParameter(f"{size!r} is too large; a size must be less than 8 EiB")
    return int(n_bytes)


def size_option(meaning: str, *, default: int | None = None) -> Any:
    """Return the specification of an option for a size with a unit.

    Args:
        meaning: The help text.
        default: The default in bytes; None if the option has none.
    """
    return option_spec(
        "SIZE", meaning, default=default, parse=parse_size_in_bytes, shows_default=False
    )


def format_option(last_formats: str = "or parquet", json: str = "a list of records") -> Any:
    """Return the specification of the option --format.

    Args:
        last_formats: The end of the list of formats in the help text.
        json: What the JSON output contains, for the help text.
    """
    meaning = f"Output format: table, json ({json}), csv, markdown, {last_formats}."
    return option_spec(
        "FORM", meaning, "--format", default="table", check=_reject_parquet_on_terminal
    )


def _reject_parquet_on_terminal(form: str) -> str:
    if form == "parquet" and terminal.is_stdout_terminal():
        raise BadParameter(
            "parquet is binary; write it to a file, for example with `> rows.parquet`"
        )
    return form


ANY_SYSTEM_OPTION = option_spec(
    "SYSTEM",
    "Only the games of this system (harness); default: games of all systems.",
    suggested="systems",
)
MODEL_OPTION = option_spec("NAME", "The model that played, for logs that do not name it.")
SHARED_OPTIONS: Mapping[str, ParameterSpec] = {
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
        "FILE", "Merge model names: a TOML file that maps each name in logs to the name to use."
    ),
    "failures": option_spec(
        "WHAT",
        "exclude: ignore games without a result; loss: count a game as a loss of the model that "
        "failed it, by an outage, a forfeit or a time-out.",
    ),
    "metric_file": repeatable_option_spec(
        "FILE", "Also use the metric that this Python file defines"
    ),
    "source": argument_spec(
        "SOURCE", "Folders, log files, archives (.zip, .tar; .gz, .zst, .xz, .bz2), or patterns."
    ),
    "models_from": option_spec(
        "FILE", "The models by path and player: a TOML or JSON file that maps patterns to models."
    ),
    "max_document": size_option("Reject larger documents without reading them; default: 64MiB."),
    "strict": option_spec("", "Exit with 3 if anything was quarantined."),
}
"""Specifications of options that several commands share, by the names of their parameters."""


def apply_failures_option(lake: L, failures: Failures, note_suffix: str = "") -> L:
    """Return the lake with failed games excluded or counted as losses.

    For `loss`, a note says how many results of failed games count as losses.

    Args:
        lake: The lake.
        failures: `exclude` or `loss`, the value of --failures.
        note_suffix: Text that names the lake in the note, such as " before" of `magic diff`.
    """
    lake = lake.with_failures(failures)
    if failures == "loss":
        failed = lake.failed_results().filter("is_tested", "is_failed")
        n_losses = failed.select("game_id").collect().height
        terminal.print_note(
            f"results of failed games{note_suffix} that count as losses, in all: {n_losses:,}"
        )
    return lake


def apply_names_option(lake: L, names: Path | None) -> L:
    """Return the lake with its models renamed; see `apply_names_option_to_lakes`."""
    return apply_names_option_to_lakes([lake], names)[0]


def apply_names_option_to_lakes(lakes: Sequence[L], names: Path | None) -> list[L]:
    """Return the lakes with models renamed and merged according to the TOML file of --names.

    Notes list the names that are merged in each lake, and the names that no lake contains.

    Args:
        lakes: The lakes of the command.
        names: The file; None to return the lakes unchanged.
    """
    if names is None:
        return [*lakes]
    renamed_lakes = [lake.with_names(names) for lake in lakes]
    for lake in renamed_lakes:
        if lake.merged_names_text:
            terminal.print_note(f"model names merged by {names}: {lake.merged_names_text}")
    used_names = {name for lake in renamed_lakes for name in lake.used_names}
    if unused_names := [f'"{name}"' for name in renamed_lakes[0].names if name not in used_names]:
        terminal.print_note(
            f"{names}: no game has a model {' or '.join(unused_names)}; "
            "`magic models` lists the names"
        )
    return renamed_lakes


def signature_of_view_options(
    *, system: str | None = None, names: Path | None = None, failures: Failures = "exclude"
) -> None:
    """Define by its signature the options of each command that selects games; never called.

    `LakeView` has an attribute for each, and `apply_view_options` applies their values.
    """


VIEW_OPTIONS: Mapping[str, Any] = {
    name: parameter.default
    for name, parameter in signature(signature_of_view_options).parameters.items()
}


def apply_view_options(lake: L, values: Mapping[str, Any]) -> L:
    """Return the lake as the view options of a command request, and print notes about them.

    Args:
        lake: The lake with all its games.
        values: The values of the options that the command has, by name.
    """
    lake = apply_names_option(lake, values.get("names"))
    if system := values.get("system"):
        lake = lake.for_system(system)
    return apply_failures_option(lake, values.get("failures", "exclude"))


def open_lake_of_system(
    path: str, values: Mapping[str, Any], as_of: int | None = None
) -> "StoredLake":
    """Open a lake with only the games of one system, by default the one with the most games.

    Notes name the other systems, and say if the lake has an ingest that is not read.

    Args:
        path: The path or URL of the lake.
        values: The values of the view options, by name. Without a system, it is the system with
            the most games.
        as_of: The number of the last ingest to read; None for the newest.

    Raises:
        UsageError: If the system has no games in the lake.
    """
    from pipeline.lake import open_lake

    lake, system = apply_names_option(open_lake(path, as_of), values.get("names")), values["system"]
    if as_of is None and lake.has_later_commits():
        terminal.print_note(
            "an ingest is not in these numbers, because it is running, was interrupted, or was "
            f"lost; run `magic verify --lake {shlex.quote(path)}` for details"
        )
    system_lake = lake.for_single_system(system)
    other_systems = [
        f"{name} ({n_games:,})"
        for name, n_games in lake.systems.items()
        if name != system_lake.system
    ]
    if other_systems and system is None:
        terminal.print_note(
            f"these are only the games of {system_lake.system}; use --system to count the games of "
            f"{', '.join(other_systems)}"
        )
    return apply_view_options(system_lake, {**values, "names": None, "system": None})


_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


def check_local_folder(folder: Path | None) -> Path | None:
    """Check that the path of a folder is not a URL, and return it unchanged.

    Raises:
        BadParameter: If the path is a URL.
    """
    if folder is not None and _URL.match(str(folder)):
        raise BadParameter(
            "name a folder on this machine, because only sources and lakes can be URLs"
        )
    return folder


def parse_query_parameters(texts: Sequence[str]) -> dict[str, str]:
    """Parse texts such as `model=gpt-4` into a dict from names to values.

    Args:
        texts: The values of --parameter: a name, an equals sign and a value. The name can begin
            with $.

    Returns:
        The values by name.

    Raises:
        UsageError: If a text has another form, or if two texts have the same name.
    """
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
    """Read an SQL query from a file, or from stdin if the file is None or `-`.

    Raises:
        UsageError: If the text is not valid UTF-8.
    """
    try:
        if file is None or str(file) == "-":
            return sys.stdin.read() if sys.stdin else ""
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{file or 'stdin'}: not valid UTF-8") from None


# Values for shell completion. Modules are imported and lakes are opened only when they are needed.
# `cli.command` removes the values that do not begin with the typed text.

_CompletionFunction = Callable[[click.Context, str], Iterable[str]]
_MAX_COMPLETED_GAMES = 50


def lake_paths_to_read(
    lake: str,
    lakes: Sequence[str] | None = None,
    as_of: Sequence[int] | None = None,
    **_: Any,
) -> list[str]:
    """Return the paths of all lakes that a command reads: one, or two for `magic diff`.

    Args:
        lake: The value of --lake.
        lakes: The arguments of `magic diff`, which names up to two lakes.
        as_of: The values of --as-of, with which `magic diff` compares two states of one lake.
        **_: The other options of the command, which are ignored.

    Returns:
        The paths in `lakes`. The value of --lake is appended if there are none, or if the only one
        is compared with it.
    """
    paths = [*(lakes or ())]
    return [*paths, lake] if not paths or (len(paths) == 1 and not as_of) else paths


def _complete_names_in_lakes(
    read_names: Callable[["Lake", str], Iterable[str]],
) -> _CompletionFunction:
    """Return a completion function for names that are read from the lakes on the command line."""

    def complete(ctx: click.Context, incomplete: str) -> Iterable[str]:
        completions: dict[str, None] = {}
        for lake in lake_paths_to_read(**{**ctx.params, "lake": ctx.params.get("lake") or ""}):
            # A shell has no place to show an error.
            with suppress(PipelineError, OSError):
                opened_lake = pipeline.open_lake(lake or None, names=ctx.params.get("names"))
                completions |= dict.fromkeys(read_names(opened_lake, incomplete))
        return [*completions]

    return complete


def _read_tested_models(lake: "Lake", _: str) -> Iterable[str]:
    models = lake.table("results").filter("is_tested").select("model").drop_nulls().unique()
    return models.collect()["model"].sort()


def _first_matching_game_ids(lake: "Lake", prefix: str) -> Iterable[str]:
    """Return up to 50 ids of games that begin with the prefix; a lake can have millions."""
    import polars as pl

    has_prefix = pl.col("game_id").str.starts_with(prefix)
    rows = lake.table("games").filter(has_prefix).select("game_id").head(_MAX_COMPLETED_GAMES)
    return rows.collect()["game_id"].sort()


def _complete_metrics(_context: click.Context, _incomplete: str) -> Iterable[str]:
    from pipeline.metrics.registry import metric_names

    return metric_names("paper")


def _complete_game_types(_context: click.Context, _incomplete: str) -> Iterable[str]:
    """Return the names of all game types, and `all`."""
    from pipeline.games import game_type_names

    return [*game_type_names(), ALL_GAME_TYPES]


def _complete_tables(_context: click.Context, _incomplete: str) -> Iterable[str]:
    """Return the names of all tables and SQL views, which every lake has."""
    from pipeline.events.contracts import TABLES
    from pipeline.reports.sql_views import all_views

    return [*TABLES, *all_views()]


def _complete_columns(_context: click.Context, incomplete: str) -> Iterable[str]:
    """Return the columns of results and games; names before the last comma are kept."""
    from pipeline.events.contracts import table_schema
    from pipeline.metrics.request import GAME_COLUMNS

    complete_names, comma, _ = incomplete.rpartition(",")
    columns = dict.fromkeys([*table_schema("results"), *GAME_COLUMNS])
    return [f"{complete_names}{comma}{column}" for column in columns]


# The completion function for each value of `ParameterSpec.suggested` that is not a dotted name.
COMPLETION_FUNCTIONS: Mapping[str, _CompletionFunction] = {
    "columns": _complete_columns,
    "game_types": _complete_game_types,
    "games": _complete_names_in_lakes(_first_matching_game_ids),
    "metrics": _complete_metrics,
    "models": _complete_names_in_lakes(_read_tested_models),
    "systems": _complete_names_in_lakes(lambda lake, _: lake.systems),
    "tables": _complete_tables,
}
