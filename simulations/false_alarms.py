"""How often are models told apart that are alike, and how often those that differ?

Two models play the same settings. Settings differ in how hard they are, games of a setting in how
they go, and items of a game are alike. Models that behave alike are to be told apart at 5 % in at
most 6 % of lakes: complete, with items lost, with replays of unequal number, with the hardest
settings missing for one of them. Of ten models alike, any two are to be in at most 5 %. What is
printed, interval and p, is to agree. `--write` puts the tables into docs/statistics.md.
"""

import argparse
import sys
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from document import markdown, write
from shapes import METRICS, Floats, Shape, frame, of_metric, of_settings, played, terms

from pipeline.statistics.families import holm
from pipeline.statistics.pairs import differences

RATES = (0.05, 0.2, 0.5)
HARDNESS = 0.15  # the correlation of two games of a setting
STREAK = 0.15  # of two items of a game, beyond that
OTHER_STREAK = 0.6
LEVEL = 0.05
MOST = 0.06
DIFFERENCE = 0.2
MODELS = 10
LACKING = (8, 2)  # models, and how many of them have one of the games of a competition
OF_ONE = ("cooperation",)  # metrics of one competition
SETTINGS = 20
COMPLETE, STREAKIER = "complete", "one is streakier"
# Of the first model's games, and of the second's.
CASES = {
    COMPLETE: ("once", "once"),
    "a fifth of items lost": ("once", "a fifth lost"),
    "both replayed unequally": ("replays", "replays"),
    "one setting 20 times": ("twenty", "once"),
    "hardest sixth missing": ("once", "hardest missing"),
    STREAKIER: ("once", "once"),
}


class Found(NamedTuple):
    """How often two models alike were told apart, by p and by interval."""

    by_p: float
    disagree: float
    paired: float


def lakes(
    metric: str, settings: int, rate: float, draws: int, seed: int = 1
) -> tuple[np.random.Generator, Shape, Floats]:
    """A metric's games and the settings' rates, by draw."""
    generator = np.random.default_rng(seed)
    shape = of_metric(metric, settings, STREAK, hardness=HARDNESS)
    return generator, shape, of_settings(generator, shape, rate, draws)


def sums_of(
    generator: np.random.Generator,
    shape: Shape,
    rates: Floats,
    case: str = "once",
    shift: float = 0.0,
) -> pl.DataFrame:
    """What a model counts in settings of these rates, each moved by `shift`."""
    moved = np.clip(rates + shift, 1e-6, 1 - 1e-6)
    if case == "once":
        return frame(shape, *played(generator, shape, moved))
    if case in ("replays", "twenty"):
        times = generator.geometric(0.5, rates.shape).clip(1, 8)
        if case == "twenty":
            times = np.ones(rates.shape, int)
            times[:, 0] = 20
        hits, counted = 0.0, 0.0
        for n in range(times.max()):
            h, c = played(generator, shape, moved)
            hits, counted = hits + h * (n < times), counted + c * (n < times)
        return frame(shape, hits, counted)
    hits, counted = played(generator, shape, moved)
    if case == "a fifth lost":
        kept = generator.binomial(counted.astype(int), 0.8).astype(float)
        rest = (counted - hits).astype(int)
        return frame(
            shape, generator.hypergeometric(hits.astype(int), rest, kept.astype(int)), kept
        )
    hardest = np.argsort(rates, axis=1)[:, : rates.shape[1] // 6]
    np.put_along_axis(counted, hardest, 0.0, axis=1)
    return frame(shape, hits * (counted > 0), counted)


def compared(shape: Shape, models: list[pl.DataFrame]) -> pl.DataFrame:
    """The differences of all pairs of models within each draw, pair after pair."""
    named = [
        sums.with_columns(model=pl.format("{}-{}", pl.lit(str(n)), "draw"))
        for n, sums in enumerate(models)
    ]
    together = pl.concat(named).drop("draw")
    draws = models[0]["draw"].unique().sort()
    pairs = [
        (f"{one}-{draw}", f"{other}-{draw}")
        for one, other in combinations(range(len(models)), 2)
        for draw in draws
    ]
    wanted = terms(shape, together, "model")
    return differences(together.lazy(), wanted.lazy(), pairs, 1 - LEVEL)


def alike(metric: str, case: str, settings: int, rate: float, draws: int) -> Found:
    """Two models that behave alike, but for what the case says."""
    generator, shape, rates = lakes(metric, settings, rate, draws)
    first, second = CASES[case]
    one = sums_of(generator, shape, rates, first)
    other = shape._replace(streak=OTHER_STREAK) if case == STREAKIER else shape
    found = compared(shape, [one, sums_of(generator, other, rates, second)])
    is_apart = found["p_value"] <= LEVEL
    excludes = (found["ci_low"] > 0) | (found["ci_high"] < 0)
    is_paired = found["method"] == "paired by setting"
    return Found(*(float(one.mean()) for one in (is_apart, is_apart != excludes, is_paired)))


def family_wise(metric: str, draws: int, models: int = MODELS, lacking: int = 0) -> float:
    """How often any two of models alike are told apart, adjusted by Holm.

    So many of them lack all games but one of the last competition.
    """
    generator, shape, rates = lakes(metric, SETTINGS, 0.5, draws)
    last = shape.plays[-1]
    is_lacked = (pl.col("stratum") == last.competition) & (pl.col("cluster") != last.setting)
    sums = [sums_of(generator, shape, rates) for _ in range(models)]
    sums = [own.filter(~is_lacked) if n < lacking else own for n, own in enumerate(sums)]
    found = compared(shape, sums)
    p = found["p_value"].to_numpy().reshape(-1, draws)
    return float(np.mean([min(holm(list(of_draw))) <= LEVEL for of_draw in p.T]))


def unpaired(metric: str, draws: int) -> float:
    """How often two models alike are told apart that have no setting in common."""
    generator, shape, rates = lakes(metric, SETTINGS, 0.5, draws)
    others = of_settings(generator, shape, 0.5, draws)
    own = sums_of(generator, shape, rates).with_columns(pl.col("cluster") + len(shape.plays))
    found = compared(shape, [own, sums_of(generator, shape, others)])
    return float((found["p_value"] <= LEVEL).mean())


def power(metric: str, draws: int) -> tuple[float, float]:
    """How often models .2 apart (of the metric's range) are: alone, and as first of 45 pairs."""
    generator, shape, rates = lakes(metric, SETTINGS, 0.5, draws)
    pair = [sums_of(generator, shape, rates, shift=shift * DIFFERENCE) for shift in (0.5, -0.5)]
    p = compared(shape, pair)["p_value"]
    n_pairs = MODELS * (MODELS - 1) / 2
    return float((p <= LEVEL).mean()), float((p <= LEVEL / n_pairs).mean())


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--draws", type=int, default=5000, help="of each cell")
    options.add_argument("--write", action="store_true", help="into docs/statistics.md")
    asked = options.parse_args()
    cells = {
        (metric, settings, case): [
            alike(metric, case, settings, rate, asked.draws) for rate in RATES
        ]
        for metric in METRICS
        for case in CASES
        for settings in ((10, SETTINGS) if case == COMPLETE else (SETTINGS,))
    }
    few = max(10, asked.draws // 10)
    families = {metric: family_wise(metric, few) for metric in METRICS}
    lacking = {
        metric: family_wise(metric, few, *LACKING) for metric in METRICS if metric not in OF_ONE
    }
    apart = {metric: unpaired(metric, asked.draws) for metric in METRICS}
    text = f"{_table(cells)}\n\n{_families(families, lacking, apart, asked.draws)}"
    print(text)
    if asked.write:
        write("false alarms", text)
    # A test of whether models behave alike may see that one is streakier.
    failed = [
        f"{key}: {one}"
        for key, found in cells.items()
        for one in found
        if one.disagree > 0.02 or (key[2] != STREAKIER and one.by_p > MOST)
    ]
    failed += [f"{metric}: family" for metric, share in families.items() if share > MOST]
    failed += [f"{metric}: family, some lacking" for metric, p in lacking.items() if p > MOST]
    failed += [f"{metric}: unpaired" for metric, share in apart.items() if share > MOST]
    for each in failed:
        print(f"misses its limit: {each}", file=sys.stderr)
    return 1 if failed else 0


def _table(cells: dict[tuple[str, int, str], list[Found]]) -> str:
    rows = [
        [f"{metric}, {settings} settings, {case}", *(f"{one.by_p:.3f}" for one in found)]
        for (metric, settings, case), found in cells.items()
    ]
    return markdown(["", *(f"rate {rate:g}" for rate in RATES)], rows)


def _families(
    families: dict[str, float], lacking: dict[str, float], apart: dict[str, float], draws: int
) -> str:
    headings = [
        f"{SETTINGS} settings",
        "any of 45 pairs",
        "two of 8 lack games",
        "two, unpaired",
        "power",
        "of 45 pairs",
    ]
    rows = [
        [
            metric,
            f"{share:.3f}",
            f"{lacking[metric]:.3f}" if metric in lacking else "",
            f"{apart[metric]:.3f}",
            *(f"{one:.2f}" for one in power(metric, draws)),
        ]
        for metric, share in families.items()
    ]
    return markdown(headings, rows)


if __name__ == "__main__":
    sys.exit(main())
