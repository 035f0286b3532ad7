"""Intervals (interim)."""

from collections.abc import Sequence
from statistics import NormalDist

import polars as pl

INTERVAL = pl.Schema(
    {
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "ci_method": pl.String(),
        "n_eff": pl.Float64(),
    }
)


def intervals(
    sums: pl.LazyFrame, terms: pl.LazyFrame, by: Sequence[str], confidence: float
) -> pl.LazyFrame:
    keys = [*by, "term"]
    cl = sums.group_by(*keys, "cluster").agg(pl.col("h", "c").sum())
    cl = cl.with_columns(C=pl.col("c").sum().over(keys), H=pl.col("h").sum().over(keys))
    r = pl.col("H") / pl.col("C")
    u = pl.col("h") - r * pl.col("c")
    n = pl.len()
    t = cl.group_by(keys).agg(
        r=r.first(),
        n=n,
        v=(u**2).sum() / pl.col("C").first() ** 2 * pl.when(n > 1).then(n / (n - 1)).otherwise(1.0),
        k=(pl.col("c") ** 2).sum() / pl.col("C").first() ** 2,
        C=pl.col("C").first(),
        g1=(pl.col("h") > 0).sum(),
        g0=(pl.col("h") < pl.col("c")).sum(),
    )
    g = pl.min_horizontal("g1", "g0")
    lam = g / (g + 1)
    rr = pl.col("r") * (1 - pl.col("r"))
    v = pl.min_horizontal("v", pl.col("k") * rr)
    inv = pl.when(rr > 0).then(lam * v / rr + (1 - lam) * pl.col("k")).otherwise("k")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    t = t.with_columns(n_eff=1 / inv)
    ne = pl.col("n_eff")
    mid = pl.col("r") + z**2 / (2 * ne)
    half = z * (rr / ne + z**2 / (4 * ne**2)).sqrt()
    low, high = (mid - half) / (1 + z**2 / ne), (mid + half) / (1 + z**2 / ne)
    t = t.with_columns(
        low=pl.when(pl.col("g1") == 0).then(0.0).otherwise(low),
        high=pl.when(pl.col("g0") == 0).then(1.0).otherwise(high),
    )
    j = t.join(terms, on=keys, nulls_equal=True).with_columns(
        w=pl.col("weight") * pl.col("C") / pl.col("counted")
    )
    w = pl.col("w")
    y = (w * pl.col("r")).sum()
    return j.group_by(by).agg(
        ci_low=y - ((w * (pl.col("r") - pl.col("low"))) ** 2).sum().sqrt(),
        ci_high=y + ((w * (pl.col("high") - pl.col("r"))) ** 2).sum().sqrt(),
        ci_method=pl.lit("wilson, clustered by setting"),
        n_eff=pl.col("n_eff").sum(),
    ).select(*by, *INTERVAL)
