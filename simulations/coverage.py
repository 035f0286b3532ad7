"""Do the intervals cover? Games whose true rate is known, in even shapes and in uneven ones.

Each cell draws a metric's games again and again, and counts how often the 95 % interval holds the
truth. From 20 games on, at least three in each term, it is to be in 92 %; in 90 % below; in 88 %
where a term has one or two games. The shapes of which the page says that they fall short are
exempt. `--write` puts the tables into docs/simulations.md.
"""

import sys
from collections import Counter
from typing import NamedTuple

import numpy as np
import polars as pl
from document import markdown, parse_options, write
from shapes import (
    METRICS,
    UNEVEN,
    Shape,
    draw_games,
    draw_setting_rates,
    frame,
    is_one_trial,
    metric_shape,
    terms,
)

from pipeline.statistics.comparison import wilson_interval
from pipeline.statistics.intervals import confidence_intervals

GAMES = (5, 10, 20, 100)
RATES = (0.05, 0.5, 0.95)
MANY_RATES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9, 0.95)
STREAKS = (0.0, 0.5, 1.0)
SEED = 1
Z = 1.959964
MEAN = 0.93
# Of one cell: of large shapes fewer draws.
MOST_PLAYS = 400_000
# With a streak of 1 a game is one trial: docs/simulations.md has what few trials come to.
ALL_OR_NOTHING = 1.0
# Shapes that hold too little to do better: the page names them and says by how much.
SHORT = (
    "streak 0.5, items go",
    "near-duplicate",
    "a tenth of 8 games",
    "a tenth of 20 games",
)


class Cell(NamedTuple):
    """What was found of one shape at one rate."""

    rate: float
    coverage: float
    width: float
    known_width: float  # of Wilson's interval at the true rate, were the variance known


def cell(shape: Shape, rate: float, draws: int) -> Cell:
    """Coverage and mean width of one cell, by the product's own code.

    Draws in which a term has nothing counted have no value, and are left out.
    """
    draws = min(draws, MOST_PLAYS // len(shape.plays))
    generator = np.random.default_rng(SEED)
    hits, counted = draw_games(generator, shape, draw_setting_rates(generator, shape, rate, draws))
    sums = frame(shape, hits, counted)
    intervals = values(shape, sums, "draw")
    truth, slack = shape.value(rate), 1e-12
    is_covered = intervals["ci_low"].le(truth + slack) & intervals["ci_high"].ge(truth - slack)
    y = truth / shape.range
    variance = max(float(intervals["value"].var() or 0.0) / shape.range**2, 1e-12)
    _, low, high = wilson_interval(y, y * (1 - y) / variance, Z)
    width = (intervals["ci_high"] - intervals["ci_low"]).mean()
    return Cell(rate, float(is_covered.mean()), float(width), shape.range * (high - low))


def values(shape: Shape, sums: pl.DataFrame, by: str) -> pl.DataFrame:
    """Value, ci_low and ci_high of every draw that has a value."""
    weights = terms(shape, sums, by)
    ratio = pl.col("weight") * pl.col("h") / pl.col("counted")
    value = sums.join(weights, on=[by, "term"]).group_by(by).agg(value=ratio.sum())
    has_value = weights.group_by(by).len().filter(len=len(shape.weights))
    intervals = confidence_intervals(sums.lazy(), weights.lazy(), [by], 0.95).collect()
    return intervals.join(value, on=by).join(has_value, on=by, how="semi")


def least(shape: Shape) -> float:
    """How much of the intervals is to hold the truth at least."""
    games = Counter(play.term for play in shape.plays)
    if min(games.values()) < 3:
        return 0.88
    return 0.92 if len(shape.plays) >= 20 else 0.90


def table(results: dict[tuple[str, float, int], list[Cell]]) -> str:
    """Coverage by metric and streak, over the rates, and the mean width."""
    rows = {}
    for (metric, streak, _), cells in results.items():
        result = " / ".join(f"{cell.coverage:.3f}" for cell in cells)
        width = sum(cell.width for cell in cells) / len(cells)
        rows.setdefault((metric, streak), []).append(f"{result} ({width:.2f})")
    headings = ["metric, correlation", *(f"{n} games" for n in GAMES)]
    named = {ALL_OR_NOTHING: "all or nothing"}
    return markdown(
        headings, [[f"{m}, {named.get(s, f'{s:g}')}", *result] for (m, s), result in rows.items()]
    )


def uneven_table(results: dict[str, list[Cell]]) -> str:
    """Of each shape the least coverage over ten rates, the mean, and the width."""
    rows = []
    for name, cells in results.items():
        lowest = min(cells, key=lambda cell: cell.coverage)
        mean = sum(cell.coverage for cell in cells) / len(cells)
        rows.append(
            [
                name,
                f"{lowest.coverage:.3f} at {lowest.rate:g}",
                f"{mean:.3f}",
                f"{_width(cells):.2f}",
            ]
        )
    return markdown(["shape", "least", "mean", "width"], rows)


def _width(cells: list[Cell]) -> float:
    """The mean width over that of Wilson's interval were the variance known."""
    return sum(cell.width for cell in cells) / sum(cell.known_width for cell in cells)


def failures(name: str, shape: Shape, cells: list[Cell], draws: int) -> list[str]:
    """What misses its limit, but for what is known to, and what so few draws miss by chance."""
    if any(all(part in name for part in short_name.split(", ")) for short_name in SHORT):
        return []
    mean = sum(cell.coverage for cell in cells) / len(cells)
    slack = 2 * (0.92 * 0.08 / draws) ** 0.5
    missed = [f"{name}: {cell}" for cell in cells if cell.coverage < least(shape) - slack]
    return missed + ([f"{name}: mean {mean:.3f}"] if mean < MEAN - slack else [])


def main() -> int:
    """Run the simulation and write its tables; return 1 if a limit is missed."""
    options = parse_options(__doc__, 1000)
    even = {
        (metric, streak, games): metric_shape(metric, games, streak)
        for metric in METRICS
        for streak in STREAKS
        if not (streak and is_one_trial(metric))
        for games in GAMES
    }
    results = {
        key: [cell(message, rate, options.draws) for rate in RATES] for key, message in even.items()
    }
    uneven = {
        name: [cell(shape, rate, options.draws) for rate in MANY_RATES]
        for name, shape in UNEVEN.items()
    }
    print(table(results), uneven_table(uneven), sep="\n\n")
    if options.write:
        write("coverage", table(results))
        write("uneven", uneven_table(uneven))
    failed = [
        each
        for key, cells in results.items()
        if key[1] != ALL_OR_NOTHING
        for each in failures(str(key), even[key], cells, options.draws)
    ]
    failed += [
        each
        for name, cells in uneven.items()
        for each in failures(name, UNEVEN[name], cells, options.draws)
    ]
    for message in failed:
        print(f"undercovers: {message}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
