"""Export of battles: pairs of models with opposed results, as arena-rank and evalica read them.

Called by `pipeline.exports.export`; depends on `pipeline.reports.ratings` for the results of games
with a hidden side.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from pipeline import column, games
from pipeline.atomic_files import atomic_write, check_path_is_free
from pipeline.column import Column, polars_schema
from pipeline.errors import UsageError
from pipeline.exports import ExportResult
from pipeline.lake import StoredLake
from pipeline.reports.ratings import hidden_side_credit_by_game
from pipeline.serialization import iter_csv, write_parquet
from pipeline.text_format import format_count
from pipeline.vocabulary import Side

MODEL_A, MODEL_B, TIE = "model_a", "model_b", "tie"
BATTLE_COLUMNS: Mapping[str, Column] = {
    MODEL_A: column.text_column("a model; in a game with sides, one on the hidden side"),
    MODEL_B: column.text_column("another model; in a game with sides, one on the other side"),
    "winner": column.category_column(
        (MODEL_A, MODEL_B, TIE), "which of the two models won, or a tie"
    ),
    "game_type": column.category_column(games.game_type_names(), "which game was played"),
    "setting": column.identifier_column(
        "the setting; games of one setting have the same conditions"
    ),
    "game_id": column.identifier_column("the game"),
    "side_a": column.category_column(Side, "the side of model_a"),
    "side_b": column.category_column(Side, "the side of model_b"),
    "system": column.text_column("the harness that ran the game"),
}
_GAME_COLUMNS = ("game_id", "game_type", "setting_id", "system")
_HIT, _HIT_B = pl.col("hit"), pl.col("hit_b")


def write(lake: StoredLake, destination: Path) -> ExportResult:
    """Write a CSV or Parquet file with a row for each pair of models in a game, and the winner.

    Args:
        lake: The lake, of one system.
        destination: The new file; its extension, .parquet or .csv, selects the format.

    Returns:
        The number of rows, and notes on the games that were left out.

    Raises:
        UsageError: If the file has another extension.
    """
    extension = destination.suffix.lower()
    if extension not in (".parquet", ".csv"):
        raise UsageError(f"{destination}: the file extension must be .parquet or .csv")
    check_path_is_free(destination, str(destination))
    pairs = pl.concat(
        [_battles_in_games_with_hidden_side(lake), _battles_in_games_without_sides(lake)]
    ).collect(engine="streaming")
    is_self_play = pl.col(MODEL_A) == pl.col(MODEL_B)
    rows = (
        pairs.filter(~is_self_play)
        .rename({"setting_id": "setting"})
        .select(*BATTLE_COLUMNS)
        .cast(polars_schema(BATTLE_COLUMNS))
        .sort("game_id", *BATTLE_COLUMNS)
    )
    with atomic_write(destination) as draft:
        if extension == ".csv":
            with draft.open("w", encoding="utf-8", newline="") as file:
                file.writelines(iter_csv([rows]))
        else:
            write_parquet([rows], draft)
    n_self_play_games = pairs.filter(is_self_play)["game_id"].n_unique()
    n_other_games = sum(lake.row_counts_by_file("games").values()) - pairs["game_id"].n_unique()
    is_named = pl.col("model").is_in([*rows[MODEL_A], *rows[MODEL_B]])
    n_bots = (
        lake.table("players")
        .filter("is_bot", is_named)
        .select(pl.col("model").unique())
        .collect()
        .height
    )
    notes = (
        *([f"{format_count(n_bots, 'name')} among these of rule-based bots"] * bool(n_bots)),
        f"left out: a model against itself in {format_count(n_self_play_games, 'game')}",
        f"left out: {format_count(n_other_games, 'game')} without opposed results of two named "
        "models",
    )
    return ExportResult(destination, rows.height, notes)


def _battles_in_games_with_hidden_side(lake: StoredLake) -> pl.LazyFrame:
    """Return each model of the hidden side paired with each civilian model, and the winner."""
    seats = (
        lake.table("players").drop_nulls("model").select(*_GAME_COLUMNS, "model", "side").unique()
    )
    hidden = seats.filter(side=Side.HIDDEN).rename({"model": MODEL_A, "side": "side_a"})
    other_seats = seats.filter(side=Side.CIVILIAN).select("game_id", model_b="model", side_b="side")
    pairs = hidden.join(other_seats, on="game_id").join(
        hidden_side_credit_by_game(lake), on="game_id"
    )
    winning_model = pl.when(_HIT > 0.5).then(pl.lit(MODEL_A)).otherwise(pl.lit(MODEL_B))
    winner = pl.when(_HIT == 0.5).then(pl.lit(TIE)).otherwise(winning_model)
    return pairs.select(pl.exclude("hit"), winner=winner)


def _battles_in_games_without_sides(lake: StoredLake) -> pl.LazyFrame:
    """Return each pair of models that played a game without sides, and the winner.

    A model has the result of its best seat. In games that the most points win, seats that are not
    tested get a result by their points.
    """
    by_points = [
        name for name in games.game_type_names() if games.game_definition(name).most_points_win
    ]
    results = lake.table("results").filter(side=Side.NONE).drop_nulls("win_credit")
    credits = results.select("game_id", "seat", "win_credit")
    has_most_points = pl.when(pl.col("game_type").is_in(by_points)).then(pl.col("score_rank") == 1)
    seats = lake.table("players").filter("is_finished", side=Side.NONE)
    seats_with_results = seats.join(credits, on=["game_id", "seat"], how="left").with_columns(
        hit=pl.coalesce("win_credit", has_most_points.cast(pl.Float64)),
        is_alone=pl.col("model").n_unique().over("game_id") == 1,
    )
    model_key = (*_GAME_COLUMNS, "model", "side", "is_alone")
    models = seats_with_results.drop_nulls(["model", "hit"]).group_by(model_key).agg(_HIT.max())
    models_a = models.rename({"model": MODEL_A, "side": "side_a"})
    models_b = models.select("game_id", model_b="model", side_b="side", hit_b="hit")
    pairs = models_a.join(models_b, on="game_id")
    is_shared_win = (_HIT > 0) & (pl.col("game_type").is_in(by_points) | (_HIT < 1))
    winner = (
        pl.when(_HIT > _HIT_B)
        .then(pl.lit(MODEL_A))
        .when(_HIT < _HIT_B)
        .then(pl.lit(MODEL_B))
        .when(is_shared_win | pl.col("is_alone"))
        .then(pl.lit(TIE))
    )
    is_first_order = (pl.col(MODEL_A) < pl.col(MODEL_B)) | pl.col("is_alone")
    pair_columns = pl.exclude("hit", "hit_b", "is_alone")
    return pairs.filter(is_first_order).select(pair_columns, winner=winner).drop_nulls("winner")
