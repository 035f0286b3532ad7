"""The reference of the commands, from what `--help` prints."""

import inspect
from typing import Any

from plain import cell, escaped, fence

from pipeline.cli.app import app

INTRODUCTION = """# Commands

This page has the same text as `magic COMMAND --help`. Every command that reads a lake takes
`--lake`, or the environment variable `MAGIC_LAKE`.
"""


def text() -> str:
    """The page: the program itself, then each command."""
    group: Any = app
    top = group.context_class(group, info_name="magic")
    parts = [INTRODUCTION, *section(group, top, "magic")]
    for name in sorted(group.commands):
        command = group.commands[name]
        context = command.context_class(command, info_name=name, parent=top)
        parts += section(command, context, f"magic {name}")
    return "\n\n".join(parts) + "\n"


def section(command: Any, context: Any, name: str) -> list[str]:
    """A command's heading, usage, description, examples and options."""
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    return [
        f"## {name}",
        fence("text", usage),
        *description(command.help),
        options(command, context),
    ]


def description(said: str) -> list[str]:
    """The paragraphs of a help text; what it keeps as it stands becomes a block of code."""
    parts = []
    for paragraph in inspect.cleandoc(said).split("\n\n"):
        if not paragraph.startswith("\b"):
            parts.append(escaped(" ".join(paragraph.split())))
            continue
        _, heading, *lines = paragraph.splitlines()
        parts += [escaped(heading), fence("sh", inspect.cleandoc("\n".join(["", *lines])))]
    return parts


def options(command: Any, context: Any) -> str:
    """The table of a command's arguments and options."""
    records = [param.get_help_record(context) for param in command.get_params(context)]
    rows = [f"| {code(names)} | {cell(said)} |" for names, said in filter(None, records)]
    return "\n".join(["| argument or option | meaning |", "| --- | --- |", *rows])


def code(names: str) -> str:
    """Return the names of an option as markdown code for a table cell."""
    return "`" + names.replace("|", "\\|") + "`"
