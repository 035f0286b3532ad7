"""Is a plan made from a pilot large enough?

Pilots of two models are drawn again and again, and each is asked how many settings it takes to see
a difference of .2 of the range with power .8. With so many settings, the true standard deviation
gives the power that the plan has: it is to be .8 or more in at least .8 of the pilots (.75 with the
error of the simulation). Pilots with fewer than two effective settings give no plan. `--write` puts
the table into docs/statistics.md.
"""

import sys
from typing import NamedTuple

import numpy as np
from document import asked, markdown, write
from pairs_of_models import HARDNESS, STREAK, sums_of
from shapes import UNEVEN, Shape, of_metric, of_settings, terms

from pipeline.statistics import rates as rates_of
from pipeline.statistics.contrast import Rate
from pipeline.statistics.pairs import in_common
from pipeline.statistics.planning import power_of, setting_sd, settings_needed

DIFFERENCE = 0.2  # of the metric's range
POWER, PROMISED, NEAR = 0.8, 0.8, 0.05
RATES = (0.2, 0.5)
SHAPES: dict[str, Shape] = {
    "rationality, 100 + 2 games": of_metric("rationality", (100, 2), STREAK, hardness=HARDNESS),
    "win rate, 7 × 5 games": of_metric("win_rate", 5, hardness=HARDNESS),
    "cooperation, 20 games": of_metric("cooperation", 20, hardness=HARDNESS),
    "judgement, 2 × 10 games": of_metric("judgement", 10, STREAK, hardness=HARDNESS),
    "reasoning, 4 × 10 games": of_metric("reasoning", 10, STREAK, hardness=HARDNESS),
    "replays, 50 of 10 settings": UNEVEN["replays, 50 of 10 settings, 5 items, correlation 0.3"],
    "replays, Zipf over 20 settings": UNEVEN[
        "replays, Zipf over 20 settings, 5 items, correlation 0.3"
    ],
}


class Found(NamedTuple):
    """How often the plan is large enough, how often there is none, and the median of its power."""

    enough: float
    without: float
    power: float


def plans(shape: Shape, rate: float, draws: int) -> Found:
    """What the plans from so many pilots come to."""
    generator = np.random.default_rng(5)
    settings = of_settings(generator, shape, rate, draws)
    both = [sums_of(generator, shape, settings) for _ in range(2)]
    named = [
        sums.with_columns(model=f"{name}-" + sums["draw"].cast(str)).drop("draw")
        for name, sums in zip("ab", both, strict=True)
    ]
    sums = named[0].vstack(named[1])
    wanted = terms(shape, sums, "model")
    pairs = [(f"a-{draw}", f"b-{draw}") for draw in range(draws)]
    rows = rates_of(sums.lazy(), wanted.lazy(), ["model"], 0.95).collect().iter_rows(named=True)
    of_model = {row["model"]: Rate.of(row) for row in rows}
    differences = [
        of_model[one].range * (of_model[one].rate - of_model[other].rate) for one, other in pairs
    ]
    n = len({play.setting for play in shape.plays})
    true_sd = float(np.std(differences)) * n**0.5
    difference = DIFFERENCE * shape.range
    powers = []
    for (one, other), pilot in zip(
        pairs, in_common(sums.lazy(), wanted.lazy(), pairs), strict=True
    ):
        sd = setting_sd(of_model[one], of_model[other], (n, n), pilot, is_paired=True)
        if sd is not None:
            needed = settings_needed(difference, sd, power=POWER) or 0
            powers.append(power_of(needed, difference / true_sd, 0.05, is_paired=True))
    enough = np.mean(np.array(powers) >= POWER - 1e-6)
    return Found(float(enough), 1 - len(powers) / draws, float(np.median(powers)))


def main() -> int:
    options = asked(__doc__, 500)
    found = {
        name: [plans(shape, rate, options.draws) for rate in RATES]
        for name, shape in SHAPES.items()
    }
    rows = [
        [name, *(f"{one.enough:.2f} / {one.without:.2f} / {one.power:.2f}" for one in cells)]
        for name, cells in found.items()
    ]
    headings = ["enough / no plan / median power", *(f"rate {rate:g}" for rate in RATES)]
    text = markdown(headings, rows)
    print(text)
    if options.write:
        write("plans", text)
    failed = [
        name for name, cells in found.items() if min(c.enough for c in cells) < PROMISED - NEAR
    ]
    for each in failed:
        print(f"too small: {each}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
