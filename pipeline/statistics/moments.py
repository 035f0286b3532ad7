"""Sums over games of what each counted, which is all that an interval needs to know.

A game has h hits of c counted. Products of these are summed over the games of a stratum, for each
two terms that games feed, so that groups can be added up and intervals be had of any of them.
Strata are competitions: games of one are alike in how much they count. The same sums are also
made over settings, for groups that have several games of each: games are added up by setting first,
and all else is made of these few rows.
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
# What a sum over the games of a setting is of.
SETTING = ("stratum", "setting", "term", "other")
# Of a row that is counted.
_COUNTED = (
    "term",
    pl.col("competition").alias("stratum"),
    pl.col("setting_id").alias("setting"),
    pl.col("hit").cast(pl.Float64).fill_null(0.0).alias("h"),
    pl.lit(1.0).alias("c"),
)


class Known(NamedTuple):
    """What is known of the rows beforehand, each of which saves much work where it is true."""

    is_one_sided: bool = False  # each game is of one competition, and feeds one term
    is_by_of_game: bool = False  # a game's rows are of one group


def by_setting(rows: pl.LazyFrame, by: Sequence[str], known: Known) -> pl.DataFrame:
    """The sums over the games of each setting: `by`, `SETTING`, and then `SUMS`.

    `rows` are counted rows: `by`, competition, setting_id, game_id, term, hit.
    """
    told = rows.select(*by, *_COUNTED, game="game_id")
    if known.is_one_sided and known.is_by_of_game:
        return _by_runs(told, by, known)
    return _of_settings(_games(told, by, known), by, known).collect(engine="streaming")


def by_setting_of_alike(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """The same where a row, instead of a game_id, has the number `n` of games that are like it."""
    products = _products("h", "c", times=pl.col("times"))
    keys = [*by, "stratum", "setting", "term"]
    found = rows.select(*by, *_COUNTED, times="n").group_by(keys).agg(**products)
    return found.select(*by, *SETTING[:-1], pl.col("term").alias(SETTING[-1]), *SUMS)


def moments(settings: pl.LazyFrame, by: Sequence[str], known: Known) -> pl.LazyFrame:
    """The sums over all games, and those over all settings: `by`, `KEYS`, and then `SUMS`.

    `settings` are the sums by setting, or parts of them.
    """
    keys = [*by, "stratum"]
    of_setting = [*keys, "setting", "term"]
    own = settings.filter(pl.col("term") == pl.col("other"))
    own = own.group_by(of_setting).agg(pl.col("h", "c").sum())
    units = {
        "game": settings.group_by(*keys, "term", "other").agg(pl.col(list(SUMS)).sum()),
        "setting": _by_pair(own, keys, "setting", known),
    }
    return pl.concat(
        sums.select(*by, *KEYS[:-1], pl.lit(unit).alias(KEYS[-1]), *SUMS)
        for unit, sums in units.items()
    )


def _games(rows: pl.LazyFrame, by: Sequence[str], known: Known) -> pl.LazyFrame:
    """h and c of each game, for each stratum and term."""
    told = rows if known.is_one_sided else _with_strata(rows, by)
    return told.group_by(*by, "stratum", "term", "setting", "game").agg(pl.col("h", "c").sum())


def _of_settings(
    games: pl.LazyFrame, by: Sequence[str], known: Known, **more: pl.Expr
) -> pl.LazyFrame:
    found = _by_pair(games, [*by, "stratum", "setting"], "game", known, **more)
    return found.select(*by, *SETTING, *SUMS, *more)


def _by_runs(rows: pl.LazyFrame, by: Sequence[str], known: Known) -> pl.DataFrame:
    """`by_setting` where the rows of a game lie together, as a rule; settings of others anew.

    To group by several texts would cost the most of all.
    """
    lazy = _of_settings(_runs(rows), by, known, is_told=_is_told())
    found = lazy.collect(engine="streaming")
    apart = found.filter(~pl.col("is_told"))["setting"].unique()
    found = found.drop("is_told")
    if apart.is_empty():
        return found
    is_apart = pl.col("setting").is_in(apart.implode(), nulls_equal=True)
    again = _of_settings(_games(rows.filter(is_apart), by, known), by, known)
    return pl.concat([found.filter(~is_apart), again.collect(engine="streaming")])


def _runs(rows: pl.LazyFrame) -> pl.LazyFrame:
    """h and c of each run of rows of one game: what is counted at its end, less what was before."""
    game, numbers = pl.col("game"), pl.col("h", "c")
    is_last = game.ne_missing(game.shift(-1))
    running = rows.drop("c").with_row_index("c", offset=1)
    ends = running.with_columns(pl.col("h").cum_sum(), is_last=is_last).filter("is_last")
    return ends.with_columns((numbers - numbers.shift(fill_value=0)).cast(pl.Float64))


def _is_told() -> pl.Expr:
    """Whether runs are games, and their hits exact, as differences of whole numbers are."""
    # Games are at least as many as their hashes.
    is_game = pl.col("game").hash().n_unique() == pl.len()
    return is_game & (pl.col("h") % 1 == 0).all()


def _with_strata(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """A game with sides of several competitions is of the stratum of such games."""
    first, last = pl.col("stratum").min(), pl.col("stratum").max()
    stratum = pl.when(first == last).then(first).otherwise(pl.format("{}, {}", first, last))
    strata = rows.group_by(*by, "game").agg(stratum=stratum)
    return rows.drop("stratum").join(strata, on=[*by, "game"], how="left", nulls_equal=True)


def _by_pair(
    sums: pl.LazyFrame, keys: Sequence[str], unit: str, known: Known, **more: pl.Expr
) -> pl.LazyFrame:
    """`SUMS` over units by `keys` and each two terms that one unit feeds."""
    if known.is_one_sided:
        found = sums.group_by(*keys, "term").agg(**_products("h", "c"), **more)
        return found.with_columns(other="term")
    others = sums.rename({"term": "other", "h": "other_h", "c": "other_c"})
    pairs = sums.join(others, on=[*keys, unit], nulls_equal=True)
    return pairs.group_by(*keys, "term", "other").agg(**_products("other_h", "other_c"), **more)


def _products(other_h: str, other_c: str, times: pl.Expr | None = None) -> dict[str, pl.Expr]:
    """The columns of `SUMS` over units, or over `times` so many of each."""
    h, c, h2, c2 = map(pl.col, ("h", "c", other_h, other_c))
    products = {
        "n": c > 0,
        "n_with_hit": h > 0,
        "n_with_miss": h < c,
        "h": h,
        "c": c,
        "other_h": h2,
        "other_c": c2,
        "hh": h * h2,
        "hc": h * c2,
        "ch": c * h2,
        "cc": c * c2,
    }
    return {
        name: (one if times is None else one * times).sum().cast(SUMS[name])
        for name, one in products.items()
    }
