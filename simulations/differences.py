"""Does the interval of a difference hold the true one?

Two models play the same settings, one of them better by so much in each. The share of intervals
that hold the true difference is to be .92 from 20 settings on, .90 below. `--write` puts the table
into docs/simulations.md.
"""

import sys
from collections import Counter

import numpy as np
from document import markdown, parse_options, write
from pairs_of_models import HARDNESS, STREAK, compare_models, draw_sums
from shapes import METRICS, UNEVEN, Floats, Shape, draw_setting_rates, metric_shape

RATES = (0.02, 0.1, 0.5, 0.8)
APART = (0.05, 0.3)
OF_TRUTH = 200_000
SHAPES: dict[str, Shape] = {
    **{
        f"{metric}, {games} games": metric_shape(metric, games, STREAK, hardness=HARDNESS)
        for metric in METRICS
        for games in (5, 20)
    },
    **{
        f"rationality, 100 + {few} games, correlation {hardness:g}": metric_shape(
            "rationality", (100, few), STREAK, hardness=hardness
        )
        for few in (2, 5)
        for hardness in (0.0, HARDNESS)
    },
    **{
        f"{metric}, {'+'.join(map(str, games))} games": metric_shape(
            metric, games, hardness=HARDNESS
        )
        for metric, games in (
            ("win_rate", (*[100] * 6, 2)),
            ("win_rate", (20, 12, 8, 5, 3, 2, 1)),
            ("deception", (50, 50, 2)),
        )
    },
    **{
        name: UNEVEN[name]
        for name in (
            "replays, 60 of 2 settings, 5 items, correlation 0.3",
            "replays, Zipf over 20 settings, 5 items, correlation 0.3",
            "replays, 50 of 10 settings, 5 items, correlation 0.3",
            "20 settings in near-duplicate pairs",
            "4 games of five items, streak 0.2",
        )
    },
}
# Shapes that the page names as short of their limit.
SHORT = ("near-duplicate",)


def coverage(shape: Shape, rate: float, apart: float, draws: int) -> float:
    """How many of the intervals hold the difference of two models so much apart in each setting."""
    generator = np.random.default_rng(3)
    rates = draw_setting_rates(generator, shape, rate, draws)
    pair = [draw_sums(generator, shape, rates, shift=sign * apart / 2) for sign in (1, -1)]
    rows = compare_models(shape, pair)
    truth = true_difference(shape, rate, apart)
    return float(((rows["ci_low"] <= truth + 1e-9) & (rows["ci_high"] >= truth - 1e-9)).mean())


def true_difference(shape: Shape, rate: float, apart: float) -> float:
    """The difference over many settings: rates are within 0 and 1, so it may be less than asked."""
    first_play = shape._replace(plays=shape.plays[:1])
    rates = draw_setting_rates(np.random.default_rng(4), first_play, rate, OF_TRUTH)[
        :, first_play.plays[0].setting
    ]
    return shape.range * float(
        np.mean(_shift_rates(rates, apart / 2) - _shift_rates(rates, -apart / 2))
    )


def _shift_rates(rates: Floats, shift: float) -> Floats:
    return np.clip(rates + shift, 1e-6, 1 - 1e-6)


def least(shape: Shape) -> float:
    """How many of the intervals are to hold the truth at least."""
    settings = Counter(play.setting for play in shape.plays)
    return 0.92 if len(settings) >= 20 else 0.90


def main() -> int:
    """Run the simulation and write its table; return 1 if a limit is missed."""
    options = parse_options(__doc__, 1000)
    coverages = {
        name: [[coverage(shape, rate, apart, options.draws) for rate in RATES] for apart in APART]
        for name, shape in SHAPES.items()
    }
    rows = [
        [name, *(" / ".join(f"{share:.3f}" for share in cells) for cells in of_shape)]
        for name, of_shape in coverages.items()
    ]
    headings = [f"rates {' / '.join(f'{r:g}' for r in RATES)}", *(f"apart {a:g}" for a in APART)]
    text = markdown(headings, rows)
    print(text)
    if options.write:
        write("differences", text)
    # What so few draws may miss it by.
    slack = 2 * (0.92 * 0.08 / options.draws) ** 0.5
    failed = [
        f"{name}: {min(map(min, cells)):.3f}"
        for name, cells in coverages.items()
        if min(map(min, cells)) < least(SHAPES[name]) - slack
        and not any(part in name for part in SHORT)
    ]
    for each in failed:
        print(f"undercovers: {each}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
