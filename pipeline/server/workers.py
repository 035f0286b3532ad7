"""Processes that make pages: a slow page is ended after a time, and never blocks the others.

A page is made in the lane that its module names. Each lane has processes of its own, so that many
slow pages of one kind leave the other kinds alone.
"""

import asyncio
import os
import resource
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, LifoQueue
from subprocess import TimeoutExpired
from threading import Lock
from typing import TYPE_CHECKING

from pipeline.processes import how_it_ended, processor_seconds, start
from pipeline.server.worker import PROGRAM, Reply, Task, fault

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from subprocess import Popen

    from pipeline.api import Lake

SECONDS = 60.0
"""A page that takes more of the processors is ended; to wait for them costs nothing."""
MOST_TIMES = 10
"""A page is also ended after so many times the limit by the clock: what it waits for is gone."""
MEMORY = 4 * 2**30
"""A process that takes more bytes is ended: a limit of addresses would not let plots be drawn."""
KEPT_MEMORY = 2**30
"""A process that keeps more bytes after a page is replaced."""
_ALLOCATORS = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:200,muzzy_decay_ms:0",
    "MALLOC_ARENA_MAX": "2",
}
"""Those of polars and of C give the memory of a page back soon, since other processes need it."""
_READ_LITTLE_AHEAD = {"POLARS_ROW_GROUP_PREFETCH_SIZE": "1"}
"""On a disk, to read more row groups ahead takes memory and is no faster."""
_SECONDS_BETWEEN_LOOKS = 0.2
_START_SECONDS = 1.0
"""A page waits so long for a process that is at its first page, and loads what others need."""
LANES: Mapping[str, int] = {"quick": 2, "long": 2, "search": 2, "free": 2}
NICE = {"search": 5, "free": 10}
"""Queries and searches of users leave the processors to other pages."""


class Workers:
    """The processes of all lanes; each is started when it is first needed."""

    def __init__(self, seconds: float = SECONDS, *, is_local: bool = True) -> None:
        """`is_local` says that the lake is on a disk of this machine."""
        self._seconds = seconds
        self._environment = _ALLOCATORS | (_READ_LITTLE_AHEAD if is_local else {})
        self._idle: dict[str, LifoQueue[_Process]] = {lane: LifoQueue() for lane in LANES}
        self._free = {lane: asyncio.Semaphore(n) for lane, n in LANES.items()}
        self._all: set[_Process] = set()
        self._lock = Lock()
        self._is_closed = False

    async def reply(self, lake: "Lake", task: Task, lane: str) -> Reply:
        """The page, or why there is none."""
        async with self._free[lane]:
            return await asyncio.to_thread(self._reply, lake, task, lane)

    def close(self) -> None:
        """Ends all processes, at work or not; pages that are being made come to an error."""
        with self._lock:
            self._is_closed = True
            for process in self._all:
                process.kill()
        for idle in self._idle.values():
            with suppress(Empty):
                while True:
                    idle.get_nowait().dispose()

    def warm(self, lane: str) -> None:
        """Starts a process before a page needs it; it loads the libraries of plots too."""
        process = self._taken(lane, draws=lane == "long")
        if process is not None:
            self._idle[lane].put(process)

    def _reply(self, lake: "Lake", task: Task, lane: str) -> Reply:
        process = self._taken(lane)
        if process is None:
            return fault(503, "the server is stopping", "Stopped")
        reply = process.answer(lake, task, self._seconds)
        if reply is not None and process.n_bytes() < KEPT_MEMORY and not self._is_closed:
            self._idle[lane].put(process)
            return reply
        with self._lock:
            self._all.discard(process)
        reason = process.end(self._seconds)
        return reply or reason

    def _taken(self, lane: str, *, draws: bool = False) -> "_Process | None":
        while (process := self._idle_soon(lane)) is not None:
            if process.is_alive():
                return process
            with self._lock:
                self._all.discard(process)
            process.dispose()
        with self._lock:
            if self._is_closed:
                return None
            process = _Process(lane, self._environment, draws=draws)
            self._all.add(process)
            return process

    def _idle_soon(self, lane: str) -> "_Process | None":
        """A process without work, now or before another could be started."""
        with self._lock:
            in_lane = [process for process in self._all if process.lane == lane]
        is_starting = any(not process.has_answered for process in in_lane)
        with suppress(Empty):
            return self._idle[lane].get(timeout=_START_SECONDS if is_starting else 0)
        return None


class _Process:
    """A process that makes one page at a time."""

    def __init__(self, lane: str, environment: Mapping[str, str], *, draws: bool) -> None:
        self.lane = lane
        self.has_answered = False
        # Threads are for one page: with several at work, each takes a part of the processors.
        self._process: Popen[bytes]
        self._connection: Connection
        program = PROGRAM.format(nice=NICE.get(lane, 0), draws=draws)
        self._process, self._connection = start(
            program, POLARS_MAX_THREADS=str(_threads()), **environment
        )

    def answer(self, lake: "Lake", task: Task, seconds: float) -> Reply | None:
        """The page; None if the process took too long or has ended, and has to be ended."""
        try:
            self._connection.send((lake, task))
            has_time = self._clock(seconds)
            while not self._connection.poll(_SECONDS_BETWEEN_LOOKS):
                if not has_time() or self.n_bytes() > MEMORY:
                    return None
            reply = self._connection.recv()
            self.has_answered = True
            return reply if isinstance(reply, Reply) else None
        except (EOFError, OSError):
            return None

    def _clock(self, seconds: float) -> Callable[[], bool]:
        """Whether a page that begins now has time left, by the processors as by the clock."""
        began, before = time.monotonic(), processor_seconds(self._process.pid)
        by_clock = seconds if before is None else MOST_TIMES * seconds

        def has_time() -> bool:
            used = (processor_seconds(self._process.pid) or 0) - (before or 0)
            return used <= seconds and time.monotonic() - began <= by_clock

        return has_time

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
        self._process.kill()

    def dispose(self) -> None:
        """Ends it and frees its resources."""
        self._process.kill()
        self._process.wait()
        self._connection.close()

    def end(self, seconds: float) -> Reply:
        """Ends it; returns the reply that says why there is no page."""
        is_large = self.n_bytes() > MEMORY
        code = self._process.poll()
        if code is None:
            with suppress(TimeoutExpired):
                code = self._process.wait(_SECONDS_BETWEEN_LOOKS)  # it is perhaps about to end
        self.dispose()
        if is_large:
            return fault(500, f"it took more than {MEMORY / 2**30:g} GiB: ask for less")
        if code is None:
            work = f"more than {seconds:g} seconds of work, or {MOST_TIMES * seconds:g} in all"
            hint = "ask for less, or use the command line, which has no such limit"
            return fault(504, f"it took {work}, and was ended: {hint}", "Too slow")
        how = how_it_ended(code)
        return fault(500, f"its process ended {how}, perhaps because memory ran out")


def _threads() -> int:
    return max(2, (os.cpu_count() or 2) // 2)
