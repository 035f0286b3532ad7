"""Battles: who met whom, and who won; by hand."""

import csv
from pathlib import Path

import polars as pl
import pytest

import pipeline
from pipeline.errors import UsageError
from pipeline.exports.battles import BATTLE_COLUMNS

# Setting, model_a, model_b, winner, and the sides. Game 2 has m-1 on both sides, and a tie; 3 and 7
# are one model's, 4 and 8 did not end, and in 6 both have the most points.
EXPECTED = [
    (0, "m-1", "m-2", "model_b", "hidden", "civilian"),
    (0, "m-1", "m-3", "model_b", "hidden", "civilian"),
    (1, "m-1", "m-2", "model_a", "hidden", "civilian"),
    (2, "m-1", "m-2", "tie", "hidden", "civilian"),
    (5, "m-1", "m-2", "model_b", "none", "none"),
    (6, "m-1", "m-2", "tie", "none", "none"),
]
NOTES = (
    "left out: a model against itself in 3 games",
    "left out: 2 games without opposed results of two named models",
)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_each_pair_of_opposed_models_is_a_row(
    arena: pipeline.Lake, tmp_path: Path, ending: str
) -> None:
    file = tmp_path / f"battles.{ending}"
    exported = arena.export("battles", file)
    rows = pl.read_parquet(file) if ending == "parquet" else pl.read_csv(file)
    assert rows.columns == [*BATTLE_COLUMNS]
    numbers = arena.table("games").select(
        "game_id", number=pl.col("setting").str.json_path_match("$.n").cast(pl.Int64)
    )
    known = rows.join(numbers.collect(), on="game_id")
    seen = known.select("number", "model_a", "model_b", "winner", "side_a", "side_b").rows()
    assert sorted(seen) == EXPECTED
    assert exported.n_rows == len(EXPECTED)
    assert exported.notes == NOTES
    assert exported.n_bytes == file.stat().st_size


def test_points_of_seats_that_are_not_tested_count(sample_lake: Path, tmp_path: Path) -> None:
    """In the sample models under test play against others, and in three of five games win or lose
    by outcome or by points; in cost sharing all win together, or none does."""
    lake = pipeline.open_lake(sample_lake)
    lake.export("battles", tmp_path / "battles.csv")
    with (tmp_path / "battles.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    by_game = {row["game_id"]: row for row in rows if row["game_type"] == "prisoners_dilemma"}
    results = lake.table("results").filter(game_type="prisoners_dilemma").collect()
    assert by_game.keys() == set(results["game_id"])
    for game_id, model, is_win in results.select("game_id", "model", "is_win").iter_rows():
        row = by_game[game_id]
        own = "model_a" if row["model_a"] == model else "model_b"
        assert row["winner"] in ((own, "tie") if is_win else {"model_a", "model_b"} - {own})
    assert "cost_sharing" not in {row["game_type"] for row in rows}


def test_another_ending_is_refused(arena: pipeline.Lake, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.parquet or \.csv"):
        arena.export("battles", tmp_path / "battles.json")
    assert not list(tmp_path.iterdir())


def test_names_that_are_joined_are_one_model(arena: pipeline.Lake, tmp_path: Path) -> None:
    """All of m-2 is m-1, which is then alone in all games but those with m-3."""
    exported = arena.with_names({"m-2": "m-1"}).export("battles", tmp_path / "battles.parquet")
    rows = pl.read_parquet(exported.path)
    assert rows.select("model_a", "model_b").rows() == [("m-1", "m-3")]
