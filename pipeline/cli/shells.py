"""Completion by the Tab key: the script for a shell, and where the shell finds it."""

import os
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit
from click.shell_completion import get_completion_class

from pipeline.cli import terminal
from pipeline.cli.exits import FAILED
from pipeline.replacing import replacing

VARIABLE = "_MAGIC_COMPLETE"
"""In the environment where a shell asks what to offer after Tab."""

_OF_A_FOLDER = Path(".config") / "magic"
# The script, and the file that has to read it at the start of a shell; fish looks for it by itself.
_FILES = {
    "bash": (_OF_A_FOLDER / "completion.bash", Path(".bashrc")),
    "zsh": (_OF_A_FOLDER / "completion.zsh", Path(".zshrc")),
    "fish": (Path(".config/fish/completions/magic.fish"), None),
}


def completion(command: Any) -> Any:
    """The program with the two options for completion."""
    shown = "Show completion for the current shell, to copy it or customize the installation."
    installed = "Install completion for the current shell."
    for name, done, text in (("show", _show, shown), ("install", _install, installed)):
        option = click.option(
            f"--{name}-completion", is_flag=True, expose_value=False, callback=done, help=text
        )
        command = option(command)
    return command


def _show(context: click.Context, _param: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        terminal.out(_script(context, _shell()))
        raise Exit


def _install(context: click.Context, _param: click.Parameter, is_wanted: bool) -> None:
    if not is_wanted:
        return
    shell = _shell()
    script, start = _FILES[shell]
    script = Path.home() / script
    script.parent.mkdir(parents=True, exist_ok=True)
    with replacing(script) as draft:
        draft.write_text(_script(context, shell))
    if start is not None:
        file, line = Path.home() / start, f"source '{script}'"
        lines = file.read_text().splitlines() if file.exists() else []
        if line not in lines:
            file.write_text("\n".join([*lines, line, ""]))
    terminal.note(f"{shell} completion is in {script}: start a new shell to use it")
    raise Exit


def _shell() -> str:
    """The user's shell; says which are known, and exits, if it is another."""
    name = Path(os.environ.get("SHELL", "")).name
    if name in _FILES:
        return name
    terminal.complain(f"$SHELL is none of {', '.join(_FILES)}: name one, as in SHELL=bash magic …")
    raise Exit(FAILED)


def _script(context: click.Context, shell: str) -> str:
    found = get_completion_class(shell)
    assert found is not None
    return found(context.command, {}, "magic", VARIABLE).source()
