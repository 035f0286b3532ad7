"""Sums over games of what each counted, which is all that an interval needs to know.

A game has h hits of c counted. Products of these are summed over the games of a stratum, for each
two terms that games feed, so that groups can be added up and intervals be had of any of them.
Strata are competitions: games of one are alike in how much they count. The same sums are also
made over settings, for groups that have several games of each.
"""

from collections.abc import Sequence

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


def moments(rows: pl.LazyFrame, by: Sequence[str], *, is_one_sided: bool) -> pl.LazyFrame:
    """The sums, by the columns `by`, `KEYS` and then `SUMS`.

    `rows` are counted rows: `by`, competition, setting_id, game_id, term, hit. In a lake of
    one-sided games each is of one competition and feeds one term, which saves finding out.
    """
    told = rows.select(
        *by,
        "term",
        "hit",
        stratum="competition",
        setting="setting_id",
        game="game_id",
    )
    if not is_one_sided:
        told = _with_strata(told, by)
    games = _summed(told, [*by, "stratum", "term", *_UNITS["game"]], pl.col("hit"), pl.len())
    settings = _summed(
        games, [*by, "stratum", "term", *_UNITS["setting"]], pl.col("h"), pl.col("c").sum()
    )
    return pl.concat(
        [
            _products(sums, unit, by, is_one_sided=is_one_sided)
            for unit, sums in (("game", games), ("setting", settings))
        ]
    )


def _with_strata(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """A game with sides of several competitions is of the stratum of such games."""
    first, last = pl.col("stratum").min(), pl.col("stratum").max()
    stratum = pl.when(first == last).then(first).otherwise(pl.format("{}, {}", first, last))
    strata = rows.group_by(*by, "game").agg(stratum=stratum)
    return rows.drop("stratum").join(strata, on=[*by, "game"], how="left", nulls_equal=True)


def _summed(
    rows: pl.LazyFrame, keys: Sequence[str], hits: pl.Expr, counted: pl.Expr
) -> pl.LazyFrame:
    return rows.group_by(keys).agg(h=hits.sum(), c=counted.cast(pl.Float64))


def _products(
    sums: pl.LazyFrame, unit: str, by: Sequence[str], *, is_one_sided: bool
) -> pl.LazyFrame:
    if is_one_sided:
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
