"""Click commands that are created from functions and reports, and the context that they run in.

The signature of a function defines the options, and its docstring is the help text. `cli.app`
creates the commands; functions in `cli.commands` use `CommandContext` to compute and print results.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from functools import cached_property, partial
from importlib import import_module
from inspect import cleandoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click
from click.shell_completion import CompletionItem

from pipeline.cli import options, terminal
from pipeline.cli.options import DEFAULT_LAKE, SHARED_OPTIONS
from pipeline.errors import EMPTY_PATH_HINT, UsageError, reraise_as_lake_read_errors
from pipeline.parameters import Parameter, ParameterSpec, flag_spec, parameters_with_specs
from pipeline.registry import (
    COMMANDS_WITHOUT_GAMES,
    OMITTED_VIEW_OPTIONS,
    REPORTS,
    RESULTS,
    load_command_function,
    load_result_function,
)
from pipeline.text_format import to_json_text

if TYPE_CHECKING:
    import polars as pl

    from pipeline.api import Lake
    from pipeline.ingest.decode import IngestSummary
    from pipeline.lake import StoredLake
    from pipeline.render.table import Table
    from pipeline.reports.registry import Report

_MAX_IGNORED_REASONS = 3
UNKNOWN_FORMAT_NOTE = (
    "if the ignored documents are logs of games, convert them to interchange JSON with a script "
    "and ingest the result; `magic convert --example` prints an example, and docs/interchange.md "
    "describes the format"
)
"""A note for documents that no format can parse."""


def print_ingest_counts(summary: "IngestSummary", form: str) -> None:
    """Print how many documents and games an ingest has read, stored and ignored.

    Args:
        summary: The summary of the ingest; its id is None if nothing was committed.
        form: `json` for an object with all counts; otherwise one row for each count, where formats
            for people omit zeros.

    Raises:
        OutputError: If stdout cannot be written; the message says whether the ingest is committed.
    """
    import polars as pl

    from pipeline.cli.output import print_table
    from pipeline.render.table import Table
    from pipeline.serialization import escape_terminal_json

    completed_work = "all sources were read"
    if summary.ingest_id is not None:
        completed_work = f"ingest {summary.ingest_id} is committed"
    with terminal.mention_completed_work_in_output_error(completed_work):
        if form == "json":
            # The fields have the names of the columns of the table `ingests`.
            record = {
                "ingest_id": summary.ingest_id,
                "n_documents": summary.n_seen,
                **{f"n_{status}": n for status, n in summary.statuses.items()},
                "n_superseded": summary.n_superseded,
                "n_faulty_parts": summary.n_faulty_parts,
                "n_in_other_form": summary.n_in_other_form,
                "n_read_votes": summary.n_read_votes,
                "n_undecided_votes": summary.n_undecided_votes,
                "n_bytes": summary.n_bytes,
                "new_games": dict(summary.games.iter_rows()),
                "ignored": summary.ignored.to_dicts(),
            }
            terminal.write_result_bytes(f"{escape_terminal_json(to_json_text(record))}\n".encode())
            return
        counts = [
            ("documents", "seen", summary.n_seen),
            *(("documents", status, n) for status, n in summary.statuses.items()),
            *(("new games", game_type, n) for game_type, n in summary.games.iter_rows()),
            ("repeated games", None, summary.n_in_other_form),
            ("superseded games", None, summary.n_superseded),
            ("faulty parts", None, summary.n_faulty_parts),
        ]
        schema = {"counted": pl.String, "kind": pl.String, "n": pl.Int64}
        rows = pl.DataFrame(counts, schema, orient="row")
        print_table(Table("", rows, brief=lambda rows: rows.filter(rows["n"] > 0)), form)


def print_upgrade_note(previous_version: str | None) -> None:
    """Print a note if the lake had another contract version before the command.

    Args:
        previous_version: The contract version before the command; None if the lake is new.
    """
    from pipeline.events.contracts import VERSION

    if previous_version not in (None, str(VERSION)):
        terminal.print_note(
            f"the contract version of the lake was upgraded from {previous_version} to {VERSION}; "
            f"older versions of magic, which read only lakes up to {previous_version}, can no "
            "longer open it, so update magic wherever this lake is read"
        )


def ignored_reason_notes(summary: "IngestSummary") -> list[str]:
    """Return a note for each of the most frequent reasons why an ingest ignored documents.

    Each note has the number of documents and an example; a last note counts all other documents.
    """
    most_frequent = summary.ignored.head(_MAX_IGNORED_REASONS)
    notes = [
        f"{n_documents:,} ignored: {reason}, for example {example}"
        for reason, n_documents, example in most_frequent.iter_rows()
    ]
    if n_remaining := summary.statuses["ignored"] - most_frequent["n_documents"].sum():
        notes.append(f"{n_remaining:,} ignored for other reasons")
    return notes


def rebuild_catalog_if_present(lake: str) -> None:
    """Rebuild the DuckDB database `magic.duckdb` of a changed lake, if the lake has one.

    A lake without this catalogue gets none, because it takes a second and many users need none.

    Args:
        lake: The path or URL of the lake.
    """
    from pipeline.lake.tables import CATALOG_FILE_NAME
    from pipeline.stores import parse_location

    if CATALOG_FILE_NAME not in parse_location(lake).list_names():
        return
    # Imported only here, because most lakes have no catalogue.
    from pipeline.catalog import rebuild_catalog_after_ingest

    if note := rebuild_catalog_after_ingest(lake):
        terminal.print_note(note)


_NUMBER_TYPES: dict[Any, tuple[str, Any, Any]] = {
    int: ("integer", click.types.IntParamType, click.IntRange),
    float: ("number", click.types.FloatParamType, click.FloatRange),
}
_PATH_TYPE_BY_METAVAR = {
    "DIR": "dir",
    "[LAKE [LAKE]]": "dir",
    "FILE": "file",
    "SOURCE": "file",
    "DEST": "file",
}
"""What the shell completes for each placeholder that stands for a path."""


def create_command_from_function(function: Callable[..., None]) -> "Command":
    """Create a click command whose options and arguments are the parameters of a function.

    Args:
        function: The function. Its name is the name of the command, and its docstring the help.
    """
    name = function.__name__
    parameters = parameters_with_specs(function, SHARED_OPTIONS)
    if name not in COMMANDS_WITHOUT_GAMES:
        view_options = {
            parameter.name: parameter for parameter in _view_option_parameters(name, SHARED_OPTIONS)
        }
        # The function can have a specification of its own, such as of its default system.
        view_options |= {
            parameter.name: parameter for parameter in parameters if parameter.name in view_options
        }
        further = [parameter for parameter in parameters if parameter.name not in view_options]
        n_leading = [parameter.name for parameter in further].index("lake") + 1
        parameters = [*further[:n_leading], *view_options.values(), *further[n_leading:]]
    return Command(
        name,
        params=[create_click_parameter(parameter) for parameter in parameters],
        help=cleandoc(function.__doc__ or ""),
        callback=function,
    )


def create_click_parameter(parameter: Parameter) -> click.Parameter:
    """Create the click option or argument for a parameter of a command's function."""
    name, value_type, is_repeatable, default, spec = parameter
    common: dict[str, Any] = {
        "type": spec.parse or _click_type(value_type, spec),
        "metavar": spec.metavar or None,
        "help": spec.help,
        "required": default is ...,
        "callback": lambda _context, _param, value: spec.validated_value(
            value, is_several=is_repeatable, default=default
        ),
    }
    if spec.suggested is not None:
        common["shell_complete"] = partial(_complete_from_source, spec.suggested)
    elif path_type := _PATH_TYPE_BY_METAVAR.get(spec.metavar):
        # The shell itself completes an item of such a type.
        common["shell_complete"] = lambda _context, _param, text: [
            CompletionItem(text, type=path_type)
        ]
    if default is not ... and not is_repeatable:
        common["default"] = default
    if spec.is_argument:
        if "[" not in (metavar := spec.metavar):
            common["metavar"] = (
                metavar if default is ... else f"[{metavar}]"
            ) + "..." * is_repeatable
        return click.Argument([name], nargs=-1 if is_repeatable else 1, **common)
    flag = f"--{name.replace('_', '-')}"
    if value_type is bool:
        flag += f"/--no-{flag[2:]}" if default is True else ""
        del common["type"], common["required"]
        common["is_flag"] = True
    return click.Option(
        [name, *(spec.names or [flag])],
        multiple=is_repeatable,
        envvar=spec.variable,
        show_envvar=spec.variable is not None,
        show_default=spec.shows_default and default is not None,
        **common,
    )


def _complete_from_source(
    source: str, context: click.Context, _param: object, incomplete: str
) -> list[str]:
    """Return the values for shell completion that begin with the typed text.

    The `source` is a key of `options.COMPLETION_FUNCTIONS`, or `module.name` of a list of values.
    """
    module, _, name = source.rpartition(".")
    names: Any
    if module:
        names = getattr(import_module(f"pipeline.{module}"), name)
        names = names() if callable(names) else names
    else:
        names = options.COMPLETION_FUNCTIONS[name](context, incomplete)
    return [name for name in names if name.startswith(incomplete)]


class PathType(click.ParamType[Any]):
    """A path or URL; an empty string is an error, because it would mean the current folder."""

    name = "path"

    def __init__(self, path_class: type[str] | type[Path]) -> None:
        self._path_class = path_class

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert the value to the path class; raise UsageError for an empty string."""
        if not str(value):
            raise UsageError(f"the path of {param and param.opts[-1]} {EMPTY_PATH_HINT}")
        return self._path_class(value)


def _click_type(value_type: Any, spec: ParameterSpec) -> Any:
    """Return the click type that parses values of a Python type, such as an `IntRange` for int."""
    if get_origin(value_type) is tuple:
        return tuple(_click_type(member, spec) for member in get_args(value_type))
    if get_origin(value_type) is Literal:
        return click.Choice(get_args(value_type))
    if spec.metavar in ("DIR", "FILE") and not spec.is_argument:
        return PathType(value_type)
    if value_type not in _NUMBER_TYPES:
        return click.STRING
    name, unbounded_type, range_type = _NUMBER_TYPES[value_type]
    is_bounded = spec.min is not None or spec.max is not None
    number_type = range_type(spec.min, spec.max) if is_bounded else unbounded_type()
    number_type.name = name  # Used in messages about values that are not numbers.
    return number_type


_SAFE_HELP = "With --format csv: neutralize cells that a spreadsheet would run as formulas."


class Command(click.Command):
    """A command of `magic`; commands that write CSV also have the option --safe.

    The metrics of --metric-file are registered while the command runs. Errors of libraries that
    cannot read a lake are replaced by errors with a message for users, see `errors.read_error`. A
    function with a parameter `context` gets a `CommandContext` as its first argument.
    """

    def __init__(self, name: str, *, params: list[click.Parameter], **attributes: Any) -> None:
        if any("csv" in getattr(param.type, "choices", ()) for param in params):
            params.append(click.Option(["--safe"], is_flag=True, default=False, help=_SAFE_HELP))
        super().__init__(name, params=params, **attributes)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line; an argument that begins with an SQL comment is not an option."""
        has_query = any(param.name == "query" for param in self.params)
        queries = [
            argument for argument in args if has_query and _begins_with_sql_comment(argument)
        ]
        arguments = [argument for argument in args if argument not in queries]
        # While the shell completes the value of the last option, the option has no value yet, and
        # click would drop all arguments before it.
        if ctx.resilient_parsing and arguments and arguments[-1].startswith("--"):
            arguments.pop()
        separator = ["--"] if queries and "--" not in arguments else []
        return super().parse_args(ctx, [*arguments, *separator, *queries])

    def invoke(self, ctx: click.Context) -> None:
        """Call the command's function, with the metrics of --metric-file registered."""
        values, function = dict(ctx.params), self.callback
        assert function is not None
        if values.pop("safe", False):
            if values["form"] != "csv":
                raise UsageError("--safe works only with --format csv")
            values["form"] = options.SAFE_CSV
        if ctx.get_parameter_source("lake") is click.core.ParameterSource.COMMANDLINE:
            terminal.add_lake_to_suggested_commands(values["lake"])
        with (
            reraise_as_lake_read_errors(),
            redirect_stdout(terminal.library_output_stream()),
            _metric_file_context(**values),
        ):
            parameters = signature(function).parameters
            contexts = [CommandContext(**values)] if "context" in parameters else []
            if not any(
                parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()
            ):
                # The view options are for the context.
                values = {name: values[name] for name in values if name in parameters}
            ctx.invoke(function, *contexts, **values)


def _begins_with_sql_comment(argument: str) -> bool:
    name, _, _ = argument.partition("=")
    return name.startswith("--") and (name[2:3].isspace() or "\n" in name)


def _metric_file_context(
    *,
    metric_file: Sequence[Path] | None = None,
    lake: str = "",
    lakes: Sequence[str] | None = None,
    **_: Any,
) -> AbstractContextManager[None]:
    """Return a context manager that registers the metrics of files for the last of the lakes."""
    if not metric_file:
        return nullcontext()
    from pipeline.api import open_lake
    from pipeline.metrics.registry import register_lake_metrics_temporarily

    # Only `magic diff` has several lakes.
    opened_lake = open_lake((lakes or [lake])[-1])
    for file in metric_file:
        opened_lake = opened_lake.with_metric_file(file)
    return register_lake_metrics_temporarily(opened_lake)


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
        **arguments: Any,
    ) -> None:
        self._path, self._form, self._arguments = lake, form, arguments
        self._view_options = {
            name: arguments[name] for name in options.VIEW_OPTIONS if name in arguments
        }
        if arguments.get("engine", ...) is None:
            del arguments["engine"]  # So that the report uses its default.

    @property
    def has_view_options(self) -> bool:
        """Whether a view option has another value than its default."""
        return any(
            value != options.VIEW_OPTIONS[name] for name, value in self._view_options.items()
        )

    @cached_property
    def lake(self) -> "StoredLake":
        """The lake; for a command with --system, only the games of one system."""
        if "system" in self._arguments:
            return options.open_lake_of_system(self._path, self._view_options)
        return self.open_lake_of_all_systems()

    def open_lake_of_all_systems(self) -> "StoredLake":
        """Open the lake with the games of all systems, unless --system names one."""
        from pipeline.lake import open_lake

        return options.apply_view_options(open_lake(self._path), self._view_options)

    def open_lake_with_methods(self) -> "Lake":
        """Open the lake as `open_lake_of_all_systems` does, with the methods of `pipeline.Lake`."""
        from pipeline.api import open_lake

        return options.apply_view_options(open_lake(self._path), self._view_options)

    def compute_result(self, name: str, *arguments: Any, **keywords: Any) -> Any:
        """Call the function of a result with those options of the command that it accepts.

        Args:
            name: The name of the result in `registry.RESULTS`.
            *arguments: Positional arguments after the lake.
            **keywords: Keyword arguments, which override options.

        Returns:
            What the function returns.
        """
        function = load_result_function(name)
        parameters = signature(function).parameters
        names = set(parameters)
        for parameter in parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:  # such as `**choices: Unpack[Choices]`
                for typed_dict in get_args(parameter.annotation):
                    names |= typed_dict.__annotations__.keys()
        report_options = {key: self._arguments[key] for key in self._arguments if key in names}
        return function(self.lake, *arguments, **report_options | keywords)

    def build_table(self, name: str, rows: "pl.DataFrame", **keywords: Any) -> "Table":
        """Build the table of a result with its notes; see `pipeline.render.build_result_table`.

        For a command with --system, a note lists the games of the lake that no metric counts.
        """
        from pipeline.render import build_result_table

        lake = self.lake if "system" in self._arguments else None
        return build_result_table(name, rows, **{"lake": lake, **self._arguments, **keywords})

    def print_result(self, name: str, *arguments: Any, **keywords: Any) -> None:
        """Compute a result of `registry.RESULTS` and print its table."""
        result = self.compute_result(name, *arguments, **keywords)
        self.print_table(self.build_table(name, result, **keywords))

    def print_rows(self, name: str, rows: "pl.DataFrame", **fields: Any) -> None:
        """Print rows of any data frame; `fields` are keyword arguments of `Table.from_frame`."""
        from pipeline.render.table import Table

        self.print_table(Table.from_frame(name, rows, **fields))

    def print_table(self, table: "Table") -> None:
        """Print a table in the format of the option --format."""
        from pipeline.cli import output

        output.print_table(table, self._form)

    def print_result_in_parts(
        self, name: str, parts: "Iterator[pl.DataFrame]", **keywords: Any
    ) -> int | None:
        """Print the parts of a result; return the number of rows, or None if it was truncated."""
        from pipeline.cli import output

        return output.print_rows_in_parts(
            parts, self._form, partial(self.build_table, name, **keywords)
        )


def create_registered_command(name: str) -> click.Command:
    """Create the click command with this name from its function or its report.

    The command of a report has the parameters of the report; it can have a function in addition.

    Args:
        name: A name in `registry.COMMANDS`.
    """
    action = load_command_function(name)
    if name not in REPORTS:
        return create_command_from_function(action)
    from pipeline.reports.registry import find_report

    report = find_report(name)
    shared = (
        SHARED_OPTIONS
        if report.is_of_system
        else {**SHARED_OPTIONS, "system": options.ANY_SYSTEM_OPTION}
    )
    # The function of a command can print other reports of its module, so it can have their options.
    module = RESULTS[name].module
    module_reports = [
        find_report(report_name) for report_name in REPORTS if RESULTS[report_name].module == module
    ]
    module_specs = {
        parameter.name: parameter.spec
        for module_report in module_reports
        for parameter in module_report.parameters
    }
    action_parameters = parameters_with_specs(action, {**module_specs, **shared}) if action else []
    names = {parameter.name for parameter in (*report.parameters, *action_parameters)}
    has_option = {
        "failures": "edition" in names,
        "metric_file": not {"metric", "metric_file"}.isdisjoint(names),
        "percent": report.has_percent,
    }
    leading = [
        *parameters_with_specs(_signature_of_lake_option, shared),
        *_view_option_parameters(name, shared),
        *report.parameters,
    ]
    trailing = [
        _create_format_parameter(report),
        *parameters_with_specs(_signature_of_trailing_options, shared),
    ]
    # A parameter that the report or the shared options have already is not added twice.
    described_names = {parameter.name for parameter in (*leading, *trailing)}
    further = [
        parameter for parameter in action_parameters if parameter.name not in described_names
    ]
    params = [
        create_click_parameter(parameter)
        for parameter in (*leading, *further, *trailing)
        if has_option.get(parameter.name, True)
    ]

    def run(context: CommandContext, *, form: str, **values: object) -> None:
        if not report.is_of_system:
            context.lake = context.open_lake_of_all_systems()
        if action:
            action(context, form=form, **values)
        elif form == "svg":
            from pipeline import plots

            chart = getattr(plots, f"plot_{name}")(context.compute_result(name))
            terminal.write_result_bytes(plots.export_chart(chart, "svg"))
        else:
            context.print_result(name)

    return Command(name, params=params, help=report.help, callback=run)


def _view_option_parameters(
    command_name: str, specs: Mapping[str, ParameterSpec]
) -> list[Parameter]:
    """Return the parameters of the view options that a command has."""
    return [
        parameter
        for parameter in parameters_with_specs(options.signature_of_view_options, specs)
        if parameter.name not in OMITTED_VIEW_OPTIONS.get(command_name, ())
    ]


def _signature_of_lake_option(*, lake: str = DEFAULT_LAKE) -> None:
    """Define by its signature the option before the view options; it is never called."""


def _signature_of_trailing_options(
    *,
    percent: bool = flag_spec(
        "--percent",
        "Print values in percent, with the best of each column in bold; json, csv and parquet "
        "contain shares.",
    ),
    metric_file: list[Path] | None = None,
) -> None:
    """Define by its signature the options after those of a report; it is never called."""


def _create_format_parameter(report: "Report") -> Parameter:
    """Create the parameter of the option --format, with the formats that the report has."""
    is_available = {
        "latex (booktabs)": report.is_for_papers,
        "parquet": True,
        "svg (the picture)": report.is_drawn,
    }
    further = [name for name in is_available if is_available[name]]
    spec = options.format_option(f"{', '.join(further[:-1])}, or {further[-1]}".removeprefix(", "))
    forms = ("table", "json", "csv", "markdown", *(name.split()[0] for name in further))
    return Parameter("form", Literal[forms], False, "table", spec)
