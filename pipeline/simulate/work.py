"""The work of a run, cut into pieces of fifty games and done in order by one process or several."""

import gc
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import lru_cache
from typing import NamedTuple, TypeVar

from pipeline.processes import no_interrupt
from pipeline.simulate.competitions import COMPETITIONS, setting_files
from pipeline.simulate.encode import encode
from pipeline.simulate.players import Model, roster

T = TypeVar("T")

PIECE = 50


class Plan(NamedTuple):
    """What determines every byte of a run."""

    seed: int
    n_models: int
    n_games: int

    @property
    def models(self) -> tuple[Model, ...]:
        return _roster(self.seed, self.n_models)


_roster = lru_cache(maxsize=4)(roster)


class Piece(NamedTuple):
    """Some files of one folder; a competition of -1 stands for the settings files there."""

    directory: str
    competition: int
    model: int
    names: tuple[str, ...]

    @property
    def is_played(self) -> bool:
        return self.competition >= 0


class Member(NamedTuple):
    """One file: its path within `out`, and its bytes."""

    path: str
    data: bytes


def pieces(plan: Plan) -> list[Piece]:
    """All work of a plan, in the order of the files' paths."""
    all_pieces = []
    for path in setting_files(plan.seed, plan.n_games):
        directory, _, name = path.rpartition("/")
        all_pieces.append(Piece(directory, -1, -1, (name,)))
    names = sorted(f"{index}.json" for index in range(plan.n_games))
    for c, competition in enumerate(COMPETITIONS):
        for m, model in enumerate(plan.models):
            directory = competition.directory(model)
            all_pieces += [
                Piece(directory, c, m, tuple(names[start : start + PIECE]))
                for start in range(0, len(names), PIECE)
            ]
    return sorted(all_pieces)


def members(plan: Plan, piece: Piece) -> Iterator[Member]:
    """The files of a piece, played and encoded."""
    for name in piece.names:
        path = f"{piece.directory}/{name}"
        if piece.is_played:
            log = COMPETITIONS[piece.competition].log
            index = int(name.removesuffix(".json"))
            yield Member(path, encode(log(plan.seed, plan.models[piece.model], index)))
        else:
            yield Member(path, encode(setting_files(plan.seed, plan.n_games)[path]))


def in_order(
    plan: Plan, task: Callable[[Plan, Piece], T], n_jobs: int
) -> Iterator[tuple[Piece, T]]:
    """Every piece with what the task made of it; few pieces are under way at any time."""
    work = pieces(plan)
    if n_jobs == 1:
        for piece in work:
            yield piece, task(plan, piece)
        return
    context = multiprocessing.get_context("spawn")
    # Logs hold no reference cycles: the collector would only look through them again and again.
    with ProcessPoolExecutor(n_jobs, mp_context=context, initializer=gc.disable) as pool:
        waiting: deque[tuple[Piece, Future[T]]] = deque()
        for piece in work:
            with no_interrupt():  # processes are started when there is work for them
                waiting.append((piece, pool.submit(task, plan, piece)))
            if len(waiting) > 4 * n_jobs:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()
