"""The models in a lake: how many games each name has, which look alike, and what each used."""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline import column
from pipeline.game import Usage
from pipeline.lake import StoredLake
from pipeline.metrics.request import check_players, chosen
from pipeline.reports.declared import report
from pipeline.statistics.sums import scaled_sum

COLUMNS: Mapping[str, column.Column] = {
    "model": column.text("the name of a model, as logs write it"),
    "n_games": column.count("games in which it is under test").shown("games"),
    "n_other_games": column.count("games in which it has a seat that is not under test").shown(
        "other seats"
    ),
    "is_bot": column.flag(
        "whether a log says of it that it follows rules and is no language model; null if unknown",
        nullable=True,
    ).shown("bot"),
    "looks_like": column.text(
        "every name under test that looks like it, its own too, with lengths and games; or that it "
        "stands for no model; null for a name like no other, or not under test",
        nullable=True,
    ),
}
_MEASURES = Usage.__struct_fields__
USAGE: Mapping[str, column.Column] = {
    "model": column.text("the name of a model"),
    "measure": column.word(
        _MEASURES, "what is measured: tokens in and out, seconds of its calls, or US dollars"
    ),
    "n_games": column.count("games whose logs say it of all seats of the model").shown("games"),
    "n_played": column.count("all games that the model has a seat in").shown("of"),
    "total": column.amount("the sum over these games, in the measure's unit"),
    "per_game": column.amount("the mean of these games; seats of the model are added up"),
}
_NOBODY = "no model"
_NAMES_OF_NOBODY = ("", "none", "null", "nan", "unknown", "undefined")
# Blanks, hyphens, and signs that nobody sees.
_NOT_READ = r"[\s\p{Z}\p{C}\p{Pd}_\x{FE00}-\x{FE0F}]"


@report("Numbers", columns=COLUMNS, is_of_system=False)
def models(lake: StoredLake) -> pl.DataFrame:
    """List the names of models: how many games each has, and which look alike.

    Names look alike that differ in case, blanks, hyphens, a provider before a slash or signs that
    nobody sees. Nothing is joined by guess: each name is counted by itself. To count several as one
    model, write a map of names, and give it to any command that counts, as --names FILE, or to
    `open_lake`. The lake does not change.

    \b
    A map, such as names.toml:
      [models]
      "openai/gpt-4o" = "gpt-4o"
      "GPT-4o" = "gpt-4o"

    \b
    Examples:
      magic models
      magic models --format csv

    >>> lake.models().filter(model="sim-atlas").rows()
    [('sim-atlas', 28, 0, False, None)]
    """
    return _named(lake).select(*COLUMNS)


@report("Numbers", columns=USAGE, is_of_system=False)
def usage(lake: StoredLake, *, model: str | Sequence[str] | None = None) -> pl.DataFrame:
    """List what each model used, where logs say it: tokens, seconds and US dollars.

    The sum and the mean of a game are over the games whose logs say what the model used in all of
    its seats: others are left out of the measure. Nothing is ranked by it. Without any such game
    there is no row.

    \b
    Examples:
      magic usage
      magic usage --model gpt-4 --format json

    Raises UsageError for an unknown model.

    >>> lake.usage().rows()
    []
    """
    check_players(lake, model)
    players = lake.table("players").filter(pl.col("model").is_not_null(), chosen(model=model))
    measures = pl.col(_MEASURES)
    of_game = players.group_by("model", "game_id").agg(
        pl.when(measures.is_not_null().all()).then(scaled_sum(measures)).cast(pl.Float64)
    )
    used, n_games = pl.col("used"), pl.col("used").count().cast(pl.Int64)
    order = pl.col("measure").replace_strict({name: n for n, name in enumerate(_MEASURES)})
    return (
        of_game.unpivot(_MEASURES, index="model", variable_name="measure", value_name="used")
        .group_by("model", "measure")
        .agg(
            n_games=n_games,
            n_played=pl.len().cast(pl.Int64),
            total=scaled_sum(used),
        )
        .filter(pl.col("n_games") > 0)
        .with_columns(per_game=pl.col("total") / pl.col("n_games"))
        .sort("model", order)
        .collect(engine="streaming")
    )


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
        is_bot=pl.col("is_bot").any(ignore_nulls=False),
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
