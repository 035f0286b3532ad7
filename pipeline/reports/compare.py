"""Models against each other: of each metric the difference, its interval, and its p-value."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipeline.errors import UsageError
from pipeline.lake import Lake
from pipeline.metrics import (
    DEFAULT_CONFIDENCE,
    PAPER,
    Answer,
    answered,
    metric,
)
from pipeline.metrics.intervals import terms_of
from pipeline.metrics.request import Request, several
from pipeline.statistics import contrast
from pipeline.statistics.contrast import Floats, Interval
from pipeline.statistics.families import holm

# Where of any term less of what either model counted is on settings of both, they are compared
# unpaired: flipped signs know nothing of a term without common settings, and the difference does.
LEAST_PAIRED = 0.8

COLUMNS = pl.Schema(
    {
        "metric": pl.String(),
        "model": pl.String(),
        "other": pl.String(),
        "value": pl.Float64(),
        "other_value": pl.Float64(),
        "difference": pl.Float64(),
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "p_value": pl.Float64(),
        "p_holm": pl.Float64(),
        "family": pl.Int64(),
        "method": pl.String(),
        "n_settings": pl.Int64(),
        "share_paired": pl.Float64(),
        "reason": pl.String(),
    }
)


class Side(NamedTuple):
    """One model's value of one metric, the terms that it is made of, and its sums by setting.

    `h` and `c` are hits and counted, a number for each setting and term that any model counted in;
    `u` its linearised contributions, a number for each setting.
    """

    row: dict[str, Any]
    weights: dict[str, float]
    h: Floats
    c: Floats
    u: Floats

    @property
    def range(self) -> float:
        return sum(self.weights.values())

    @property
    def interval(self) -> Interval:
        return Interval(self.row["value"], self.row["ci_low"], self.row["ci_high"])


class Columns(NamedTuple):
    """What the numbers of a side are of: competitions and settings, numbered, and terms."""

    strata: NDArray[np.int64]
    settings: NDArray[np.int64]
    terms: NDArray[np.str_]


def compare(
    lake: Lake,
    *pairs: tuple[str, str],
    names: Sequence[str] | None = None,
    edition: str = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """A row for each metric and pair of models: the difference, its interval and p-value.

    Pairs are such as ("gpt-4", "cohere"); all are compared if none is named. `names` are metrics,
    all by default. Columns: metric, model, other, value and other_value, difference (value −
    other_value, null with a `reason` if either value is null), ci_low, ci_high, p_value, p_holm
    (adjusted by Holm), family (how many p-values it is adjusted for: those of one metric if all
    pairs are compared, else all of the answer), method, n_settings (in common), share_paired. A
    `p_value` of 1 / (2 × `contrast.DRAWS`) is a bound, the least that drawn signs can show. Raises
    UsageError for a model or metric that is not there, for a model against itself, and for two
    models named twice, which would count twice in the family.
    """
    _check_pairs(pairs)
    models = tuple(dict.fromkeys(name for pair in pairs for name in pair)) if pairs else None
    request = Request(edition=edition, by=("model",), models=models)
    answer = answered(lake, request, names=several(names), confidence=confidence)
    known = answer.rows["model"].drop_nulls().unique().sort().to_list()
    compared = compare_rows(answer, pairs or list(combinations(known, 2)), edition=edition)
    return compared if pairs else adjusted(compared, ["metric"])


def _check_pairs(pairs: Sequence[object]) -> None:
    """Raises UsageError for what is no pair of models, or one too many."""
    named: Counter[tuple[str, ...]] = Counter()
    for pair in pairs:
        match pair:
            case [str(one), str(other)] if one != other:
                named[tuple(sorted((one, other)))] += 1
            case [str(one), str()]:
                raise UsageError(f"{one} is named twice: name two models, unlike each other")
            case _:
                # Such as a name alone, or a list of pairs, from calls that look right.
                raise UsageError(f'a pair is two models, as in ("gpt-4", "cohere"), not {pair!r}')
    if twice := [" and ".join(pair) for pair, n in named.items() if n > 1]:
        raise UsageError(f"compared more than once, in whatever order: {', '.join(twice)}")


def compare_rows(
    answer: Answer, pairs: Sequence[tuple[str, str]], *, edition: str = PAPER
) -> pl.DataFrame:
    """The same of models whose metrics' rows there are; the family is all p-values."""
    rows = answer.rows.filter(pl.col("model").is_not_null())
    found: list[dict[str, Any]] = []
    for name in rows["metric"].unique(maintain_order=True):
        columns, of_model = sides(sums_of(answer, name), rows.filter(metric=name), edition)
        found += differences(columns, [(of_model[one], of_model[other]) for one, other in pairs])
    return adjusted(pl.DataFrame(found, schema=COLUMNS), [])


def sums_of(answer: Answer, name: str) -> pl.DataFrame:
    """What a metric counted of each model: model, competition, setting_id, term, h, c.

    Where a competition has one setting only, each game stands for a setting.
    """
    assert answer.sums is not None, "compared are values with intervals"
    return answer.sums.filter(metric=name).select(
        "model", "term", "h", "c", competition="stratum", setting_id="cluster"
    )


def sides(sums: pl.DataFrame, rows: pl.DataFrame, edition: str) -> tuple[Columns, dict[str, Side]]:
    """The sides of one metric by their name in `model`, from its sums and its rows by `model`."""
    keys = ["competition", "setting_id", "term"]
    places = sums.select(keys).unique().sort(keys)
    weights: dict[str, dict[str, float]] = {model: {} for model in rows["model"]}
    for (name,), of_name in rows.group_by("metric"):
        declared = metric(str(name), edition)
        terms = terms_of(of_name.lazy(), declared, ["model"]).select("model", "term", "weight")
        for model, term, weight in terms.collect().iter_rows():
            weights[model][term] = weight
    strata, settings = (places[key].rank("dense").cast(pl.Int64).to_numpy() - 1 for key in keys[:2])
    columns = Columns(strata, settings, places["term"].to_numpy())
    found = {}
    for row in rows.iter_rows(named=True):
        own = places.join(
            sums.filter(model=row["model"]), on=keys, how="left", maintain_order="left"
        ).fill_null(0.0)
        h, c = own["h"].to_numpy(), own["c"].to_numpy()
        own_weights = weights[row["model"]]
        found[row["model"]] = Side(row, own_weights, h, c, _u(columns, own_weights, h, c))
    return columns, found


def differences(columns: Columns, pairs: Sequence[tuple[Side, Side]]) -> list[dict[str, Any]]:
    """The rows of one metric for pairs of its sides, but for `p_holm` and `family`."""
    reasons = [_reason(one, other) for one, other in pairs]
    told = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
    x = [_by_setting(columns, *pair) for pair in told]
    flipped = iter(contrast.sign_flip_ps(np.array(x)).tolist() if x else [])
    rows = []
    for (one, other), reason in zip(pairs, reasons, strict=True):
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row |= {
            "metric": one.row["metric"],
            "model": one.row["model"],
            "other": other.row["model"],
            "value": one.row["value"],
            "other_value": other.row["value"],
            "reason": reason,
        }
        rows.append(row if reason else row | _difference(columns, one, other, next(flipped)))
    return rows


def _reason(one: Side, other: Side) -> str | None:
    """Why two sides cannot be compared, if so."""
    for side in (one, other):
        if side.row["value"] is None:
            return f"{side.row['model']}: {side.row['reason']}"
    if apart := set(one.weights) ^ set(other.weights):
        return f"only one of them has {', '.join(sorted(apart))}"
    return None


def _difference(columns: Columns, one: Side, other: Side, p_value: float) -> dict[str, Any]:
    """The difference of two sides, paired where enough of what they count is on common settings."""
    is_common = (one.c > 0) & (other.c > 0)
    paired = min(
        _share(side.c[columns.terms == term], is_common[columns.terms == term])
        for term in one.weights
        for side in (one, other)
    )
    is_paired = paired >= LEAST_PAIRED
    n_settings = len(np.unique(columns.settings[is_common]))
    # Of what is unpaired nothing is taken to go together: at ten settings it would err too often.
    between = contrast.shrunk_correlation(one.u, other.u) if is_paired else 0.0
    if not is_paired:
        p_value = contrast.unpaired_p(_rate(one), _rate(other))
    found = contrast.mover(one.interval, other.interval, between)
    return {
        "difference": found.value,
        "ci_low": found.low,
        "ci_high": found.high,
        "p_value": p_value,
        "method": "paired by setting" if is_paired else "unpaired",
        "n_settings": n_settings,
        "share_paired": paired,
    }


def _share(counted: Floats, is_common: NDArray[np.bool_]) -> float:
    """How much of what was counted is common, in 0..1; of nothing, nothing is."""
    whole = float(counted.sum())
    return float(counted[is_common].sum()) / whole if whole else 0.0


def _rate(side: Side) -> tuple[float, float]:
    return side.row["value"] / side.range, side.row["n_eff"]


def _by_setting(columns: Columns, one: Side, other: Side) -> Floats:
    """What each setting, over all terms, adds to the difference of two sides."""
    added = np.zeros(len(columns.terms))
    for term, weight in one.weights.items():
        of_term = columns.terms == term
        sums = (one.h, one.c, other.h, other.c)
        added[of_term] = weight * contrast.contributions(*(each[of_term] for each in sums))
    return _added_up(columns, added)


def _u(columns: Columns, weights: dict[str, float], h: Floats, c: Floats) -> Floats:
    """Linearised contributions by setting, about their means in each competition."""
    u = np.zeros(len(columns.terms))
    for term, weight in weights.items():
        of_term = columns.terms == term
        own_h, own_c = h[of_term], c[of_term]
        if own_c.any():
            u[of_term] = weight * (own_h - own_h.sum() / own_c.sum() * own_c) / own_c.sum()
    for stratum in np.unique(columns.strata):
        counted = (columns.strata == stratum) & (c > 0)
        u[counted] -= u[counted].mean() if counted.any() else 0.0
    return _added_up(columns, u)


def _added_up(columns: Columns, values: Floats) -> Floats:
    """The values of each setting, whatever the competitions and terms."""
    return np.bincount(columns.settings, weights=values, minlength=1).astype(np.float64)


def adjusted(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The rows with p-values adjusted for the number of those in the family."""
    numbered = rows.with_row_index("place")
    # No rows have no parts, and are one family without a p-value.
    is_parted = by and not numbered.is_empty()
    families = numbered.partition_by(by, maintain_order=True) if is_parted else [numbered]
    told_apart = []
    for family in families:
        told = family.filter(pl.col("p_value").is_not_null())
        p_holm = pl.Series("p_holm", holm(told["p_value"].to_list()), pl.Float64)
        told_apart.append(told.select("place", p_holm, family=pl.lit(told.height, pl.Int64)))
    found = numbered.drop("p_holm", "family").join(
        pl.concat(told_apart), on="place", how="left", maintain_order="left"
    )
    return found.select(COLUMNS.names())
