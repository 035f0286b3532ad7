"""Where the variance of an item lies: between settings, between games of one, or within a game.

A nested analysis of variance by Henderson's first method (C. R. Henderson, Biometrics 9 (1953)
226–252), within each model, competition and term. Of game j of setting i, h_ij of n_ij items hit;
n_i, h_i of the setting and N, H of all; S settings, G games:

    Σ (h_ij − h_ij²/n_ij)             expects (N − G) σ²_items
    Σ h_ij²/n_ij − Σ h_i²/n_i         expects (G − S) σ²_items + (N − Σ n_ij²/n_i) σ²_games
    Σ h_i²/n_i − H²/N                 expects (S − 1) σ²_items + (Σ n_ij²/n_i − Σ n_ij²/N) σ²_games
                                              + (N − Σ n_i²/N) σ²_settings
"""

from typing import NamedTuple

import polars as pl

from pipeline.statistics.sums import exact_sum, scaled_sum

_PARTS = (
    *("ss_items", "ss_games", "ss_settings", "df_items", "df_games", "df_settings"),
    *("games_in_games", "games_in_settings", "settings_in_settings", "n_fractional"),
)


class Shares(NamedTuple):
    """Shares of the variance; null where a level cannot be told from the one above it."""

    settings: float | None = None
    games: float | None = None
    items: float | None = None


def squares(cells: pl.DataFrame) -> pl.DataFrame:
    """The sums of squares of each model, and what they expect: they can be added over models.

    `cells` have model, stratum, term, setting, game, h and c.
    """
    h, c = pl.col("h"), pl.col("c")
    stratum = ["model", "stratum", "term"]
    settings = cells.group_by(*stratum, "setting").agg(
        hn=scaled_sum(h**2 / c),
        within=scaled_sum(h - h**2 / c),
        cc=(c**2).sum(),
        games=pl.len(),
        n_fractional=((h != h.round()) & (c > 1)).sum(),
        h=exact_sum(h),
        c=c.sum(),
    )
    hn, cc = scaled_sum(pl.col("hn")), pl.col("cc")
    between, cc_c = scaled_sum(h**2 / c), scaled_sum(cc / c)
    n_games, n_settings, n_items = pl.col("games").sum(), pl.len(), c.sum()
    of_stratum = settings.group_by(stratum).agg(
        scaled_sum(pl.col("within")).alias("ss_items"),
        (hn - between).alias("ss_games"),
        (between - exact_sum(h) ** 2 / n_items).alias("ss_settings"),
        (n_items - n_games).alias("df_items"),
        (n_games - n_settings).alias("df_games"),
        (n_settings - 1).alias("df_settings"),
        (n_items - cc_c).alias("games_in_games"),
        (cc_c - cc.sum() / n_items).alias("games_in_settings"),
        (n_items - (c**2).sum() / n_items).alias("settings_in_settings"),
        pl.col("n_fractional").sum(),
    )
    return of_stratum.group_by("model").agg(
        scaled_sum(pl.col(name).cast(pl.Float64)).alias(name) for name in _PARTS
    )


def shares(parts: dict[str, float]) -> Shares:
    """The shares of the variance, from summed `squares`.

    Items that are alone in their game are no level of their own, nor are games that are alone in
    their setting. All shares are null without two settings, without two levels, if nothing varies,
    or if games of several items count a part of a hit.
    """
    if parts["n_fractional"] or not parts["settings_in_settings"] > 0:
        return Shares()
    has_items, has_games = parts["df_items"] > 0, parts["df_games"] > 0
    if not has_items and not has_games:
        return Shares()
    items = max(0.0, parts["ss_items"] / parts["df_items"]) if has_items else 0.0
    left = parts["ss_games"] - parts["df_games"] * items
    games = max(0.0, left / parts["games_in_games"]) if has_games else 0.0
    left = parts["ss_settings"] - parts["df_settings"] * items - parts["games_in_settings"] * games
    settings = max(0.0, left / parts["settings_in_settings"])
    total = items + games + settings
    if total == 0:
        return Shares()
    return Shares(
        settings / total,
        games / total if has_games else None,
        items / total if has_items else None,
    )
