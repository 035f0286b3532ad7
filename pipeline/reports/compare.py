"""Models against each other: the difference in each metric, its interval, and its p-value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from pipeline.errors import UsageError
from pipeline.lake import Lake
from pipeline.metrics import DEFAULT_CONFIDENCE, PAPER, Answer, answered, metric
from pipeline.metrics.counts import CLUSTER
from pipeline.metrics.intervals import terms_of
from pipeline.metrics.request import Request, several
from pipeline.metrics.thin import THIN
from pipeline.statistics.families import holm
from pipeline.statistics.pairs import differences

COLUMNS = pl.Schema(
    {
        "metric": pl.String(),
        "model": pl.String(),
        "other": pl.String(),
        "value": pl.Float64(),
        "other_value": pl.Float64(),
        "thin": THIN,
        "other_thin": THIN,
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


def compare(
    lake: Lake,
    *pairs: tuple[str, str],
    names: Sequence[str] | None = None,
    edition: str = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """A row for each metric and pair of models: the difference, its interval and p-value.

    A pair is, for example, ("gpt-4", "cohere"); without pairs, all are compared. `names` are the
    metrics, by default all. Columns: metric, model, other, value, other_value, thin and other_thin
    (terms with very few games), difference, ci_low, ci_high, p_value, p_holm (adjusted by Holm),
    family (the number of p-values that are adjusted together: those of one metric if all pairs are
    compared, else all), method, n_settings (in common), share_paired, reason. If `method` is
    `paired by setting`, the difference, its interval and p-value are about the common settings. If
    it is `unpaired`, the difference is value − other_value. The difference is null, with a
    `reason`, if either value is null. A `p_value` of 1 / (2 × `contrast.DRAWS`) is the smallest
    that the drawn signs can show: read it as "at most". Raises UsageError for an unknown model or
    metric, for a model compared with itself, and for a pair that is given twice.
    """
    _check_pairs(pairs)
    models = tuple(dict.fromkeys(name for pair in pairs for name in pair)) if pairs else None
    request = Request(edition=edition, by=("model",), models=models)
    answer = answered(lake, request, names=several(names), confidence=confidence)
    known = answer.rows["model"].drop_nulls().unique().sort().to_list()
    compared = compare_rows(
        answer,
        [(one, other) for one, other in pairs] or list(combinations(known, 2)),
        edition=edition,
        confidence=confidence,
    )
    return compared if pairs else adjusted(compared, ["metric"])


def _check_pairs(pairs: Sequence[object]) -> None:
    """Raises UsageError for what is no pair of models, or one too many."""
    named: Counter[tuple[str, ...]] = Counter()
    for pair in pairs:
        match pair:
            case [str(one), str(other)] if one != other:
                named[tuple(sorted((one, other)))] += 1
            case [str(one), str()]:
                raise UsageError(f"{one} is named twice: name two different models")
            case _:
                # Such as a name alone, or a list of pairs, from calls that look right.
                raise UsageError(
                    f'a pair must be two models, such as ("gpt-4", "cohere"), not {pair!r}'
                )
    if twice := [" and ".join(pair) for pair, n in named.items() if n > 1]:
        raise UsageError(f"give each pair only once, in either order: {', '.join(twice)}")


def compare_rows(
    answer: Answer,
    pairs: Sequence[tuple[str, str]],
    *,
    edition: str = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """The same for models whose values and sums there are; the family is all p-values."""
    rows = answer.rows.filter(pl.col("model").is_not_null())
    found = [
        of_metric(
            name,
            rows.filter(metric=name),
            sums_of(answer, name),
            pairs,
            edition=edition,
            confidence=confidence,
        )
        for name in rows["metric"].unique(maintain_order=True)
    ]
    return adjusted(pl.concat([pl.DataFrame(schema=COLUMNS), *found]), [])


def sums_of(answer: Answer, name: str) -> pl.DataFrame:
    """The sums of one metric: model, stratum, cluster, term, h, c."""
    assert answer.sums is not None, "values without intervals cannot be compared"
    return answer.sums.filter(metric=name).select("model", *CLUSTER, "term", "h", "c")


def of_metric(
    name: str,
    rows: pl.DataFrame,
    sums: pl.DataFrame,
    pairs: Sequence[tuple[str, str]],
    *,
    edition: str,
    confidence: float,
) -> pl.DataFrame:
    """The rows of one metric for pairs of models, without `p_holm` and `family`.

    `rows` are the metric's values by model, and `sums` are those of `sums_of`.
    """
    terms = terms_of(rows.lazy(), metric(name, edition), ["model"]).collect()
    of_model = {row["model"]: row for row in rows.iter_rows(named=True)}
    names = {model: set(terms.filter(model=model)["term"]) for model in of_model}
    reasons = {pair: _reason(pair, of_model, names) for pair in pairs}
    comparable = [pair for pair in pairs if reasons[pair] is None]
    found = differences(sums.lazy(), terms.lazy(), comparable, confidence)
    asked = [
        {
            "metric": name,
            "model": one,
            "other": other,
            "value": of_model[one]["value"],
            "other_value": of_model[other]["value"],
            "thin": of_model[one]["thin"],
            "other_thin": of_model[other]["thin"],
            "reason": reasons[one, other],
        }
        for one, other in pairs
    ]
    columns = ["metric", "model", "other", "value", "other_value", "thin", "other_thin", "reason"]
    return (
        pl.DataFrame(asked, schema={column: COLUMNS[column] for column in columns})
        .join(found.rename({"one": "model"}), on=["model", "other"], how="left")
        .with_columns(p_holm=pl.lit(None, pl.Float64), family=pl.lit(None, pl.Int64))
        .select(COLUMNS.names())
    )


def _reason(
    pair: tuple[str, str], of_model: Mapping[str, dict[str, Any]], terms: Mapping[str, set[str]]
) -> str | None:
    """Why two models cannot be compared, null if they can."""
    for model in pair:
        if of_model[model]["value"] is None:
            return f"{model}: {of_model[model]['reason']}"
    one, other = pair
    if different := terms[one] ^ terms[other]:
        return f"only one of the two models has {', '.join(sorted(different))}"
    return None


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
