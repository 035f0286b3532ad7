"""The types of numbers in what SQL gives back: Int64 where all values fit, else Float64."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import pipeline
from pipeline.api import Lake
from pipeline.cli import main
from pipeline.errors import QueryError

LARGEST = 2**63 - 1


@pytest.fixture(scope="module")
def lake(sample_lake: Path) -> Lake:
    return pipeline.open_lake(sample_lake)


@pytest.mark.parametrize(
    ("sql", "value", "dtype"),
    [
        ("sum(1)", 1, pl.Int64),
        ("sum(NULL::INT)", None, pl.Int64),
        (f"{LARGEST}::HUGEINT", LARGEST, pl.Int64),
        (f"{LARGEST + 1}::HUGEINT", float(LARGEST + 1), pl.Float64),
        (f"(-{LARGEST} - 1)::HUGEINT", -LARGEST - 1, pl.Int64),
        (f"(-{LARGEST} - 2::HUGEINT)", float(-LARGEST - 2), pl.Float64),
        ("7::DECIMAL(38, 0)", 7, pl.Int64),
        ("0.5", 0.5, pl.Float64),
        ("sum(1.0)", 1.0, pl.Float64),
        ("[sum(1), NULL]", [1, None], pl.List(pl.Int64)),
        (f"[1::HUGEINT, {2**64}]", [1.0, 2.0**64], pl.List(pl.Float64)),
        ("[1::HUGEINT]::HUGEINT[1]", [1], pl.Array(pl.Int64, 1)),
        (
            "{'a \"b\"': sum(1), 'HUGEINT': [0.5], 'c': 'x'}",
            {'a "b"': 1, "HUGEINT": [0.5], "c": "x"},
            pl.Struct({'a "b"': pl.Int64, "HUGEINT": pl.List(pl.Float64), "c": pl.String}),
        ),
        (
            "row(sum(1), 0.5)",
            {"element1": 1, "element2": 0.5},
            pl.Struct({"element1": pl.Int64, "element2": pl.Float64}),
        ),
        ("MAP {'a': sum(1)}", {"a": 1}, pl.Map(pl.String, pl.Int64)),
        (f"MAP {{{2**64}::HUGEINT: 1}}", {2.0**64: 1}, pl.Map(pl.Float64, pl.Int32)),
    ],
)
def test_a_wide_number_is_an_integer_where_it_fits(
    lake: Lake, sql: str, value: object, dtype: pl.DataType
) -> None:
    found = lake.sql(f'SELECT \'x\' AS float1, {sql} AS "a ""b""", 2 AS whole1')
    expected: Mapping[str, pl.Series] = {
        "float1": pl.Series(["x"]),
        'a "b"': pl.Series([value], dtype=dtype),
        "whole1": pl.Series([2], dtype=pl.Int32),
    }
    assert_frame_equal(found, pl.DataFrame(expected))


@pytest.mark.parametrize("sql", [f"{2**127}::UHUGEINT", "[7::UHUGEINT]", "MAP {7::UHUGEINT: 1}"])
def test_a_wide_number_that_arrow_cannot_hold_is_refused(lake: Lake, sql: str) -> None:
    with pytest.raises(QueryError, match=r"has the type UHUGEINT, .*: cast it"):
        lake.sql(f"SELECT {sql} AS number")


def test_one_value_that_does_not_fit_makes_a_column_of_floats(lake: Lake) -> None:
    rows = lake.sql("SELECT 1::HUGEINT << n AS power, n::HUGEINT AS n FROM range(100) AS t(n)")
    assert rows["power"].to_list() == [2.0**n for n in range(100)]
    assert rows["n"].to_list() == list(range(100))
    assert rows.schema == {"power": pl.Float64, "n": pl.Int64}


def test_a_share_of_two_sums_is_not_rounded(lake: Lake) -> None:
    """Decimals, which polars would have taken both for, are divided to whole numbers."""
    whole = "sum(is_correct::INT) AS hits, sum(1) AS n"
    pointed = "sum(CASE WHEN is_correct THEN 1.0 ELSE 0.0 END) AS hits, sum(1.0) AS n"
    share = lake.sql("SELECT avg(is_correct::INT) AS share FROM votes")["share"].item()
    assert 0 < share < 1
    for sums in (whole, pointed):
        found = lake.sql(f"SELECT {sums} FROM votes")
        assert (found["hits"] / found["n"]).item() == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize("asked", ["PIVOT votes ON is_correct USING sum(seat)", "SUMMARIZE votes"])
def test_no_answer_has_decimals(lake: Lake, asked: str) -> None:
    assert not any(dtype == pl.Decimal for dtype in lake.sql(asked).dtypes)


@pytest.mark.slow
def test_no_view_has_wide_numbers(lake: Lake) -> None:
    """A connection gives DuckDB's own types: there, only what users compute has wide numbers."""
    asked = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND data_type"
    with lake.connect() as connection:
        found = connection.sql(f"{asked} SIMILAR TO '.*(HUGEINT|DECIMAL).*'").fetchall()
        assert connection.sql("SELECT count(*) FROM duckdb_columns() WHERE NOT internal").fetchall()
    assert found == []


@pytest.mark.usefixtures("queries_here")
@pytest.mark.parametrize("form", ["csv", "json", "table", "markdown"])
def test_every_form_writes_whole_numbers(
    lake: Lake, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = "SELECT sum(n) AS n FROM range(3) AS t(n)"
    assert main(["sql", asked, "--lake", str(lake.path), "--format", form]) == 0
    assert "3" in capsys.readouterr().out.replace(":", " ").replace("}", " ").split()
