"""Do intervals and comparisons hold where each task is played with several prompts?

A model plays 20 tasks with each of five prompts. Tasks differ in how hard they are, and all prompts
of a task are equally hard, but that one prompt may be better by a fixed rate. The games are logs
that are ingested, with and without `variant_keys`. The share of intervals of the win rate that hold
the true one is to be .92 or more with them, and groups of prompts that are alike are to be told
apart in .08 or less. `--write` puts the table into docs/simulations.md.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from document import markdown, parse_options, write

import pipeline
from pipeline.ingest import ingest

N_TASKS, N_PROMPTS, LEVEL = 20, 5, 0.05
BETTER, OTHER = "p1", "p0"
LEAST, MOST = 0.92, 0.08


class Found(NamedTuple):
    """The intervals of the win rate and the comparison of two prompts.

    Attributes:
        coverage: The share of intervals of the win rate that contain the true one.
        width: The mean width of these intervals.
        told_apart: The share of p-values of the prompts' difference that reach the level.
        difference_width: The mean width of the interval of the difference.
    """

    coverage: float
    width: float
    told_apart: float
    difference_width: float


def simulate(draws: int, gain: float, *, has_keys: bool) -> Found:
    """Simulate one model for each draw, with one prompt better by `gain`."""
    with TemporaryDirectory() as folder:
        logs = Path(folder, "games.jsonl")
        logs.write_text(
            "".join(f"{json.dumps(game)}\n" for game in games(draws, gain, has_keys=has_keys))
        )
        ingest(logs, Path(folder, "lake"), jobs=1)
        lake = pipeline.open_lake(Path(folder, "lake"))
        values = lake.metrics(metric="win_rate", by="model")
        rows = lake.compare_with(
            f"setting.prompt={BETTER}",
            metric="win_rate",
            where=f"setting.prompt IN ('{BETTER}', '{OTHER}')",
        ).filter(n_models=1)
    truth = 0.5 * (1 - gain) + gain / N_PROMPTS
    return Found(
        float(values.select(pl.lit(truth).is_between("ci_low", "ci_high").mean()).item()),
        float(values.select((pl.col("ci_high") - pl.col("ci_low")).mean()).item()),
        float(rows.select((pl.col("p_value") <= LEVEL).mean()).item()),
        float(rows.select((pl.col("ci_high") - pl.col("ci_low")).mean()).item()),
    )


def games(draws: int, gain: float, *, has_keys: bool) -> Iterator[dict[str, Any]]:
    """Yield the games as interchange documents."""
    generator = np.random.default_rng(7)
    # Rates leave room for the gain, so that the better prompt is better in each task.
    rates = generator.beta(0.5, 0.5, (draws, N_TASKS)) * (1 - gain)
    for (draw, task), rate in np.ndenumerate(rates):
        for prompt in range(N_PROMPTS):
            is_better = f"p{prompt}" == BETTER
            is_won = bool(generator.random() < rate + gain * is_better)
            keys = {"variant_keys": ["prompt"]} if has_keys else {}
            yield {
                "magic_interchange": 1,
                "system": "lab",
                "game_type": "prisoners_dilemma",
                "setting": {"task": task, "prompt": f"p{prompt}", **keys},
                "is_repeatable": True,
                "is_finished": True,
                "seats": [
                    {"player": "Uma", "model": f"m{draw:04}", "score": 5 if is_won else 1},
                    {"player": "bot", "is_bot": True, "score": 3},
                ],
                "events": [{"text": f"game {draw}"}],
            }


def main() -> int:
    """Run the simulation and write its table; return 1 if a limit is missed."""
    options = parse_options(__doc__, 200)
    results = {
        (gain, has_keys): simulate(options.draws, gain, has_keys=has_keys)
        for gain in (0.0, 0.1)
        for has_keys in (False, True)
    }
    rows = [
        [
            f"{gain:g}",
            "yes" if has_keys else "no",
            f"{result.coverage:.3f} ({result.width:.2f})",
            f"{result.told_apart:.3f} ({result.difference_width:.2f})",
        ]
        for (gain, has_keys), result in results.items()
    ]
    headings = ["a prompt is better by", "`variant_keys`", "coverage (width)", "p ≤ .05 (width)"]
    text = markdown(headings, rows)
    print(text)
    if options.write:
        write("variants", text)
    failed = [
        f"better by {gain:g}"
        for (gain, has_keys), result in results.items()
        if (has_keys and result.coverage < LEAST) or (gain == 0 and result.told_apart > MOST)
    ]
    for each in failed:
        print(f"does not hold: {each}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
