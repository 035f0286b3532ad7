"""How many settings it takes to see a difference between two models of the lake."""

import math
from itertools import combinations
from typing import Any

import polars as pl

from pipeline.errors import UsageError
from pipeline.lake import Lake
from pipeline.metrics import PAPER, answered, metric
from pipeline.metrics.intervals import terms_of
from pipeline.metrics.request import Request
from pipeline.statistics.pairs import correlations
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
    """A row for each pair of models: the settings needed to detect the difference in the metric.

    Columns: metric, model, other, difference, power, level, n_settings (in common: the pilot), sd
    (of a setting's difference in the metric's unit, raised because the pilot is small), settings
    (needed over all competitions, in the pilot's proportions; replays are not new settings; null
    if more than a million are needed). If the pilot has fewer than two settings, sd and settings
    are null. Raises UsageError if the lake has fewer than two models with the metric, if the
    difference is impossible, and for a wrong difference, power or level.
    """
    _check(difference, power, level)
    declared = metric(name, edition)
    if not abs(difference) <= declared.high - declared.low:
        raise UsageError(
            f"a difference of {difference:g} in {name} is impossible: its values are within "
            f"{declared.low:g}..{declared.high:.3g}"
        )
    answer = answered(lake, Request(edition=edition, by=("model",)), names=[name])
    told = answer.rows.filter(pl.col("value").is_not_null(), pl.col("model").is_not_null())
    known = told["model"].sort().to_list()
    if len(known) < 2:
        raise UsageError(f"a plan needs two models that have {name}: the lake has {len(known)}")
    terms = terms_of(told.lazy(), declared, ["model"])
    of_model = {row["model"]: row for row in told.iter_rows(named=True)}
    pairs = list(combinations(known, 2))
    assert answer.sums is not None, "values with intervals have sums"
    common = correlations(answer.sums.lazy(), terms, pairs)
    found = []
    for (one, other), (n, correlation) in zip(pairs, common, strict=True):
        sd = _of_a_setting(of_model[one], of_model[other], n, correlation)
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
        raise UsageError("the difference must not be 0")
    for name, share in (("power", power), ("level", level)):
        if not 0 < share < 1:
            raise UsageError(f"the {name} must be between 0 and 1, not {share:g}")
    if power <= level:
        raise UsageError("the power must be greater than the level")


def _of_a_setting(
    one: dict[str, Any], other: dict[str, Any], n: int, correlation: float
) -> float | None:
    """The cautious sd of a setting's difference, null with fewer than two settings in common."""
    if n < 2:
        return None
    v, other_v = _variance(one), _variance(other)
    both = v + other_v - 2 * correlation * math.sqrt(v * other_v)
    return math.sqrt(cautious_variance(n * both, n))


def _variance(row: dict[str, Any]) -> float:
    """A value's variance, at its rate with a hit and a miss more: at a ceiling it shows none."""
    effective_items = row["effective_items"]
    range_ = sum(term["weight"] for term in row["terms"] if term["counted"])
    rate = (row["value"] / range_ * effective_items + 1) / (effective_items + 2)
    return float(range_**2 * rate * (1 - rate) / effective_items)
