"""What limits a model's win rate: games and competitions that it lacks, and self-play."""

import polars as pl

from pipeline.lake import StoredLake, of_one_system
from pipeline.metrics.completeness import competitions
from pipeline.vocabulary import Side


@of_one_system
def lacking(lake: StoredLake, settings: pl.DataFrame) -> pl.DataFrame:
    """A row for each tested model: model, n_missing, n_expected, lacks, n_self_play.

    `n_missing` is the number of games that this model has not finished, of the `n_expected`.
    `lacks` lists the competitions that others finished and this one did not: its win rate is a mean
    over fewer competitions, so it is not comparable. `n_self_play` is its number of games of
    `self_play`. `settings` are the rows of `played`.
    """
    n_finished, n_expected = pl.col("n_finished"), pl.col("n_expected")
    is_lacking = (n_finished == 0) & (n_finished.max().over("competition") > 0)
    of_model = (
        competitions(settings)
        .with_columns(is_lacking=is_lacking)
        .sort("competition")
        .group_by("model", maintain_order=True)
        .agg(
            n_missing=(n_expected - n_finished).sum(),
            n_expected=n_expected.sum(),
            lacks=pl.col("competition").filter("is_lacking").drop_nulls(),
        )
    )
    joined = of_model.join(self_play(lake), on="model", how="left", nulls_equal=True)
    return joined.with_columns(pl.col("n_self_play").fill_null(0))


@of_one_system
def self_play(lake: StoredLake) -> pl.DataFrame:
    """model, n_self_play: finished games of hidden roles in which one model holds every seat.

    In such a game one side wins what the other loses, so it says little about the model. A model
    without such games has no row.
    """
    is_alone = (pl.col("models") == 1) & (pl.col("sides") == 2)
    games = (
        lake.table("results")
        .filter("is_tested", "is_finished", pl.col("opponent").is_null())
        .filter(pl.col("side").is_in([Side.HIDDEN, Side.CIVILIAN]))
        .group_by("game_id")
        .agg(
            model=pl.col("model").first(),
            models=pl.col("model").n_unique(),
            sides=pl.col("side").n_unique(),
        )
        .filter(is_alone)
    )
    counted = games.group_by("model").agg(n_self_play=pl.len().cast(pl.Int64))
    return counted.sort("model", nulls_last=True).collect(engine="streaming")


def self_play_notes(games: pl.DataFrame) -> list[str]:
    """A note for the win rates of models with games of `self_play`; empty if there are none."""
    return [
        f"win_rate of {model or 'a nameless model'}: in {n_games} of its games this model plays "
        "every seat; what one side wins there, the other loses"
        for model, n_games in games.select("model", "n_self_play").iter_rows()
    ]
