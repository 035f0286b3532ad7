"""The names of the models in a lake: how many games each has, and which look alike."""

from collections.abc import Mapping

import polars as pl

from pipeline import column
from pipeline.column import Column, listed
from pipeline.lake import StoredLake

COLUMNS: Mapping[str, Column] = {
    "model": column.text("the name of a model, as logs write it"),
    "n_games": column.count("games in which it is under test").shown("games"),
    "n_other_games": column.count("games in which it has a seat that is not under test").shown(
        "other seats"
    ),
    "looks_like": column.text(
        "every name under test that looks like it, its own too, with lengths and games; or that it "
        "stands for no model; null for a name like no other, or not under test",
        nullable=True,
    ),
}
_NOBODY = "no model"
_NAMES_OF_NOBODY = ("", "none", "null", "nan", "unknown", "undefined")
# Blanks, hyphens, and signs that nobody sees.
_NOT_READ = r"[\s\p{Z}\p{C}\p{Pd}_\x{FE00}-\x{FE0F}]"


@listed(COLUMNS)
def models(lake: StoredLake) -> pl.DataFrame:
    """The names of the models: a row for each, those that look alike first.

    Names look alike that differ in case, blanks, hyphens, a provider before a slash or signs that
    nobody sees. Each is counted by itself, whatever it looks like, unless the lake was opened with
    `names` that join them.

    >>> lake.models().filter(model="sim-atlas").rows()
    [('sim-atlas', 28, 0, None)]
    """
    return _named(lake).select(*COLUMNS)


def alike(lake: StoredLake) -> list[str]:
    """The names that look alike, a text for each group; those that stand for no model are one."""
    groups = _named(lake).drop_nulls("looks_like").group_by("looks_like", maintain_order=True)
    return groups.agg(pl.col("spelling").str.join(", "))["spelling"].sort().to_list()


def _named(lake: StoredLake) -> pl.DataFrame:
    """`sql/shared/alike_names.sql` says the same: without DuckDB, an ingest need not start it."""
    model, bare, n_games = pl.col("model"), pl.col("bare"), pl.col("n_games")
    is_tested, is_alone = pl.col("is_tested"), n_games.ge(1).sum().over("bare") < 2
    game, players = pl.col("game_id"), lake.table("players").filter(model.is_not_null())
    named = players.group_by(model.cast(pl.String)).agg(
        n_games=game.filter(is_tested).n_unique().cast(pl.Int64),
        n_other_games=game.filter(~is_tested).n_unique().cast(pl.Int64),
    )
    plural = pl.when(n_games > 1).then(pl.lit("s")).otherwise(pl.lit(""))
    text = pl.format(
        '"{}" ({} characters, {} game{})', model, model.str.len_chars(), n_games, plural
    )
    without_provider = model.str.replace("^.*/([^/]+)$", "$1").str.normalize("NFC")
    is_nobody = bare.is_in(_NAMES_OF_NOBODY) | (model.str.strip_chars().str.to_lowercase() == "n/a")
    all_like_it = pl.col("spelling").filter(n_games > 0).str.join(", ").over("bare")
    of_several = pl.when(is_nobody).then(pl.lit(_NOBODY)).when(~is_alone)
    return (
        named.collect(engine="streaming")
        .sort("model")
        .with_columns(
            spelling=text, bare=without_provider.str.to_lowercase().str.replace_all(_NOT_READ, "")
        )
        .with_columns(looks_like=pl.when(n_games > 0).then(of_several.then(all_like_it)))
        .sort("looks_like", "model", nulls_last=True)
    )
