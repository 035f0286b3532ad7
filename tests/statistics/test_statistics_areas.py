"""The area of a polygon: the formula against its corners, and the interval against its parts."""

import math

import polars as pl
import pytest

from pipeline.statistics.intervals import radar_areas, radar_polygon_area

SEVEN = ("a", "b", "c", "d", "e", "f", "g")
# Of so many equal values of 1, half of n · sin(2π/n), in square percent.
WHOLE = {n: 1e4 * n * math.sin(2 * math.pi / n) / 2 for n in (3, 4, 7)}
POLYGONS: list[tuple[list[float | None], float | None]] = [
    ([0.5] * 4, 5000),  # a square whose diagonals are 100
    ([1.0] * 4, 20_000),
    ([0.6, 0.8, 0.0, 0.0], 2400),  # the triangle of two sides at a right angle
    ([1.0] * 7, WHOLE[7]),
    ([0.5] * 7, WHOLE[7] / 4),
    ([1.0, 0.0] * 3 + [0.0], 0.0),
    ([1.0, 0.0] * 3 + [1.0], WHOLE[7] / 7),  # the last is beside the first
    ([1.0] * 6 + [None], None),
]


@pytest.mark.parametrize(("values", "expected"), POLYGONS)
def test_areas_worked_by_hand(values: list[float | None], expected: float | None) -> None:
    axes = SEVEN[: len(values)]
    rows = pl.DataFrame(
        dict(zip(axes, values, strict=True)), schema=dict.fromkeys(axes, pl.Float64)
    )
    found = rows.select(radar_polygon_area(axes)).item()
    assert found == (None if expected is None else pytest.approx(expected))


def interval(hits: list[float], weights: float = 1.0) -> dict[str, float | None]:
    """Of three values, each of 20 settings that they share: 10 of 10 hits, so many times."""
    sums = pl.DataFrame(
        [
            (name, "t", "one", str(setting), 10.0 * (setting < n), 10.0)
            for name, n in zip(SEVEN, hits, strict=False)
            for setting in range(20)
        ],
        schema=["metric", "term", "stratum", "cluster", "h", "c"],
        orient="row",
    ).with_columns(model=pl.lit("m"))
    terms = sums.group_by("model", "metric", "term").agg(counted=pl.col("c").sum())
    terms = terms.with_columns(weight=pl.lit(weights))
    values = pl.DataFrame(
        {"model": ["m"], **{name: [weights * n / 20] for name, n in zip(SEVEN, hits, strict=False)}}
    )
    return radar_areas(values, sums, terms, ["model"], 0.95, axes=SEVEN[:3]).row(0, named=True)


def test_an_interval_is_the_delta_methods() -> None:
    """Three equal values of the same settings move together: A = s m², so its ends follow m's."""
    found = interval([10, 10, 10])
    assert found["area"] == pytest.approx(WHOLE[3] / 4)
    half = (found["ci_high"] - found["ci_low"]) / 2  # type: ignore[operator]
    # dA = 2 s m dm; over 20 settings of one item the 95 % interval of 1/2 is 0.22 to either side.
    assert half == pytest.approx(2 * WHOLE[3] * 0.5 * 0.22, rel=0.06)
    assert interval([10, 10, 10], 2.0)["ci_low"] == pytest.approx(4 * found["ci_low"])  # type: ignore[operator]


def test_an_interval_begins_at_0_and_is_null_without_slopes() -> None:
    assert interval([1, 1, 0])["ci_low"] == 0
    none = interval([0, 0, 0])
    assert (none["area"], none["ci_low"], none["ci_high"]) == (0, None, None)
    assert interval([20, 20, 20])["ci_high"] == pytest.approx(WHOLE[3])
