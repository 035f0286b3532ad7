"""Intervals of weighted sums of ratios over games: Wilson's, for an effective number of games.

For terms k of weight w, W = Σ w and a_k = w_k / W; r = H / C is a term's ratio, and game i of a
stratum of n games has h hits of c counted:

    u_i = h_i − r·c_i
    v_k = Σ_strata n/(n−1) · [Σu² − (Σu)²/n] / C²   the variance of a ratio, linearised (n = 1: Σu²)
    κ_k = Σc² / C²                                  v / r(1−r), were the items of a game all alike
    v_k ← min(v_k, κ_k r_k (1 − r_k))
    y = Σ a_k r_k,   v = Σ a_k² v_k,   κ = Σ a_k² κ_k
    g = min(games with a hit, games with a miss),   λ = g / (g + 1)
    1 / n_eff = λ · v / (y(1−y)) + (1 − λ) · κ      (y = 0 or 1: κ)

and the interval is W times Wilson's for y of n_eff. A game that feeds two terms adds their
covariance twice to v, and likewise to κ. With one item a game it is Wilson's interval itself.

Sources: E. B. Wilson, JASA 22 (1927) 209–212; n_eff: L. Kish, Survey Sampling (1965); for
proportions of clusters: J. N. K. Rao and A. J. Scott, Biometrics 48 (1992) 577–585, P. S. Kott,
Survey Practice 10 (2017). A plain n_eff undercovers where items cluster: C. Franco, R. Little,
T. Louis and E. Slud, J. Survey Statistics and Methodology 7 (2019) 334–364. The weight λ, by which
few informative games lean on κ, is this project's own, and was measured: docs/statistics.md.
"""

from collections.abc import Sequence
from statistics import NormalDist

import polars as pl

from pipeline.statistics.moments import KEYS, SUMS
from pipeline.statistics.sums import exact_sum, exact_sums, scaled_sum

INTERVAL = pl.Schema(
    {
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "ci_method": pl.String(),
        "n_eff": pl.Float64(),
    }
)
# Where the settings of a stratum were played so often on average, the setting is the cluster.
MANY_PLAYS = 2


def intervals(
    terms: pl.LazyFrame, sums: pl.LazyFrame, by: Sequence[str], confidence: float
) -> pl.LazyFrame:
    """A row for each group of `by`, with the columns of `INTERVAL`.

    `terms` says what each group's value is made of: `by`, term, weight and counted, the denominator
    that the value has; `sums` are moments of the same groups, or finer ones.
    """
    keys = [*by, *KEYS]
    pairs = sums.group_by(keys).agg(exact_sums(SUMS, SUMS))
    chosen = _clusters(pairs, by)
    varied = _variance(chosen, _shares(chosen, terms, by), by)
    return varied.select(*by, *_wilson(confidence)).cast(INTERVAL)


def _clusters(pairs: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """The sums by game, or by setting where there were many plays of each in the stratum."""
    keys = [*by, "stratum", "term", "other"]
    by_setting = pl.col("unit") == "setting"
    n_settings = pl.col("n").filter(by_setting).sum().over(keys)
    n_games = pl.col("n").filter(~by_setting).sum().over(keys)
    # One setting alone tells nothing of others: its interval is about that setting.
    is_pooled = (n_settings > 1) & (n_games >= MANY_PLAYS * n_settings)
    return pairs.filter(by_setting == is_pooled)


def _shares(pairs: pl.LazyFrame, terms: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Each term's ratio, its share `a` of the value's range, and its denominator C."""
    totals = (
        pairs.filter(pl.col("term") == pl.col("other"))
        .group_by(*by, "term")
        .agg(r=exact_sum(pl.col("h")) / pl.col("c").sum(), total=pl.col("c").sum())
    )
    # A denominator that is fixed beforehand makes of the ratio a part of itself.
    weight = pl.col("weight") * pl.col("total") / pl.col("counted")
    found = totals.join(terms, on=[*by, "term"], nulls_equal=True).with_columns(weight=weight)
    range_ = scaled_sum(pl.col("weight"))
    whole = range_.over(by) if by else range_
    return found.with_columns(range=whole, a=pl.col("weight") / whole).drop("weight", "counted")


def _variance(pairs: pl.LazyFrame, shares: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Of each group: y, v, kappa, range, units, and the games with a hit and with a miss."""
    others = shares.select(
        *by, *(pl.col(c).alias(f"other_{c}") for c in ("term", "r", "a", "total"))
    )
    found = (
        pairs.rename({"other": "other_term"})
        .join(shares, on=[*by, "term"], nulls_equal=True)
        .join(others, on=[*by, "other_term"], nulls_equal=True)
    )
    is_own = pl.col("term") == pl.col("other_term")
    scale = 1 / (pl.col("total") * pl.col("other_total"))
    by_pair = found.group_by(*by, "term", "other_term").agg(
        pl.col("r", "a", "other_a", "range").first(),
        pl.col("n_with_hit", "n_with_miss").sum() * is_own.first(),
        units=pl.col("unit").unique(),
        v=scaled_sum(_products_of_u() * scale),
        kappa=scaled_sum(pl.col("cc") * scale),
    )
    bounded = _bounded(by_pair, by)
    shared = pl.col("a") * pl.col("other_a")
    return bounded.group_by(by).agg(
        pl.col("range").first(),
        pl.col("n_with_hit", "n_with_miss").sum(),
        units=pl.col("units").list.explode().unique().sort().str.join(" and "),
        y=scaled_sum(pl.col("a") * pl.col("r") * is_own),
        v=scaled_sum(shared * pl.col("v")).clip(0),
        kappa=scaled_sum(shared * pl.col("kappa")),
    )


def _products_of_u() -> pl.Expr:
    """Σ u × other_u of a stratum, about its means."""
    n, r, other_r = pl.col("n"), pl.col("r"), pl.col("other_r")
    products = pl.col("hh") - other_r * pl.col("hc") - r * pl.col("ch") + r * other_r * pl.col("cc")
    sums = (pl.col("h") - r * pl.col("c")) * (pl.col("other_h") - other_r * pl.col("other_c"))
    return pl.when(n > 1).then((products - sums / n) * n / (n - 1)).otherwise(products)


def _bounded(pairs: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """The pairs with v at most κ r(1−r), covariances in proportion."""
    most = pl.col("kappa") * pl.col("r") * (1 - pl.col("r"))
    own = pairs.filter(pl.col("term") == pl.col("other_term")).select(
        *by,
        "term",
        factor=pl.when(pl.col("v") > most).then((most / pl.col("v")).clip(0).sqrt()).otherwise(1.0),
    )
    other = own.rename({"term": "other_term", "factor": "other_factor"})
    return (
        pairs.join(own, on=[*by, "term"], nulls_equal=True)
        .join(other, on=[*by, "other_term"], nulls_equal=True)
        .with_columns(v=pl.col("v") * pl.col("factor") * pl.col("other_factor"))
    )


def _wilson(confidence: float) -> list[pl.Expr]:
    """The columns of `INTERVAL`, from those of `_variance`."""
    n_hit, n_miss = pl.col("n_with_hit"), pl.col("n_with_miss")
    # Told by counts, since a sum of shares may be 1 but for its last digit.
    y = pl.when(n_miss == 0).then(1.0).when(n_hit == 0).then(0.0).otherwise(pl.col("y"))
    n_eff = 1 / _inverse_n_eff(y, pl.col("v"), pl.col("kappa"), pl.min_horizontal(n_hit, n_miss))
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = y + z**2 / (2 * n_eff)
    half = z * (y * (1 - y) / n_eff + z**2 / (4 * n_eff**2)).sqrt()
    low, high = (middle - half) / (1 + z**2 / n_eff), (middle + half) / (1 + z**2 / n_eff)
    return [
        (pl.when(n_hit == 0).then(0.0).otherwise(low) * pl.col("range")).alias("ci_low"),
        (pl.when(n_miss == 0).then(1.0).otherwise(high) * pl.col("range")).alias("ci_high"),
        pl.format("wilson, clustered by {}", "units").alias("ci_method"),
        n_eff.alias("n_eff"),
    ]


def _inverse_n_eff(y: pl.Expr, v: pl.Expr, kappa: pl.Expr, n_informative: pl.Expr) -> pl.Expr:
    weight = n_informative / (n_informative + 1)
    observed = v / (y * (1 - y))
    return (
        pl.when((y > 0) & (y < 1)).then(weight * observed + (1 - weight) * kappa).otherwise(kappa)
    )
