"""Do the intervals cover? Games whose true rate is known, in the shapes of the eight metrics.

Each cell draws a metric's games again and again, and counts how often the 95 % interval holds the
truth: at least in 92 % from 20 games a competition on, in 90 % below. Cells of one trial a game and
few competitions are not drawn but summed over all outcomes. `--write` puts the table into
docs/statistics.md.
"""

import argparse
import itertools
import sys
from typing import NamedTuple

import numpy as np
import polars as pl
from document import markdown, write
from shapes import SHAPES, Floats, Part, Shape, game_rates, hits

from pipeline.statistics import SUMS, intervals

GAMES = (5, 10, 20, 100)
RATES = (0.05, 0.5, 0.95)
CORRELATIONS = (0.0, 0.5)
ALL_OR_NOTHING = 1.0
SEED = 1
MOST_OUTCOMES = 20_000


class Cell(NamedTuple):
    """What was found of one metric, number of games, rate and correlation."""

    metric: str
    games: int
    rate: float
    correlation: float
    coverage: float
    width: float
    known_width: float  # of Wilson's interval at the true rate, were the design effect known

    @property
    def holds(self) -> bool:
        return self.coverage >= (0.92 if self.games >= 20 else 0.90)


def cell(metric: str, games: int, rate: float, correlation: float, draws: int) -> Cell:
    """Coverage and mean width of one cell."""
    shape = SHAPES[metric]
    if shape.is_one_trial and (games + 1) ** len(shape.parts) <= MOST_OUTCOMES:
        each, weights = _outcomes(shape, games, rate)
    else:
        generator = np.random.default_rng(SEED)
        each = [
            hits(generator, part.items, game_rates(generator, rate, correlation, (draws, games)))
            for part in shape.parts
        ]
        weights = np.full(draws, 1 / draws)
    sizes = [np.full_like(h, part.items) for part, h in zip(shape.parts, each, strict=True)]
    _, low, high = ends(shape, each, sizes)
    truth = shape.range * rate
    slack = 1e-12
    is_covered = (low <= truth + slack) & (truth - slack <= high)
    return Cell(
        metric,
        games,
        rate,
        correlation,
        float(weights[is_covered].sum()),
        float((weights * (high - low)).sum()),
        _known_width(shape, games, rate, correlation),
    )


def _outcomes(shape: Shape, games: int, rate: float) -> tuple[list[Floats], Floats]:
    """Every number of games won of each part, as games, with its probability."""
    from scipy.stats import binom

    won = np.arange(games + 1)
    grids = np.meshgrid(*[won] * len(shape.parts), indexing="ij")
    probabilities = np.ones(grids[0].size)
    for grid in grids:
        probabilities *= binom.pmf(grid.ravel(), games, rate)
    likely = probabilities > 1e-12
    order = np.arange(games)
    each = [(order < grid.ravel()[likely, None]).astype(np.float64) for grid in grids]
    return each, probabilities[likely]


def ends(shape: Shape, each: list[Floats], sizes: list[Floats]) -> tuple[Floats, Floats, Floats]:
    """Value, low and high of every draw, by the product's own code.

    Of each part hits and items by draw and game; a game is a setting of its own.
    """
    by_part = zip(shape.parts, each, sizes, strict=True)
    sums = pl.concat(_sums(part, h, c) for part, h, c in by_part)
    of_term = sums.filter(unit="game").group_by("draw", "term").agg(pl.col("h", "c").sum())
    weights = pl.DataFrame(list(shape.weights.items()), schema=["term", "weight"], orient="row")
    terms = of_term.join(weights, on="term").rename({"c": "counted"})
    values = terms.group_by("draw").agg(
        value=(pl.col("weight") * pl.col("h") / pl.col("counted")).sum()
    )
    wanted = terms.select("draw", "term", "weight", "counted")
    found = intervals(wanted.lazy(), sums.lazy(), ["draw"], 0.95).collect()
    told = found.join(values, on="draw").sort("draw")
    value, low, high = (told[name].to_numpy() for name in ("value", "ci_low", "ci_high"))
    return value, low, high


def _sums(part: Part, h: Floats, c: Floats) -> pl.DataFrame:
    """The moments of every draw's games."""
    products = {
        "draw": np.arange(len(h)),
        "n": (c > 0).sum(1),
        "n_with_hit": (h > 0).sum(1),
        "n_with_miss": (h < c).sum(1),
        "h": h.sum(1),
        "c": c.sum(1),
        "other_h": h.sum(1),
        "other_c": c.sum(1),
        "hh": (h * h).sum(1),
        "hc": (h * c).sum(1),
        "ch": (c * h).sum(1),
        "cc": (c * c).sum(1),
    }
    told = (
        pl.DataFrame(products)
        .cast({**SUMS})
        .with_columns(
            stratum=pl.lit(part.competition), term=pl.lit(part.term), other=pl.lit(part.term)
        )
    )
    by_game = told.with_columns(unit=pl.lit("game"))
    return pl.concat([by_game, told.with_columns(unit=pl.lit("setting"))])


def _known_width(shape: Shape, games: int, rate: float, correlation: float) -> float:
    """Of Wilson's interval at the true rate for the true effective number of games."""
    inverse = 0.0
    for term, weight in shape.weights.items():
        items = np.array([part.items for part in shape.parts if part.term == term], float)
        inflated = items * (1 + (items - 1) * correlation)
        share = weight / shape.range
        inverse += share**2 * inflated.sum() / (games * items.sum() ** 2)
    z2 = 1.959964**2
    spread = np.sqrt(z2 * (rate * (1 - rate) * inverse + z2 * inverse**2 / 4))
    return float(shape.range * 2 * spread / (1 + z2 * inverse))


def table(cells: list[Cell]) -> str:
    """Coverage by metric and correlation, over the rates: the least, and the mean width."""
    groups = itertools.groupby(cells, key=lambda one: (one.metric, one.correlation))
    headings = ["metric, correlation", *(f"{n} games" for n in GAMES)]
    rows = []
    for (metric, correlation), group in groups:
        of_games = {
            n: [one for one in found if one.games == n] for found in [list(group)] for n in GAMES
        }
        told = [
            " / ".join(f"{one.coverage:.3f}" for one in found) + f" ({_mean_width(found):.2f})"
            for found in of_games.values()
        ]
        rows.append([f"{metric}, {_named(correlation)}", *told])
    return markdown(headings, rows)


def _mean_width(cells: list[Cell]) -> float:
    return sum(one.width for one in cells) / max(1, len(cells))


def _named(correlation: float) -> str:
    return "all or nothing" if correlation == ALL_OR_NOTHING else f"{correlation:g}"


def wide(cells: list[Cell]) -> str:
    """What covers too much, with its width over that at the known design effect."""
    rows = [
        [
            one.metric,
            str(one.games),
            f"{one.rate:g}",
            f"{one.correlation:g}",
            f"{one.coverage:.4f}",
            f"{one.width / one.known_width:.2f}",
        ]
        for one in cells
        if one.coverage > 0.985
    ]
    return markdown(["metric", "games", "rate", "correlation", "coverage", "width"], rows)


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--draws", type=int, default=20_000, help="of each cell")
    options.add_argument("--write", action="store_true", help="into docs/statistics.md")
    asked = options.parse_args()
    cells = [
        cell(metric, games, rate, correlation, asked.draws)
        for metric, shape in SHAPES.items()
        for correlation in (*CORRELATIONS, ALL_OR_NOTHING)
        if not (shape.is_one_trial and correlation)
        for games in GAMES
        for rate in RATES
    ]
    gated = [one for one in cells if one.correlation != ALL_OR_NOTHING]
    text = (
        f"{table(cells)}\n\nOf {len(gated)} cells (without all or nothing) these cover in more "
        "than 98.5 %; their width is over that of Wilson's interval were the design effect known:"
        f"\n\n{wide(gated)}"
    )
    print(text)
    if asked.write:
        write("coverage", text)
    failed = [one for one in gated if not one.holds]
    for one in failed:
        print(f"undercovers: {one}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
