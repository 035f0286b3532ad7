"""What the prompt of `magic sql` does: it runs queries, and commands that begin with a dot."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pipeline.cells import counted
from pipeline.cli import terminal
from pipeline.cli.options import Form, parameters, sql_text
from pipeline.cli.pager import paged
from pipeline.errors import PipelineError, UsageError, choose
from pipeline.library_errors import reason

if TYPE_CHECKING:
    from pipeline.sandbox import Sandbox
    from pipeline.warehouse.statements import Definition

FORMS = ("table", "json", "csv", "markdown")
HELP = """\
  SELECT ...;         run a query; a semicolon ends it, and several can follow each other
  CREATE TEMP VIEW NAME AS SELECT ...;  name a query; the view exists until you leave
  .tables             list the tables and views
  .schema NAME        describe the columns of a table or view
  .read FILE          run the queries in a file
  .format FORM        show results as table, json, csv or markdown
  .param NAME=VALUE   set the value of $NAME in queries; without arguments: list the values
  .help               show this help
  .quit               leave; Ctrl-D and `exit` also leave
Tab completes names. Ctrl-C stops a query. Long results open in $PAGER."""


class Workspace:
    """A lake, and how its answers are shown."""

    def __init__(
        self, sandbox: "Sandbox", lake: str, form: Form, parameters: dict[str, str]
    ) -> None:
        self._sandbox = sandbox
        self._lake = lake
        self._form = form
        self._parameters = parameters
        self._temporary: dict[str, str] = {}
        self.commands: dict[str, Callable[[str], None]] = {
            ".tables": self._tables,
            ".schema": self._schema,
            ".read": self._read,
            ".format": self._set_form,
            ".param": self._param,
            ".help": self._help,
        }

    def answer(self, text: str) -> None:
        """Answers commands, a line each, and then queries. The lake is opened anew for each."""
        while text.startswith("."):
            line, _, text = text.partition("\n")
            self._obey(line.strip())
            text = text.strip()
        if text.strip("; \n"):
            self._run(text)

    def _run(self, text: str) -> None:
        """Shows the results of the statements in the text; the first wrong one ends it."""
        from pipeline.warehouse.statements import split

        statements = split(text)
        for number, (statement, names) in enumerate(statements, start=1):
            try:
                self._query(statement, names)
            except PipelineError:
                if number < len(statements):
                    rest = "the next ones are not run"
                    terminal.note(f"statement {number} of {len(statements)} failed, {rest}")
                raise

    def _query(self, statement: str, names: set[str]) -> None:
        from pipeline.cli.output import show
        from pipeline.warehouse.statements import definition

        if view := definition(statement):
            self._define(view)
            return
        values = {name: value for name, value in self._parameters.items() if name in names}
        began = time.monotonic()
        rows = self._sandbox.sql(self._lake, statement, values, self._temporary)
        seconds = time.monotonic() - began
        self._sandbox.prepare()
        with paged():
            show(rows, self._form)
        terminal.note(f"{counted(rows.height, 'row')} in {seconds:.2f} s")

    def _define(self, view: "Definition") -> None:
        """Keeps a view for this session: each query runs in a process of its own."""
        from pipeline.sqlfiles import identifier

        name = view.name.lower()  # DuckDB's names differ in no letter's case
        if name in self._temporary and not view.replaces:
            raise UsageError(f"there is a view `{name}` already: use CREATE OR REPLACE TEMP VIEW")
        # All views are created again, since others can use the replaced one.
        temporary = self._temporary | {name: view.select}
        describing = f"DESCRIBE {identifier(name)}"
        columns = self._sandbox.sql(self._lake, describing, None, temporary)
        self._sandbox.prepare()
        self._temporary = temporary
        terminal.note(f"view {name}: {', '.join(columns['column_name'])}")

    def _obey(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        command = command.rstrip(";")
        if (run := self.commands.get(command)) is None:
            meant = choose([command], [*self.commands, ".quit"])
            raise UsageError(f"no command {command}: {meant}")
        rest = rest.strip().rstrip(";").strip()
        if rest and command in (".tables", ".help"):
            raise UsageError(f"{command} takes no arguments: leave out {rest}")
        run(rest)

    def _tables(self, rest: str) -> None:
        from pipeline.cli.commands.tables import tables

        with paged():
            tables(lake=self._lake, form=self._form)
            if self._form == "table":
                terminal.out(_views() + "\n")
                for name in self._temporary:
                    terminal.out(f"  temporary: {name}\n")

    def _schema(self, rest: str) -> None:
        from pipeline.cli.commands.schema import schema

        with paged():
            schema(table=rest.split(), lake=self._lake, interchange=False, form=self._form)

    def _read(self, rest: str) -> None:
        if not rest:
            raise UsageError(".read needs a file, for example `.read query.sql`")
        try:
            text = sql_text(Path(os.path.expanduser(rest.strip("'\""))))  # noqa: PTH111
        except OSError as error:
            raise PipelineError(f"{rest}: {reason(error)}") from None
        self._run(text)

    def _set_form(self, rest: str) -> None:
        if rest not in FORMS:
            raise UsageError(f".format needs one of {', '.join(FORMS)}; now it is {self._form}")
        self._form = cast(Form, rest)

    def _param(self, rest: str) -> None:
        if rest:
            self._parameters |= parameters([rest])
            return
        for name, value in self._parameters.items():
            terminal.note(f"${name} = {value}")
        if not self._parameters:
            terminal.note("no parameters; set one, for example `.param model=gpt-4`")

    def _help(self, rest: str) -> None:
        terminal.note(*HELP.splitlines())


def _views() -> str:
    """The views, a line for each schema."""
    from pipeline.present.layout import wrapped
    from pipeline.reports.views import schemas

    lines = ["", "views; `.schema NAME` describes one:"]
    for schema, _, names in schemas():
        line = f"in {schema}: {', '.join(names)}" if schema else ", ".join(names)
        lines += ["  " + part for part in wrapped(line, (terminal.width() or 100) - 2)]
    return "\n".join(lines)
