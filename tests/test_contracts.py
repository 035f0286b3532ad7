"""Tables as they are declared, and rows held against them."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from pipeline.events.contracts import TABLES, own_contract
from pipeline.events.declaration import Column, Rule, Table


class Base(Table):
    """One row of anything."""

    key = Column(pl.String(), "which", primary_key=True, regex="^[a-z]$")
    word = Column(pl.String(), "one of two", nullable=True, words=("yes", "no"))


class Example(Base):
    """One row with a column of every type."""

    flag = Column(pl.Boolean(), "a flag")
    small = Column(pl.Int32(), "from 1", nullable=True, min=1)
    count = Column(pl.Int64(), "from 0", min=0)
    share = Column(pl.Float64(), "0 to 1", nullable=True, min=0, max=1)
    at = Column(pl.Datetime("us", "UTC"), "when")
    names = Column(pl.List(pl.String()), "who")
    parts = Column(pl.List(pl.Struct({"name": pl.String(), "n": pl.Int64()})), "what")
    raw = Column(pl.Binary(), "bytes", nullable=True)

    word_is_flagged = Rule(pl.col("flag") | pl.col("word").is_null())


GOOD: dict[str, Any] = {
    "key": "a",
    "word": None,
    "flag": True,
    "small": None,
    "count": 0,
    "share": 1.0,
    "at": datetime(2024, 1, 1, tzinfo=UTC),
    "names": [],
    "parts": [{"name": "x", "n": 1}],
    "raw": None,
}


def rows(*records: dict[str, Any]) -> pl.DataFrame:
    schema = {name: column.dtype for name, column in Example.columns().items()}
    return pl.DataFrame([GOOD | record for record in records], schema=schema)


def test_a_table_has_the_columns_of_its_base_first() -> None:
    assert list(Example.columns()) == list(GOOD)
    assert Example.primary_key() == ["key"]
    assert list(Example.rules()) == ["word_is_flagged"]
    assert list(Base.columns()) == ["key", "word"]
    assert not Base.rules()


def test_a_column_declared_anew_keeps_its_place() -> None:
    class Other(Base):
        """One row whose key may come again."""

        key = Column(pl.String())

    assert list(Other.columns()) == ["key", "word"]
    assert not Other.primary_key()


def test_rows_that_keep_their_contract() -> None:
    kept = rows({}, {"key": "b", "word": "no", "small": 1, "names": ["x", "y"], "raw": b"\0"})
    assert Example.validate(kept).equals(kept)
    assert Example.filter(kept).result.equals(kept)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"key": "A"}, "key|regex"),
        ({"word": "perhaps"}, "word|check"),
        ({"flag": None}, "flag|nullability"),
        ({"small": 0}, "small|min"),
        ({"count": -1}, "count|min"),
        ({"share": 1.5}, "share|max"),
        ({"share": -0.5}, "share|min"),
        ({"share": float("nan")}, "share|nan"),
        ({"at": None}, "at|nullability"),
        ({"names": ["x", None]}, "names|inner_nullability"),
        ({"parts": [{"name": None, "n": 1}]}, "parts|inner_inner_name_nullability"),
        ({"flag": False, "word": "yes"}, "word_is_flagged"),
    ],
)
def test_a_row_that_breaks_its_contract(broken: dict[str, Any], rule: str) -> None:
    output = Example.filter(rows({"key": "z"}, broken))
    assert list(output.result["key"]) == ["z"]
    assert rule in output.failure.counts()


def test_two_rows_of_one_key() -> None:
    assert Example.filter(rows({}, {})).failure.counts() == {"primary_key": 2}


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_checked_for_all_that_is_declared(table: str) -> None:
    for contract in (TABLES[table], own_contract(table)):
        declared, checked = contract.columns(), contract.checked().columns()
        assert list(checked) == list(declared)
        for name, column in checked.items():
            assert column.dtype == declared[name].dtype
            assert column.nullable == declared[name].nullable
            assert column.primary_key == declared[name].primary_key
            for limit in ("min", "max", "regex"):
                assert getattr(column, limit, None) == getattr(declared[name], limit)
            assert (column.check is not None) == (declared[name].words is not None)
