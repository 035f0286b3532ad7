"""How many settings it takes to see a difference between two models of the lake."""

import math
from itertools import combinations

import numpy as np
import polars as pl

from pipeline.errors import UsageError
from pipeline.lake import Lake
from pipeline.metrics import PAPER, answered, metric
from pipeline.metrics.request import Request
from pipeline.reports.compare import Columns, Side, sides, sums_of
from pipeline.statistics.contrast import shrunk_correlation
from pipeline.statistics.planning import cautious_variance, settings_needed


def plan(
    lake: Lake,
    name: str,
    difference: float,
    *,
    power: float = 0.8,
    level: float = 0.05,
    edition: str = PAPER,
) -> pl.DataFrame:
    """A row for each two models: settings needed to see so large a difference in the metric.

    Columns: metric, model, other, difference, power, level, n_settings (in common: the pilot), sd
    (of a setting's difference, raised for the pilot's size, in the metric's unit), settings
    (needed over all competitions, in the pilot's shares; replays are no new ones; null where it
    takes a million). Of a pilot of under two settings, sd and settings are null. Raises UsageError
    where there are no two models, where no two values can be so far apart, and for a difference, a
    power or a level that none can be planned for.
    """
    _check(difference, power, level)
    declared = metric(name, edition)
    if not abs(difference) <= declared.high - declared.low:
        raise UsageError(
            f"a difference of {difference:g} in {name} cannot be: its values are within "
            f"{declared.low:g}..{declared.high:.3g}"
        )
    answer = answered(lake, Request(edition=edition, by=("model",)), names=[name])
    told = answer.rows.filter(pl.col("value").is_not_null(), pl.col("model").is_not_null())
    known = told["model"].sort().to_list()
    if len(known) < 2:
        raise UsageError(f"a plan needs two models with a {name}: the lake has {len(known)}")
    columns, of_model = sides(sums_of(answer, name), told, edition)
    found = []
    for one, other in combinations(known, 2):
        n, sd = _of_a_setting(columns, of_model[one], of_model[other])
        needed = None if sd is None else settings_needed(difference, sd, power=power, level=level)
        found.append(
            {
                "metric": name,
                "model": one,
                "other": other,
                "difference": difference,
                "power": power,
                "level": level,
                "n_settings": n,
                "sd": sd,
                "settings": needed,
            }
        )
    return pl.DataFrame(found, schema_overrides={"sd": pl.Float64, "settings": pl.Int64})


def _check(difference: float, power: float, level: float) -> None:
    if difference == 0:
        raise UsageError("a difference of 0 cannot be seen")
    for name, share in (("power", power), ("level", level)):
        if not 0 < share < 1:
            raise UsageError(f"the {name}, {share:g}, is not between 0 and 1")
    if power <= level:
        raise UsageError("power is more than the level")


def _of_a_setting(columns: Columns, one: Side, other: Side) -> tuple[int, float | None]:
    """The settings that two models have in common, and the cautious sd of one's difference."""
    n = len(np.unique(columns.settings[(one.c > 0) & (other.c > 0)]))
    if n < 2:
        return n, None
    v, other_v = _variance(one), _variance(other)
    both = v + other_v - 2 * shrunk_correlation(one.u, other.u) * math.sqrt(v * other_v)
    return n, math.sqrt(cautious_variance(n * both, n))


def _variance(side: Side) -> float:
    """A value's variance, at its rate with a hit and a miss more: at a ceiling it shows none."""
    n_eff = side.row["n_eff"]
    rate = (side.row["value"] / side.range * n_eff + 1) / (n_eff + 2)
    return float(side.range**2 * rate * (1 - rate) / n_eff)
