"""Is a plan made from a pilot large enough, and not much too large?

Pilots of two models are drawn again and again, and each is asked how many settings it takes to see
a difference of .2 of the range with power .8, of the same settings for both models or of others.
The pilot's models are alike, and those that play the planned settings are as far apart as is to be
seen. With so many settings, their true standard deviation gives the power that the plan has: it is
to be .8 or more in at least .8 of the pilots (.75 with the error of the simulation). Every pilot is
to give a plan. `--write` puts the table into docs/simulations.md.
"""

import sys
from typing import NamedTuple

import numpy as np
import polars as pl
from document import markdown, parse_options, write
from pairs_of_models import HARDNESS, STREAK, draw_sums
from shapes import UNEVEN, Floats, Shape, draw_games, draw_setting_rates, metric_shape, terms

from pipeline.statistics.comparison import RateEstimate
from pipeline.statistics.intervals import rate_estimates as rates_of
from pipeline.statistics.pairs import (
    PilotData,
    pilot_data,
    required_settings,
    standard_deviation_per_setting,
    t_test_power,
)

DIFFERENCE = 0.2  # of the metric's range
POWER, PROMISED, NEAR = 0.8, 0.8, 0.05
OF_TRUTH = 20_000
RATES = (0.05, 0.2, 0.5, 0.9)
SHAPES: dict[str, Shape] = {
    "rationality, 100 + 2 games": metric_shape("rationality", (100, 2), STREAK, hardness=HARDNESS),
    "win rate, 7 × 5 games": metric_shape("win_rate", 5, hardness=HARDNESS),
    "cooperation, 20 games": metric_shape("cooperation", 20, hardness=HARDNESS),
    "judgement, 2 × 10 games": metric_shape("judgement", 10, STREAK, hardness=HARDNESS),
    "reasoning, 4 × 10 games": metric_shape("reasoning", 10, STREAK, hardness=HARDNESS),
    "cooperation, 200 games": metric_shape("cooperation", 200, hardness=HARDNESS),
    "judgement, 2 × 100 games": metric_shape("judgement", 100, STREAK, hardness=HARDNESS),
    "reasoning, 4 × 50 games": metric_shape("reasoning", 50, STREAK, hardness=HARDNESS),
    "replays, 50 of 10 settings": UNEVEN["replays, 50 of 10 settings, 5 items, correlation 0.3"],
    "replays, Zipf over 20 settings": UNEVEN[
        "replays, Zipf over 20 settings, 5 items, correlation 0.3"
    ],
}


class Found(NamedTuple):
    """What the plans from many pilots of a shape come to.

    Attributes:
        enough: The share of plans that have the promised power.
        without: The share of pilots that give no plan.
        power: The median of the plans' power.
        times: The median ratio of planned to needed settings.
    """

    enough: float
    without: float
    power: float
    times: float


def plans(shape: Shape, rate: float, draws: int, *, is_paired: bool = True) -> Found:
    """What the plans from so many pilots come to."""
    generator = np.random.default_rng(5)
    settings = draw_setting_rates(generator, shape, rate, draws)
    others = settings if is_paired else draw_setting_rates(generator, shape, rate, draws)
    sums_of_models = [
        draw_sums(generator, shape, setting_rates) for setting_rates in (settings, others)
    ]
    named = [
        sums.with_columns(model=f"{name}-" + sums["draw"].cast(str)).drop("draw")
        for name, sums in zip("ab", sums_of_models, strict=True)
    ]
    sums = named[0].vstack(named[1])
    weights = terms(shape, sums, "model")
    pairs = [(f"a-{draw}", f"b-{draw}") for draw in range(draws)]
    rows = rates_of(sums.lazy(), weights.lazy(), ["model"], 0.95).collect().iter_rows(named=True)
    of_model = {row["model"]: RateEstimate.from_fields(row) for row in rows}
    n = len({play.setting for play in shape.plays})
    difference = DIFFERENCE * shape.range
    # The other model is better, or where there is no room for that, worse.
    apart = DIFFERENCE if rate + DIFFERENCE < 1 else -DIFFERENCE
    true_sd = sd_of_settings(shape, rate, apart, is_paired=is_paired)
    needed = required_settings(difference, true_sd, power=POWER, is_paired=is_paired) or 0
    powers, times = [], []
    for (first, second), pilots in zip(
        pairs, _pilots(sums, weights, pairs, is_paired), strict=True
    ):
        sd = standard_deviation_per_setting(
            of_model[first],
            of_model[second],
            (n, n),
            pilots,
            difference=difference,
            is_paired=is_paired,
        )
        if sd is not None:
            asked_for = required_settings(difference, sd, power=POWER, is_paired=is_paired) or 0
            powers.append(t_test_power(asked_for, difference / true_sd, 0.05, is_paired=is_paired))
            times.append(asked_for / needed)
    enough = np.mean(np.array(powers) >= POWER - 1e-6)
    return Found(
        float(enough), 1 - len(powers) / draws, float(np.median(powers)), float(np.median(times))
    )


def sd_of_settings(shape: Shape, rate: float, apart: float, *, is_paired: bool) -> float:
    """Return the true standard deviation of a setting's difference, or of one model's setting.

    In every setting the other model's rate is `apart` from that of the one. Unpaired, the variance
    of a setting is the mean of both models'.
    """
    generator = np.random.default_rng(6)
    rates = draw_setting_rates(generator, shape, rate, OF_TRUTH)
    rates_of_models = (rates, np.clip(rates + apart, 1e-6, 1 - 1e-6))
    values = [
        _values(shape, *draw_games(generator, shape, of_model)) for of_model in rates_of_models
    ]
    n = len({play.setting for play in shape.plays})
    variance = np.var(values[0] - values[1]) if is_paired else np.mean(np.var(values, axis=1))
    return float(variance * n) ** 0.5


def _values(shape: Shape, hits: Floats, counted: Floats) -> Floats:
    """The value of each draw."""
    term = np.array([play.term for play in shape.plays])
    ratios = [
        weight * hits[:, term == name].sum(axis=1) / counted[:, term == name].sum(axis=1)
        for name, weight in shape.weights.items()
    ]
    return np.asarray(np.sum(ratios, axis=0), np.float64)


def _pilots(
    sums: pl.DataFrame, weights: pl.DataFrame, pairs: list[tuple[str, str]], is_paired: bool
) -> list[tuple[PilotData, ...]]:
    """Of each pair the settings in common, or those of each with itself."""
    if is_paired:
        return [(pilot,) for pilot in pilot_data(sums.lazy(), weights.lazy(), pairs)]
    alone = [
        pilot_data(sums.lazy(), weights.lazy(), [(pair[side],) * 2 for pair in pairs])
        for side in (0, 1)
    ]
    return list(zip(*alone, strict=True))


def main() -> int:
    """Run the simulation and write its table; return 1 if a limit is missed."""
    options = parse_options(__doc__, 500)
    results = {
        name: [
            plans(shape, rate, options.draws, is_paired=is_paired)
            for is_paired in (True, False)
            for rate in RATES
        ]
        for name, shape in SHAPES.items()
    }
    rows = [
        [
            name,
            *(f"{result.enough:.2f} / {result.power:.2f} / {result.times:.1f}" for result in cells),
        ]
        for name, cells in results.items()
    ]
    kinds = [f"{kind}rate {rate:g}" for kind in ("", "unpaired, ") for rate in RATES]
    headings = ["enough / median power / times as many", *kinds]
    text = markdown(headings, rows)
    print(text)
    if options.write:
        write("plans", text)
    failed = [
        name
        for name, cells in results.items()
        if min(c.enough for c in cells) < PROMISED - NEAR or any(c.without for c in cells)
    ]
    for each in failed:
        print(f"too small, or without a plan: {each}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
