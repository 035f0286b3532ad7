"""How often are models told apart that are alike, and how often those that differ?

Two models play the same settings. Settings differ in how hard they are, games of a setting in how
they go, and items of a game are alike. Models that behave alike are to be told apart at 5 % in at
most 6 % of lakes: complete, with items lost, with replays of unequal number, with the hardest
settings missing for one of them. Of ten models alike, any two are to be in at most 5 %. What is
printed, interval and p, is to agree in every draw. No model falls, so a regression is to be
reported in at most 6 %. Where one of the models replays, one game of the others to its ten or
thirty, the same limits hold, and of three models any two are to be told apart in at most 5 %. Two
models of equal values that differ in both of their terms, in opposite directions, are to be told
apart in at most 6 %, if one of the terms has few games. Models of which half are good and half are
bad get other letters, however many there are. `--write` puts the tables into docs/simulations.md.
"""

import sys
from typing import NamedTuple

import numpy as np
import polars as pl
from document import markdown, parse_options, write
from pairs_of_models import (
    HARDNESS,
    LEVEL,
    LOST,
    MISSING,
    ONCE,
    REPLAYS,
    STREAK,
    TIMES,
    TWENTY,
    compare_models,
    draw_sums,
    lakes,
)
from shapes import METRICS, draw_setting_rates, metric_shape

from pipeline.statistics.comparison import adjust_holm, compact_letters, drop_p_value
from pipeline.statistics.pairs import rates_and_correlation_from_basis

RATES = (0.05, 0.2, 0.5)
OTHER_STREAK = 0.6
MOST = 0.06
DIFFERENCE = 0.2
MODELS = 10
LACKING = (8, 2)  # models, and how many of them have one of the games of a competition
OF_ONE = ("cooperation",)  # metrics of one competition
OF_FEW = ("judgement", "deception", "cooperation")  # of few competitions: their games are fewer
SETTINGS = 20
COMPLETE, STREAKIER = "complete", "one is streakier"
# Of the first model's games, and of the second's.
CASES = {
    COMPLETE: (ONCE, ONCE),
    "a fifth of items lost": (ONCE, LOST),
    "both replayed unequally": (REPLAYS, REPLAYS),
    "one setting 20 times": (TWENTY, ONCE),
    "hardest sixth missing": (ONCE, MISSING),
    STREAKIER: (ONCE, ONCE),
    **{f"one replays {times}": (times, ONCE) for times in TIMES},
}
# Replays are many games, and families have 45 pairs: so many fewer draws.
FEWER, OF_FAMILIES = 4, 4
# Shapes of which a term has few games.
SMALL = {
    "rationality, 100 + 2 games": metric_shape("rationality", (100, 2), 0.15, hardness=0.15),
    "rationality, 5 + 2 games": metric_shape("rationality", (5, 2), 0.15, hardness=0.15),
    "win rate, 6 × 20 + 1 games": metric_shape("win_rate", (*[20] * 6, 1), hardness=0.15),
}
SMALL_RATES = (0.02, 0.2, 0.5)
MANY_MODELS = (66, 100)
# Games of both terms; the rate, and how far the models are apart in each term.
OPPOSITE = ((100, 5), (100, 2), (50, 5), (20, 2))
OPPOSITE_RATES = ((0.2, 0.1), (0.2, 0.2), (0.3, 0.3), (0.5, 0.2))
THREE = 3


class Found(NamedTuple):
    """How often two models alike were told apart, by p and otherwise by the interval."""

    by_p: float
    disagree: float
    falls: float


def alike(metric: str, case: str, settings: int, rate: float, draws: int) -> Found:
    """Compare two models that behave alike, with games as the case says."""
    first, second = CASES[case]
    generator, shape, rates = lakes(metric, settings, rate, _draws(case, draws))
    first_sums = draw_sums(generator, shape, rates, first)
    second_shape = shape._replace(streak=OTHER_STREAK) if case == STREAKIER else shape
    return _summarize(
        compare_models(shape, [first_sums, draw_sums(generator, second_shape, rates, second)])
    )


def small(name: str, rate: float, draws: int) -> Found:
    """Compare two models that behave alike, with few games of one term."""
    generator, shape = np.random.default_rng(1), SMALL[name]
    rates = draw_setting_rates(generator, shape, rate, draws)
    return _summarize(compare_models(shape, [draw_sums(generator, shape, rates) for _ in range(2)]))


def opposite(games: tuple[int, int], rate: float, apart: float, draws: int) -> Found:
    """Compare two models of equal values: one is better in one term and worse in the other."""
    generator = np.random.default_rng(1)
    shape = metric_shape("rationality", games, STREAK, hardness=HARDNESS)
    rates = draw_setting_rates(generator, shape, rate, draws)
    is_last = np.array([play.term == shape.plays[-1].term for play in shape.plays])
    shift = np.where(is_last, -apart, apart) / 2
    pair = [draw_sums(generator, shape, rates, shift=sign * shift) for sign in (1, -1)]
    return _summarize(compare_models(shape, pair))


def _summarize(rows: pl.DataFrame) -> Found:
    is_apart = rows["p_value"] <= LEVEL
    excludes = (rows["ci_low"] > 0) | (rows["ci_high"] < 0)
    falls = [_p_drop(*row) <= LEVEL for row in rows.select("basis", "p_value").iter_rows()]
    shares = (is_apart.mean(), (is_apart != excludes).mean(), np.mean(falls))
    return Found(*(float(str(share)) for share in shares))


def _p_drop(basis: dict[str, object], p: float) -> float:
    """Return the p-value of a drop from the second model to the first, as `magic diff` does."""
    if p / 2 > LEVEL:  # then it is no less, and takes long to find
        return p / 2
    new, old, correlation = rates_and_correlation_from_basis(basis)
    return drop_p_value(new, old, 0.0, p, correlation)


def family_wise(
    metric: str,
    draws: int,
    models: int = MODELS,
    lacking: int = 0,
    *,
    first: str = ONCE,
    rate: float = 0.5,
) -> float:
    """Return how often any two of several equal models are told apart, adjusted by Holm.

    So many of them lack all games but one of the last competition; the first may replay.
    """
    generator, shape, rates = lakes(metric, SETTINGS, rate, draws)
    last = shape.plays[-1]
    is_lacked = (pl.col("stratum") == last.competition) & (pl.col("cluster") != last.setting)
    sums = [draw_sums(generator, shape, rates, ONCE if n else first) for n in range(models)]
    sums = [
        model_sums.filter(~is_lacked) if n < lacking else model_sums
        for n, model_sums in enumerate(sums)
    ]
    rows = compare_models(shape, sums)
    p = rows["p_value"].to_numpy().reshape(-1, draws)
    # Any is told apart where the least is.
    return float((p.min(axis=0) * len(p) <= LEVEL).mean())


def unpaired(metric: str, draws: int) -> float:
    """Return how often two equal models without a common setting are told apart."""
    generator, shape, rates = lakes(metric, SETTINGS, 0.5, draws)
    others = draw_setting_rates(generator, shape, 0.5, draws)
    moved_sums = draw_sums(generator, shape, rates).with_columns(
        pl.col("cluster") + len(shape.plays)
    )
    rows = compare_models(shape, [moved_sums, draw_sums(generator, shape, others)])
    return float((rows["p_value"] <= LEVEL).mean())


def power(metric: str, draws: int) -> tuple[float, float]:
    """Return how often models .2 of the range apart are told apart, also as one of 45 pairs."""
    generator, shape, rates = lakes(metric, SETTINGS, 0.5, draws)
    pair = [draw_sums(generator, shape, rates, shift=shift * DIFFERENCE) for shift in (0.5, -0.5)]
    p = compare_models(shape, pair)["p_value"]
    n_pairs = MODELS * (MODELS - 1) / 2
    return float((p <= LEVEL).mean()), float((p <= LEVEL / n_pairs).mean())


def letters(models: int) -> tuple[int, int, int]:
    """Compare models whose win rates are .05 and .95 in turn by their letters.

    Returns:
        The pairs of unlike models that share a letter, all pairs of unlike models, and the pairs of
        alike models that share none.
    """
    generator, shape, rates = lakes("win_rate", SETTINGS, 0.5, 1)
    sums = [
        draw_sums(generator, shape, np.full_like(rates, 0.95 if n % 2 else 0.05))
        for n in range(models)
    ]
    p = compare_models(shape, sums).select(adjust_holm(pl.col("p_value")))["p_value"]
    is_apart = np.zeros((models, models), bool)
    is_apart[np.triu_indices(models, 1)] = p.to_numpy() <= LEVEL
    named = compact_letters(is_apart | is_apart.T)
    unlike = alike_apart = shared = 0
    for row in range(models):
        for column in range(row):
            is_shared = bool(set(named[row]) & set(named[column]))
            if (row - column) % 2:
                unlike, shared = unlike + 1, shared + is_shared
            else:
                alike_apart += not is_shared
    return shared, unlike, alike_apart


def main() -> int:
    """Run the simulation and write its tables; return 1 if a limit is missed."""
    options = parse_options(__doc__, 1000)
    cells = {
        f"{metric}, {settings} settings, {case}": [
            alike(metric, case, settings, rate, options.draws) for rate in RATES
        ]
        for metric in METRICS
        for case in CASES
        for settings in ((10, SETTINGS) if case == COMPLETE else (SETTINGS,))
    }
    few = {name: [small(name, rate, options.draws) for rate in SMALL_RATES] for name in SMALL}
    some = max(10, options.draws // OF_FAMILIES)
    families = {metric: family_wise(metric, some) for metric in METRICS}
    lacking = {
        metric: family_wise(metric, some, *LACKING) for metric in METRICS if metric not in OF_ONE
    }
    replayed = {
        metric: family_wise(metric, some, first="ten times", rate=0.05) for metric in OF_FEW
    }
    three = {
        metric: [family_wise(metric, some, THREE, first="ten times", rate=rate) for rate in RATES]
        for metric in OF_FEW
    }
    against = {
        f"rationality, {' + '.join(map(str, games))} games": [
            opposite(games, *rates, options.draws) for rates in OPPOSITE_RATES
        ]
        for games in OPPOSITE
    }
    apart = {metric: unpaired(metric, options.draws) for metric in METRICS}
    lettered = {models: letters(models) for models in MANY_MODELS}
    text = "\n\n".join(
        [
            _table(cells, RATES),
            _table(few, SMALL_RATES),
            _opposite(against),
            _three(three),
            _families(families, lacking, replayed, apart, options.draws),
            _letters(lettered),
        ]
    )
    print(text)
    if options.write:
        write("false alarms", text)
    # A test of whether models behave alike may see that one is streakier.
    failed = [
        f"{name}: {result}"
        for name, results in {**cells, **few, **against}.items()
        for result in results
        if result.disagree > 0
        or (
            STREAKIER not in name
            and max(result.by_p, result.falls) > _most(_draws(name, options.draws))
        )
    ]
    for family, shares in (
        ("family", families),
        ("family, some lacking", lacking),
        ("family, one replays", replayed),
        ("three, one replays", {metric: max(results) for metric, results in three.items()}),
    ):
        failed += [f"{m}: {family} {p}" for m, p in shares.items() if p > _most(some)]
    failed += [f"{m}: unpaired {p}" for m, p in apart.items() if p > _most(options.draws)]
    failed += [f"{n} models: letters" for n, (shared, _, more) in lettered.items() if shared + more]
    for each in failed:
        print(f"misses its limit: {each}", file=sys.stderr)
    return 1 if failed else 0


def _draws(name: str, draws: int) -> int:
    """Return the number of draws of a case; cases with many replays have fewer."""
    return max(40, draws // FEWER) if any(times in name for times in TIMES) else draws


def _most(draws: int) -> float:
    """Return the limit, or if larger what a share of 5 % may reach by chance (three errors)."""
    return max(MOST, LEVEL + 3 * float((LEVEL * (1 - LEVEL) / draws) ** 0.5))


def _table(cells: dict[str, list[Found]], rates: tuple[float, ...]) -> str:
    rows = [
        [name, *(f"{result.by_p:.3f} / {result.falls:.3f}" for result in results)]
        for name, results in cells.items()
    ]
    return markdown(["told apart / fell", *(f"rate {rate:g}" for rate in rates)], rows)


def _opposite(cells: dict[str, list[Found]]) -> str:
    rows = [
        [name, *(f"{result.by_p:.3f}" for result in results)] for name, results in cells.items()
    ]
    headings = [f"rate {rate:g}, terms {apart:g} apart" for rate, apart in OPPOSITE_RATES]
    return markdown(["told apart, values equal", *headings], rows)


def _three(shares: dict[str, list[float]]) -> str:
    rows = [[metric, *(f"{share:.3f}" for share in rates)] for metric, rates in shares.items()]
    return markdown(["any of three, one replays", *(f"rate {rate:g}" for rate in RATES)], rows)


def _letters(pairs_by_models: dict[int, tuple[int, int, int]]) -> str:
    rows = [
        [str(models), f"{shared} of {unlike}", str(more)]
        for models, (shared, unlike, more) in pairs_by_models.items()
    ]
    return markdown(["models", "unlike pairs sharing a letter", "alike pairs sharing none"], rows)


def _families(
    families: dict[str, float],
    lacking: dict[str, float],
    replayed: dict[str, float],
    apart: dict[str, float],
    draws: int,
) -> str:
    headings = [
        f"{SETTINGS} settings",
        "any of 45 pairs",
        "two of 8 lack games",
        "one of 10 replays",
        "two, unpaired",
        "power",
        "of 45 pairs",
    ]
    rows = [
        [
            metric,
            f"{share:.3f}",
            *(
                f"{shares[metric]:.3f}" if metric in shares else ""
                for shares in (lacking, replayed)
            ),
            f"{apart[metric]:.3f}",
            *(f"{share_apart:.2f}" for share_apart in power(metric, draws)),
        ]
        for metric, share in families.items()
    ]
    return markdown(headings, rows)


if __name__ == "__main__":
    sys.exit(main())
