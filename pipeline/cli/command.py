"""Commands of click, made of functions: what each has around it, and what it asks of a lake.

A function's signature has the options, its docstring is the help.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from functools import cached_property, partial
from importlib import import_module
from inspect import cleandoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from pipeline.cli import options, terminal
from pipeline.cli.options import DEFAULT_LAKE, SHARED
from pipeline.errors import EMPTY_PATH_HINT, UsageError, reraise_read_errors
from pipeline.parameters import Parameter, ParameterSpec, flag_spec, function_parameters
from pipeline.registry import REPORTS, RESULTS, load_command, load_result
from pipeline.text_format import to_json_text
from pipeline.vocabulary import Failures

if TYPE_CHECKING:
    import polars as pl

    from pipeline.ingest.decode import IngestSummary
    from pipeline.lake import StoredLake
    from pipeline.render.table import Table
    from pipeline.reports.registry import Report

# What commands that change a lake say and do at their end: the counts, and its catalogue.

_REASONS = 3
WRITE_INTERCHANGE = (
    "if those ignored are logs of games, let a script write them as interchange JSON, and read "
    "that: `magic convert --example` prints a game, docs/interchange.md describes it"
)
"""What to do with documents that no format reads."""


def print_ingest_counts(report: "IngestSummary", form: str) -> None:
    """Print an ingest's counts: a JSON object, or one row for each; a table omits zeros.

    If they cannot be written, the error says whether the ingest is committed.
    """
    import polars as pl

    from pipeline.cli.output import print_table
    from pipeline.render.table import Table
    from pipeline.serialization import escape_terminal_json

    is_committed = report.ingest_id is not None
    done = f"ingest {report.ingest_id} is committed" if is_committed else "all sources were read"
    with terminal.report_completed_work(done):
        if form == "json":
            # By the names that the columns of `ingests` have.
            record = {
                "ingest_id": report.ingest_id,
                "n_documents": report.n_seen,
                **{f"n_{status}": n for status, n in report.statuses.items()},
                "n_superseded": report.n_superseded,
                "n_faulty_parts": report.n_faulty_parts,
                "n_in_other_form": report.n_in_other_form,
                "n_read_votes": report.n_read_votes,
                "n_undecided_votes": report.n_undecided_votes,
                "n_bytes": report.n_bytes,
                "new_games": dict(report.games.iter_rows()),
                "ignored": report.ignored.to_dicts(),
            }
            terminal.write_result_bytes(f"{escape_terminal_json(to_json_text(record))}\n".encode())
            return
        counts = [
            ("documents", "seen", report.n_seen),
            *(("documents", status, n) for status, n in report.statuses.items()),
            *(("new games", game_type, n) for game_type, n in report.games.iter_rows()),
            ("repeated games", None, report.n_in_other_form),
            ("superseded games", None, report.n_superseded),
            ("faulty parts", None, report.n_faulty_parts),
        ]
        columns = {"counted": pl.String, "kind": pl.String, "n": pl.Int64}
        rows = pl.DataFrame(counts, columns, orient="row")
        print_table(Table("", rows, brief=lambda rows: rows.filter(rows["n"] > 0)), form)


def note_upgrade(before: str | None) -> None:
    """Print that the lake was upgraded, and which versions can no longer read it."""
    from pipeline.events.contracts import VERSION

    if before not in (None, str(VERSION)):
        terminal.print_note(
            f"the lake had contract version {before} and has {VERSION} now: versions of magic "
            f"that read only lakes up to {before} cannot open it any more, so update magic "
            "wherever this lake is read"
        )


def ignored_reasons(report: "IngestSummary") -> list[str]:
    """Return the most frequent reasons why documents were ignored, with counts and examples."""
    first = report.ignored.head(_REASONS)
    reasons = [
        f"{n:,} ignored: {reason}, for example {example}"
        for reason, n, example in first.iter_rows()
    ]
    if n_others := report.statuses["ignored"] - first["n_documents"].sum():
        reasons.append(f"{n_others:,} ignored for other reasons")
    return reasons


# --- the lake's catalogue, renewed after each command that changes the lake --------------------


def renew_catalog(lake: str) -> None:
    """Rebuild `magic.duckdb` if the lake has a catalogue.

    Not without being asked: many users need none, and it takes a second.
    """
    from pipeline.lake.tables import CATALOG_FILE_NAME
    from pipeline.stores import parse_location

    if CATALOG_FILE_NAME not in parse_location(lake).list_names():
        return
    # Imported here: a command that fails before does not wait for it.
    from pipeline.catalog import rebuild_catalog_after_ingest

    if note := rebuild_catalog_after_ingest(lake):
        terminal.print_note(note)


_NUMBERS: dict[Any, tuple[str, Any, Any]] = {
    int: ("integer", click.types.IntParamType, click.IntRange),
    float: ("number", click.types.FloatParamType, click.FloatRange),
}
_PATHS = {"DIR": "dir", "[LAKE [LAKE]]": "dir", "FILE": "file", "SOURCE": "file", "DEST": "file"}
"""What is a path, and which ones the shell completes."""


def create_command(function: Callable[..., None]) -> "Command":
    """Return the command of a function; its parameters become options, arguments and flags."""
    return Command(
        function.__name__,
        params=[
            create_click_parameter(one) for one in function_parameters(function, options.SHARED)
        ],
        help=cleandoc(function.__doc__ or ""),
        callback=function,
    )


def create_click_parameter(one: Parameter) -> click.Parameter:
    """Return the click option, argument or flag of a parameter."""
    name, kind, is_several, default, declared = one
    common: dict[str, Any] = {
        "type": declared.parse or _click_type(kind, declared),
        "metavar": declared.metavar or None,
        "help": declared.help,
        "required": default is ...,
        "callback": lambda _context, _param, value: declared.checked(
            value, is_several=is_several, default=default
        ),
    }
    if declared.suggested is not None:
        common["shell_complete"] = partial(_complete, declared.suggested)
    elif declared.metavar in _PATHS:
        path = _PATHS[declared.metavar]  # is left to the shell
        common["shell_complete"] = lambda _context, _param, text: [CompletionItem(text, type=path)]
    if default is not ... and not is_several:
        common["default"] = default
    if declared.is_argument:
        if "[" not in (shown := declared.metavar):
            common["metavar"] = (shown if default is ... else f"[{shown}]") + "..." * is_several
        return click.Argument([name], nargs=-1 if is_several else 1, **common)
    flag = f"--{name.replace('_', '-')}"
    if kind is bool:
        flag += f"/--no-{flag[2:]}" if default is True else ""
        del common["type"], common["required"]
        common["is_flag"] = True
    return click.Option(
        [name, *(declared.names or [flag])],
        multiple=is_several,
        envvar=declared.variable,
        show_envvar=declared.variable is not None,
        show_default=declared.shows_default and default is not None,
        **common,
    )


def _complete(suggested: str, context: click.Context, _param: object, incomplete: str) -> list[str]:
    """Return the shell completions that begin with the typed text."""
    module, _, name = suggested.rpartition(".")
    names: Any = (
        getattr(import_module(f"pipeline.{module}"), name)
        if module
        else getattr(options, f"complete_{name}")
    )
    if callable(names):
        names = names() if module else names(context, incomplete)
    return [name for name in names if name.startswith(incomplete)]


class PathType(click.ParamType[Any]):
    """A path or URL; an empty string is refused, because it would mean the current folder."""

    name = "path"

    def __init__(self, kind: type[str] | type[Path]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value as a path, or as a string for a URL; refuse an empty string."""
        if not str(value):
            raise UsageError(f"the path of {param and param.opts[-1]} {EMPTY_PATH_HINT}")
        return self._kind(value)


def _click_type(kind: Any, declared: ParameterSpec) -> Any:
    if get_origin(kind) is tuple:
        return tuple(_click_type(one, declared) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if declared.metavar in ("DIR", "FILE") and not declared.is_argument:
        return PathType(kind)
    if kind not in _NUMBERS:
        return click.STRING
    name, anything, of_range = _NUMBERS[kind]
    is_bounded = declared.min is not None or declared.max is not None
    numbers = of_range(declared.min, declared.max) if is_bounded else anything()
    numbers.name = name  # for messages about what is no number at all
    return numbers


_SAFE = "With --format csv: neutralize cells that a spreadsheet would run as formulas."


class Command(click.Command):
    """A command of the CLI; commands that write CSV also have the option --safe.

    It knows the metrics of --metric-file, and raises the error of `read_error` where a library
    cannot read a lake. A function whose first parameter has no name on the command line is `Asked`.
    """

    def __init__(self, name: str, *, params: list[click.Parameter], **more: Any) -> None:
        if any("csv" in getattr(one.type, "choices", ()) for one in params):
            params.append(click.Option(["--safe"], is_flag=True, default=False, help=_SAFE))
        super().__init__(name, params=params, **more)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments.

        A query that begins with an SQL comment is not parsed as an option.
        """
        has_query = any(one.name == "query" for one in self.params)
        queries = [one for one in args if has_query and _begins_with_comment(one)]
        known = [one for one in args if one not in queries]
        # Whose value is completed has none yet; for click the arguments before it were lost.
        if ctx.resilient_parsing and known and known[-1].startswith("--"):
            known.pop()
        end = ["--"] if queries and "--" not in known else []
        return super().parse_args(ctx, [*known, *end, *queries])

    def invoke(self, ctx: click.Context) -> None:
        """Run the command with the lake's metrics registered, and with read errors re-raised."""
        given, function = dict(ctx.params), self.callback
        assert function is not None
        if given.pop("safe", False):
            if given["form"] != "csv":
                raise UsageError("--safe works only with --format csv")
            given["form"] = options.SAFE_CSV
        if ctx.get_parameter_source("lake") is click.core.ParameterSource.COMMANDLINE:
            terminal.suggest_commands_for_lake(given["lake"])
        with (
            reraise_read_errors(),
            redirect_stdout(terminal.library_output_stream()),
            _register_metrics(**given),
        ):
            has_context = "context" in signature(function).parameters
            contexts = [CommandContext(**given)] if has_context else []
            ctx.invoke(function, *contexts, **given)


def _begins_with_comment(argument: str) -> bool:
    """Return whether the argument begins with an SQL comment, which no option's name does."""
    name, _, _ = argument.partition("=")
    return name.startswith("--") and (name[2:3].isspace() or "\n" in name)


def _register_metrics(
    *,
    metric_file: Sequence[Path] | None = None,
    lake: str = "",
    lakes: Sequence[str] | None = None,
    **_: Any,
) -> AbstractContextManager[None]:
    """Register the metrics of files in the context, after checking them on the (last) lake."""
    if not metric_file:
        return nullcontext()
    from pipeline.api import open_lake
    from pipeline.metrics.registry import use_lake_metrics

    opened = open_lake((lakes or [lake])[-1])  # `magic diff` names several
    for file in metric_file:
        opened = opened.with_metric_file(file)
    return use_lake_metrics(opened)


class CommandContext:
    """The options of a command that reads a lake, and methods that compute and print results.

    Results have the names of `registry.RESULTS`.
    """

    def __init__(
        self,
        *,
        lake: str = "",
        form: str = "",
        metric_file: object = None,
        names: Path | None = None,
        failures: Failures = "exclude",
        **arguments: Any,
    ) -> None:
        self._path, self._form, self._arguments = lake, form, arguments
        self._names, self._failures = names, failures
        if arguments.get("engine", ...) is None:
            del arguments["engine"]  # then the report's own default

    @cached_property
    def lake(self) -> "StoredLake":
        """The lake; with the option --system, the lake of that system."""
        if "system" in self._arguments:
            return options.open_lake_of_system(
                self._path, self._arguments["system"], None, self._names, self._failures
            )
        return self.lake_of_all_systems()

    def lake_of_all_systems(self) -> "StoredLake":
        """The lake with the games of all systems, or of the system that --system names."""
        from pipeline.lake import open_lake

        lake = options.with_model_names(open_lake(self._path), self._names)
        if system := self._arguments.get("system"):
            lake = lake.for_system(system)
        return options.with_failures(lake, self._failures)

    def run_report(self, name: str, *arguments: Any, **more: Any) -> Any:
        """Return the result of a report, called with those options that it has."""
        function = load_result(name)
        parameters = signature(function).parameters
        names = set(parameters)
        for parameter in parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:  # such as `**choices: Unpack[Choices]`
                for typed_dict in get_args(parameter.annotation):
                    names |= typed_dict.__annotations__.keys()
        options = {key: value for key, value in self._arguments.items() if key in names}
        return function(self.lake, *arguments, **options | more)

    def build_table(self, name: str, rows: "pl.DataFrame", **more: Any) -> "Table":
        """Return a result as a table with its notes; see `pipeline.render`.

        What counts games of one system says which games of the lake no metric counts.
        """
        from pipeline.render import build_result_table

        lake = self.lake if "system" in self._arguments else None
        return build_result_table(name, rows, **{"lake": lake, **self._arguments, **more})

    def print_result(self, name: str, *arguments: Any, **more: Any) -> None:
        """Compute a result and print its table."""
        self.print_table(self.build_table(name, self.run_report(name, *arguments, **more), **more))

    def print_rows(self, name: str, rows: "pl.DataFrame", **shown: Any) -> None:
        """Print rows that no report defines; `shown` are arguments of `Table`."""
        from pipeline.render.table import Table

        self.print_table(Table.from_frame(name, rows, **shown))

    def print_table(self, table: "Table") -> None:
        """Print a table in the format of the option --format."""
        from pipeline.cli import output

        output.print_table(table, self._form)

    def print_parts(self, name: str, parts: "Iterator[pl.DataFrame]", **more: Any) -> int | None:
        """Print a result part by part; return its number of rows, or None if it was truncated."""
        from pipeline.cli import output

        return output.print_parts(parts, self._form, partial(self.build_table, name, **more))


# The commands of declared reports: each is made of its report, when somebody asks for it.


def create_command_by_name(name: str) -> click.Command:
    """Create the command with this name, one of `registry.COMMANDS`."""
    action = load_command(name)
    if name not in REPORTS:
        return create_command(action)
    from pipeline.reports.registry import find_report

    report = find_report(name)
    shared = SHARED if report.is_of_system else {**SHARED, "system": options.OF_ANY_SYSTEM}
    # The options of its module's other reports, which it shows too, are known by their names.
    module = RESULTS[name].module
    beside = [find_report(other) for other in REPORTS if RESULTS[other].module == module]
    known = {one.name: one.declared for other in beside for one in other.parameters}
    further = function_parameters(action, {**known, **shared}) if action else []
    named = {one.name for one in (*report.parameters, *further)}
    is_there = {
        "failures": "edition" in named,
        "metric_file": not {"metric", "metric_file"}.isdisjoint(named),
        "percent": report.has_percent,
    }
    before = [*function_parameters(_leading_options, shared), *report.parameters]
    after = [_format_option(report), *function_parameters(_trailing_options, shared)]
    # What an action names to use it is as the report has it.
    own = [one for one in further if one.name not in {had.name for had in (*before, *after)}]
    wanted = [*before, *own, *after]
    params = [create_click_parameter(one) for one in wanted if is_there.get(one.name, True)]

    def run(context: CommandContext, *, form: str, **given: object) -> None:
        if not report.is_of_system:
            context.lake = context.lake_of_all_systems()
        if action:
            action(context, form=form, **given)
        elif form == "svg":
            from pipeline import plots

            drawn = getattr(plots, f"plot_{name}")(context.run_report(name))
            terminal.write_result_bytes(plots.export_chart(drawn, "svg"))
        else:
            context.print_result(name)

    return Command(name, params=params, help=report.help, callback=run)


def _leading_options(
    *,
    lake: str = DEFAULT_LAKE,
    system: str | None = None,
    names: Path | None = None,
    failures: Failures = "exclude",
) -> None:
    """Return the options that stand before those of a report, such as --lake and --system."""


def _trailing_options(
    *,
    percent: bool = flag_spec(
        "--percent",
        "Values in percent, the best of each column bold; json, csv and parquet have shares.",
    ),
    metric_file: list[Path] | None = None,
) -> None:
    """Return the options that stand after those of a report, such as --metric-file."""


def _format_option(report: "Report") -> Parameter:
    """Return the option --format with the formats of the report."""
    more = {
        "latex (booktabs)": report.is_for_papers,
        "parquet": True,
        "svg (the picture)": report.is_drawn,
    }
    last = [name for name, is_there in more.items() if is_there]
    declared = options.format_option(f"{', '.join(last[:-1])}, or {last[-1]}".removeprefix(", "))
    forms = ("table", "json", "csv", "markdown", *(name.split()[0] for name in last))
    return Parameter("form", Literal[forms], False, "table", declared)
