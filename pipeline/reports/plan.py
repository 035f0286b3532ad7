"""How many settings are needed to detect a difference between two models of the lake."""

from collections.abc import Mapping
from itertools import combinations

import polars as pl

from pipeline import column
from pipeline.column import Column, schema
from pipeline.errors import UsageError
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE, PAPER, answered
from pipeline.metrics import metric as declaration
from pipeline.metrics.request import Request
from pipeline.metrics.results import IS_THIN, METRIC, MODEL, counted_in
from pipeline.statistics import rates
from pipeline.statistics.contrast import Rate
from pipeline.statistics.pairs import pilots_of
from pipeline.statistics.planning import setting_sd, settings_needed
from pipeline.vocabulary import Edition

COLUMNS: Mapping[str, Column] = {
    "metric": METRIC,
    "model": MODEL,
    "other": column.text("the other model of the pair"),
    "difference": column.share("the difference to detect"),
    "thin": IS_THIN,
    "other_thin": IS_THIN,
    "power": column.share("the probability of detecting it, if it exists"),
    "level": column.number("the significance level, divided by the number of pairs"),
    "n_settings": column.count("the settings of the pilot: in common, or the fewer of both").shown(
        "pilot settings"
    ),
    "sd": column.share(
        "the standard deviation of a setting's difference, or of a setting, in the metric's unit; "
        "raised because the pilot is small; null if it has fewer than two settings: nothing can be "
        "planned from one"
    ),
    "settings": column.count(
        "the number needed by each model over all competitions, in the pilot's proportions, each "
        "played as often as in the pilot; replays are not new settings; null if more than a "
        "million are needed, or if `sd` is null"
    ).shown("settings needed"),
}


@counted_in(COLUMNS)
def plan(
    lake: StoredLake,
    metric: str,
    difference: float,
    *,
    power: float = 0.8,
    confidence: float = DEFAULT_CONFIDENCE,
    n_pairs: int = 1,
    unpaired: bool = False,
    edition: Edition = PAPER,
) -> pl.DataFrame:
    """A row for each pair of models: the settings needed to detect the difference in the metric.

    The significance level is 1 − `confidence`; it is divided by `n_pairs`, the number of pairs
    that will be compared. If `unpaired`, models will play different settings.

    Raises UsageError if the lake has fewer than two models with the metric, if the difference is
    impossible, and for a wrong difference, power, confidence or number of pairs.

    >>> needed = lake.plan("win_rate", difference=0.2)
    >>> needed.select("model", "other", "n_settings", "settings").rows()[0]
    ('sim-atlas', 'sim-birch-pgm', 20, 87)
    """
    level = round(1 - confidence, 15)  # 1 - .95 is .050000000000000044
    _check(difference, power, level, n_pairs)
    declared = declaration(metric, edition)
    if not abs(difference) <= declared.high:
        raise UsageError(
            f"a difference of {difference:g} in {metric} is impossible: its values are within "
            f"0..{declared.high:.3g}"
        )
    answer = answered(lake, Request(edition=edition, by=("model",)), names=[metric])
    has_value = answer.rows.filter(pl.col("value").is_not_null(), pl.col("model").is_not_null())
    known = has_value["model"].sort().to_list()
    if len(known) < 2:
        raise UsageError(f"a plan needs two models that have {metric}: the lake has {len(known)}")
    terms = answer.terms.lazy().filter(pl.col("model").is_in(known))
    thin = dict(has_value.select("model", "thin").iter_rows())
    pairs = list(combinations(known, 2))
    sums = answer.sums.lazy()
    common = pilots_of(sums, terms, pairs)
    alone = dict(zip(known, pilots_of(sums, terms, [(m, m) for m in known]), strict=True))
    of_model = rates(sums, terms, ["model"], confidence).collect().iter_rows(named=True)
    rate_of = {row["model"]: Rate.of(row) for row in of_model}
    test = {"power": power, "level": level / n_pairs}
    rows = []
    is_paired = not unpaired
    for (one, other), paired in zip(pairs, common, strict=True):
        pilots = [paired] if is_paired else [alone[one], alone[other]]
        numbers = alone[one].n_settings, alone[other].n_settings
        sd = setting_sd(rate_of[one], rate_of[other], numbers, pilots, is_paired=is_paired)
        needed = (
            None if sd is None else settings_needed(difference, sd, is_paired=is_paired, **test)
        )
        pair = {"metric": metric, "model": one, "other": other, "difference": difference}
        pair |= {"thin": thin[one], "other_thin": thin[other]}
        n_settings = min(pilot.n_settings for pilot in pilots)
        needs = {"n_settings": n_settings, "sd": sd, "settings": needed}
        rows.append(pair | test | needs)
    return pl.DataFrame(rows, schema=schema(COLUMNS))


def _check(difference: float, power: float, level: float, n_pairs: int) -> None:
    if difference == 0:
        raise UsageError("the difference must not be 0")
    for name, share, shown in (("power", power, power), ("confidence", level, 1 - level)):
        if not 0 < share < 1:
            raise UsageError(f"the {name} must be between 0 and 1, not {shown:g}")
    if not (n_pairs >= 1 and float(n_pairs).is_integer()):
        raise UsageError(f"the number of pairs must be whole, and 1 or more, not {n_pairs:g}")
    if power <= level:
        raise UsageError("the power must be greater than 1 - confidence")
