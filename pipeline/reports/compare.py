"""Models against each other: the difference in each metric, its interval, and its p-value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from pipeline.errors import UsageError
from pipeline.lake import Lake
from pipeline.metrics import ALL, DEFAULT_CONFIDENCE, PAPER, Answer, answered, metric, metrics
from pipeline.metrics.counts import CLUSTER
from pipeline.metrics.intervals import terms_of
from pipeline.metrics.request import RELEASE, Request, several
from pipeline.statistics.families import holm
from pipeline.statistics.pairs import differences

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


APART = pl.Schema(
    {
        "setting_id": pl.String(),
        "game_type": pl.String(),
        "value": pl.Float64(),
        "other_value": pl.Float64(),
        "difference": pl.Float64(),
        "game": pl.String(),
        "other_game": pl.String(),
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
    metrics, by default all. Columns: metric, model, other, value, other_value, difference, ci_low,
    ci_high, p_value, p_holm (adjusted by Holm), family (the number of p-values that are adjusted
    together: those of one metric if all pairs are compared, else all), method, n_settings (in
    common), share_paired, reason. If `method` is `paired by setting`, the difference, its interval
    and p-value are about the common settings. If it is `unpaired`, the difference is value −
    other_value. The difference is null, with a `reason`, if either value is null. A `p_value` of
    1 / (2 × `contrast.DRAWS`) is the smallest that the drawn signs can show: read it as "at most".
    Raises UsageError for an unknown model or metric, for a model compared with itself, and for a
    pair that is given twice.
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


def settings_apart(
    lake: Lake, one: str, other: str, name: str, *, edition: str = PAPER, limit: int = 10
) -> pl.DataFrame:
    """The settings that both models played in which the values of a metric differ most.

    Columns: setting_id, game_type, value, other_value, difference (value − other_value), game and
    other_game (the first of each model's games of the setting, by index). The edition `release` has
    no values of settings: no rows.
    """
    _check_pairs([(one, other)])
    pair = pl.DataFrame(schema=APART)
    if edition == RELEASE:
        return pair
    values = metrics(
        lake,
        names=[name],
        edition=edition,
        models=[one, other],
        by=["model", "setting_id", "game_type"],
        confidence=None,
    ).filter(pl.col("game_type") != ALL, pl.col("value").is_not_null())
    keys = ["setting_id", "game_type"]
    of_one, of_other = (values.filter(model=model).select(*keys, "value") for model in (one, other))
    found = (
        of_one.join(of_other.rename({"value": "other_value"}), on=keys)
        .with_columns(difference=pl.col("value") - pl.col("other_value"))
        .sort(-pl.col("difference").abs(), *keys)
        .head(limit)
    )
    games = _first_games(lake, found["setting_id"].to_list())
    for model, column in ((one, "game"), (other, "other_game")):
        own = games.filter(model=model).select("setting_id", pl.col("game_id").alias(column))
        found = found.join(own, on="setting_id", how="left", maintain_order="left")
    return pl.concat([pair, found.select(APART.names())])


def _first_games(lake: Lake, settings: Sequence[str]) -> pl.DataFrame:
    """model, setting_id, game_id: the finished game of each model and setting that comes first."""
    is_theirs = pl.col("setting_id").is_in(list(settings))
    games = lake.table("results").filter("is_tested", "is_finished", is_theirs)
    first = games.sort("game_index", "game_id", nulls_last=True)
    return first.group_by("model", "setting_id").agg(pl.col("game_id").first()).collect()


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
            "reason": reasons[one, other],
        }
        for one, other in pairs
    ]
    columns = ["metric", "model", "other", "value", "other_value", "reason"]
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
