"""Finished pages, and pages in the making."""

import asyncio
import time
from collections import OrderedDict
from functools import partial
from typing import NamedTuple

from pipeline.api import Lake
from pipeline.server.worker import Reply, Task
from pipeline.server.workers import NICE, Workers

CHARACTERS = 64 * 2**20
KEPT_SECONDS = 60.0
"""How long a late page is kept for its reader."""
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


class Making:
    """Makes pages: several requests for the same page share one computation."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._cache = Cache()
        self._begun: dict[_Key, tuple[asyncio.Task[Reply], float]] = {}
        self._awaited: set[_Key] = set()

    async def reply(
        self, lake: Lake, task: Task, lane: str, patience: float | None = None
    ) -> Reply | Late:
        """The page from the cache, or made now; `Late` if that takes more seconds than `patience`.

        A later call for the same page returns it as soon as it is ready.
        """
        key = (lake.state, task.page, task.form, task.ingest, *sorted(task.query.items()))
        if (kept := self._cache.get(key)) is not None:
            return kept
        if key not in self._begun:
            new = asyncio.create_task(self._workers.reply(lake, task, lane))
            self._begun[key] = new, time.monotonic()
            new.add_done_callback(partial(self._end, key, is_kept=lane not in NICE))
        begun, since = self._begun[key]
        await asyncio.wait([begun], timeout=patience)
        if begun.done():
            return begun.result()
        self._awaited.add(key)
        return Late(time.monotonic() - since)

    def _end(self, key: _Key, done: "asyncio.Task[Reply]", *, is_kept: bool) -> None:
        """Keeps the page, and forgets its making: of a late one, once its reader had time."""
        if is_kept and not done.cancelled() and not done.exception():
            self._cache.put(key, done.result())
        if key in self._awaited:
            self._awaited.remove(key)
            asyncio.get_running_loop().call_later(KEPT_SECONDS, self._begun.pop, key)
        else:
            del self._begun[key]
