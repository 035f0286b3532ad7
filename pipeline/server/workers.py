"""Processes that make pages, and the latest pages that they made.

A slow page is ended after a time, and never blocks the others.

A page is made in the lane that its module names. All pages share one process, a thread each, and so
what it knows of the lake; a query or a search has a process to itself. polars cannot be stopped, so
what takes too much is ended with its process, and the pages beside it are made again.
"""

import asyncio
import os
import pickle
import resource
import time
from collections import OrderedDict
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, NamedTuple

from pipeline.processes import how_it_ended, start
from pipeline.server.worker import PROGRAM, Reply, Task, fault

if TYPE_CHECKING:
    from pipeline.api import Lake

SECONDS = 300.0
"""A page that takes longer is ended; readers see after some seconds that it is being computed."""
MEMORY = 4 * 2**30
"""A process that takes more bytes is ended: a limit of addresses would not let plots be drawn."""
KEPT_MEMORY = 2**30
"""A process that keeps more bytes after a page makes no other."""
_ALLOCATORS = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:200,muzzy_decay_ms:0",
    "MALLOC_ARENA_MAX": "2",
}
"""Those of polars and of C give the memory of a page back soon, since other processes need it."""
_READ_LITTLE_AHEAD = {"POLARS_ROW_GROUP_PREFETCH_SIZE": "1"}
"""On a disk, to read more row groups ahead takes memory and is no faster."""
_SECONDS_BETWEEN_LOOKS = 0.2
_SECONDS_TO_END = 5.0
LANES: Mapping[str, int] = {"quick": 4, "long": 2, "search": 2, "free": 2}
"""So many pages of each lane are made at once: slow ones of one leave the others alone."""
NICE = {"search": 5, "free": 10}
"""Searches and queries of users, each in a process of its own, leave the processors to pages."""


_SLOW = (
    "it took more than {:g} seconds and was ended: ask for less, or use the command line, which "
    "has no such limit"
)


class Workers:
    """The processes of all lanes; each is started when it is first needed."""

    def __init__(self, seconds: float = SECONDS, *, is_local: bool = True) -> None:
        """`is_local` says that the lake is on a disk of this machine."""
        self._seconds = seconds
        self._environment = _ALLOCATORS | (_READ_LITTLE_AHEAD if is_local else {})
        self._free = {lane: asyncio.Semaphore(n) for lane, n in LANES.items()}
        self._apart = asyncio.Semaphore(1)
        self._all: set[_Process] = set()
        self._is_closed = False

    async def reply(self, lake: "Lake", task: Task, lane: str) -> Reply:
        """The page, or why there is none."""
        async with self._free[lane]:
            reply = await self._made(lake, task, self._taken(lane))
            if reply is None:
                async with self._apart:
                    reply = await self._made(lake, task, self._started(lane, is_kept=False))
        return reply or fault(500, "its process ended")

    def close(self) -> None:
        """Ends all processes, at work or not; pages that are being made come to an error."""
        self._is_closed = True
        for process in self._all:
            process.kill()
        for process in self._all:
            process.wait()

    def warm(self) -> None:
        """Starts the process of pages before one is needed."""
        self._taken("quick")

    async def _made(self, lake: "Lake", task: Task, process: "_Process | None") -> Reply | None:
        if process is None:
            return fault(503, "the server is stopping", "Stopped")
        try:
            return await process.answer(lake, task, self._seconds)
        except asyncio.CancelledError:  # nobody waits for it, and it would go on
            process.is_kept = False
            raise
        finally:
            process.is_kept &= process.n_bytes() < KEPT_MEMORY
            if not process.is_kept and not process.n_pages:
                process.kill()

    def _taken(self, lane: str) -> "_Process | None":
        """The process of pages; for a query or a search one without work."""
        self._all = {one for one in self._all if one.is_alive()}
        for process in self._all:
            is_free = lane not in NICE or not process.n_pages
            if process.is_kept and process.nice == NICE.get(lane, 0) and is_free:
                return process
        return self._started(lane)

    def _started(self, lane: str, *, is_kept: bool = True) -> "_Process | None":
        if self._is_closed:
            return None
        process = _Process(NICE.get(lane, 0), self._environment, is_kept=is_kept)
        self._all.add(process)
        return process


class _Process:
    """A process that makes pages, as many at once as it is asked for.

    One that is not `is_kept` takes no more pages, and ends after those that it has.
    """

    def __init__(self, nice: int, environment: Mapping[str, str], *, is_kept: bool) -> None:
        self.nice = nice
        self.is_kept = is_kept
        self._numbers = count()
        self._pages: dict[int, asyncio.Future[Reply | None]] = {}
        self._loop = asyncio.get_running_loop()
        # A query or a search leaves half of the processors to pages.
        threads = {"POLARS_MAX_THREADS": str(max(2, (os.cpu_count() or 2) // 2))} if nice else {}
        program = PROGRAM.format(nice=nice, draws=is_kept and not nice)
        self._process, self._connection = start(program, **threads, **environment)
        self._loop.add_reader(self._connection.fileno(), self._read)

    @property
    def n_pages(self) -> int:
        """How many pages it makes now."""
        return len(self._pages)

    async def answer(self, lake: "Lake", task: Task, seconds: float) -> Reply | None:
        """The page, or why there is none; None if it ended, perhaps for a page beside this one."""
        number = next(self._numbers)
        future: asyncio.Future[Reply | None] = self._loop.create_future()
        self._pages[number] = future
        end = time.monotonic() + seconds
        try:
            self._connection.send((number, lake.state, _pickled(lake), task))
            while not (await asyncio.wait([future], timeout=_SECONDS_BETWEEN_LOOKS))[0]:
                if time.monotonic() > end:
                    self._end(fault(504, _SLOW.format(seconds), "Too slow"), number)
                elif self.n_bytes() > MEMORY:
                    self._end(fault(500, f"it took more than {MEMORY / 2**30:g} GiB: ask for less"))
            return future.result()
        except OSError:  # it ended before the page was asked for
            return None
        finally:
            del self._pages[number]

    def _read(self) -> None:
        """Hands a page to whoever waits for it; at the end of the process, its reason to all."""
        try:
            self._hand(*self._connection.recv())
        except (EOFError, OSError):
            self._loop.remove_reader(self._connection.fileno())
            self._connection.close()
            self.kill()
            self.wait()
            code = self._process.poll()
            how = "" if code is None else f" {how_it_ended(code)}"
            self._end(fault(500, f"its process ended{how}, perhaps because memory ran out"))

    def _hand(self, number: int, reply: Reply | None) -> None:
        future = self._pages.get(number)
        if future is not None and not future.done():
            future.set_result(reply)

    def _end(self, reason: Reply, guilty: int | None = None) -> None:
        """Ends the process, for one of its pages; a page alone is guilty."""
        self.kill()
        for number in self._pages:
            is_guilty = number == guilty or (guilty is None and len(self._pages) == 1)
            self._hand(number, reason if is_guilty else None)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def n_bytes(self) -> int:
        """The memory that it has now, 0 if the system does not say."""
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        except OSError:
            return 0
        return int(pages) * resource.getpagesize()

    def kill(self) -> None:
        self.is_kept = False
        self._process.kill()

    def wait(self) -> None:
        """Waits until it has ended, as it has soon unless its disk is gone."""
        with suppress(TimeoutExpired):
            self._process.wait(_SECONDS_TO_END)


@lru_cache(4)
def _pickled(lake: "Lake") -> bytes:
    """The lake for a process, which opens it if it does not know its state."""
    return pickle.dumps(lake)


# --- finished pages, and pages in the making ------------------------------------------------------

CHARACTERS = 64 * 2**20
KEPT_SECONDS = 60.0
"""How long a late page is kept for its reader."""
UNAWAITED_SECONDS = 5.0
"""A late query or search ends so long after its last reader, who asks for it each second."""
_Key = tuple[object, ...]


class Cache:
    """The latest pages, up to a number of characters."""

    def __init__(self, most: int = CHARACTERS) -> None:
        self._most = most
        self._n_characters = 0
        self._pages: OrderedDict[_Key, Reply] = OrderedDict()

    def get(self, key: _Key) -> Reply | None:
        """The page, None if it is not there."""
        if key in self._pages:
            self._pages.move_to_end(key)
        return self._pages.get(key)

    def put(self, key: _Key, reply: Reply) -> None:
        """Keeps a page without an error; those not requested for longest are dropped."""
        if reply.status != 200 or _size(reply) > self._most // 8 or key in self._pages:
            return
        self._pages[key] = reply
        self._n_characters += _size(reply)
        while self._n_characters > self._most:
            self._n_characters -= _size(self._pages.popitem(last=False)[1])


def _size(reply: Reply) -> int:
    return len(reply.text) + len(reply.data)


class Late(NamedTuple):
    """A page that is still in the making, and for how many seconds it has been."""

    seconds: float


@dataclass(eq=False)
class _Begun:
    """A page in the making. It is late if a reader was told so."""

    task: "asyncio.Task[Reply]"
    since: float
    n_asked: int = 0
    n_readers: int = 0
    is_late: bool = False


class Making:
    """Makes pages: several requests for the same page share one computation."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._cache = Cache()
        self._begun: dict[_Key, _Begun] = {}

    async def reply(
        self,
        lake: "Lake",
        task: Task,
        lane: str,
        patience: float | None = None,
        leaving: Collection["asyncio.Task[None]"] = (),
    ) -> Reply | Late:
        """The page from the cache, or made now; `Late` if that takes more seconds than `patience`.

        A later call for the same page returns it as soon as it is ready. It is also `Late` when a
        task of `leaving` is done: then its reader is gone. A query without readers is ended.
        """
        key = (lake.state, task.page, task.form, task.ingest, *sorted(task.query.items()))
        if (kept := self._cache.get(key)) is not None:
            return kept
        if key not in self._begun:
            new = asyncio.create_task(self._workers.reply(lake, task, lane))
            self._begun[key] = _Begun(new, time.monotonic())
            new.add_done_callback(partial(self._end, key, is_kept=lane not in NICE))
        begun = self._begun[key]
        begun.n_asked += 1
        begun.n_readers += 1
        try:
            await asyncio.wait(
                [begun.task, *leaving], timeout=patience, return_when=asyncio.FIRST_COMPLETED
            )
            begun.is_late |= not any(one.done() for one in [begun.task, *leaving])
        finally:
            begun.n_readers -= 1
            if lane in NICE:
                seconds = UNAWAITED_SECONDS if begun.is_late else 0
                loop = asyncio.get_running_loop()
                loop.call_later(seconds, self._drop, key, begun, begun.n_asked)
        if begun.task.done():
            return begun.task.result()
        return Late(time.monotonic() - begun.since)

    def _drop(self, key: _Key, begun: _Begun, n_asked: int) -> None:
        """Ends the page if nobody waits for it or asked since; who asks later gets another."""
        is_awaited = begun.n_readers or begun.n_asked > n_asked
        if self._begun.get(key) is begun and not (is_awaited or begun.task.done()):
            del self._begun[key]
            begun.task.cancel()

    def _end(self, key: _Key, done: "asyncio.Task[Reply]", *, is_kept: bool) -> None:
        """Keeps the page, and forgets its making: of a late one, once its reader had time."""
        if is_kept and not done.cancelled() and not done.exception():
            self._cache.put(key, done.result())
        begun = self._begun.get(key)
        if begun is None or begun.task is not done:  # it was ended, for nobody
            return
        if begun.is_late:
            asyncio.get_running_loop().call_later(KEPT_SECONDS, self._begun.pop, key)
        else:
            del self._begun[key]
