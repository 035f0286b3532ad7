"""Sums over games of what each counted, which is all that an interval needs to know.

A game has h hits of c counted. Products of these are summed over the games of a stratum, for each
two terms that games feed, so that groups can be added up and intervals be had of any of them.
Strata are competitions: games of one are alike in how much they count. The same sums are also
made over settings, for groups that have several games of each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

SUMS = pl.Schema(
    {
        "n": pl.Int64(),  # games or settings
        "n_with_hit": pl.Int64(),
        "n_with_miss": pl.Int64(),
        "h": pl.Float64(),
        "c": pl.Float64(),
        "other_h": pl.Float64(),
        "other_c": pl.Float64(),
        "hh": pl.Float64(),  # Σ h × other_h, and so on
        "hc": pl.Float64(),
        "ch": pl.Float64(),
        "cc": pl.Float64(),
    }
)
# What a sum is of: `unit` is `game` or `setting`; `other` the same term, or one fed by the same.
KEYS = ("stratum", "term", "other", "unit")
_UNITS = {"game": ("setting", "game"), "setting": ("setting",)}


class Known(NamedTuple):
    """What is known of the rows beforehand, each of which saves much work where it is true."""

    is_one_sided: bool = False  # each game is of one competition, and feeds one term
    is_row_a_game: bool = False
    is_by_of_game: bool = False  # a game's rows are of one group


def moments(rows: pl.LazyFrame, by: Sequence[str], known: Known) -> pl.DataFrame:
    """The sums, by the columns `by`, `KEYS` and then `SUMS`.

    `rows` are counted rows: `by`, competition, setting_id, game_id, term, hit.
    """
    told = rows.select(
        *by,
        "term",
        stratum="competition",
        setting="setting_id",
        game="game_id",
        h=pl.col("hit").cast(pl.Float64).fill_null(0.0),
        c=pl.lit(1.0),
    )
    games = _games(told, by, known)
    units = {"game": games, "setting": _summed(games, [*_keys(by), *_UNITS["setting"]])}
    products = [_products(sums, unit, by, known) for unit, sums in units.items()]
    return pl.concat(products).collect(engine="streaming")


def n_games(sums: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """The games counted in each group, as `n_games`, of moments of one-sided games."""
    is_own = (pl.col("unit") == "game") & (pl.col("term") == pl.col("other"))
    return sums.filter(is_own).group_by(by).agg(n_games=pl.col("n").sum())


def _keys(by: Sequence[str]) -> list[str]:
    return [*by, "stratum", "term"]


def _games(rows: pl.LazyFrame, by: Sequence[str], known: Known) -> pl.LazyFrame:
    """h and c of each game, for each stratum and term."""
    keys = [*_keys(by), *_UNITS["game"]]
    if not known.is_one_sided:
        return _summed(_with_strata(rows, by), keys)
    if known.is_row_a_game:
        return rows
    if not known.is_by_of_game:
        return _summed(rows, keys)
    runs = _runs(rows, keys)
    # A game that lies in several pieces is put together, which for all would cost the most.
    is_whole = pl.col("game").is_unique()
    pieces = _summed(runs.filter(~is_whole), keys)
    whole = runs.filter(is_whole).select(*keys, "h", "c")
    return pl.concat([whole, pieces]).collect(engine="streaming").lazy()


def _runs(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """h and c of each run of rows of one game: as a rule these lie together.

    Sums by a number and keys by a filter, each in a pass of its own, are had for a fraction of what
    it costs to group by keys that are texts.
    """
    game = pl.col("game")
    runs = rows.select("h", "c", run=game.rle_id())
    starts = rows.filter(game.ne_missing(game.shift()) | (pl.int_range(pl.len()) == 0))
    sums, first = pl.collect_all(
        [runs.group_by("run").agg(pl.col("h", "c").sum()).sort("run"), starts.select(keys)],
        engine="streaming",
    )
    return pl.concat([first, sums.drop("run")], how="horizontal").lazy()


def _with_strata(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """A game with sides of several competitions is of the stratum of such games."""
    first, last = pl.col("stratum").min(), pl.col("stratum").max()
    stratum = pl.when(first == last).then(first).otherwise(pl.format("{}, {}", first, last))
    strata = rows.group_by(*by, "game").agg(stratum=stratum)
    return rows.drop("stratum").join(strata, on=[*by, "game"], how="left", nulls_equal=True)


def _summed(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    return rows.group_by(keys).agg(pl.col("h", "c").sum())


def _products(sums: pl.LazyFrame, unit: str, by: Sequence[str], known: Known) -> pl.LazyFrame:
    if known.is_one_sided:
        pairs = sums.with_columns(other="term", other_h="h", other_c="c")
    else:
        others = sums.rename({"term": "other", "h": "other_h", "c": "other_c"})
        keys = [*by, "stratum", *_UNITS[unit]]
        pairs = sums.join(others, on=keys, how="inner", nulls_equal=True)
    h, c, other_h, other_c = map(pl.col, ("h", "c", "other_h", "other_c"))
    return (
        pairs.group_by(*by, "stratum", "term", "other")
        .agg(
            n=pl.len(),
            n_with_hit=(h > 0).sum(),
            n_with_miss=(h < c).sum(),
            h=h.sum(),
            c=c.sum(),
            other_h=other_h.sum(),
            other_c=other_c.sum(),
            hh=(h * other_h).sum(),
            hc=(h * other_c).sum(),
            ch=(c * other_h).sum(),
            cc=(c * other_c).sum(),
        )
        .with_columns(unit=pl.lit(unit))
        .select(*by, *KEYS, *(pl.col(name).cast(dtype) for name, dtype in SUMS.items()))
    )
