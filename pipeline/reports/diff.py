"""What moved between two lakes, or two states of one, and which games did it."""

from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from pipeline.lake import Lake, open_lake
from pipeline.metrics import DEFAULT_CONFIDENCE, PAPER, Answer, answered, metric
from pipeline.metrics.catalogue import names
from pipeline.metrics.counting import rows as rows_of
from pipeline.metrics.request import Request
from pipeline.reports.compare import COLUMNS, adjusted, differences, sides, sums_of
from pipeline.statistics.sums import exact_sum

LEVEL = 0.05
SAME_GAMES = "the same games"
_KEY = ["metric", "model"]
_GAMES = pl.Schema({"n_common": pl.Int64(), "n_gone": pl.Int64(), "n_new": pl.Int64()})


def diff(
    before: Lake,
    after: Lake | str | Path,
    *,
    edition: str = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """A row for each metric and model of either lake, with how its value moved.

    `after` is a lake or the path of one.
    Columns: metric, model, value (before), new_value, difference (new_value − value), ci_low,
    ci_high, p_value, p_holm, family, method, n_settings, n_common, n_gone and n_new (games),
    is_beyond_noise, reason. A game in both is exact: where no other is counted, the difference is
    no estimate, and has no p-value. Otherwise the two are compared like two models, on the settings
    that games of both were played on. `p_holm` is of all p-values of the answer.
    """
    if not isinstance(after, Lake):
        after = open_lake(after)
    request = Request(edition=edition)
    by_model = Request(edition=edition, by=("model",))
    answers = [answered(lake, by_model, confidence=confidence) for lake in (before, after)]
    found = [
        row
        for name in names(edition)
        for row in _of_metric(name, (before, after), answers, request)
    ]
    compared = pl.DataFrame(found, schema={**COLUMNS, **_GAMES})
    is_same = (pl.col("n_gone") == 0) & (pl.col("n_new") == 0)
    exact = compared.with_columns(
        pl.when(is_same).then(None).otherwise("p_value").alias("p_value"),
        pl.when(is_same).then("difference").otherwise("ci_low").alias("ci_low"),
        pl.when(is_same).then("difference").otherwise("ci_high").alias("ci_high"),
        method=pl.when(is_same).then(pl.lit(SAME_GAMES)).otherwise("method"),
    )
    p_holm = adjusted(exact.select(COLUMNS.names()), []).select("p_holm", "family")
    return (
        exact.with_columns(p_holm)
        .with_columns(
            is_beyond_noise=pl.when(is_same)
            .then(pl.col("difference") != 0)
            .otherwise(pl.col("p_holm") < LEVEL)
        )
        .rename({"other_value": "new_value"})
        .select(
            *("metric", "model", "value", "new_value", "difference", "ci_low", "ci_high"),
            *("p_value", "p_holm", "family", "method", "n_settings"),
            *_GAMES.names(),
            "is_beyond_noise",
            "reason",
        )
    )


def _of_metric(
    name: str,
    lakes: tuple[Lake, Lake],
    answers: list[Answer],
    request: Request,
) -> list[dict[str, Any]]:
    """The rows of one metric, a model each."""
    games = _games(name, lakes, request)
    valued = [answer.rows.filter(metric=name) for answer in answers]
    sums = [sums_of(answer, name) for answer in answers]
    models = pl.concat(one.select("model") for one in valued).unique().sort("model")["model"]
    found = []
    for model in models:
        rows = [one.filter(pl.col("model").eq_missing(pl.lit(model))) for one in valued]
        row: dict[str, Any] = dict.fromkeys(COLUMNS) | {"metric": name}
        if all(one.height for one in rows):
            # The sides are named by their place, since the model is the same.
            named = [one.with_columns(model=pl.lit(str(n))) for n, one in enumerate(rows)]
            own = pl.concat(
                each.filter(pl.col("model").eq_missing(pl.lit(model))).with_columns(
                    model=pl.lit(str(n))
                )
                for n, each in enumerate(sums)
            )
            columns, of_lake = sides(own, pl.concat(named), request.edition)
            (row,) = differences(columns, [(of_lake["1"], of_lake["0"])])
            row |= {"value": row["other_value"], "other_value": row["value"]}
        else:
            place = 0 if rows[0].height else 1
            row["value" if place == 0 else "other_value"] = rows[place]["value"].item()
            row["reason"] = f"only {('before', 'after')[place]}"
        counted = games.filter(pl.col("model").eq_missing(pl.lit(model))).select(_GAMES.names())
        told = counted.row(0, named=True) if counted.height else dict.fromkeys(_GAMES, 0)
        found.append(row | told | {"model": model})
    return found


def _games(name: str, lakes: tuple[Lake, Lake], request: Request) -> pl.DataFrame:
    """How many counted games of each model are in both lakes, gone, and new."""
    joined = changed_games(lakes, name, request, only_changed=False)
    return joined.group_by("model").agg(
        n_common=(pl.col("change") == "common").sum().cast(pl.Int64),
        n_gone=(pl.col("change") == "gone").sum().cast(pl.Int64),
        n_new=(pl.col("change") == "new").sum().cast(pl.Int64),
    )


def changed_games(
    lakes: tuple[Lake, Lake], name: str, request: Request, *, only_changed: bool = True
) -> pl.DataFrame:
    """The games that a metric counts in one lake alone: metric, model, competition, setting_id,
    game_id, change (`gone`, `new`; else `common`), hits, counted."""
    key = ["model", "competition", "setting_id", "game_id"]
    before, after = (
        rows_of(metric(name, request.edition), cache(lake.table), request)
        .filter("is_counted")
        .group_by(key)
        .agg(hits=exact_sum(pl.col("hit")), counted=pl.len().cast(pl.Int64))
        .collect(engine="streaming")
        for lake in lakes
    )
    joined = before.join(after, on=key, how="full", coalesce=True, nulls_equal=True)
    change = (
        pl.when(pl.col("counted_right").is_null())
        .then(pl.lit("gone"))
        .when(pl.col("counted").is_null())
        .then(pl.lit("new"))
        .otherwise(pl.lit("common"))
    )
    told = joined.with_columns(change=change).select(
        pl.lit(name).alias("metric"),
        *key,
        "change",
        hits=pl.coalesce("hits", "hits_right"),
        counted=pl.coalesce("counted", "counted_right"),
    )
    changed = told.filter(pl.col("change") != "common") if only_changed else told
    return changed.sort(key, nulls_last=True)


def games_that_did_it(before: Lake, after: Lake, *, edition: str = PAPER) -> pl.DataFrame:
    """`changed_games` of all metrics."""
    request = Request(edition=edition)
    return pl.concat(changed_games((before, after), name, request) for name in names(edition))
