"""Processes that make pages: a slow page is ended after a time, and never blocks the others.

A page is made in the lane that its module names. Each lane has processes of its own, so that many
slow pages of one kind leave the other kinds alone.
"""

import asyncio
import os
import resource
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from threading import Lock
from typing import TYPE_CHECKING

from pipeline.processes import how_it_ended, start
from pipeline.view.worker import PROGRAM, Made, Task, fault

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from subprocess import Popen

    from pipeline.api import Lake

SECONDS = 30.0
"""A page that keeps its processors busy for longer is ended; waiting for them does not count."""
LONGEST_WAIT = 20
"""A page is ended in any case after so many times as long."""
MEMORY = 4 * 2**30
"""A process that takes more bytes is ended: a limit of addresses would not let plots be drawn."""
KEPT_MEMORY = 2**30
"""A process that keeps more bytes after a page is replaced."""
_SECONDS_BETWEEN_LOOKS = 0.2
LANES: Mapping[str, int] = {"quick": 2, "long": 2, "search": 1, "free": 2}
NICE = {"search": 5, "free": 10}
"""Searches, and even more the queries of users, leave the processors to other pages."""


class Workers:
    """The processes of all lanes; each is started when it is first needed."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._idle: dict[str, list[_Process]] = {lane: [] for lane in LANES}
        self._free = {lane: asyncio.Semaphore(n) for lane, n in LANES.items()}
        self._all: set[_Process] = set()
        self._lock = Lock()
        self._is_closed = False

    async def made(self, lake: "Lake", task: Task, lane: str) -> Made:
        """The page, or why there is none."""
        async with self._free[lane]:
            return await asyncio.to_thread(self._made, lake, task, lane)

    def close(self) -> None:
        """Ends all processes, at work or not; pages that are being made come to an error."""
        with self._lock:
            self._is_closed = True
            for process in self._all:
                process.kill()
        for idle in self._idle.values():
            while idle:
                idle.pop().dispose()

    def warm(self, lane: str) -> None:
        """Starts a process before a page needs it."""
        process = self._taken(lane)
        if process is not None:
            self._idle[lane].append(process)

    def _made(self, lake: "Lake", task: Task, lane: str) -> Made:
        process = self._taken(lane)
        if process is None:
            return fault(503, "the server is stopping", "Stopped")
        made = process.answer(lake, task, self._seconds)
        if made is not None and process.n_bytes() < KEPT_MEMORY and not self._is_closed:
            self._idle[lane].append(process)
            return made
        with self._lock:
            self._all.discard(process)
        ended = process.end(self._seconds)
        return made or ended

    def _taken(self, lane: str) -> "_Process | None":
        while self._idle[lane]:
            process = self._idle[lane].pop()
            if process.is_alive():
                return process
            process.dispose()
        with self._lock:
            if self._is_closed:
                return None
            process = _Process(lane)
            self._all.add(process)
            return process


class _Process:
    """A process that makes one page at a time."""

    def __init__(self, lane: str) -> None:
        # Threads are for one page: with several at work, each takes a part of the processors.
        self._process: Popen[bytes]
        self._connection: Connection
        program = PROGRAM.format(nice=NICE.get(lane, 0))
        self._process, self._connection = start(program, POLARS_MAX_THREADS=str(_threads()))

    def answer(self, lake: "Lake", task: Task, seconds: float) -> Made | None:
        """The page; None if the process took too long or has ended, and has to be ended."""
        try:
            spent = self._processor_seconds()
            ends_at = time.monotonic() + LONGEST_WAIT * seconds
            self._connection.send((lake, task))
            while not self._connection.poll(_SECONDS_BETWEEN_LOOKS):
                is_slow = self._processor_seconds() - spent > seconds * _threads()
                if is_slow or time.monotonic() > ends_at or self.n_bytes() > MEMORY:
                    return None
            made = self._connection.recv()
            return made if isinstance(made, Made) else None
        except (EOFError, OSError):
            return None

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def _processor_seconds(self) -> float:
        """What it and the processes that it started have had of the processors."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return time.monotonic()  # the best that other systems say
        ticks = stat.rpartition(")")[2].split()[11:15]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

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
        """Ends it, and gives back what it has of the system."""
        self._process.kill()
        self._process.wait()
        self._connection.close()

    def end(self, seconds: float) -> Made:
        """Ends it; gives why it did not make its page."""
        is_large = self.n_bytes() > MEMORY
        code = self._process.poll()
        if code is None:
            with suppress(TimeoutExpired):
                code = self._process.wait(_SECONDS_BETWEEN_LOOKS)  # it is perhaps about to end
        self.dispose()
        if is_large:
            return fault(500, f"it took more than {MEMORY / 2**30:g} GiB: ask for less")
        if code is None:
            reason = f"it took longer than {seconds:g} seconds, and was ended: ask for less"
            return fault(504, reason, "Too slow")
        how = how_it_ended(code)
        return fault(500, f"its process ended {how}, perhaps because memory ran out")


def _threads() -> int:
    return max(2, (os.cpu_count() or 2) // 2)
