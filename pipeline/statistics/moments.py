"""Sums over games of what each counted, which is all that an interval needs to know.

A game has h hits of c counted. Products of these are summed over the games of a stratum, for each
two terms that games feed, so that groups can be added up and intervals be had of any of them.
Strata are competitions: games of one are alike in how much they count. The same sums are also
made over settings, for groups that have several games of each: games are added up by setting first,
and all else is made of these few rows.
"""

from collections.abc import Sequence

import polars as pl

from pipeline.statistics.sums import exact_sum, exact_sums

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
# Games that have a counted row whose hit is unknown, and rows that could not be read for sure.
UNREAD = ("n_unknown", "n_unreadable")
_OF_ROW = (
    "term",
    pl.col("competition").alias("stratum"),
    pl.col("setting_id").alias("setting"),
)
_HIT = pl.col("hit").cast(pl.Float64).fill_null(0.0)


def by_setting(rows: pl.LazyFrame, by: Sequence[str]) -> pl.DataFrame:
    """The sums over the games of each setting: `by`, `SETTING`, and then `SUMS`.

    `rows` are counted rows: `by`, competition, setting_id, game_id, term, hit.
    """
    keys = [*by, "stratum", "setting"]
    games = (
        _with_strata(_counted(rows, by), by)
        .group_by(*keys, "term", "game")
        .agg(exact_sum(pl.col("h")), pl.col("c").sum())
    )
    found = _by_pair(games, keys, "game", is_one_sided=False)
    return found.select(*by, *SETTING, *SUMS).collect(engine="streaming")


def by_setting_of_one_side(
    rows: pl.LazyFrame, by: Sequence[str], *, is_by_of_game: bool
) -> pl.DataFrame:
    """The same where each game is of one competition and feeds one term.

    It saves much work where a game's rows are all of one group (`is_by_of_game`).
    """
    counted = _counted(rows, by)
    if is_by_of_game:
        return _by_runs(counted, by)
    return _of_settings(_games(counted, by), by).collect(engine="streaming")


def by_setting_of_alike(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """The same and `UNREAD`, of rows that are all of a game, and stand for `n` games like it each.

    They are counted or not: they have is_counted, is_unknown and is_unreadable, too.
    """
    times, c = pl.col("times"), pl.col("is_counted").cast(pl.Float64)
    told = ("is_unknown", "is_unreadable")
    games = rows.select(*by, *_OF_ROW, *told, h=_HIT * c, c=c, times="n")
    unread = {name: times.filter(flag).sum() for name, flag in zip(UNREAD, told, strict=True)}
    return _of_settings(games, by, times=times, **unread)


def moments(settings: pl.LazyFrame, by: Sequence[str], *, is_one_sided: bool) -> pl.LazyFrame:
    """The sums over all games, and those over all settings: `by`, `KEYS`, and then `SUMS`.

    `settings` are the sums by setting, or parts of them.
    """
    keys = [*by, "stratum"]
    of_setting = [*keys, "setting", "term"]
    own = settings.filter(pl.col("term") == pl.col("other"))
    own = own.group_by(of_setting).agg(exact_sum(pl.col("h")), pl.col("c").sum())
    units = {
        "game": settings.group_by(*keys, "term", "other").agg(exact_sums(SUMS, SUMS)),
        "setting": _by_pair(own, keys, "setting", is_one_sided=is_one_sided),
    }
    return pl.concat(
        sums.select(*by, *KEYS[:-1], pl.lit(unit).alias(KEYS[-1]), *SUMS)
        for unit, sums in units.items()
    )


def _counted(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """h and c of each row that is counted."""
    return rows.select(*by, *_OF_ROW, game="game_id", h=_HIT, c=pl.lit(1.0))


def _games(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """h and c of each game of one side."""
    return rows.group_by(*by, *SETTING[:-1], "game").agg(exact_sum(pl.col("h")), pl.col("c").sum())


def _of_settings(
    games: pl.LazyFrame, by: Sequence[str], times: pl.Expr | None = None, **more: pl.Expr
) -> pl.LazyFrame:
    """The sums by setting over games of one side, or over `times` so many of each."""
    found = _of_one_term(games, [*by, "stratum", "setting"], times, **more)
    return found.select(*by, *SETTING, *SUMS, *more)


def _by_runs(rows: pl.LazyFrame, by: Sequence[str]) -> pl.DataFrame:
    """The sums where the rows of a game lie together, as a rule; settings of others anew.

    To group by several texts would cost the most of all.
    """
    found = _of_settings(_runs(rows), by, is_told=_is_told()).collect(engine="streaming")
    apart = found.filter(~pl.col("is_told"))["setting"].unique()
    found = found.drop("is_told")
    if apart.is_empty():
        return found
    is_apart = pl.col("setting").is_in(apart.implode(), nulls_equal=True)
    again = _of_settings(_games(rows.filter(is_apart), by), by)
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
    sums: pl.LazyFrame, keys: Sequence[str], unit: str, *, is_one_sided: bool
) -> pl.LazyFrame:
    """`SUMS` over units by `keys` and each two terms that one unit feeds."""
    if is_one_sided:
        return _of_one_term(sums, keys)
    others = sums.rename({"term": "other", "h": "other_h", "c": "other_c"})
    pairs = sums.join(others, on=[*keys, unit], nulls_equal=True)
    return pairs.group_by(*keys, "term", "other").agg(**_products("other_h", "other_c"))


def _of_one_term(
    sums: pl.LazyFrame, keys: Sequence[str], times: pl.Expr | None = None, **more: pl.Expr
) -> pl.LazyFrame:
    """The same where a unit feeds one term, and so no pair but that with itself."""
    found = sums.group_by(*keys, "term").agg(**_products("h", "c", times), **more)
    return found.with_columns(other="term")


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
    each = {name: one if times is None else one * times for name, one in products.items()}
    return {
        name: exact_sum(one) if SUMS[name] == pl.Float64 else one.sum().cast(SUMS[name])
        for name, one in each.items()
    }
