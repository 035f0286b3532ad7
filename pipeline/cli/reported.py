"""The commands of declared reports: each is made of its report, when somebody asks for it."""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import click

from pipeline.cli import options, terminal
from pipeline.cli.command import Asked, Command, param
from pipeline.cli.options import DEFAULT_LAKE, SHARED
from pipeline.declared import Parameter, flag, parameters
from pipeline.vocabulary import Failures

if TYPE_CHECKING:
    from pipeline.reports.declared import Report

_DECLARED = re.compile(
    r'^@report\(\s*"(?P<task>[^"]+)".*?^def (?P<name>\w+)\(.*?"""(?P<help>.*?)(?:\n\n|""")',
    re.DOTALL | re.MULTILINE,
)


ACTIONS: dict[str, Callable[..., None]] = {}
"""What commands of reports do that is more than to show rows: a function by the report's name.

It has the options of the report, and its own besides.
"""


class Found(NamedTuple):
    """A report as the help lists it: its module, its task, and the first lines of its help."""

    module: str
    task: str
    help: str


@cache
def found() -> Mapping[str, Found]:
    """The declared reports, by name: read and not imported, since polars takes a while."""
    folder = Path(__file__).parents[1] / "reports"
    return {
        one["name"]: Found(_module(folder, file), one["task"], one["help"])
        for file in sorted(folder.rglob("*.py"))
        for one in _DECLARED.finditer(file.read_text(encoding="utf-8"))
    }


def _module(folder: Path, file: Path) -> str:
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join(["pipeline.reports", *(one for one in parts if one != "__init__")])


def command(name: str) -> click.Command:
    """The command of a report."""
    import_module(found()[name].module)
    from pipeline.reports.declared import REPORTS

    report = REPORTS[name]
    shared = SHARED if report.is_of_system else {**SHARED, "system": options.OF_ANY_SYSTEM}
    action = ACTIONS.get(name)
    # The options of its module's other reports, which it shows too, are known by their names.
    module = report.function.__module__
    beside = [one for one in REPORTS.values() if one.function.__module__ == module]
    known = {one.name: one.declared for other in beside for one in other.parameters}
    further = parameters(action, {**known, **shared}) if action else []
    named = {one.name for one in (*report.parameters, *further)}
    is_there = {
        "failures": "edition" in named,
        "metric_file": not {"metric", "metric_file"}.isdisjoint(named),
        "percent": report.has_percent,
    }
    before = [*parameters(_before, shared), *report.parameters]
    after = [_form(report), *parameters(_after, shared)]
    # What an action names to use it is as the report has it.
    own = [one for one in further if one.name not in {had.name for had in (*before, *after)}]
    wanted = [*before, *own, *after]
    params = [param(one) for one in wanted if is_there.get(one.name, True)]
    run = partial(_run, report, action or partial(_show, report))
    return Command(name, params=params, help=report.help, callback=run)


def _before(
    *,
    lake: str = DEFAULT_LAKE,
    system: str | None = None,
    names: Path | None = None,
    failures: Failures = "exclude",
) -> None:
    """The options before those of a report; failures are a choice where an edition is one."""


def _after(
    *,
    percent: bool = flag(
        "--percent",
        "Values in percent, the best of each column bold; json, csv and parquet have shares.",
    ),
    metric_file: list[Path] | None = None,
) -> None:
    """The options after those of a report: for reports of a metric, where others come from."""


def _form(report: "Report") -> Parameter:
    """The option --format, with the forms that the report has."""
    more = {
        "latex (booktabs)": report.is_for_papers,
        "parquet": True,
        "svg (the picture)": report.is_drawn,
    }
    last = [name for name, is_there in more.items() if is_there]
    declared = options.form_option(f"{', '.join(last[:-1])}, or {last[-1]}".removeprefix(", "))
    forms = ("table", "json", "csv", "markdown", *(name.split()[0] for name in last))
    return Parameter("form", Literal[forms], False, "table", declared)


def _run(report: "Report", action: Callable[..., None], asked: Asked, **given: object) -> None:
    if not report.is_of_system:
        asked.lake = asked.every_system()
    action(asked, **given)


def _show(report: "Report", asked: Asked, *, form: str, **_: object) -> None:
    if form != "svg":
        asked.show(report.place)
        return
    from pipeline import plots

    drawn = getattr(plots, f"plot_{report.name}")(asked.answer(report.place))
    terminal.out_bytes(plots.file(drawn, "svg"))
