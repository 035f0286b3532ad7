"""A process that makes pages, one after the other, until it is told nothing more."""

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from pipeline.errors import PipelineError, UsageError
from pipeline.processes import theirs

if TYPE_CHECKING:
    from pipeline.api import Lake

PROGRAM = "from pipeline.server.worker import main; main({nice}, draws={draws})"
Form = Literal["html", "json", "csv", "md", "tex", "svg", "png"]


_OPENED = 2
"""So many states of the lake are open: the newest, and one of the past."""


class Task(Struct, frozen=True):
    """A page to make, of one state of a lake: that after `ingest` if the address names one."""

    page: str
    form: Form
    given: Mapping[str, str]
    ingest: int | None = None


class Made(Struct, frozen=True):
    """The text of an answer, or its `data`. HTML is a fragment, with the page's title and slice.

    Where `is_fault`, the text says in plain words why there is no such answer.
    """

    status: int
    title: str
    text: str
    is_fault: bool = False
    data: bytes = b""
    slice: tuple[str, ...] = ()


def fault(status: int, text: str, title: str = "Not shown") -> Made:
    """What is answered instead of a page."""
    return Made(status, title, text, is_fault=True)


def main(nice: int, *, draws: bool) -> None:
    """Answers each task, which comes with its lake, through the connection.

    `nice` is how far the process stands back behind others. If it `draws`, it loads what plots need
    before it is asked for one.
    """
    os.nice(nice)
    connection = theirs()
    loading = _loaded(draws=draws)
    opened: dict[tuple[object, ...], Lake] = {}
    while True:
        try:
            while not connection.poll() and next(loading, None):
                pass
            lake, task = connection.recv()
        except EOFError:
            return
        # What it has read of the tables is kept as long as it is asked.
        opened = dict([*opened.items()][-_OPENED + 1 :]) if lake.state not in opened else opened
        answer = _answer(opened.setdefault(lake.state, lake), task)
        try:
            connection.send(answer)
        except OSError:  # the server has ended
            return


def _loaded(*, draws: bool) -> Iterator[str]:
    """Loads what takes long before a page needs it, a step at a time; each step's name."""
    from pipeline import api, pages

    yield api.__name__
    pages.render.environment()
    yield pages.__name__
    if draws:
        from pipeline import plots

        plots.load()
        yield plots.__name__


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
    """The page in its form; raises PipelineError for what cannot be shown."""
    from pipeline.pages import (
        as_csv,
        as_json,
        content,
        csv_parts,
        document,
        fragment,
        parameters,
        picture,
    )
    from pipeline.pages.content import slice_of
    from pipeline.server.links import address, links

    asked = parameters(task.page, task.given)
    link = links(task.ingest)
    if task.form == "csv":
        return Made(200, task.page, as_csv(csv_parts(task.page, lake, asked)))
    if task.form in ("md", "tex"):
        return Made(200, task.page, document(task.page, lake, asked, task.form))
    found = content(task.page, lake, asked)
    status = 400 if found.faults else 200
    if task.form == "json":
        return Made(status, found.title, as_json(found, asked, lake.ingest_id))
    if task.form in ("svg", "png"):
        return Made(status, found.title, "", data=picture(task.page, found, asked, task.form))

    def picture_at(form: str) -> str:
        return address(f"{task.page}.{form}", task.given, task.ingest)

    text = fragment(task.page, found, asked, link, picture_at=picture_at)
    return Made(status, found.title, str(text), slice=slice_of(found, asked))
