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
from shapes import SHAPES, Floats, Shape, game_rates, hits

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
    low, high = _ends(shape, each)
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


def _ends(shape: Shape, each: list[Floats]) -> tuple[Floats, Floats]:
    """The intervals of every draw, by the product's own code."""
    n_draws = len(each[0])
    sums = pl.concat(
        _sums(part.competition, part.term, part.items, h)
        for part, h in zip(shape.parts, each, strict=True)
    )
    counted = {
        term: sum(part.items * each[0].shape[1] for part in shape.parts if part.term == term)
        for term in shape.weights
    }
    terms = pl.concat(
        pl.DataFrame({"draw": np.arange(n_draws)}).with_columns(
            term=pl.lit(term), weight=pl.lit(weight), counted=pl.lit(counted[term])
        )
        for term, weight in shape.weights.items()
    )
    found = intervals(terms.lazy(), sums.lazy(), ["draw"], 0.95).sort("draw").collect()
    return found["ci_low"].to_numpy(), found["ci_high"].to_numpy()


def _sums(competition: str, term: str, items: int, h: Floats) -> pl.DataFrame:
    """The moments of every draw's games; each is a setting of its own."""
    n = h.shape[1]
    total, counted = h.sum(1), float(items * n)
    products = {
        "n": np.full(len(h), n),
        "n_with_hit": (h > 0).sum(1),
        "n_with_miss": (h < items).sum(1),
        "h": total,
        "c": np.full(len(h), counted),
        "other_h": total,
        "other_c": np.full(len(h), counted),
        "hh": (h**2).sum(1),
        "hc": total * items,
        "ch": total * items,
        "cc": np.full(len(h), counted * items),
    }
    rows = pl.DataFrame({"draw": np.arange(len(h)), **products}).cast(dict(SUMS))
    told = rows.with_columns(stratum=pl.lit(competition), term=pl.lit(term), other=pl.lit(term))
    return pl.concat(told.with_columns(unit=pl.lit(unit)) for unit in ("game", "setting"))


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
