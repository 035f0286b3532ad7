"""Intervals: against closed forms, statsmodels, worked examples, and from rows to values."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from event_tables import ENGINES, lake_of, table
from polars.testing import assert_frame_equal
from statsmodels.stats.proportion import proportion_confint

from pipeline.metrics import metrics
from pipeline.statistics import (
    by_setting,
    by_setting_of_alike,
    by_setting_of_one_side,
    intervals,
    moments,
)


def moments_of(rows: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
    return moments(by_setting(rows, by).lazy(), by, is_one_sided=False)


def moments_of_one_side(
    rows: pl.LazyFrame, by: list[str], *, is_by_of_game: bool = False
) -> pl.LazyFrame:
    sums = by_setting_of_one_side(rows, by, is_by_of_game=is_by_of_game)
    return moments(sums.lazy(), by, is_one_sided=True)


def of_games(
    games: list[tuple[int, int]], *, strata: list[str] | None = None, confidence: float = 0.95
) -> dict[str, object]:
    """The interval of one ratio over games of (hits, counted), each a setting of its own."""
    rows = [
        {"game_id": f"g{number}", "competition": stratum, "hit": float(item < hits)}
        for number, ((hits, counted), stratum) in enumerate(
            zip(games, strata or ["one"] * len(games), strict=True)
        )
        for item in range(counted)
    ]
    frame = pl.LazyFrame(rows).with_columns(
        everything=pl.lit(0), setting_id="game_id", term=pl.lit("t")
    )
    sums = moments_of_one_side(frame, ["everything"])
    counted = sum(counted for _, counted in games)
    terms = pl.LazyFrame({"everything": [0], "term": ["t"], "weight": [1.0], "counted": [counted]})
    return (
        intervals(
            terms.with_columns(pl.col("everything").cast(pl.Int32)),
            sums,
            ["everything"],
            confidence,
        )
        .collect()
        .row(0, named=True)
    )


@pytest.mark.parametrize("n", [1, 2, 5, 20, 100])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_with_one_item_a_game_it_is_wilsons(n, confidence):
    for hits in range(0, n + 1, max(1, n // 10)):
        found = of_games([(1, 1)] * hits + [(0, 1)] * (n - hits), confidence=confidence)
        low, high = proportion_confint(hits, n, 1 - confidence, "wilson")
        assert found["n_eff"] == pytest.approx(n)
        assert found["ci_low"] == pytest.approx(low if hits else 0.0, abs=1e-12)
        assert found["ci_high"] == pytest.approx(high if hits < n else 1.0, abs=1e-12)


# Newcombe, Statistics in Medicine 17 (1998) 857–872, table I, method 3: Wilson's score interval.
NEWCOMBE = {
    (81, 263): (0.2553, 0.3662),
    (15, 148): (0.0624, 0.1605),
    (0, 20): (0.0, 0.1611),
    (1, 29): (0.0061, 0.1718),
}


@pytest.mark.parametrize(("hits", "n"), NEWCOMBE)
def test_newcombes_examples(hits, n):
    found = of_games([(1, 1)] * hits + [(0, 1)] * (n - hits))
    assert (round(found["ci_low"], 4), round(found["ci_high"], 4)) == NEWCOMBE[hits, n]


def test_the_ends_are_exact_where_all_or_nothing_hits():
    assert of_games([(0, 3)] * 4)["ci_low"] == 0.0
    assert of_games([(3, 3)] * 4)["ci_high"] == 1.0


def test_the_variance_is_that_of_statsmodels_clustered_regression():
    """v of the ratio, and with it n_eff, for games of unlike sizes."""
    generator = np.random.default_rng(7)
    sizes = generator.integers(2, 9, 30)
    games = [(int(generator.binomial(n, generator.beta(2, 3))), int(n)) for n in sizes]
    hit = np.concatenate([[1.0] * h + [0.0] * (c - h) for h, c in games])
    cluster = np.repeat(np.arange(len(games)), sizes)
    fitted = sm.OLS(hit, np.ones_like(hit)).fit(
        cov_type="cluster", cov_kwds={"groups": cluster, "use_correction": False}
    )
    n = len(games)
    v = float(fitted.cov_params()[0, 0]) * n / (n - 1)
    rate, counted = hit.mean(), hit.size
    kappa = float((sizes**2).sum()) / counted**2
    v = min(v, kappa * rate * (1 - rate))
    informative = min(sum(h > 0 for h, _ in games), sum(h < c for h, c in games))
    weight = informative / (informative + 1)
    n_eff = 1 / (weight * v / (rate * (1 - rate)) + (1 - weight) * kappa)
    assert of_games(games)["n_eff"] == pytest.approx(n_eff, rel=1e-12)


def test_unlike_competitions_are_strata():
    """Two competitions whose games are alike within: their difference is no variance.

    r = 1/2 and u = ±1 everywhere in a stratum, so Σu² − (Σu)²/n = 0 there and v = 0. Each game has
    two items: κ = Σc²/C² = 4·4/8² = 1/4. Games with a hit: 2, with a miss: 2; λ = 2/3, so
    1/n_eff = 1/3 · 1/4.
    """
    games = [(2, 2), (2, 2), (0, 2), (0, 2)]
    assert of_games(games, strata=["a", "a", "b", "b"])["n_eff"] == pytest.approx(12.0)
    assert of_games(games)["n_eff"] == pytest.approx(4.0)


RESULTS = """
game | role          | is_win | guess_is_correct
1    | chameleon     | yes    | -
2    | chameleon     | no     | -
3    | chameleon     | yes    | -
4    | non_chameleon | yes    | no
5    | non_chameleon | yes    | yes
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sum_of_terms_has_an_interval_over_its_range(engine, tmp_path):
    """Deception: W = 1.25, a = 0.8 and 0.2, r = 2/3 and 1/2.

    Hidden wins: Σu² = 2·(1/3)² + (2/3)² = 2/3, v = 3/2 · 2/3 / 9 = 1/9; κ = 1/3 bounds it at 2/27.
    Guesses: Σu² = 1/2, v = 2 · 1/2 / 4 = 1/4; κ = 1/2 bounds it at 1/8. y = 0.8·2/3 + 0.2/2, and
    v = 0.64·2/27 + 0.04/8, κ = 0.64/3 + 0.04/2; 3 games with a hit, 2 with a miss: λ = 2/3.
    """
    y = Fraction(19, 30)
    v = Fraction(64, 100) * Fraction(2, 27) + Fraction(4, 100) / 8
    kappa = Fraction(64, 100) / 3 + Fraction(4, 100) / 2
    n_eff = float(1 / (Fraction(2, 3) * v / (y * (1 - y)) + Fraction(1, 3) * kappa))
    low, high = proportion_confint(float(y) * n_eff, n_eff, 0.05, "wilson")
    lake = lake_of(tmp_path, {"results": table("results", RESULTS, game_type="chameleon")})
    found = metrics(lake, names=["deception"], by=["model"], engine=engine).row(0, named=True)
    assert found["n_eff"] == pytest.approx(n_eff)
    assert found["ci_low"] == pytest.approx(1.25 * low)
    assert found["ci_high"] == pytest.approx(1.25 * high)
    assert found["ci_method"] == "wilson, clustered by game"


def rows(n_games: int, plays: int, *, seed: int, sides: int = 1) -> pl.LazyFrame:
    """Random counted rows of games, several of each setting, of one competition a game or two."""
    generator = np.random.default_rng(seed)
    n = 4000
    game = generator.integers(0, n_games, n)
    side = generator.integers(0, sides, n) if sides > 1 else game % 2
    return pl.LazyFrame(
        {
            "model": [f"m{number % 3}" for number in game],
            "game_type": ["chameleon"] * n,
            "competition": [("as_a", "as_b")[one] for one in side],
            "term": [("x", "y")[one] for one in side],
            "setting_id": [str(number // plays) for number in game],
            "game_id": [str(number) for number in game],
            "hit": generator.integers(0, 3, n) / 2,
        }
    )


BY = ["model", "game_type"]


@pytest.mark.parametrize("order", [["game_id"], ["hit", "game_id"]])
def test_what_is_known_of_rows_changes_nothing(order):
    counted = rows(300, 4, seed=1).sort(order)
    slow = moments_of(counted, BY).sort(pl.all())
    for is_by_of_game in (False, True):
        found = moments_of_one_side(counted, BY, is_by_of_game=is_by_of_game)
        assert_frame_equal(found.sort(pl.all()), slow)


def test_games_that_are_alike_are_summed_as_one_by_one():
    """Those not counted are in no sum, and what is unread of any is told."""
    number = pl.int_range(pl.len())
    of_row = rows(300, 4, seed=4).with_columns(
        pl.when(number % 7 > 0).then("hit"),
        game_id=number.cast(pl.String),
        is_counted=number % 5 > 0,
        is_unreadable=number % 11 == 0,
    )
    told = of_row.with_columns(is_unknown=pl.col("is_counted") & pl.col("hit").is_null())
    alike = told.drop("game_id").group_by(pl.all()).agg(n=pl.len().cast(pl.Int64))
    assert alike.collect()["n"].max() > 1
    found = by_setting_of_alike(alike, BY).collect()
    unread = found.select(pl.col("n_unknown", "n_unreadable").sum()).row(0)
    assert unread == told.select(pl.col("is_unknown", "is_unreadable").sum()).collect().row(0)
    assert_frame_equal(
        moments(found.lazy().filter(pl.col("n") > 0), BY, is_one_sided=True).sort(pl.all()),
        moments_of_one_side(told.filter("is_counted"), BY).sort(pl.all()),
    )


def test_a_game_in_pieces_is_one_game():
    """Where its setting is added anew, as where all settings are told by where games end."""
    together = rows(300, 4, seed=2).sort("game_id").with_columns(hit=pl.col("hit").ceil())
    slow = moments_of(together, BY).sort(pl.all())
    for counted in (together, pl.concat([together.slice(5), together.head(5)])):
        found = moments_of_one_side(counted, BY, is_by_of_game=True)
        assert_frame_equal(found.sort(pl.all()), slow)


def test_a_game_of_two_terms_adds_their_covariance():
    """Terms that always hit together vary as one; terms of which one always hits, hardly at all."""

    def n_eff(other_hits: list[float]) -> float:
        frame = pl.concat(
            pl.LazyFrame({"game_id": [str(n) for n in range(40)], "hit": hits}).with_columns(
                model=pl.lit("m"), competition=pl.lit(term), term=pl.lit(term), setting_id="game_id"
            )
            for term, hits in (("x", [1.0, 0.0] * 20), ("y", other_hits))
        )
        sums = moments_of(frame, ["model"])
        terms = pl.LazyFrame(
            {"model": ["m"] * 2, "term": ["x", "y"], "weight": [0.5] * 2, "counted": [40] * 2}
        )
        return intervals(terms, sums, ["model"], 0.95).collect()["n_eff"].item()

    together, apart, alone = n_eff([1.0, 0.0] * 20), n_eff([0.0, 1.0] * 20), 80
    assert together == pytest.approx(40)
    assert apart > alone


def test_many_plays_of_a_setting_are_one_cluster():
    often = metrics_of(rows(300, 30, seed=3))
    rarely = metrics_of(rows(300, 1, seed=3))
    assert set(often["ci_method"]) == {"wilson, clustered by setting"}
    assert set(rarely["ci_method"]) == {"wilson, clustered by game"}


def metrics_of(counted: pl.LazyFrame) -> pl.DataFrame:
    sums = moments_of_one_side(counted, BY)
    terms = counted.group_by(*BY, "term").agg(counted=pl.len(), weight=pl.lit(0.5).first())
    return intervals(terms, sums, BY, 0.95).collect()
