"""Shares of the variance: a balanced table by hand, a naive twin, and known components."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.statistics.planning import settings_needed
from pipeline.statistics.variance import Shares, shares, squares


def cells(rows: list[tuple[str, str, str, float, float]]) -> pl.DataFrame:
    """Of (stratum, setting, game, h, c), of one model and term."""
    frame = pl.DataFrame(rows, ["stratum", "setting", "game", "h", "c"], orient="row")
    return frame.with_columns(
        pl.col("h", "c").cast(pl.Float64), model=pl.lit("m"), term=pl.lit("t")
    )


def shares_of(rows: list[tuple[str, str, str, float, float]]) -> Shares:
    (parts,) = squares(cells(rows)).drop("model").to_dicts()
    return shares(parts)


def test_a_balanced_table_by_hand():
    """Two settings of two games of two items: 2, 1 and 0, 0 hits.

    Items: 1/2 / 4 = 1/8. Games: (5/2 − 9/4) / 2 = 1/8, no more than items: 0. Settings: (9/4 − 9/8)
    / 1 = 9/8 = 1/8 + 4 σ²: σ² = 1/4, of 3/8 in all.
    """
    found = shares_of(
        [("s", "1", "a", 2, 2), ("s", "1", "b", 1, 2), ("s", "2", "c", 0, 2), ("s", "2", "d", 0, 2)]
    )
    assert found == pytest.approx((2 / 3, 0.0, 1 / 3))


@pytest.mark.parametrize(
    "rows",
    [
        [("s", "1", "a", 1, 2), ("s", "1", "b", 1, 2)],  # one setting
        [("s", "1", "a", 1, 1), ("s", "2", "b", 0, 1)],  # one game each, of one item
        [("s", "1", "a", 2, 2), ("s", "2", "b", 2, 2)],  # nothing varies
        [("s", "1", "a", 0.5, 2), ("s", "2", "b", 2, 2)],  # a part of a hit
    ],
)
def test_what_cannot_be_told_is_null(rows):
    assert shares_of(rows) == (None, None, None)


def test_levels_that_are_one_are_counted_at_the_higher():
    no_replays = shares_of([("s", str(n), str(n), n % 3, 2) for n in range(9)])
    assert no_replays.games is None
    assert no_replays.settings + no_replays.items == pytest.approx(1)
    one_item = shares_of([("s", str(n // 2), str(n), n % 3 == 0, 1) for n in range(9)])
    assert one_item.items is None
    assert one_item.settings + one_item.games == pytest.approx(1)


def naive(rows) -> list[float | None]:
    """Item by item, with sums of squares about means, and expectations by their definition."""
    ss, df, of_games, of_settings = np.zeros(3), np.zeros(3), np.zeros(2), 0.0
    for stratum in {row[0] for row in rows}:
        items = [
            (setting, game, x)
            for s, setting, game, h, c in rows
            if s == stratum
            for x in [1.0] * int(h) + [0.0] * int(c - h)
        ]
        values = np.array([x for *_, x in items])
        settings, games = [np.array([item[level] for item in items]) for level in (0, 1)]
        setting_mean = np.array([values[settings == one].mean() for one in settings])
        game_mean = np.array([values[games == one].mean() for one in games])
        ss += [
            ((values - game_mean) ** 2).sum(),
            ((game_mean - setting_mean) ** 2).sum(),
            ((setting_mean - values.mean()) ** 2).sum(),
        ]
        n, g, s = len(items), len(set(games)), len(set(settings))
        df += [n - g, g - s, s - 1]
        sizes = {one: (games == one).sum() for one in set(games)}
        within = sum(
            sum(sizes[one] ** 2 for one in set(games[settings == setting]))
            / (settings == setting).sum()
            for setting in set(settings)
        )
        of_games += [n - within, within - sum(size**2 for size in sizes.values()) / n]
        of_settings += n - sum((settings == one).sum() ** 2 for one in set(settings)) / n
    if of_settings <= 1e-9 or (df[0] == 0 and df[1] == 0):
        return [None] * 3
    item = ss[0] / df[0] if df[0] else 0.0
    game = max(0.0, (ss[1] - df[1] * item) / of_games[0]) if df[1] else 0.0
    setting = max(0.0, (ss[2] - df[2] * item - of_games[1] * game) / of_settings)
    total = item + game + setting
    if total < 1e-12:
        return [None] * 3
    return [setting / total, game / total if df[1] else None, item / total if df[0] else None]


_GAME = st.tuples(
    st.sampled_from("ab"), st.sampled_from("123"), st.integers(0, 4), st.integers(1, 4)
)


@given(st.lists(_GAME, min_size=1, max_size=12))
def test_it_is_the_naive_analysis_of_variance(drawn):
    rows = [
        (stratum, stratum + setting, str(n), float(min(h, c)), float(c))
        for n, (stratum, setting, h, c) in enumerate(drawn)
    ]
    assert list(shares_of(rows)) == [
        None if share is None else pytest.approx(share, abs=1e-6) for share in naive(rows)
    ]


def test_known_components_are_found():
    """Rates of settings and games from beta distributions: shares .3, .2 · .7 and .8 · .7."""
    generator = np.random.default_rng(4)
    rates = generator.beta(0.5 * 7 / 3, 0.5 * 7 / 3, 600)
    own = np.clip(np.repeat(rates, 4), 1e-9, 1 - 1e-9)
    games = generator.beta(own * 4, (1 - own) * 4)
    hits = generator.binomial(5, games)
    found = shares_of([("s", str(n // 4), str(n), float(h), 5.0) for n, h in enumerate(hits)])
    assert found == pytest.approx((0.3, 0.14, 0.56), abs=0.03)


def test_the_order_of_games_changes_nothing():
    """Not even a last digit: equal lakes have equal shares."""
    generator = np.random.default_rng(5)
    counted = generator.integers(1, 98, 3000)
    hits = generator.integers(0, counted + 1)
    rows = [
        (str(n % 7), str(n // 21), str(n), h, c)
        for n, (h, c) in enumerate(zip(hits, counted, strict=True))
    ]
    orders = [np.arange(3000), *(generator.permutation(3000) for _ in range(5))]
    assert len({squares(cells([rows[n] for n in order])).row(0) for order in orders}) == 1


def test_an_unpaired_plan_is_cohens():
    """64 in each group see half a standard deviation with power .8 at 5 %: table 2.4."""
    assert settings_needed(0.5, 1.0, is_paired=False) == 64
