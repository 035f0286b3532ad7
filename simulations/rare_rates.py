"""Do the intervals cover where hits are rare? Exactly for one thing a setting, and drawn for more.

With one thing a setting the number of hits is binomial, so coverage is a sum: at given rates, and
the least over all rates, which is next to an end. Ten shapes of more things a setting are drawn at
eleven rates and three correlations. Beside each is what Wilson's ends give for the same effective
number of items. From 5 settings on, .91 of the intervals are to hold the truth, from 20 on .915;
they are to be at most 1.08 times as wide as with Wilson's ends. `--write` puts the tables into
docs/simulations.md.
"""

import sys
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import polars as pl
from document import markdown, parse_options, write
from scipy.stats import binom
from shapes import Floats, Play, Shape, draw_games, draw_setting_rates, frame, metric_shape, terms

from pipeline.statistics.comparison import RateEstimate, wilson_interval
from pipeline.statistics.intervals import midp_interval, rate_estimates

CONFIDENCE, Z = 0.95, NormalDist().inv_cdf(0.975)
SHOWN_RATES = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
SHOWN_NUMBERS = (5, 10, 20, 50, 100, 200)
MANY, MOST_HITS = 1_000_000, 300
RANGES = ((1, 4), (5, 19), (20, 49), (50, 99), (100, 200), (MANY, MANY))
RATES = (0.001, 0.003, 0.008, 0.02, 0.05, 0.1, 0.3, 0.5, 0.9, 0.99, 0.999)
CORRELATIONS = (0.0, 0.5, 0.95)
SEED = 5
WIDEST = 1.08
_NEXT = 1e-10


def _shape_of_sizes(sizes: Sequence[int]) -> Shape:
    plays = (Play("t", "one", place, items) for place, items in enumerate(sizes))
    return Shape({"t": 1.0}, tuple(plays))


SHAPES: dict[str, Shape] = {
    **{f"{n} settings of 5 things": _shape_of_sizes([5] * n) for n in (5, 8, 12, 20)},
    "20 settings of 1 thing": _shape_of_sizes([1] * 20),
    "20 settings of 1 to 30 things": _shape_of_sizes(
        np.linspace(1, 30, 20).round().astype(int).tolist()
    ),
    **{f"{n} settings of 5 things": _shape_of_sizes([5] * n) for n in (50, 100)},
    "100 + 5 settings, two terms": metric_shape("rationality", (100, 5)),
    "100 + 5 settings, the few at 0.5": metric_shape(
        "rationality", (100, 5), unlike=(("least", 0.5),)
    ),
}


class Kind(NamedTuple):
    """Coverage and mean width of the intervals, and of those with Wilson's ends."""

    coverage: float
    width: float
    former_coverage: float
    former_width: float


def of_numbers(numbers: Sequence[int]) -> pl.DataFrame:
    """n, x, low, high, and Wilson's ends: numbers of hits of one thing a setting, from 0 on."""
    hits = [
        (n, x, *wilson_interval(x / n, n, Z)[1:])
        for n in numbers
        for x in range(min(n, MOST_HITS) + 1)
    ]
    counted = pl.DataFrame(hits, ["n", "x", "former_low", "former_high"], orient="row")
    ends = midp_interval(pl.col("x") / pl.col("n"), pl.col("n").cast(pl.Float64), CONFIDENCE)
    return counted.with_columns(ends.alias("ends")).unnest("ends")


def exact(rows: pl.DataFrame, rate: Floats, prefix: str = "") -> Floats:
    """How many intervals of one n hold each of these rates."""
    low, high = (rows[f"{prefix}{end}"].to_numpy()[:, np.newaxis] for end in ("low", "high"))
    shares = binom.pmf(rows["x"].to_numpy()[:, np.newaxis], rows["n"][0], rate)
    return np.asarray((shares * ((low <= rate) & (rate <= high))).sum(axis=0), np.float64)


def least(rows: pl.DataFrame, prefix: str = "") -> float:
    """The least of one n over all rates: between two ends coverage only rises, and then falls."""
    ends = np.concatenate([rows[f"{prefix}{end}"].to_numpy() for end in ("low", "high")])
    near = np.concatenate([ends * (1 - _NEXT), ends * (1 + _NEXT)])
    # Hits and misses mirror each other, so half of the rates will do.
    half = rows[f"{prefix}high"][rows.height // 2]
    return float(exact(rows, near[(near > 0) & (near <= half)], prefix).min())


def simulate(shape: Shape, rate: float, draws: int) -> Kind:
    """The same of a shape at one rate."""
    generator = np.random.default_rng(SEED)
    hits, counted = draw_games(generator, shape, draw_setting_rates(generator, shape, rate, draws))
    sums = frame(shape, hits, counted)
    estimates = rate_estimates(
        sums.lazy(), terms(shape, sums, "draw").lazy(), ["draw"], CONFIDENCE
    ).collect()
    now = estimates.select("ci_low", "ci_high").to_numpy()
    former = np.array(
        [
            RateEstimate.from_fields(row).wilson_interval(Z)[1:]
            for row in estimates.iter_rows(named=True)
        ]
    )
    return Kind(*_held(now, shape.value(rate)), *_held(former, shape.value(rate)))


def _held(intervals: Floats, truth: float) -> tuple[float, float]:
    low, high = intervals[:, 0] - 1e-12, intervals[:, 1] + 1e-12
    return float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean())


def exact_table(by_number: dict[int, pl.DataFrame]) -> str:
    """Coverage by rate and number of settings."""
    coverages = {n: exact(by_number[n], np.array(SHOWN_RATES)) for n in SHOWN_NUMBERS}
    rows = [
        [f"{rate:g}", *(f"{coverages[n][place]:.3f}" for n in SHOWN_NUMBERS)]
        for place, rate in enumerate(SHOWN_RATES)
    ]
    return markdown(["rate", *(f"{n} settings" for n in SHOWN_NUMBERS)], rows)


def least_table(worst: dict[tuple[int, int], tuple[float, float]]) -> str:
    """The least over all rates, by range of numbers of settings."""
    rows = [
        [f"{a:,}" if a == b else f"{a} to {b}", *(f"{share:.3f}" for share in shares)]
        for (a, b), shares in worst.items()
    ]
    return markdown(["settings", "least of any rate", "with Wilson's ends"], rows)


def shapes_table(kinds_by_shape: dict[str, list[Kind]]) -> str:
    """Of each shape the least coverage and the mean width, beside those with Wilson's ends."""
    rows = []
    for name, kinds in kinds_by_shape.items():
        width, former = (_mean(kinds, field) for field in ("width", "former_width"))
        now, then = (
            min(getattr(k, field) for k in kinds) for field in ("coverage", "former_coverage")
        )
        rows.append([name, f"{now:.3f} ({width:.3f})", f"{then:.3f} ({former:.3f})"])
    return markdown(["least coverage (mean width)", "mid-p", "Wilson's ends"], rows)


def _mean(kinds: Sequence[Kind], name: str) -> float:
    return sum(getattr(kind, name) for kind in kinds) / len(kinds)


def failures(
    worst: dict[tuple[int, int], tuple[float, float]],
    kinds_by_shape: dict[str, list[Kind]],
    draws: int,
) -> list[str]:
    """What misses its limit, but for what so few draws miss by chance."""
    slack = 2 * (0.92 * 0.08 / draws) ** 0.5
    missed = [
        f"{a} to {b} settings" for (a, b), (now, _) in worst.items() if now < _required_coverage(a)
    ]
    for name, kinds in kinds_by_shape.items():
        n = len(SHAPES[name].plays)
        if min(kind.coverage for kind in kinds) < _required_coverage(n) - slack:
            missed.append(name)
    widths = [
        _mean(kinds, "width") / _mean(kinds, "former_width") for kinds in kinds_by_shape.values()
    ]
    return missed + (["width"] if sum(widths) / len(widths) > WIDEST else [])


def _required_coverage(n_settings: int) -> float:
    return 0.91 if n_settings < 20 else 0.915


def main() -> int:
    """Run the simulation and write its tables; return 1 if a limit is missed."""
    options = parse_options(__doc__, 2000)
    numbers = of_numbers([n for a, b in RANGES for n in range(a, b + 1)])
    by_number = {n: rows for (n,), rows in numbers.partition_by("n", as_dict=True).items()}
    worst = {
        (a, b): (
            min(least(by_number[n]) for n in range(a, b + 1)),
            min(least(by_number[n], "former_") for n in range(a, b + 1)),
        )
        for a, b in RANGES
    }
    kinds_by_shape = {
        name: [
            simulate(shape._replace(streak=streak), rate, options.draws)
            for rate in RATES
            for streak in CORRELATIONS
        ]
        for name, shape in SHAPES.items()
    }
    tables = {
        "rare rates": exact_table(by_number),
        "least": least_table(worst),
        "shapes": shapes_table(kinds_by_shape),
    }
    print(*tables.values(), sep="\n\n")
    if options.write:
        for name, text in tables.items():
            write(name, text)
    failed = failures(worst, kinds_by_shape, options.draws)
    for each in failed:
        print(f"misses its limit: {each}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
