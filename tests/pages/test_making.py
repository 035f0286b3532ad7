"""Pages in the making: each is made once, for as long as somebody waits for it."""

import asyncio
from collections.abc import Callable, Coroutine
from threading import Event
from typing import Any

import pytest

from pipeline.api import Lake
from pipeline.server import app as making_pages
from pipeline.server.app import THREAD_POOL_SIZES, PageCache, PageRequest, Reply, error_reply

PAGE = Reply(200, "A page", "text")
Asked = Callable[[PageCache, Lake], Coroutine[Any, Any, None]]


class Slow:
    """Makes each page when it is allowed to."""

    def __init__(self, reply: Reply = PAGE) -> None:
        self.asked: list[PageRequest] = []
        self.is_allowed = Event()
        self.reply = reply

    def __call__(self, lake: Lake, task: PageRequest) -> Reply:
        self.asked.append(task)
        assert self.is_allowed.wait(10)
        return self.reply


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    slow = Slow()
    monkeypatch.setattr(making_pages, "render_or_report_error", slow)
    return slow


def task(**given: str) -> PageRequest:
    return PageRequest("games", "html", given)


async def begun(slow: Slow, n: int) -> None:
    async with asyncio.timeout(10):
        while len(slow.asked) < n:
            await asyncio.sleep(0.01)


def run(opened: Lake, asked: Asked) -> None:
    asyncio.run(asked(PageCache(), opened))


@pytest.mark.parametrize(("lane", "n_made"), [("long", 1), ("free", 2)])
def test_readers_share_a_page_and_a_query_runs_again_later(
    opened: Lake, slow: Slow, lane: str, n_made: int
) -> None:
    async def asked(making: PageCache, lake: Lake) -> None:
        readers = [asyncio.create_task(making.get_or_render(lake, task(), lane)) for _ in range(3)]
        await begun(slow, 1)
        readers.pop().cancel()  # one who leaves does not end it for the others
        slow.is_allowed.set()
        assert await asyncio.gather(*readers) == [PAGE, PAGE]
        assert len(slow.asked) == 1
        assert await making.get_or_render(lake, task(), lane) == PAGE

    run(opened, asked)
    assert len(slow.asked) == n_made


def test_a_page_that_nobody_waits_for_is_not_begun(opened: Lake, slow: Slow) -> None:
    """At most so many of a lane run at once; one that waits is dropped when its reader leaves."""

    async def asked(making: PageCache, lake: Lake) -> None:
        n = THREAD_POOL_SIZES["free"]
        first = [
            asyncio.create_task(making.get_or_render(lake, task(n=str(i)), "free"))
            for i in range(n)
        ]
        await begun(slow, n)
        leaving = asyncio.create_task(asyncio.sleep(0.05))
        assert await making.get_or_render(lake, task(n="left"), "free", [leaving]) is None
        kept = asyncio.create_task(making.get_or_render(lake, task(n="kept"), "free"))
        other = asyncio.create_task(making.get_or_render(lake, task(n="other"), "quick"))
        await begun(slow, n + 1)  # the page of another lane does not wait
        slow.is_allowed.set()
        assert await asyncio.gather(*first, kept, other) == [PAGE] * (n + 2)

    run(opened, asked)
    assert "left" not in [one.query["n"] for one in slow.asked]
    assert [one.query["n"] for one in slow.asked][-1] == "kept"


def test_pages_are_kept_up_to_a_size_and_not_if_they_failed(
    opened: Lake, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making_pages, "MAX_CACHED_CHARACTERS", 8 * len(PAGE.text))
    slow.is_allowed.set()

    async def asked(making: PageCache, lake: Lake) -> None:
        for n in range(10):
            await making.get_or_render(lake, task(n=str(n)), "long")
            await making.get_or_render(lake, task(n="0"), "long")  # always read again
        assert [one.query["n"] for one in slow.asked] == [str(n) for n in range(10)]
        await making.get_or_render(lake, task(n="1"), "long")
        assert len(slow.asked) == 11  # it was dropped
        slow.reply = error_reply(500, "no")
        for _ in range(2):
            assert await making.get_or_render(lake, task(n="wrong"), "long") == slow.reply
        assert len(slow.asked) == 13

    run(opened, asked)
