"""The frame around a page: its title, the menu, the state of the lake, and its other forms."""

from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from pipeline.api import Lake
from pipeline.pages import MENU
from pipeline.pages.render import carrying, environment
from pipeline.server.links import address, links
from pipeline.server.worker import Made, Task
from pipeline.version import __version__

FORMS = {"json": "JSON", "csv": "CSV", "md": "Markdown", "tex": "LaTeX"}


class State(NamedTuple):
    """The lake that a page shows, under its name, and the number of its newest ingest.

    `ingest` is the one after which the address wants the lake, None for the newest.
    """

    name: str
    lake: Lake
    newest: int
    ingest: int | None = None

    @property
    def shown(self) -> int:
        return self.lake.ingest_id

    @property
    def text(self) -> str:
        """The lake and the ingest after which it is shown, with its time."""
        began = (self.lake.last_ingest or {}).get("started_at")
        time = f" of {began:%Y-%m-%d %H:%M} UTC" if isinstance(began, datetime) else ""
        return f"{self.name} after ingest {self.shown}{time}"


def framed(state: State, made: Made, task: Task | None = None, again: int | None = None) -> str:
    """The page with the menu, whose links keep its edition, system and ingest.

    Without a task it is none of the pages. `again` is after how many seconds to ask once more.
    """
    name, given = (task.page, task.given) if task else ("", {})
    context = {
        "name": name,
        "title": ", ".join((made.title, *made.slice)),
        "body": Markup(made.text),  # made by templates, which escape what they insert
        "state": state,
        "forms": {FORMS[form]: address(f"{name}.{form}", given, state.ingest) for form in FORMS},
        "here": address(name, given, state.ingest),
        "newest": address(name, given),
        "menu": MENU,
        "link": carrying(links(state.ingest), given),
        "again": again,
        "version": __version__,
    }
    return environment().get_template("frame.html").render(context)


def part(template: str, **context: object) -> str:
    """What a template of the server's own makes, for a page without a lake's content."""
    return environment().get_template(template).render(context)
