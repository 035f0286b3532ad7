"""The command line as a whole: its commands, and what becomes of errors."""

import atexit
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from pkgutil import iter_modules
from threading import current_thread, main_thread
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from pipeline.cli import commands, terminal
from pipeline.cli.damage import with_damage
from pipeline.cli.exits import FAILED, INTERRUPTED, WRONG_USAGE
from pipeline.cli.options import with_safe
from pipeline.errors import DENIED_HINT, EMPTY, PipelineError, QueryError, UsageError
from pipeline.library_errors import lack, reason
from pipeline.version import __version__

# In the environment where a shell asks what to offer after Tab.
_COMPLETION = "_MAGIC_COMPLETE"

TASKS = {
    "Logs": ("ingest", "documents", "quarantine", "convert", "validate", "simulate"),
    "Numbers": ("leaderboard", "metrics", "compare", "plan", "completeness", "diff"),
    "Games behind them": ("games", "evidence", "show", "search", "audit"),
    "Tables": ("sql", "tables", "schema", "catalog"),
    "To show and to quote": ("view", "report", "cite"),
    "Upkeep": ("verify", "maintain"),
}
"""The commands by what they are for, as the help lists them."""


_ENDED_EARLY = (
    "a compiled Python file is cut or a process of magic ended, probably because the disk or "
    "memory was full: free some, delete the folders `__pycache__` of the installation, and run "
    "the command again"
)


class _Group(TyperGroup):
    """The commands, which the help lists by task."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        widest = max(map(len, self.commands))
        room = formatter.width - 6 - widest
        for task, names in TASKS.items():
            helps = [self.commands[name].get_short_help_str(room) for name in names]
            padded = [name.ljust(widest) for name in names]
            with formatter.section(task):
                formatter.write_dl([*zip(padded, helps, strict=True)])


app = typer.Typer(
    name="magic",
    cls=_Group,
    rich_markup_mode=None,  # plain help starts twice as fast
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        terminal.out(f"magic {__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def magic(
    ctx: typer.Context,
    version: Annotated[
        bool,
        Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Turn raw logs of multi-agent games into tables and metrics.

    \b
    Examples:
      magic ingest results/        read logs into the lake `lake/`
      magic leaderboard            models by metrics
      magic sql "SELECT model, count(*) FROM votes GROUP BY model"
      magic COMMAND --help         help on a command, with examples

    Results go to stdout, notes and progress to stderr. Exit codes: 0 done, 1 failed, 2 wrong
    usage, 3 done but some input was quarantined (--strict), 4 done and the check failed (diff
    --fail-on-regression, completeness --fail-if-incomplete, validate, verify), 5 no damage but
    some logs contradict themselves (verify), 130 interrupted.
    """
    if ctx.invoked_subcommand is None:
        terminal.out(ctx.get_help() + "\n")


for _module in iter_modules(commands.__path__):
    _name = _module.name
    _module_of = import_module(f"{commands.__name__}.{_name}")
    _command = with_safe(with_damage(terminal.for_results_alone()(getattr(_module_of, _name))))
    app.command(_name, cls=getattr(_module_of, "Command", None))(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code; a user's mistake is one line on stderr.

    Without arguments it is the program itself, and stdout is kept for results until it ends.
    """
    terminal.prepare()
    codes: list[int] = []
    if arguments is None:
        terminal.guard()
        atexit.register(_end_at_once, codes)  # before all others, so that it is called after them
    with _ended_as_by_ctrl_c():
        codes.append(_run(arguments))
    return codes[0]


def _end_at_once(codes: Sequence[int]) -> None:
    """Ends the process with its exit code; without one, after a bug, Python ends it.

    Python would first tear down all modules: 0.15 s of a command that takes 0.8 s.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if codes:
        os._exit(codes[0])


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP end the command like Ctrl-C, so that it cleans up.

    A signal that is already handled, or ignored as by `nohup`, is left alone.
    """
    signals = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if current_thread() is main_thread() and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in signals:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)


def _run(arguments: Sequence[str] | None) -> int:
    # What a command imports and plans is no garbage; a collection would search it for 50 ms. An
    # ingest has the most such objects: 124,000.
    gc.set_threshold(200_000)
    try:
        code = _called([*(sys.argv[1:] if arguments is None else arguments)])
        terminal.flush()
    except BrokenPipeError:
        terminal.silence()
        return 0
    except (KeyboardInterrupt, typer.Abort) as error:
        terminal.complain(": ".join(["interrupted", *error.args]))
        return INTERRUPTED
    except BaseException as error:  # where a thread cannot be started, what is in Rust panics
        if (text := _complaint(error)) is None:
            raise
        terminal.complain(text, getattr(error, "place", ""))
        return WRONG_USAGE if isinstance(error, UsageError) or _is_of_typer(error) else FAILED
    return code


def _called(arguments: list[str]) -> int:
    """The exit code of the command; typer's `main` would take an EOFError for Ctrl-C."""
    _check_text(arguments)
    command = typer.main.get_command(app)
    _check_paths(command, arguments)
    if _COMPLETION in os.environ:
        command.main(arguments, prog_name="magic")
    try:
        with command.make_context("magic", arguments) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return 0


def _complaint(error: BaseException) -> str | None:
    """What to do about an error, in a line; null for a bug."""
    if isinstance(error, PipelineError):
        return f"{error.message if isinstance(error, QueryError) else error}{_gone()}"
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, EOFError):
        return _ENDED_EARLY
    if text := lack(error):
        return text
    return _usage(error) if _is_of_typer(error) else None


def _is_of_typer(error: BaseException) -> bool:
    return hasattr(error, "format_message")  # its class has no public name


def _check_text(arguments: Sequence[str]) -> None:
    """Raises UsageError for an argument that is neither UTF-8 nor an existing file."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            if not os.path.lexists(argument):  # a file may have any name
                raise UsageError(f"{argument!a} is neither valid UTF-8 nor a file") from None


def _check_paths(group: Any, arguments: Sequence[str]) -> None:
    """Raises UsageError for an option with an empty path, which would be the current folder."""
    name = next(iter(arguments), "")
    for option, value in pairwise(part for text in arguments for part in _parts(text)):
        if not value and name in group.commands:
            params = group.commands[name].params
            if any(param.metavar in ("DIR", "FILE") and option in param.opts for param in params):
                raise UsageError(f"the path of {option} {EMPTY}")


def _parts(argument: str) -> list[str]:
    """An option and its value, if both are in one argument."""
    return argument.split("=", 1) if argument.startswith("--") else [argument]


def _of_system(error: OSError) -> str:
    """The operating system's complaint, the file first."""
    hint = f"; {DENIED_HINT}" if isinstance(error, PermissionError) else ""
    where = "" if error.filename is None else f"{error.filename}: "
    return f"{where}{reason(error)}{hint}{_gone()}"


def _gone() -> str:
    """The end of an error message if the current folder was deleted, else empty."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "; the current folder was deleted: change to one that exists"
    return ""


def _usage(error: Any) -> str:
    """Typer's complaint in our form: a fact, then a hint."""
    text = error.format_message().replace("Value error, ", "").strip().rstrip(".")
    text = text.replace(". Did you mean", ": did you mean")
    text = text.replace("Input should be", "it should be").partition(", unable")[0]
    command = error.ctx.command_path if getattr(error, "ctx", None) else "magic"
    hint = "" if text.endswith("?") else f"; see `{command} --help`"
    return f"{text[:1].lower()}{text[1:]}{hint}"
