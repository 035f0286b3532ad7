"""The group of all commands, shell completion, signals, and the messages and codes of errors.

`pipeline.cli.main` and tests run `main`. Commands are created by `pipeline.cli.command`.
"""

import atexit
import gc
import os
import re
import signal
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from difflib import get_close_matches
from pathlib import Path
from types import FrameType

import click
from click.exceptions import Exit
from click.shell_completion import get_completion_class

from pipeline.atomic_files import atomic_write
from pipeline.cli import terminal
from pipeline.cli.command import create_registered_command
from pipeline.cli.exit_codes import FAILED, INTERRUPTED, WRONG_USAGE
from pipeline.errors import (
    DENIED_HINT,
    PipelineError,
    QueryError,
    UsageError,
    exhausted_resource_message,
    one_line_message,
)
from pipeline.registry import COMMANDS, COMMANDS_BY_TASK, REPORTS, RESULTS, load_command_function
from pipeline.version import __version__

_COMPLETION_VARIABLE = "_MAGIC_COMPLETE"
"""The environment variable with which a shell requests completions."""

# For each shell, the completion script and the startup file that must read it, in the home folder.
# Fish finds the script without a startup file.
_COMPLETION_FILES = {
    "bash": (Path(".config/magic/completion.bash"), Path(".bashrc")),
    "zsh": (Path(".config/magic/completion.zsh"), Path(".zshrc")),
    "fish": (Path(".config/fish/completions/magic.fish"), None),
}


def _show_completion(context: click.Context, _param: click.Parameter, is_requested: bool) -> None:
    if is_requested:
        terminal.write_result(_completion_script(context, _shell_with_completion()))
        raise Exit


def _install_completion(
    context: click.Context, _param: click.Parameter, is_requested: bool
) -> None:
    if not is_requested:
        return
    shell = _shell_with_completion()
    script_name, startup_name = _COMPLETION_FILES[shell]
    script = Path.home() / script_name
    script.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(script) as draft:
        draft.write_text(_completion_script(context, shell))
    if startup_name is not None:
        startup_file, source_line = Path.home() / startup_name, f"source '{script}'"
        lines = startup_file.read_text().splitlines() if startup_file.exists() else []
        if source_line not in lines:
            startup_file.write_text("\n".join([*lines, source_line, ""]))
    terminal.print_note(
        f"the completion for {shell} was written to {script}; start a new shell to use it"
    )
    raise Exit


def _shell_with_completion() -> str:
    """Return the name of the user's shell; print an error and exit if it has no completion."""
    name = Path(os.environ.get("SHELL", "")).name
    if name in _COMPLETION_FILES:
        return name
    terminal.print_error(
        f"$SHELL is not one of {', '.join(_COMPLETION_FILES)}; "
        "name a shell as in SHELL=bash magic …"
    )
    raise Exit(FAILED)


def _completion_script(context: click.Context, shell: str) -> str:
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    return completion_class(context.command, {}, "magic", _COMPLETION_VARIABLE).source()


_TRUNCATED_DATA_MESSAGE = (
    "a compiled Python file is truncated or a process of magic was killed, probably because the "
    "disk or memory was full: free some space, delete the folders `__pycache__` of the "
    "installation, and run the command again"
)


class _Group(click.Group):
    """The commands, listed by task in the help; each command is created when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        # For an unknown name all commands are created, because click suggests similar ones.
        for name in [cmd_name] if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                # Libraries that the command imports can print.
                with redirect_stdout(terminal.library_output_stream()):
                    self.commands[name] = create_registered_command(name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        name_width = max(map(len, COMMANDS))
        for task, names in COMMANDS_BY_TASK.items():
            rows = []
            for name in names:
                # Reports are not imported, because that would delay `magic --help`.
                text = (
                    RESULTS[name].summary
                    if name in REPORTS
                    else load_command_function(name).__doc__
                )
                summary = click.Command(name, help=text).get_short_help_str(
                    formatter.width - 6 - name_width
                )
                rows.append((name.ljust(name_width), summary))
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
    callback=_show_completion,
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
    """Run a command and return its exit code; expected errors are printed as one line on stderr.

    Args:
        arguments: The arguments without the program's name. None means that the process is the
            program `magic`: it takes its arguments from `sys.argv`, reserves stdout for results
            until it exits, and handles SIGTERM and SIGHUP like Ctrl-C, so that it cleans up.

    Returns:
        An exit code of `pipeline.cli.exit_codes`, or 0.
    """
    terminal.make_output_replace_unencodable_characters()
    codes: list[int] = []
    if arguments is None:
        terminal.reserve_stdout_for_results()
        for number in (signal.SIGTERM, signal.SIGHUP):
            # A signal that was ignored at the start, for example by `nohup`, stays ignored.
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _call_ctrl_c_handler)
        # Skips the teardown of all modules, which takes 0.15 s of a command of 0.8 s. It is called
        # after all other exit functions, because it is registered first. After a bug there is no
        # exit code, so Python exits as usual.
        atexit.register(lambda: os._exit(*codes) if codes else None)
    codes.append(_run_and_print_expected_errors(sys.argv[1:] if arguments is None else arguments))
    return codes[0]


def _call_ctrl_c_handler(_number: int, frame: FrameType | None) -> None:
    """Treat SIGTERM or SIGHUP like Ctrl-C, by calling its current handler.

    The server, Spark and `delay_interrupts` install their own handlers of Ctrl-C.
    """
    handler = signal.getsignal(signal.SIGINT)
    # A shell starts background commands with SIGINT ignored; SIGTERM must end them nevertheless.
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _run_and_print_expected_errors(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; print the message of an expected error."""
    # A garbage collection takes 50 ms and finds nothing, because a command needs all objects that
    # it creates while it starts. An ingest creates the most: 124,000.
    gc.set_threshold(200_000)
    try:
        code = _invoke_click_command([*arguments])
        terminal.flush_results()
    except BrokenPipeError:  # The reader has closed the pipe, as `| head` does.
        return 0
    except KeyboardInterrupt as error:
        terminal.print_error(": ".join(["interrupted", *error.args]))
        return INTERRUPTED
    except BaseException as error:  # Includes panics of Rust code, if it cannot start a thread.
        if (message := _expected_error_message(error)) is None:
            raise
        terminal.print_error(message, getattr(error, "place", ""))
        return WRONG_USAGE if isinstance(error, (UsageError, click.ClickException)) else FAILED
    return code


def _invoke_click_command(arguments: list[str]) -> int:
    """Run a command by click and return its exit code; exceptions are not caught.

    `main` of click is used only for completion, because it would report an EOFError as Ctrl-C.
    """
    _check_argument_encoding(arguments)
    if _COMPLETION_VARIABLE in os.environ:
        app.main(arguments, prog_name="magic")
    try:
        with app.make_context("magic", arguments) as context:
            app.invoke(context)
    except Exit as exit_request:
        return exit_request.exit_code
    return 0


def _expected_error_message(error: BaseException) -> str | None:
    """Return a one-line message for an error of the user or the system; None for a bug."""
    if isinstance(error, PipelineError):
        message = error.message if isinstance(error, QueryError) else error
        return f"{message}{_hint_if_current_folder_was_deleted()}"
    if isinstance(error, OSError):
        hint = f"; {DENIED_HINT}" if isinstance(error, PermissionError) else ""
        return f"{one_line_message(error)}{hint}{_hint_if_current_folder_was_deleted()}"
    if isinstance(error, EOFError):
        return _TRUNCATED_DATA_MESSAGE
    if resource_message := exhausted_resource_message(error):
        return resource_message
    return _click_error_message(error) if isinstance(error, click.ClickException) else None


def _check_argument_encoding(arguments: Sequence[str]) -> None:
    """Raise UsageError for an argument that is neither UTF-8 nor the name of an existing file."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            # The name of a file can contain any bytes.
            if not os.path.lexists(argument):
                raise UsageError(f"{argument!a} is neither valid UTF-8 nor a file") from None


def _hint_if_current_folder_was_deleted() -> str:
    try:
        Path.cwd()
    except FileNotFoundError:
        return "; the current folder was deleted: change to one that exists"
    return ""


def _click_error_message(error: click.ClickException) -> str:
    """Return the message of a usage error of click, with similar names or a hint at --help."""
    if isinstance(error, click.NoSuchOption):
        # Compared again without dashes, because with them click finds any two short names similar.
        options = {option.lstrip("-"): option for option in error.possibilities or ()}
        similar_names = get_close_matches(error.option_name.lstrip("-"), options)
        error = click.NoSuchOption(
            error.option_name,
            possibilities=[options[name] for name in similar_names],
            ctx=error.ctx,
        )
    message = error.format_message().strip().rstrip(".")
    message = re.sub(r"\. \(?Did you mean (.*\?)\)?", r": did you mean \1", message)
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "magic"
    hint = "" if message.endswith("?") else f"; see `{command} --help`"
    return f"{message[:1].lower()}{message[1:]}{hint}"
