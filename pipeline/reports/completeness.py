"""What is there of each model, what is missing, and what it could have made of the values.

A model is expected to have finished a game of every setting that any model played in a competition,
or so many games as are asked for. Bounds are Manski's (C. F. Manski, American Economic Review 80:2
(1990) 319–323): a value with everything missing counted as a miss, and as a hit. They are no
intervals, and no order of models follows from them.
"""

from functools import cache

import polars as pl

from pipeline.lake import Lake
from pipeline.metrics import NAMES, PAPER, metric, metrics
from pipeline.metrics.compute import rows
from pipeline.metrics.request import Request
from pipeline.vocabulary import ParseStatus

_OF_SIDE = ("model", "competition")
_UNREADABLE, _AMBIGUOUS, _OUTAGE = (
    pl.col("parse_status") == status
    for status in (ParseStatus.UNREADABLE, ParseStatus.AMBIGUOUS, ParseStatus.OUTAGE)
)


def completeness(lake: Lake, *, expected: int | None = None) -> pl.DataFrame:
    """A row for each model and competition that any model played: what is there of its games.

    Columns: model, competition, expected (settings, or games where a number is given), found and
    finished (of these), n_games, n_unfinished, n_quarantined (parts of its games), is_complete.
    Documents that are quarantined as a whole can be told of no model: they are in a last row.
    """
    results = lake.table("results").filter("is_tested")
    sides = results.group_by(_OF_SIDE).agg(
        n_games=pl.col("game_id").n_unique().cast(pl.Int64),
        n_finished=pl.col("game_id").filter("is_finished").n_unique().cast(pl.Int64),
        n_settings=pl.col("setting_id").n_unique().cast(pl.Int64),
        n_settings_finished=pl.col("setting_id").filter("is_finished").n_unique().cast(pl.Int64),
    )
    played = results.group_by("competition").agg(
        game_type=pl.col("game_type").first(),
        n_played=pl.col("setting_id").n_unique().cast(pl.Int64),
    )
    quarantined = lake.table("quarantine").collect()
    parts = quarantined.lazy().filter(pl.col("game_id").is_not_null()).select("game_id")
    broken = (
        parts.join(results.select("game_id", *_OF_SIDE).unique(), on="game_id", how="inner")
        .group_by(_OF_SIDE)
        .agg(n_quarantined=pl.len().cast(pl.Int64))
    )
    found = (
        results.select("model")
        .unique()
        .join(played, how="cross")
        .join(sides, on=_OF_SIDE, how="left", nulls_equal=True)
        .join(broken, on=_OF_SIDE, how="left", nulls_equal=True)
        .with_columns(pl.col("^n_.*$").fill_null(0))
        .select(
            *_OF_SIDE,
            "game_type",
            **_of_games(expected) if expected is not None else _of_settings(),
            n_games="n_games",
            n_unfinished=pl.col("n_games") - pl.col("n_finished"),
            n_quarantined="n_quarantined",
        )
        .with_columns(is_complete=pl.col("finished") >= pl.col("expected"))
        .sort(_OF_SIDE, nulls_last=True)
        .collect()
    )
    whole = quarantined["game_id"].null_count()
    if not whole:
        return found
    return pl.concat([found, pl.DataFrame({"n_quarantined": [whole]})], how="diagonal_relaxed")


def _of_settings() -> dict[str, pl.Expr]:
    return {
        "expected": pl.col("n_played"),
        "found": pl.col("n_settings"),
        "finished": pl.col("n_settings_finished"),
    }


def _of_games(expected: int) -> dict[str, pl.Expr]:
    return {
        "expected": pl.lit(expected, pl.Int64),
        "found": pl.col("n_games"),
        "finished": pl.col("n_finished"),
    }


def complete_models(lake: Lake) -> pl.DataFrame:
    """model, is_complete: whether it finished a game of every setting that any model played."""
    sides = completeness(lake).filter(pl.col("competition").is_not_null())
    return sides.group_by("model").agg(pl.col("is_complete").all())


def readability(lake: Lake, *, edition: str = PAPER) -> pl.DataFrame:
    """A row for each model and metric: what could not be read, and the bounds that leaves.

    Columns: model, metric, value, value_min, value_max, counted (rows), n_unreadable and
    n_ambiguous (of these), n_outages (rows not counted), n_missing (rows of games that are missing,
    estimated), is_complete. Bounds are null where the value is.
    """
    by_model = metrics(lake, by=("model",), edition=edition, confidence=None)
    missing = _missing(lake)
    found = [
        _bounds(name, by_model.filter(metric=name), _rows(lake, name, edition), missing)
        for name in NAMES
    ]
    return pl.concat(found).sort("model", nulls_last=True, maintain_order=True)


def _rows(lake: Lake, name: str, edition: str) -> pl.DataFrame:
    """What a metric found in each setting, by model, competition and term."""
    found = rows(metric(name, edition), cache(lake.table), Request(edition=edition))
    is_miss = pl.col("is_counted") & (pl.col("hit") == 0)
    return (
        found.group_by(*_OF_SIDE, "setting_id", "term")
        .agg(
            n_games=pl.col("game_id").filter("is_counted").n_unique().cast(pl.Int64),
            counted=pl.col("is_counted").sum().cast(pl.Int64),
            unreadable=(_UNREADABLE & pl.col("is_counted")).sum().cast(pl.Int64),
            unreadable_misses=(_UNREADABLE & is_miss).sum().cast(pl.Int64),
            ambiguous=(_AMBIGUOUS & pl.col("is_counted")).sum().cast(pl.Int64),
            outages=(_OUTAGE & ~pl.col("is_counted")).sum().cast(pl.Int64),
        )
        .collect(engine="streaming")
    )


def _missing(lake: Lake) -> pl.DataFrame:
    """The settings of each competition that a model finished no game of."""
    results = lake.table("results").filter("is_tested")
    played = results.select("competition", "setting_id").unique()
    finished = results.filter("is_finished").select(*_OF_SIDE, "setting_id").unique()
    return (
        results.select("model")
        .unique()
        .join(played, how="cross")
        .join(finished, on=[*_OF_SIDE, "setting_id"], how="anti", nulls_equal=True)
        .collect()
    )


def _bounds(
    name: str, values: pl.DataFrame, found: pl.DataFrame, missing: pl.DataFrame
) -> pl.DataFrame:
    """The rows of one metric."""
    lacking = _lacking(found, missing)
    by = ["model", "term"]
    seen = found.group_by(by).agg(
        pl.col("counted", "unreadable", "unreadable_misses", "ambiguous", "outages").sum()
    )
    terms = (
        values.select("model", "value", "terms")
        .explode("terms")
        .select("model", pl.col("terms").struct.unnest())
        .drop("counted", "value")
        .join(seen, on=by, how="left", nulls_equal=True)
        .join(lacking, on=by, how="left", nulls_equal=True)
        .with_columns(pl.exclude("model", "term", "weight", "hits").fill_null(0))
    )
    whole = pl.col("counted") + pl.col("outages") + pl.col("missing")
    most = pl.col("hits") + pl.col("unreadable_misses") + pl.col("outages") + pl.col("missing")
    bounds = terms.group_by("model").agg(
        value_min=(pl.col("weight") * pl.col("hits") / whole).sum(),
        value_max=(pl.col("weight") * most / whole).sum(),
        counted=pl.col("counted").sum(),
        n_unreadable=pl.col("unreadable").sum(),
        n_ambiguous=pl.col("ambiguous").sum(),
        n_outages=pl.col("outages").sum(),
        n_missing=pl.col("missing").sum(),
    )
    has_value = pl.col("value").is_not_null()
    return (
        values.select("model", "metric", "value")
        .join(bounds, on="model", how="left", nulls_equal=True)
        .with_columns(
            pl.when(has_value).then(pl.col("value_min", "value_max")),
            is_complete=(pl.col("n_missing") == 0) & (pl.col("n_outages") == 0),
        )
    )


def _lacking(found: pl.DataFrame, missing: pl.DataFrame) -> pl.DataFrame:
    """`missing`: the rows that missing games would have had, by model and term.

    As many as the setting has elsewhere, at most, and where it has none, as the largest there are.
    """
    a_game = found.filter(pl.col("n_games") > 0).with_columns(
        size=(pl.col("counted") + pl.col("outages")) / pl.col("n_games")
    )
    elsewhere = a_game.group_by("competition", "setting_id", "term").agg(pl.col("size").max())
    largest = a_game.group_by("competition", "term").agg(largest=pl.col("size").max())
    return (
        missing.join(largest, on="competition")
        .join(elsewhere, on=["competition", "setting_id", "term"], how="left")
        .group_by("model", "term")
        .agg(missing=pl.coalesce("size", "largest").sum().ceil().cast(pl.Int64))
    )
