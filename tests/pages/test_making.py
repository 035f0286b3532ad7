"""Pages in the making: made once, and late ones kept until they are fetched."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipeline.api import Lake, open_lake
from pipeline.server import workers as making_pages
from pipeline.server.worker import Reply, Task, fault
from pipeline.server.workers import Cache, Late, Making, Workers

PAGE = Reply(200, "A page", "text")


class Slow(Workers):
    """Makes each page when it is let."""

    def __init__(self, answer: Reply = PAGE) -> None:
        self.asked: list[Task] = []
        self.n_ended = 0
        self.is_let = asyncio.Event()
        self._answer = answer

    async def reply(self, lake: Lake, task: Task, lane: str) -> Reply:
        self.asked.append(task)
        try:
            await self.is_let.wait()
        except asyncio.CancelledError:
            self.n_ended += 1
            raise
        return self._answer


def task(**given: str) -> Task:
    return Task("games", "html", given)


@pytest.mark.parametrize("lane", ["long", "free"])
def test_a_late_page_is_made_once_and_kept_until_it_is_fetched(lake: Path, lane: str) -> None:
    async def asked() -> tuple[list[Reply | Late], int]:
        workers = Slow()
        making = Making(workers)
        opened = open_lake(lake)
        late = [await making.reply(opened, task(), lane, 0.01) for _ in range(2)]
        workers.is_let.set()
        await asyncio.sleep(0.05)
        # A browser may drop its answer, and ask again.
        ready = [await making.reply(opened, task(), lane, 0.01) for _ in range(2)]
        return [*late, *ready], len(workers.asked)

    (first, second, third, fourth), n_made = asyncio.run(asked())
    assert isinstance(first, Late)
    assert isinstance(second, Late)
    assert 0 < first.seconds < second.seconds < 5
    assert third == fourth == PAGE
    assert n_made == 1


@pytest.mark.parametrize(("lane", "n_made"), [("long", 1), ("free", 2)])
def test_a_query_runs_again_when_it_is_asked_again(lake: Path, lane: str, n_made: int) -> None:
    async def asked() -> int:
        workers = Slow()
        workers.is_let.set()
        making = Making(workers)
        for _ in range(2):
            assert await making.reply(open_lake(lake), task(), lane) == PAGE
        return len(workers.asked)

    assert asyncio.run(asked()) == n_made


def test_a_late_page_that_nobody_fetches_is_dropped(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making_pages, "KEPT_SECONDS", 0.05)

    async def asked() -> Mapping[object, object]:
        workers = Slow(fault(504, "too slow"))
        making = Making(workers)
        assert isinstance(await making.reply(open_lake(lake), task(), "long", 0.01), Late)
        workers.is_let.set()
        await asyncio.sleep(0.2)
        return making._begun

    assert asyncio.run(asked()) == {}


def test_readers_who_leave_do_not_end_a_page(lake: Path) -> None:
    async def asked() -> Reply | Late:
        workers = Slow()
        making = Making(workers)
        opened = open_lake(lake)
        gone = asyncio.create_task(making.reply(opened, task(), "long"))
        await asyncio.sleep(0.01)
        gone.cancel()
        workers.is_let.set()
        return await making.reply(opened, task(), "long")

    assert asyncio.run(asked()) == PAGE


def test_a_query_that_nobody_waits_for_ends(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not between two looks at a late one, nor for one of two readers."""
    monkeypatch.setattr(making_pages, "UNAWAITED_SECONDS", 0.2)

    async def asked() -> tuple[int, int, int]:
        workers = Slow()
        making = Making(workers)
        opened = open_lake(lake)
        for _ in range(5):  # longer than that in all
            assert isinstance(await making.reply(opened, task(), "free", 0.01), Late)
            await asyncio.sleep(0.05)
        leaving = asyncio.create_task(asyncio.sleep(0))
        stays = asyncio.create_task(making.reply(opened, task(), "free", 0.3))
        await making.reply(opened, task(), "free", None, [leaving])
        assert isinstance(await stays, Late)
        n_ended = workers.n_ended
        await asyncio.sleep(0.3)
        again = asyncio.create_task(making.reply(opened, task(), "free"))
        await asyncio.sleep(0.01)
        workers.is_let.set()
        assert await again == PAGE
        return n_ended, workers.n_ended, len(workers.asked)

    assert asyncio.run(asked()) == (0, 1, 2)


def test_a_cache_drops_what_was_not_seen_for_longest() -> None:
    pages = Cache(most=32)
    for place in range(10):
        pages.put((place,), PAGE)
        assert pages.get((0,)) == PAGE
    assert [place for place in range(10) if pages.get((place,))] == [0, *range(3, 10)]
    pages.put(("large",), Reply(200, "A page", "12345"))
    pages.put(("wrong",), Reply(400, "A page", ""))
    assert pages.get(("large",)) is None
    assert pages.get(("wrong",)) is None
