"""A process that makes pages, one after the other, until it is told nothing more."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from pipeline.errors import PipelineError, UsageError
from pipeline.processes import theirs

if TYPE_CHECKING:
    from pipeline.api import Lake

PROGRAM = "from pipeline.server.worker import main; main({nice})"
Form = Literal["html", "json", "csv"]


class Task(Struct, frozen=True):
    """A page to make, of one state of a lake."""

    page: str
    form: Form
    given: Mapping[str, str]


class Made(Struct, frozen=True):
    """The text of an answer. For HTML it is a fragment with the page's title.

    Where `is_fault`, the text says in plain words why there is no such answer.
    """

    status: int
    title: str
    text: str
    is_fault: bool = False


def fault(status: int, text: str, title: str = "Not shown") -> Made:
    """What is answered instead of a page."""
    return Made(status, title, text, is_fault=True)


def main(nice: int) -> None:
    """Answers each task, which comes with its lake, through the connection.

    `nice` is how far the process stands back behind others.
    """
    os.nice(nice)
    connection = theirs()
    from pipeline.api import Lake

    opened: dict[tuple[object, ...], Lake] = {}
    while True:
        try:
            lake, task = connection.recv()
        except EOFError:
            return
        key = lake.state
        if key not in opened:
            opened = {key: lake}  # what it has read of the tables is kept as long as it is asked
        answer = _answer(opened[key], task)
        try:
            connection.send(answer)
        except OSError:  # the server has ended
            return


def _answer(lake: "Lake", task: Task) -> Made:
    from pipeline.answers import metrics_of

    try:
        with metrics_of(lake):
            return made(lake, task)
    except PipelineError as error:
        return fault(400 if isinstance(error, UsageError) else 500, str(error))
    except MemoryError:
        return fault(500, "memory ran out: ask for less")
    except Exception as error:
        return fault(500, f"{type(error).__name__}: {error}")


def made(lake: "Lake", task: Task) -> Made:
    """The page as HTML, JSON or CSV; raises PipelineError for what cannot be shown."""
    from pipeline.pages import as_csv, as_json, content, csv_parts, fragment, parameters
    from pipeline.server.links import link

    asked = parameters(task.page, task.given)
    if task.form == "csv":
        return Made(200, task.page, as_csv(csv_parts(task.page, lake, asked)))
    found = content(task.page, lake, asked)
    status = 400 if found.faults else 200
    if task.form == "json":
        return Made(status, found.title, as_json(found, asked, lake.ingest_id))
    return Made(status, found.title, str(fragment(task.page, found, asked, link)))
