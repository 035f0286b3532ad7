"""Simulate games of models with known skill, and write their logs in MAgIC's format.

The logs have the forms, quirks and sizes of the benchmark's logs; `truth.json` has the skills. They
serve tests, demonstrations and measurements of speed. Called by `magic simulate`; depends on
`pipeline.simulate.point_games` and `pipeline.simulate.settings`.
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
from pipeline.simulate.point_games import COMPETITIONS, Competition, setting_documents_by_path
from pipeline.simulate.settings import Model, draw_models

# The work of a run, divided into batches of fifty files. One or several processes do it in order.

T = TypeVar("T")

FILES_PER_BATCH = 50


class RunPlan(NamedTuple):
    """The inputs that determine every byte of a run.

    Attributes:
        seed: The seed of the random numbers.
        n_games: The number of games of each model in each competition.
        models: The simulated models.
    """

    seed: int
    n_games: int
    models: tuple[Model, ...]


class FileBatch(NamedTuple):
    """Some files of one folder, the unit of work of a process.

    Attributes:
        directory: The folder.
        names: The names of the files.
        competition: The competition of the logs; None if the files are settings.
        model: The model that plays; None if the files are settings.
    """

    directory: str
    names: tuple[str, ...]
    competition: Competition | None = None
    model: Model | None = None


def divide_files_into_batches(plan: RunPlan) -> list[FileBatch]:
    """Divide the files that a run will write into batches of up to fifty.

    Args:
        plan: The run.

    Returns:
        The batches, in the order of the files' paths.
    """
    paths = [path.rpartition("/") for path in setting_documents_by_path(plan.seed, plan.n_games)]
    names = sorted(f"{index}.json" for index in range(plan.n_games))
    name_batches = [
        tuple(names[first : first + FILES_PER_BATCH])
        for first in range(0, len(names), FILES_PER_BATCH)
    ]
    log_batches = [
        FileBatch(competition.log_folder(model), batch_names, competition, model)
        for competition, model, batch_names in product(COMPETITIONS, plan.models, name_batches)
    ]
    setting_batches = [FileBatch(directory, (name,)) for directory, _, name in paths]
    return sorted([*setting_batches, *log_batches], key=itemgetter(0, 1))


def play_and_encode_files(plan: RunPlan, batch: FileBatch) -> list[tuple[str, bytes]]:
    """Play the games of a batch and return the JSON of their logs, by path.

    Args:
        plan: The run.
        batch: The files to build.

    Returns:
        The path of each file below the output folder, and its bytes.
    """
    files = []
    for name in batch.names:
        path = f"{batch.directory}/{name}"
        if batch.competition and batch.model:
            game_index = int(name.removesuffix(".json"))
            document = batch.competition.play_game(plan.seed, batch.model, game_index)
        else:
            document = setting_documents_by_path(plan.seed, plan.n_games)[path]
        files.append((path, encode_json(document)))
    return files


def iter_batches_with_task_results(
    plan: RunPlan, task: Callable[[RunPlan, FileBatch], T], n_jobs: int
) -> Iterator[tuple[FileBatch, T]]:
    """Run a task for every batch, and yield each batch with the result of its task.

    Only a few batches are in progress at a time.

    Args:
        plan: The run.
        task: A function of the plan and a batch that other processes can import.
        n_jobs: The number of processes; 1 to run in this process.

    Yields:
        Each batch with the result of the task, in the order of `divide_files_into_batches`.
    """
    batches = divide_files_into_batches(plan)
    if n_jobs == 1:
        for batch in batches:
            yield batch, task(plan, batch)
        return
    context = multiprocessing.get_context("spawn")
    # Without garbage collection, because logs have no reference cycles to collect.
    with ProcessPoolExecutor(n_jobs, mp_context=context, initializer=gc.disable) as pool:
        pending: deque[tuple[FileBatch, Future[T]]] = deque()
        for batch in batches:
            with block_interrupts():  # `submit` starts processes on demand
                pending.append((batch, pool.submit(task, plan, batch)))
            if len(pending) > 4 * n_jobs:
                finished, future = pending.popleft()
                yield finished, future.result()
        for finished, future in pending:
            yield finished, future.result()


_encode_compact_json = Encoder().encode


def encode_json(document: object) -> bytes:
    """Encode a document as `json.dumps(document, indent=4)` does, but about ten times as fast.

    Very large and very small numbers differ, because msgspec writes them in another notation.

    Args:
        document: A value that JSON can represent.

    Returns:
        The JSON in ASCII.
    """
    data = format(_encode_compact_json(document), indent=4)
    if not data.isascii():
        data = data.decode().encode("ascii", _ESCAPE_HANDLER)
    return data.replace(b"\x7f", b"\\u007f")


def _escape_non_ascii_as_json(error: UnicodeError) -> tuple[str, int]:
    """Return the JSON escapes of characters that are not ASCII, and the position after them.

    This handles errors of the codec `ascii`; Python's own handlers write other escapes.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    hex_digits = error.object[error.start : error.end].encode("utf-16-be").hex()
    return "".join(
        f"\\u{hex_digits[offset : offset + 4]}" for offset in range(0, len(hex_digits), 4)
    ), error.end


_ESCAPE_HANDLER = "pipeline.simulate.json"
codecs.register_error(_ESCAPE_HANDLER, _escape_non_ascii_as_json)

# The output of a run: a folder or an archive. The bytes of an archive depend only on its members.

MODIFIED_SECONDS = 1_700_000_000
COMPRESSION_LEVEL = 1
"""The level of deflate: the fastest, because the archives are for tests."""

AddFile = Callable[[str, bytes], None]
"""A function that adds a file with a path and bytes to an archive."""


def _write_files_and_iter_batch_sizes(
    plan: RunPlan, results: Path, archive: str | None, n_jobs: int
) -> Iterator[tuple[FileBatch, list[int]]]:
    """Write the files of a run, and yield each batch with the sizes of its files in bytes.

    Worker processes write the files of a folder. This process writes and compresses an archive.
    """
    if archive is None:
        yield from iter_batches_with_task_results(
            plan, partial(_write_batch_and_return_file_sizes, results.parent), n_jobs
        )
        return
    with ARCHIVES[archive](results) as add:
        for batch, files in iter_batches_with_task_results(plan, play_and_encode_files, n_jobs):
            for path, data in files:
                add(path, data)
            yield batch, [len(data) for _, data in files]


def _write_batch_and_return_file_sizes(folder: Path, plan: RunPlan, batch: FileBatch) -> list[int]:
    (folder / batch.directory).mkdir(parents=True, exist_ok=True)
    return [(folder / path).write_bytes(data) for path, data in play_and_encode_files(plan, batch)]


@contextmanager
def _open_tar_for_adding_files(
    open_compressed: Callable[[IO[bytes]], AbstractContextManager[Any]], out: Path
) -> Iterator[AddFile]:
    """Create a tar archive, and yield a function that adds a file to it."""

    def add(path: str, data: bytes) -> None:
        header = tarfile.TarInfo(path)
        header.size = len(data)
        header.mtime = MODIFIED_SECONDS
        archive.addfile(header, io.BytesIO(data))

    with (
        out.open("wb") as file,
        open_compressed(file) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        yield add


@contextmanager
def _open_zip_for_adding_files(out: Path) -> Iterator[AddFile]:
    """Create a zip archive, and yield a function that adds a file to it."""

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
    **{name: partial(_open_tar_for_adding_files, codec) for name, codec in _CODECS.items()},
    "zip": _open_zip_for_adding_files,
}

__all__ = ["Summary", "simulate"]

MIN_GAMES_FOR_PROCESSES = 600
"""The number of games from which several processes are faster than one."""


class Summary(NamedTuple):
    """The result of a simulation.

    Attributes:
        results: The folder or archive with the logs.
        truth: The path of `truth.json`.
        models: The names of the simulated models.
        n_games: The number of games of all models.
        n_files: The number of files.
        n_bytes: The total size of the files.
    """

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
    """Simulate games, and write `out/results/` (or an archive of it) and `out/truth.json`.

    Each model plays `games` games in each of the seven competitions: `models * games * 7` games.
    The bytes depend only on `models`, `games` and `seed`.

    Worker processes import the main module of the program again, so a script must call this
    function under `if __name__ == "__main__":`.

    Args:
        out: A folder that is empty or does not exist.
        models: The number of simulated models.
        games: The number of games of each model in each competition.
        seed: The seed of the random numbers.
        archive: `tar`, `tar.gz`, `tar.zst` or `zip` to write an archive with the same files instead
            of a folder.
        jobs: The number of processes; by default one per core, or one for fewer than 600 games.
        on_game: A function that is called after each batch with the number of games written so far.

    Returns:
        The paths, models and sizes of what was written.

    Raises:
        UsageError: If an argument is invalid, or if `out` exists and is not an empty folder.
    """
    _check_arguments(out, models, games, archive, jobs)
    plan = RunPlan(seed, games, draw_models(seed, models))
    n_games = models * games * len(COMPETITIONS)
    n_jobs = jobs or (1 if n_games < MIN_GAMES_FOR_PROCESSES else available_cores())
    out.mkdir(parents=True, exist_ok=True)
    truth = out / "truth.json"
    with atomic_write(truth) as draft:
        draft.write_text(json.dumps(_truth_of_run(plan), indent=4) + "\n", encoding="utf-8")
    results = out / (f"results.{archive}" if archive else "results")
    n_files = n_bytes = n_written = 0
    with atomic_write(results) if archive else nullcontext(results) as destination:
        for batch, sizes in _write_files_and_iter_batch_sizes(plan, destination, archive, n_jobs):
            n_files += len(sizes)
            n_bytes += sum(sizes)
            if batch.model:
                n_written += len(sizes)
                on_game(n_written)
    return Summary(
        results, truth, tuple(model.name for model in plan.models), n_games, n_files, n_bytes
    )


def _truth_of_run(plan: RunPlan) -> dict[str, object]:
    """Return the content of `truth.json`: the arguments of the run and the skills of its models."""
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
    """Raise a usage error that lists all invalid arguments; do nothing if all are valid."""
    errors = [
        f"{name} must be at least 1, not {value}"
        for name, value in (("models", models), ("games", games), ("jobs", jobs))
        if value is not None and value < 1
    ]
    if archive is not None and archive not in ARCHIVES:
        errors.append(f"archive must be one of {', '.join(ARCHIVES)}, not {archive!r}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        errors.append(f"{out} exists and is not an empty folder; name another one")
    if errors:
        raise UsageError("; ".join(errors))
