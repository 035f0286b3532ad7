"""Worker processes: what ends a page, and what does not."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from pipeline.api import open_lake
from pipeline.server.worker import Reply, Task, reply
from pipeline.server.workers import Workers

ENDLESS = "SELECT count(*) FROM range(100000000) a, range(100000) b"


@pytest.mark.slow
def test_a_process_that_ended_while_idle_costs_nobody_an_answer(lake: Path) -> None:
    async def asked() -> list[int]:
        workers = Workers()
        opened = open_lake(lake)
        task = Task("tables", "json", {})
        first = await workers.reply(opened, task, "quick")
        for process in workers._all:
            os.kill(process._process.pid, 9)
            process._process.wait(10)
        second = await workers.reply(opened, task, "quick")
        n_processes = len(workers._all)
        workers.close()
        return [first.status, second.status, n_processes]

    assert asyncio.run(asked()) == [200, 200, 1]


@pytest.mark.slow
def test_pages_share_a_process_and_queries_do_not(lake: Path) -> None:
    async def asked() -> tuple[list[int], list[int]]:
        workers = Workers()
        opened = open_lake(lake)
        tasks = [
            *((Task("tables", "json", {}), lane) for lane in ("quick", "long")),
            *((Task("sql", "json", {"query": f"SELECT {i} AS n"}), "free") for i in range(2)),
        ]
        replies = await asyncio.gather(*(workers.reply(opened, *one) for one in tasks))
        nice = sorted(process.nice for process in workers._all)
        workers.close()
        return [reply.status for reply in replies], nice

    assert asyncio.run(asked()) == ([200] * 4, [0, 10, 10])


@pytest.mark.slow
def test_games_are_the_same_after_the_first(lake: Path) -> None:
    """The process searches for the first, and then learns where the others are."""
    opened = open_lake(lake)
    ids = opened.table("games").select("game_id").head(4).collect()["game_id"]
    tasks = [Task("game", "html", {"game": game_id}) for game_id in ids]

    async def asked() -> list[Reply]:
        workers = Workers()
        first = [await workers.reply(opened, task, "quick") for task in tasks[:2]]
        await asyncio.sleep(2)
        others = [await workers.reply(opened, task, "quick") for task in tasks]
        workers.close()
        return [*first, *others]

    of_game = [reply(opened, task) for task in tasks]
    assert asyncio.run(asked()) == [*of_game[:2], *of_game]


@pytest.mark.some(1)
@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_page_beside_one_that_is_ended_is_made_again(lake: Path, is_killed: bool) -> None:
    """Nobody knows for which of its pages a process ended by itself, but which one is slow."""

    async def asked() -> list[int]:
        workers = Workers(seconds=20)
        opened = open_lake(lake)
        endless = Task("sql", "html", {"query": ENDLESS})
        slow = asyncio.create_task(workers.reply(opened, endless, "long"))
        await asyncio.sleep(2)
        (process,) = workers._all
        quick = asyncio.create_task(workers.reply(opened, Task("tables", "json", {}), "quick"))
        await asyncio.sleep(0)
        assert process.n_pages == 2
        if is_killed:
            process.kill()
        replies = await asyncio.gather(slow, quick)
        workers.close()
        return [reply.status for reply in replies]

    assert asyncio.run(asked()) == [504, 200]


@pytest.mark.slow
def test_endless_queries_leave_search_alone(lake: Path) -> None:
    async def asked() -> float:
        workers = Workers()
        opened = open_lake(lake)
        endless = [
            asyncio.create_task(
                workers.reply(
                    opened, Task("sql", "html", {"query": f"{ENDLESS} WHERE a.range > {i}"}), "free"
                )
            )
            for i in range(4)
        ]
        await asyncio.sleep(2)
        began = time.monotonic()
        made = await workers.reply(opened, Task("search", "json", {"words": "I"}), "search")
        seconds = time.monotonic() - began
        assert made.status == 200
        assert not any(one.done() for one in endless)
        workers.close()
        await asyncio.gather(*endless)
        return seconds

    assert asyncio.run(asked()) < 15


def test_a_query_that_is_given_up_ends_with_its_process(lake: Path) -> None:
    async def asked() -> list[bool]:
        workers = Workers()
        task = Task("sql", "json", {"query": ENDLESS})
        query = asyncio.create_task(workers.reply(open_lake(lake), task, "free"))
        await asyncio.sleep(0.1)
        given_up = [*workers._all]
        query.cancel()
        await asyncio.wait([query])
        for process in given_up:
            process.wait()
        are_alive = [process.is_alive() for process in given_up]
        workers.close()
        return are_alive

    assert asyncio.run(asked()) == [False]
