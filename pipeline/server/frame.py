"""The frame around a page: its title, the menu, the state of the lake, and its other forms."""

from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from pipeline.api import Lake
from pipeline.pages import MENU, address, links
from pipeline.pages.render import carrying, environment
from pipeline.server.worker import Reply, Task
from pipeline.version import __version__

FORMS = {"json": "JSON", "csv": "CSV"}


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


def framed(state: State, reply: Reply, task: Task | None = None, again: int | None = None) -> str:
    """The page with the menu, whose links keep its edition, system and ingest.

    Without a task it is a page of the server itself. `again`: reload after so many seconds.
    """
    name, query = (task.page, task.query) if task else ("", {})
    context = {
        "name": name,
        "title": ", ".join((reply.title, *reply.slice)),
        "body": Markup(reply.text),  # made by templates, which escape what they insert
        "state": state,
        "forms": {FORMS[form]: address(f"{name}.{form}", query, state.ingest) for form in FORMS},
        "here": address(name, query, state.ingest),
        "newest": address(name, query),
        "menu": MENU,
        "link": carrying(links(state.ingest), query),
        "again": again,
        "version": __version__,
    }
    return environment().get_template("frame.html").render(context)


def part(template: str, **context: object) -> str:
    """A page of the server itself, without a lake's content."""
    return environment().get_template(template).render(context)
