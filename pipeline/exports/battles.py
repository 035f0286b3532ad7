"""Battles: the pairs of models with opposed results, as arena-rank and evalica read them."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from pipeline import column, games
from pipeline.atomic_files import atomic_write, check_is_new
from pipeline.column import Column, polars_schema
from pipeline.errors import UsageError
from pipeline.exports import Exported
from pipeline.lake import StoredLake
from pipeline.reports.ratings import hidden_side_credit
from pipeline.serialization import iter_csv, write_parquet
from pipeline.text_format import format_count
from pipeline.vocabulary import Side

MODEL_A, MODEL_B, TIE = "model_a", "model_b", "tie"
COLUMNS: Mapping[str, Column] = {
    MODEL_A: column.text_column("a model: of a game with sides, one on the hidden side"),
    MODEL_B: column.text_column("another model, on the other side if the game has any"),
    "winner": column.category_column((MODEL_A, MODEL_B, TIE), "whose side won"),
    "game_type": column.category_column(games.game_type_names(), "which game was played"),
    "setting": column.identifier_column("the setting: the games of one are alike"),
    "game_id": column.identifier_column("the game"),
    "side_a": column.category_column(Side, "the side of model_a"),
    "side_b": column.category_column(Side, "the side of model_b"),
    "system": column.text_column("the harness that ran the game"),
}
_OF_GAME = ("game_id", "game_type", "setting_id", "system")
_HIT, _HIT_B = pl.col("hit"), pl.col("hit_b")


def write(lake: StoredLake, destination: Path) -> Exported:
    """Writes a row for each pair of models of a game with opposed results, to .parquet or .csv.

    Raises UsageError for another ending.
    """
    ending = destination.suffix.lower()
    if ending not in (".parquet", ".csv"):
        raise UsageError(f"{destination}: the ending must say the format: .parquet or .csv")
    check_is_new(destination, str(destination))
    pairs = pl.concat([_of_sides(lake), _of_seats(lake)]).collect(engine="streaming")
    is_itself = pl.col(MODEL_A) == pl.col(MODEL_B)
    named = pairs.filter(~is_itself).rename({"setting_id": "setting"})
    rows = named.select(*COLUMNS).cast(polars_schema(COLUMNS)).sort("game_id", *COLUMNS)
    with atomic_write(destination) as draft:
        if ending == ".csv":
            with draft.open("w", encoding="utf-8", newline="") as file:
                file.writelines(iter_csv([rows]))
        else:
            write_parquet([rows], draft)
    n_alone = pairs.filter(is_itself)["game_id"].n_unique()
    n_left = sum(lake.row_counts_by_file("games").values()) - pairs["game_id"].n_unique()
    is_named = pl.col("model").is_in([*rows[MODEL_A], *rows[MODEL_B]])
    n_bots = (
        lake.table("players")
        .filter("is_bot", is_named)
        .select(pl.col("model").unique())
        .collect()
        .height
    )
    notes = (
        *(
            [f"{format_count(n_bots, 'name')} among these of bots, which follow rules"]
            * bool(n_bots)
        ),
        f"left out: a model against itself in {format_count(n_alone, 'game')}",
        f"left out: {format_count(n_left, 'game')} without opposed results of two named models",
    )
    return Exported(destination, rows.height, notes)


def _of_sides(lake: StoredLake) -> pl.LazyFrame:
    """Of games with a hidden side: each model on it with each on the other."""
    seats = lake.table("players").drop_nulls("model").select(*_OF_GAME, "model", "side").unique()
    hidden = seats.filter(side=Side.HIDDEN).rename({"model": MODEL_A, "side": "side_a"})
    others = seats.filter(side=Side.CIVILIAN).select("game_id", model_b="model", side_b="side")
    pairs = hidden.join(others, on="game_id").join(hidden_side_credit(lake), on="game_id")
    won = pl.when(_HIT > 0.5).then(pl.lit(MODEL_A)).otherwise(pl.lit(MODEL_B))
    winner = pl.when(_HIT == 0.5).then(pl.lit(TIE)).otherwise(won)
    return pairs.select(pl.exclude("hit"), winner=winner)


def _of_seats(lake: StoredLake) -> pl.LazyFrame:
    """Of games where each plays for itself: a model's result is the best of its seats'.

    Where the most points win, seats that are not tested have a result by theirs.
    """
    by_points = [
        name for name in games.game_type_names() if games.game_definition(name).most_points_win
    ]
    results = lake.table("results").filter(side=Side.NONE).drop_nulls("win_credit")
    credit = results.select("game_id", "seat", "win_credit")
    is_most = pl.when(pl.col("game_type").is_in(by_points)).then(pl.col("score_rank") == 1)
    seats = lake.table("players").filter("is_finished", side=Side.NONE)
    known = seats.join(credit, on=["game_id", "seat"], how="left").with_columns(
        hit=pl.coalesce("win_credit", is_most.cast(pl.Float64)),
        is_alone=pl.col("model").n_unique().over("game_id") == 1,
    )
    of_model = (*_OF_GAME, "model", "side", "is_alone")
    models = known.drop_nulls(["model", "hit"]).group_by(of_model).agg(_HIT.max())
    one = models.rename({"model": MODEL_A, "side": "side_a"})
    other = models.select("game_id", model_b="model", side_b="side", hit_b="hit")
    pairs = one.join(other, on="game_id")
    is_shared = (_HIT > 0) & (pl.col("game_type").is_in(by_points) | (_HIT < 1))
    winner = (
        pl.when(_HIT > _HIT_B)
        .then(pl.lit(MODEL_A))
        .when(_HIT < _HIT_B)
        .then(pl.lit(MODEL_B))
        .when(is_shared | pl.col("is_alone"))
        .then(pl.lit(TIE))
    )
    is_once = (pl.col(MODEL_A) < pl.col(MODEL_B)) | pl.col("is_alone")
    of_pair = pl.exclude("hit", "hit_b", "is_alone")
    return pairs.filter(is_once).select(of_pair, winner=winner).drop_nulls("winner")
