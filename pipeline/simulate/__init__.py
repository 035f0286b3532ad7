"""Writes logs in MAgIC's format, played by simulated models whose skill is known.

For tests, demonstrations and measurements of speed: the benchmark's forms and quirks, its sizes,
any number of games, and the truth behind them in `truth.json`.
"""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import UsageError
from pipeline.processes import cores
from pipeline.replacing import replacing
from pipeline.simulate.competitions import COMPETITIONS
from pipeline.simulate.players import roster
from pipeline.simulate.work import Plan
from pipeline.simulate.writer import ARCHIVES, into_folder

__all__ = ["Summary", "simulate"]

SMALL = 600
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
    on_game: Callable[[int], None] | None = None,
) -> Summary:
    """Writes `out/results/` (or one archive of it) and `out/truth.json`; returns what came of it.

    Every model plays `games` games of each of the seven competitions, so there are
    `models * games * 7` of them. The bytes depend on `models`, `games` and `seed` only; `archive`
    is one of tar, tar.gz, tar.zst and zip, with the very same members as the folder would have.
    `jobs` processes are used (default: one a core; small runs stay in this one). They start this
    program's main module anew, so a script must call from under `if __name__ == "__main__":`.
    `on_game` is called now and then with the number of games written so far.
    """
    _check(out, models, games, archive, jobs)
    plan = Plan(seed, games, roster(seed, models))
    n_games = models * games * len(COMPETITIONS)
    n_jobs = jobs or (1 if n_games < SMALL else cores())
    out.mkdir(parents=True, exist_ok=True)
    truth = out / "truth.json"
    with replacing(truth) as draft:
        draft.write_text(json.dumps(_truth(plan), indent=4) + "\n", encoding="utf-8")
    write = ARCHIVES[archive] if archive else into_folder
    results = out / (f"results.{archive}" if archive else "results")
    n_files = n_bytes = n_written = 0
    with replacing(results) if archive else nullcontext(results) as place:
        for piece, sizes in write(plan, place, n_jobs):
            n_files += len(sizes)
            n_bytes += sum(sizes)
            if piece.model:
                n_written += len(sizes)
                if on_game:
                    on_game(n_written)
    names = tuple(model.name for model in plan.models)
    return Summary(results, truth, names, n_games, n_files, n_bytes)


def _truth(plan: Plan) -> dict[str, object]:
    return {
        "seed": plan.seed,
        "games": plan.n_games,
        "competitions": [competition.name for competition in COMPETITIONS],
        "models": [
            {"model": model.name, "is_pgm": model.is_pgm, "skill": model.skill._asdict()}
            for model in plan.models
        ],
    }


def _check(out: Path, models: int, games: int, archive: str | None, jobs: int | None) -> None:
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
