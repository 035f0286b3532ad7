"""The work of a run, cut into pieces of fifty games and done in order by one process or several."""

import codecs
import gc
import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import product
from operator import itemgetter
from typing import NamedTuple, TypeVar

from msgspec.json import Encoder, format

from pipeline.processes import no_interrupt
from pipeline.simulate.competitions import COMPETITIONS, Competition, setting_files
from pipeline.simulate.players import Model

T = TypeVar("T")

PIECE = 50


class Plan(NamedTuple):
    """What determines every byte of a run."""

    seed: int
    n_games: int
    models: tuple[Model, ...]


class Piece(NamedTuple):
    """Some files of one folder: logs of a model in a competition; settings where there is none."""

    directory: str
    names: tuple[str, ...]
    competition: Competition | None = None
    model: Model | None = None


def pieces(plan: Plan) -> list[Piece]:
    """All work of a plan, in the order of the files' paths."""
    all_pieces = []
    for path in setting_files(plan.seed, plan.n_games):
        directory, _, name = path.rpartition("/")
        all_pieces.append(Piece(directory, (name,)))
    names = sorted(f"{index}.json" for index in range(plan.n_games))
    for competition, model in product(COMPETITIONS, plan.models):
        all_pieces += [
            Piece(
                competition.directory(model),
                tuple(names[start : start + PIECE]),
                competition,
                model,
            )
            for start in range(0, len(names), PIECE)
        ]
    return sorted(all_pieces, key=itemgetter(0, 1))


def members(plan: Plan, piece: Piece) -> Iterator[tuple[str, bytes]]:
    """The files of a piece, played and encoded: the path of each within `out`, and its bytes."""
    for name in piece.names:
        path = f"{piece.directory}/{name}"
        if piece.competition and piece.model:
            index = int(name.removesuffix(".json"))
            yield path, encode(piece.competition.log(plan.seed, piece.model, index))
        else:
            yield path, encode(setting_files(plan.seed, plan.n_games)[path])


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


_encode = Encoder().encode


def encode(document: object) -> bytes:
    """The document as `json.dumps(document, indent=4)` would write it, an order quicker.

    Not for numbers of very large or small size, which msgspec writes in another notation.
    """
    data = format(_encode(document), indent=4)
    if not data.isascii():
        data = data.decode().encode("ascii", _ESCAPE)
    return data.replace(b"\x7f", b"\\u007f")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """JSON's escapes for the characters that ASCII lacks, which Python's own are not."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.end


_ESCAPE = "pipeline.simulate.json"
codecs.register_error(_ESCAPE, _escaped)
