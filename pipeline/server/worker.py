"""A process that makes pages, several at once, until its connection is closed."""

import os
import pickle
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from pipeline.errors import MissingExtraError, PipelineError, UsageError
from pipeline.processes import theirs

if TYPE_CHECKING:
    from pipeline.api import Lake

PROGRAM = "from pipeline.server.worker import main; main({nice}, draws={draws})"
Form = Literal["html", "json", "csv", "svg", "png"]


_MOST = 16
"""So many threads at most: the server asks for fewer pages at once."""
_OPENED = 2
"""The number of open states of the lake: the newest, and one of the past."""


class Task(Struct, frozen=True):
    """A page to make, of one state of a lake: that after `ingest` if the address names one."""

    page: str
    form: Form
    query: Mapping[str, str]
    ingest: int | None = None


class Reply(Struct, frozen=True):
    """The text of a page, or its `data`. HTML is a fragment, with the page's title and slice.

    If `is_fault`, the text says why there is no page.
    """

    status: int
    title: str
    text: str
    is_fault: bool = False
    data: bytes = b""
    slice: tuple[str, ...] = ()


def fault(status: int, text: str, title: str = "Not shown") -> Reply:
    """The reply instead of a page."""
    return Reply(status, title, text, is_fault=True)


def main(nice: int, *, draws: bool) -> None:
    """Answers each task, which comes with its lake, through the connection, several at once.

    `nice` is how far the process stands back behind others. If it `draws`, it loads what plots need
    in advance.
    """
    os.nice(nice)  # before what takes long to load
    from pipeline import pages, plots

    connection, sending = theirs(), Lock()
    pages.render.environment()
    opened: dict[tuple[object, ...], Lake] = {}

    def made(number: int, lake: "Lake", task: Task) -> None:
        reply = _answer(lake, task)
        with sending, suppress(OSError):  # the server may have ended
            connection.send((number, reply))
        if task.page == "game":  # where one is read, others follow
            from pipeline.lake.places import learn

            learn(lake)

    with ThreadPoolExecutor(_MOST) as threads:
        if draws:
            threads.submit(plots.load)
        while True:
            try:
                number, state, pickled, task = connection.recv()
            except EOFError:
                os._exit(0)  # whatever is being made is for nobody
            # An open lake keeps what it has read of its tables.
            if state not in opened:
                opened = dict([*opened.items()][-_OPENED + 1 :])
                opened[state] = pickle.loads(pickled)  # from our own server
            threads.submit(made, number, opened[state], task)


def _answer(lake: "Lake", task: Task) -> Reply:
    from pipeline.answers import metrics_of

    try:
        with metrics_of(lake):
            return reply(lake, task)
    except MissingExtraError as error:
        return fault(501, str(error), "Not installed")
    except PipelineError as error:
        return fault(400 if isinstance(error, UsageError) else 500, str(error))
    except MemoryError:
        return fault(500, "memory ran out: ask for less")
    except Exception as error:
        return fault(500, f"{type(error).__name__}: {error}")


def reply(lake: "Lake", task: Task) -> Reply:
    """The page in its form; raises PipelineError for what cannot be shown."""
    from pipeline.pages import (
        address,
        as_csv,
        as_json,
        content,
        csv_parts,
        fragment,
        links,
        parameters,
        picture,
    )
    from pipeline.pages.content import slice_of

    values = parameters(task.page, task.query)
    link = links(task.ingest)
    if task.form == "csv":
        return Reply(200, task.page, as_csv(csv_parts(task.page, lake, values)))
    page = content(task.page, lake, values)
    status = 400 if page.faults else 200
    if task.form == "json":
        return Reply(status, page.title, as_json(page, values, lake.ingest_id))
    if task.form in ("svg", "png"):
        return Reply(status, page.title, "", data=picture(task.page, page, values, task.form))

    def picture_at(form: str) -> str:
        return address(f"{task.page}.{form}", task.query, task.ingest)

    text = fragment(task.page, page, values, link, picture_at=picture_at)
    return Reply(status, page.title, str(text), slice=slice_of(page, values))
