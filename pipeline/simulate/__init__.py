"""Writes logs in MAgIC's format, played by simulated models whose skill is known.

For tests, demonstrations and measurements of speed: the benchmark's forms and quirks, its sizes,
any number of games, and the truth behind them in `truth.json`.
"""

import codecs
import gc
import gzip
import io
import json
import multiprocessing
import tarfile
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

import zstandard
from msgspec.json import Encoder, format

from pipeline.atomic_files import atomic_write
from pipeline.errors import UsageError
from pipeline.processes import available_cores, block_interrupts
from pipeline.simulate.point_games import COMPETITIONS, Competition, setting_files
from pipeline.simulate.settings import Model, draw_models

# The work of a run, cut into pieces of fifty games and done in order by one process or several.

T = TypeVar("T")

FILES_PER_BATCH = 50


class Plan(NamedTuple):
    """What determines every byte of a run."""

    seed: int
    n_games: int
    models: tuple[Model, ...]


class FileBatch(NamedTuple):
    """Some files of one folder: logs of a model in a competition; settings where there is none."""

    directory: str
    names: tuple[str, ...]
    competition: Competition | None = None
    model: Model | None = None


def plan_batches(plan: Plan) -> list[FileBatch]:
    """All work of a plan, in the order of the files' paths."""
    paths = [path.rpartition("/") for path in setting_files(plan.seed, plan.n_games)]
    names = sorted(f"{index}.json" for index in range(plan.n_games))
    some = [
        tuple(names[start : start + FILES_PER_BATCH])
        for start in range(0, len(names), FILES_PER_BATCH)
    ]
    of_games = [
        FileBatch(competition.directory(model), some_names, competition, model)
        for competition, model, some_names in product(COMPETITIONS, plan.models, some)
    ]
    of_settings = [FileBatch(directory, (name,)) for directory, _, name in paths]
    return sorted([*of_settings, *of_games], key=itemgetter(0, 1))


def build_files(plan: Plan, piece: FileBatch) -> list[tuple[str, bytes]]:
    """The files of a piece, played and encoded: the path of each within `out`, and its bytes."""
    files = []
    for name in piece.names:
        path = f"{piece.directory}/{name}"
        if piece.competition and piece.model:
            index = int(name.removesuffix(".json"))
            document = piece.competition.log(plan.seed, piece.model, index)
        else:
            document = setting_files(plan.seed, plan.n_games)[path]
        files.append((path, encode_json(document)))
    return files


def iter_batch_results(
    plan: Plan, task: Callable[[Plan, FileBatch], T], n_jobs: int
) -> Iterator[tuple[FileBatch, T]]:
    """Every piece with what the task made of it; few pieces are under way at any time."""
    work = plan_batches(plan)
    if n_jobs == 1:
        for piece in work:
            yield piece, task(plan, piece)
        return
    context = multiprocessing.get_context("spawn")
    # Logs hold no reference cycles: the collector would only look through them again and again.
    with ProcessPoolExecutor(n_jobs, mp_context=context, initializer=gc.disable) as pool:
        waiting: deque[tuple[FileBatch, Future[T]]] = deque()
        for piece in work:
            with block_interrupts():  # processes are started when there is work for them
                waiting.append((piece, pool.submit(task, plan, piece)))
            if len(waiting) > 4 * n_jobs:
                done, future = waiting.popleft()
                yield done, future.result()
        for done, future in waiting:
            yield done, future.result()


_encode_compact_json = Encoder().encode


def encode_json(document: object) -> bytes:
    """The document as `json.dumps(document, indent=4)` would write it, an order quicker.

    Not for numbers of very large or small size, which msgspec writes in another notation.
    """
    data = format(_encode_compact_json(document), indent=4)
    if not data.isascii():
        data = data.decode().encode("ascii", _ESCAPE_HANDLER)
    return data.replace(b"\x7f", b"\\u007f")


def _escape_non_ascii(error: UnicodeError) -> tuple[str, int]:
    """JSON's escapes for the characters that ASCII lacks, which Python's own are not."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.end


_ESCAPE_HANDLER = "pipeline.simulate.json"
codecs.register_error(_ESCAPE_HANDLER, _escape_non_ascii)

# Where the logs go: a folder, or one archive. Each way yields what it has written, piece by piece.
#
# An archive's bytes depend on its members only.

MODIFIED_SECONDS = 1_700_000_000
COMPRESSION_LEVEL = 1
"""Of deflate, which is slow: these archives are for trials, not for keeping."""

AddFile = Callable[[str, bytes], None]
"""Puts a file into an archive."""


def _write_batches(
    plan: Plan, results: Path, archive: str | None, n_jobs: int
) -> Iterator[tuple[FileBatch, list[int]]]:
    """Yield each piece with the number of bytes of each of its files.

    Files are written by the processes that play. An archive is written and compressed by this one.
    """
    if archive is None:
        yield from iter_batch_results(plan, partial(_write_batch, results.parent), n_jobs)
        return
    with ARCHIVES[archive](results) as add:
        for piece, files in iter_batch_results(plan, build_files, n_jobs):
            for path, data in files:
                add(path, data)
            yield piece, [len(data) for _, data in files]


def _write_batch(out: Path, plan: Plan, piece: FileBatch) -> list[int]:
    (out / piece.directory).mkdir(parents=True, exist_ok=True)
    return [(out / path).write_bytes(data) for path, data in build_files(plan, piece)]


@contextmanager
def _open_tar(
    compressed: Callable[[IO[bytes]], AbstractContextManager[Any]], out: Path
) -> Iterator[AddFile]:
    def add(path: str, data: bytes) -> None:
        header = tarfile.TarInfo(path)
        header.size = len(data)
        header.mtime = MODIFIED_SECONDS
        archive.addfile(header, io.BytesIO(data))

    with (
        out.open("wb") as file,
        compressed(file) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        yield add


@contextmanager
def _open_zip(out: Path) -> Iterator[AddFile]:
    def add(path: str, data: bytes) -> None:
        entry = zipfile.ZipInfo(path)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system = 3
        entry.external_attr = 0o100644 << 16
        archive.writestr(entry, data)

    with zipfile.ZipFile(
        out, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL
    ) as archive:
        yield add


_CODECS: dict[str, Callable[[IO[bytes]], AbstractContextManager[Any]]] = {
    "tar": nullcontext,
    "tar.gz": lambda file: gzip.GzipFile("", "wb", COMPRESSION_LEVEL, file, MODIFIED_SECONDS),
    "tar.zst": lambda file: zstandard.ZstdCompressor(level=3).stream_writer(file),
}
ARCHIVES: dict[str, Callable[[Path], AbstractContextManager[AddFile]]] = {
    **{name: partial(_open_tar, codec) for name, codec in _CODECS.items()},
    "zip": _open_zip,
}

__all__ = ["Summary", "simulate"]

MIN_GAMES_FOR_PROCESSES = 600
"""Runs of fewer games are quicker in one process."""


class Summary(NamedTuple):
    """What was written, and where."""

    results: Path
    truth: Path
    models: tuple[str, ...]
    n_games: int
    n_files: int
    n_bytes: int


def simulate(
    out: Path,
    *,
    models: int = 4,
    games: int = 20,
    seed: int = 0,
    archive: str | None = None,
    jobs: int | None = None,
    on_game: Callable[[int], object] = lambda n_written: None,
) -> Summary:
    """Writes `out/results/` (or one archive of it) and `out/truth.json`; returns what came of it.

    Every model plays `games` games of each of the seven competitions, so there are
    `models * games * 7` of them. The bytes depend on `models`, `games` and `seed` only; `archive`
    is one of tar, tar.gz, tar.zst and zip, with the very same members as the folder would have.
    `jobs` processes are used (default: one a core; small runs stay in this one). They start this
    program's main module anew, so a script must call from under `if __name__ == "__main__":`.
    `on_game` is called now and then with the number of games written so far.
    """
    _check_arguments(out, models, games, archive, jobs)
    plan = Plan(seed, games, draw_models(seed, models))
    n_games = models * games * len(COMPETITIONS)
    n_jobs = jobs or (1 if n_games < MIN_GAMES_FOR_PROCESSES else available_cores())
    out.mkdir(parents=True, exist_ok=True)
    truth = out / "truth.json"
    with atomic_write(truth) as draft:
        draft.write_text(json.dumps(_truth_document(plan), indent=4) + "\n", encoding="utf-8")
    results = out / (f"results.{archive}" if archive else "results")
    n_files = n_bytes = n_written = 0
    with atomic_write(results) if archive else nullcontext(results) as place:
        for piece, sizes in _write_batches(plan, place, archive, n_jobs):
            n_files += len(sizes)
            n_bytes += sum(sizes)
            if piece.model:
                n_written += len(sizes)
                on_game(n_written)
    names = tuple(model.name for model in plan.models)
    return Summary(results, truth, names, n_games, n_files, n_bytes)


def _truth_document(plan: Plan) -> dict[str, object]:
    return {
        "seed": plan.seed,
        "games": plan.n_games,
        "competitions": [competition.name for competition in COMPETITIONS],
        "models": [
            {"model": model.name, "is_pgm": model.is_pgm, "skill": model.skill._asdict()}
            for model in plan.models
        ],
    }


def _check_arguments(
    out: Path, models: int, games: int, archive: str | None, jobs: int | None
) -> None:
    wrong = [
        f"{name} must be at least 1, not {value}"
        for name, value in (("models", models), ("games", games), ("jobs", jobs))
        if value is not None and value < 1
    ]
    if archive is not None and archive not in ARCHIVES:
        wrong.append(f"archive must be one of {', '.join(ARCHIVES)}, not {archive!r}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        wrong.append(f"{out} exists and is not an empty folder; name another one")
    if wrong:
        raise UsageError("; ".join(wrong))
