"""The prompt of `magic sql`: it reads until a semicolon, or one line that begins with a dot."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.cli import terminal
from pipeline.cli.options import Form
from pipeline.cli.workspace import Workspace
from pipeline.errors import PipelineError, QueryError

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.output import Output

    from pipeline.sandbox import Sandbox

LEAVING = (".quit", ".exit", "quit", "exit")


def converse(
    sandbox: "Sandbox", lake: str, form: Form, parameters: dict[str, str] | None = None
) -> None:
    """Asks for queries and answers them until the user leaves; a wrong one is a line on stderr."""
    from pipeline.lake import open_lake

    open_lake(lake)  # raises before the prompt if there is no lake
    workspace = Workspace(sandbox, lake, form, parameters or {})
    session = _session(workspace)
    terminal.note("End a query with a semicolon; type .help for help, .quit to leave.")
    while True:
        sandbox.prepare()  # it starts while the user types
        try:
            text = session.prompt("magic> ").strip()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if text.rstrip(";").strip().lower() in LEAVING:
            return
        try:
            workspace.answer(text)
        except QueryError as error:
            terminal.complain(error.message, error.place)
        except PipelineError as error:
            terminal.complain(str(error))
        except KeyboardInterrupt:
            terminal.complain("interrupted")


def _session(workspace: Workspace) -> "PromptSession[str]":
    from prompt_toolkit import PromptSession
    from prompt_toolkit.lexers import PygmentsLexer
    from prompt_toolkit.shortcuts import CompleteStyle
    from pygments.lexers.sql import SqlLexer

    from pipeline.cli.completion import SqlCompleter

    return PromptSession(
        history=_history(),
        output=_output(),
        lexer=PygmentsLexer(SqlLexer),
        completer=SqlCompleter([*workspace.commands, ".quit"]),
        complete_while_typing=False,
        # The one style in which a key typed right after Tab does not cancel the completion.
        complete_style=CompleteStyle.READLINE_LIKE,
        multiline=True,
        prompt_continuation="   ...> ",
        key_bindings=_enter(),
    )


def _output() -> "Output | None":
    """Where the prompt is shown: stdout if only that is a terminal; null is stderr."""
    from prompt_toolkit.output import create_output

    if terminal.is_note_terminal() or not terminal.is_out_terminal():
        return None
    return create_output(stdout=terminal.stream())


def _enter() -> "KeyBindings":
    """Enter runs a complete text, and begins another line of any other."""
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        if is_complete(event.current_buffer.text):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    return bindings


def is_complete(typed: str) -> bool:
    """Whether the text can be answered: a statement with its semicolon, a command, or nothing."""
    text = typed.strip()
    if not text or text.startswith(".") or text.lower() in LEAVING:
        return True
    if ";" not in text:
        return False
    # Imported here, so that the prompt does not wait for DuckDB.
    from pipeline.warehouse.statements import is_ended

    return is_ended(text)


def _history() -> "History":
    """The queries of earlier sessions; of this one only where no file can be kept."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    file = history_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


def history_file() -> Path:
    """Where the queries are kept: in the user's folder for state."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "magic-pipeline" / "sql_history"
