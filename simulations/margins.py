"""How often are models called alike, and how often is a fall of a value seen?

Two models play the same settings. Models exactly the margin apart are to be
called alike in at most 5 % of lakes (6 % with the error of the simulation). A fall as large as
`magic diff` says it can see with power .8 is to be seen in .75 to .85 of lakes. `--write` puts the
tables into docs/simulations.md.
"""

import sys

import numpy as np
import polars as pl
from document import markdown, parse_options, write
from false_alarms import MOST
from pairs_of_models import LEVEL, compare_models, draw_sums, lakes
from shapes import METRICS, Floats

from pipeline.statistics.comparison import (
    RateEstimate,
    equivalence_p_value,
    minimum_detectable_drop,
    p_value_of_difference_above_bound,
)
from pipeline.statistics.pairs import rates_and_correlation_from_basis

RATES = (0.2, 0.5, 0.8)
NUMBERS = (20, 100)
MARGIN = 0.1  # of the metric's range
POWER, NEAR = 0.8, 0.05
STEPS = 40
# To find the fall that is seen takes long: so many fewer draws.
OF_FALLS = 4


def shift_for(rates: Floats, difference: float) -> float:
    """Return the shift, half up and half down, that makes the mean rates differ by `difference`."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        apart = np.mean(_shift_rates(rates, middle / 2) - _shift_rates(rates, -middle / 2))
        low, high = (middle, high) if apart < difference else (low, middle)
    return high


def fall_for(rates: Floats, fall: float) -> float:
    """Return the downward shift that lowers the mean of the rates by `fall`."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        fell = np.mean(rates - _shift_rates(rates, -middle))
        low, high = (middle, high) if fell < fall else (low, middle)
    return high


def _shift_rates(rates: Floats, shift: float) -> Floats:
    return np.clip(rates + shift, 1e-6, 1 - 1e-6)


def _p_alike(rows: pl.DataFrame, margin: float) -> Floats:
    return np.array(
        [equivalence_p_value(first, second, margin, rho) for first, second, rho in _bases(rows)]
    )


def _bases(rows: pl.DataFrame) -> list[tuple[RateEstimate, RateEstimate, float]]:
    return [rates_and_correlation_from_basis(basis) for basis in rows["basis"]]


def alike(metric: str, settings: int, rate: float, apart: float, draws: int) -> float:
    """Return how often two models `apart` (of the range) are called alike within the margin."""
    generator, shape, rates = lakes(metric, settings, rate, draws)
    shift = shift_for(rates, apart) if apart else 0.0
    pair = [draw_sums(generator, shape, rates, shift=sign * shift / 2) for sign in (1, -1)]
    return float(np.mean(_p_alike(compare_models(shape, pair), MARGIN * shape.range) <= LEVEL))


def falls(metric: str, settings: int, rate: float, draws: int) -> tuple[float, float] | None:
    """Return the mean detectable fall and how often it is detected; None if there is none."""
    generator, shape, rates = lakes(metric, settings, rate, draws)
    before = draw_sums(generator, shape, rates)

    margin = MARGIN / 2 * shape.range
    detectable_falls = [
        minimum_detectable_drop(new, old, margin, LEVEL, power=POWER, correlation=rho)
        for new, old, rho in _bases(
            compare_models(shape, [draw_sums(generator, shape, rates), before])
        )
    ]
    falls_found = [fall for fall in detectable_falls if fall is not None]
    if len(falls_found) < 0.99 * draws:
        return None
    fall = float(np.mean(falls_found))
    after = draw_sums(generator, shape, rates, shift=-fall_for(rates, fall / shape.range))
    p = [
        p_value_of_difference_above_bound(old, new, margin, rho)
        for new, old, rho in _bases(compare_models(shape, [after, before]))
    ]
    return fall / shape.range, float(np.mean(np.array(p) <= LEVEL))


def main() -> int:
    """Run the simulation and write its table; return 1 if a limit is missed."""
    options = parse_options(__doc__, 1000)
    cells = [(metric, n) for metric in METRICS for n in NUMBERS]
    at_margin = {c: [alike(*c, rate, MARGIN, options.draws) for rate in RATES] for c in cells}
    same = {c: [alike(*c, rate, 0.0, options.draws) for rate in RATES] for c in cells}
    few = max(40, options.draws // OF_FALLS)
    seen = {c: [falls(*c, rate, few) for rate in RATES] for c in cells}
    rows = [
        [
            f"{metric}, {n} settings",
            *(
                " / ".join(f"{share:.3f}" for share in shares[metric, n])
                for shares in (at_margin, same)
            ),
            " / ".join(
                "–" if result is None else f"{result[1]:.2f} of {result[0]:.2f}"
                for result in seen[metric, n]
            ),
        ]
        for metric, n in cells
    ]
    headings = ["rates .2 / .5 / .8", "alike, at the margin", "alike, if equal", "fall seen"]
    text = markdown(headings, rows)
    print(text)
    if options.write:
        write("margins", text)
    # Beside what may be missed by chance: three errors of a share of 5 %, two of one of 80 %.
    most = max(MOST, LEVEL + 3 * (LEVEL * (1 - LEVEL) / options.draws) ** 0.5)
    near = NEAR + 2 * (POWER * (1 - POWER) / few) ** 0.5
    failed = [f"{cell}: alike" for cell, shares in at_margin.items() if max(shares) > most]
    failed += [
        f"{cell}: fall {result}"
        for cell, shares in seen.items()
        for result in shares
        if result is not None and abs(result[1] - POWER) > near
    ]
    for each in failed:
        print(f"misses its limit: {each}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
