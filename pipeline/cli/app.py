"""The command line as a whole: its commands, and what becomes of errors."""

import atexit
import gc
import os
import re
import signal
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from types import FrameType

import click
from click.exceptions import Exit
from click.shell_completion import get_completion_class

from pipeline.atomic_files import atomic_write
from pipeline.cli import terminal
from pipeline.cli.command import create_command_by_name
from pipeline.cli.exit_codes import FAILED, INTERRUPTED, WRONG_USAGE
from pipeline.errors import (
    DENIED_HINT,
    PipelineError,
    QueryError,
    UsageError,
    exhausted_resource,
    one_line_message,
)
from pipeline.registry import COMMANDS, COMMANDS_BY_TASK, REPORTS, RESULTS, load_command
from pipeline.version import __version__

# Completion by the Tab key: the script for a shell, and where the shell finds it.

VARIABLE = "_MAGIC_COMPLETE"
"""In the environment where a shell asks what to offer after Tab."""

_OF_A_FOLDER = Path(".config") / "magic"
# The script, and the file that has to read it at the start of a shell; fish looks for it by itself.
_FILES = {
    "bash": (_OF_A_FOLDER / "completion.bash", Path(".bashrc")),
    "zsh": (_OF_A_FOLDER / "completion.zsh", Path(".zshrc")),
    "fish": (Path(".config/fish/completions/magic.fish"), None),
}


def _show(context: click.Context, _param: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        terminal.write_result(_completion_script(context, _user_shell()))
        raise Exit


def _install_completion(context: click.Context, _param: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted:
        return
    shell = _user_shell()
    script, start = Path.home() / _FILES[shell][0], _FILES[shell][1]
    script.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(script) as draft:
        draft.write_text(_completion_script(context, shell))
    if start is not None:
        file, line = Path.home() / start, f"source '{script}'"
        lines = file.read_text().splitlines() if file.exists() else []
        if line not in lines:
            file.write_text("\n".join([*lines, line, ""]))
    terminal.print_note(f"{shell} completion is in {script}: start a new shell to use it")
    raise Exit


def _user_shell() -> str:
    """Return the name of the user's shell; exit with a message if it is not supported."""
    name = Path(os.environ.get("SHELL", "")).name
    if name in _FILES:
        return name
    terminal.print_error(
        f"$SHELL is none of {', '.join(_FILES)}: name one, as in SHELL=bash magic …"
    )
    raise Exit(FAILED)


def _completion_script(context: click.Context, shell: str) -> str:
    found = get_completion_class(shell)
    assert found is not None
    return found(context.command, {}, "magic", VARIABLE).source()


_ENDED_EARLY = (
    "a compiled Python file is cut or a process of magic ended, probably because the disk or "
    "memory was full: free some, delete the folders `__pycache__` of the installation, and run "
    "the command again"
)


class _Group(click.Group):
    """The commands, listed by task in the help; each command is created when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:  # all, to suggest one of them
            if name not in self.commands:
                self.commands[name] = create_command_by_name(name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for task, names in COMMANDS_BY_TASK.items():
            rows = []
            for name in names:
                # A report is not imported: `magic --help` would wait for it.
                text = RESULTS[name].summary if name in REPORTS else load_command(name).__doc__
                short = click.Command(name, help=text).get_short_help_str(
                    formatter.width - 6 - widest
                )
                rows.append((name.ljust(widest), short))
            with formatter.section(task):
                formatter.write_dl(rows)


@click.group(
    cls=_Group,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    __version__, message="%(prog)s %(version)s", help="Print the version and exit."
)
@click.option(
    "--install-completion",
    is_flag=True,
    expose_value=False,
    callback=_install_completion,
    help="Install completion for the current shell.",
)
@click.option(
    "--show-completion",
    is_flag=True,
    expose_value=False,
    callback=_show,
    help="Show completion for the current shell, to copy it or customize the installation.",
)
@click.pass_context
def app(ctx: click.Context) -> None:
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
        terminal.write_result(ctx.get_help() + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; a user's mistake is one line on stderr.

    Without arguments it is the program itself: stdout is kept for results until it ends, and
    SIGTERM and SIGHUP end it as Ctrl-C does, so that it cleans up.
    """
    terminal.replace_unencodable_output()
    codes: list[int] = []
    if arguments is None:
        terminal.reserve_stdout()
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:  # else it is ignored, as by `nohup`
                signal.signal(number, _handle_sigterm)
        # Python would first tear down all modules: 0.15 s of a command that takes 0.8 s. Registered
        # before all others, so that it is called last; after a bug, without a code, Python goes on.
        atexit.register(lambda: os._exit(*codes) if codes else None)
    codes.append(_run_command(sys.argv[1:] if arguments is None else arguments))
    return codes[0]


def _handle_sigterm(_number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM like Ctrl-C.

    The server, Spark and `delay_interrupts` have their own handlers.
    """
    handler = signal.getsignal(signal.SIGINT)
    # A shell lets commands in the background ignore Ctrl-C, and not this.
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _run_command(arguments: Sequence[str]) -> int:
    # What a command imports and plans is no garbage; a collection would search it for 50 ms. An
    # ingest has the most such objects: 124,000.
    gc.set_threshold(200_000)
    try:
        code = _exit_code_of_command([*arguments])
        terminal.flush_results()
    except BrokenPipeError:  # nobody reads the rest, as behind `| head`
        return 0
    except KeyboardInterrupt as error:
        terminal.print_error(": ".join(["interrupted", *error.args]))
        return INTERRUPTED
    except BaseException as error:  # where a thread cannot be started, what is in Rust panics
        if (text := _error_message(error)) is None:
            raise
        terminal.print_error(text, getattr(error, "place", ""))
        return WRONG_USAGE if isinstance(error, (UsageError, click.ClickException)) else FAILED
    return code


def _exit_code_of_command(arguments: list[str]) -> int:
    """Run the command and return its exit code.

    Click's `main` would treat an EOFError as Ctrl-C.
    """
    _check_argument_encoding(arguments)
    if VARIABLE in os.environ:
        app.main(arguments, prog_name="magic")
    try:
        with app.make_context("magic", arguments) as context:
            app.invoke(context)
    except Exit as end:
        return end.exit_code
    return 0


def _error_message(error: BaseException) -> str | None:
    """Return the message for an error, in one line; None for a bug."""
    if isinstance(error, PipelineError):
        return (
            f"{error.message if isinstance(error, QueryError) else error}{_deleted_folder_hint()}"
        )
    if isinstance(error, OSError):
        hint = f"; {DENIED_HINT}" if isinstance(error, PermissionError) else ""
        return f"{one_line_message(error)}{hint}{_deleted_folder_hint()}"
    if isinstance(error, EOFError):
        return _ENDED_EARLY
    if text := exhausted_resource(error):
        return text
    return _usage_message(error) if isinstance(error, click.ClickException) else None


def _check_argument_encoding(arguments: Sequence[str]) -> None:
    """Raise UsageError for an argument that is neither UTF-8 nor the name of an existing file."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            if not os.path.lexists(argument):  # a file may have any name
                raise UsageError(f"{argument!a} is neither valid UTF-8 nor a file") from None


def _deleted_folder_hint() -> str:
    """Return a hint if the current folder was deleted, otherwise an empty string."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "; the current folder was deleted: change to one that exists"
    return ""


def _usage_message(error: click.ClickException) -> str:
    """Return a usage error of click as a message with a hint."""
    if isinstance(error, click.NoSuchOption):
        # Click compares the dashes too, so that any two short names seem similar.
        name = error.option_name.lstrip("-")
        named = {one.lstrip("-"): one for one in error.possibilities or ()}
        near = [named[close] for close in get_close_matches(name, named)]
        error = click.NoSuchOption(error.option_name, possibilities=near, ctx=error.ctx)
    text = error.format_message().strip().rstrip(".")
    text = re.sub(r"\. \(?Did you mean (.*\?)\)?", r": did you mean \1", text)
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "magic"
    hint = "" if text.endswith("?") else f"; see `{command} --help`"
    return f"{text[:1].lower()}{text[1:]}{hint}"
