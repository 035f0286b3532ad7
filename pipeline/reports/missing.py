"""The games that are missing: what each model has still to play or to finish."""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline import column
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.metrics.completeness import expected, played
from pipeline.metrics.request import check_models, check_of_roles, chosen
from pipeline.metrics.results import MODEL, counted_in

SETTING = (
    *("topic", "word", "other_word", "hidden_player", "tested_player", "n_rounds_fixed"),
    *("multiplier", "payoff_cooperate", "payoff_defect", "payoff_one_defect", "payoff_two_defect"),
    "setting",
)
_OF_SIDE = ["model", "competition", "setting_id"]
_OF_GAMES = TABLES["games"].columns()
COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL,
    "competition": column.text("what the game counts for"),
    "game_type": _OF_GAMES["game_type"],
    "setting_id": _OF_GAMES["setting_id"],
    "game_index": column.count("the lowest number of a game of this setting and competition"),
    "n_missing": column.count("games of it that the model has still to finish").shown("missing"),
    "n_expected": column.count("how many were expected: as in `completeness`").shown("expected"),
    "n_unfinished": column.count("the model's games of it without an end").shown("unfinished"),
    "paths": column.texts("the logs of these"),
    **{name: _OF_GAMES[name] for name in SETTING},
}


@counted_in(COLUMNS, has_edition=False)
def missing(
    lake: StoredLake,
    *,
    model: str | Sequence[str] | None = None,
    competition: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """The missing games: a row for each model and setting of which it finished fewer than expected.

    The settings are those that any model played; of each the median of what the models that
    finished one have is expected. A game that cannot be repeated is a setting of its
    own, and is missing only if the model began it and did not finish it.

    Raises UsageError for a model without games, and for an unknown competition.

    >>> lake.missing(model="sim-atlas").height
    0
    """
    check_models(lake, model)
    check_of_roles(lake, "competition", competition)
    number = (
        lake.table("results")
        .filter("is_tested")
        .group_by("competition", "setting_id")
        .agg(pl.col("game_index").min())
    )
    # What was fixed before play is the same in all games of a setting.
    fixed = lake.table("games").group_by("setting_id").agg(pl.col(*SETTING).first())
    n_missing = pl.col("n_expected") - pl.col("n_finished")
    return (
        expected(lake.once(played))
        .lazy()
        .filter(chosen(model=model, competition=competition), n_missing > 0)
        .with_columns(n_missing=n_missing)
        .join(number, on=["competition", "setting_id"], how="left")
        .join(_unfinished(lake), on=_OF_SIDE, how="left", nulls_equal=True)
        .join(fixed, on="setting_id", how="left")
        .with_columns(pl.col("n_unfinished").fill_null(0), pl.col("paths").fill_null([]))
        .select(*COLUMNS)
        .sort("model", "competition", "game_index", "setting_id", nulls_last=True)
        .collect()
    )


def _unfinished(lake: StoredLake) -> pl.LazyFrame:
    """The games without an end, with their paths, of each model, competition and setting."""
    cut_off = lake.table("results").filter("is_tested", ~pl.col("is_finished"))
    games = lake.table("games").select("game_id", "path")
    return (
        cut_off.select(*_OF_SIDE, "game_id")
        .unique()
        .join(games, on="game_id", how="left")
        .group_by(_OF_SIDE)
        .agg(n_unfinished=pl.len().cast(pl.Int64), paths=pl.col("path").drop_nulls().sort())
    )
