"""Make pages in threads of the server process, and keep the latest ones.

The application (`pipeline.server.app`) asks `Making` for a page. A query of the SQL page runs in a
process of its own (`pipeline.sandbox`), with limits of time and memory.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from pipeline.errors import MissingExtraError, PipelineError, UsageError

if TYPE_CHECKING:
    from pipeline.api import Lake

Form = Literal["html", "json", "csv", "svg", "png"]
LANES: Mapping[str, int] = {"quick": 4, "long": 2, "search": 2, "free": 2}
"""The number of pages of each lane that are made at once, so that slow pages of one lane do not
delay the others."""
USER_LANES = ("search", "free")
"""The lanes of searches and queries. Their pages are not kept."""
MOST_CHARACTERS = 64 * 2**20
"""The size of all pages that are kept."""


class Task(Struct, frozen=True):
    """The name, form and parameters of a page to make."""

    page: str
    form: Form
    query: Mapping[str, str]


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
    """Return the reply that says why a page is not shown."""
    return Reply(status, title, text, is_fault=True)


@dataclass(eq=False)
class _Page:
    """A page that is waited for, in the making, or made."""

    task: "asyncio.Task[Reply]"
    n_readers: int = 0
    is_started: bool = False

    @property
    def size(self) -> int:
        reply = self.task.result()
        return len(reply.text) + len(reply.data)


class Making:
    """Makes pages. Several requests for the same page share one computation."""

    def __init__(self) -> None:
        self._free = {lane: asyncio.Semaphore(n) for lane, n in LANES.items()}
        self._pages: OrderedDict[tuple[object, ...], _Page] = OrderedDict()

    async def reply(
        self,
        lake: "Lake",
        task: Task,
        lane: str,
        leaving: Collection["asyncio.Task[None]"] = (),
    ) -> Reply | None:
        """Return the page, or None if a task of `leaving` is done first: its reader is gone.

        A page without readers is not begun any more. One that has begun is completed, because
        polars cannot be interrupted.
        """
        key = (lake.state, task.page, task.form, *sorted(task.query.items()))
        if key not in self._pages:
            self._pages[key] = page = _Page(asyncio.create_task(self._make(key, lake, task, lane)))
            page.task.add_done_callback(lambda made: self._keep(key, made, lane))
        page = self._pages[key]
        self._pages.move_to_end(key)
        page.n_readers += 1
        try:
            await asyncio.wait([page.task, *leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            page.n_readers -= 1
            if not page.n_readers and not page.is_started and not page.task.done():
                page.task.cancel()
                del self._pages[key]
        return page.task.result() if page.task.done() else None

    async def _make(self, key: tuple[object, ...], lake: "Lake", task: Task, lane: str) -> Reply:
        loop = asyncio.get_running_loop()
        made: asyncio.Future[Reply] = loop.create_future()

        def make() -> None:
            reply = answer(lake, task)
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(made.set_result, reply)

        async with self._free[lane]:
            self._pages[key].is_started = True
            # As a daemon, it does not keep the server from ending.
            Thread(target=make, daemon=True).start()
            return await made

    def _keep(self, key: tuple[object, ...], made: "asyncio.Task[Reply]", lane: str) -> None:
        """Keep a page that was made without an error; drop those that were not read for longest."""
        if made.cancelled():
            return
        page = self._pages[key]
        if lane in USER_LANES or made.result().status != 200 or page.size > MOST_CHARACTERS // 8:
            del self._pages[key]
        sizes = {key: page.size for key, page in self._pages.items() if page.task.done()}
        while sum(sizes.values()) > MOST_CHARACTERS:
            oldest = next(iter(sizes))
            del sizes[oldest], self._pages[oldest]


def answer(lake: "Lake", task: Task) -> Reply:
    """Return the page in its form, or the reason why it cannot be shown."""
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
    """Return the page in its form; raise PipelineError for what cannot be shown."""
    from pipeline.pages import (
        address,
        as_csv,
        as_json,
        content,
        csv_parts,
        fragment,
        page_link,
        parameters,
        picture,
    )
    from pipeline.pages.content import slice_of

    values = parameters(task.page, task.query)
    if task.form == "csv":
        return Reply(200, task.page, as_csv(csv_parts(task.page, lake, values)))
    page = content(task.page, lake, values)
    status = 400 if page.faults else 200
    if task.form == "json":
        return Reply(status, page.title, as_json(page, values, lake.ingest_id))
    if task.form in ("svg", "png"):
        return Reply(status, page.title, "", data=picture(task.page, page, values, task.form))

    def picture_at(form: str) -> str:
        return address(f"{task.page}.{form}", task.query)

    text = fragment(task.page, page, values, page_link, picture_at=picture_at)
    return Reply(status, page.title, str(text), slice=slice_of(page, values))
