"""Tables as they are declared, and rows held against them."""

import math
import re
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

from pipeline import vocabulary
from pipeline.events.contracts import (
    VERSION,
    Column,
    Table,
    broken_rules,
    certainly_satisfies_contract,
    columns_by_rule,
    contract_rules,
)


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

    word_is_flagged = pl.col("flag") | pl.col("word").is_null()


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
    assert list(Example.defined_rules()) == ["word_is_flagged"]
    assert list(Base.columns()) == ["key", "word"]
    assert not Base.defined_rules()


def test_a_column_declared_anew_keeps_its_place() -> None:
    class Other(Base):
        """One row whose key may come again."""

        key = Column(pl.String())

    assert list(Other.columns()) == ["key", "word"]
    assert not Other.primary_key()


def test_rows_that_keep_their_contract() -> None:
    kept = rows({}, {"key": "b", "word": "no", "small": 1, "names": ["x", "y"], "raw": b"\0"})
    assert broken_rules(Example, kept) == {}
    assert kept.select(certainly_satisfies_contract(Example)).item()


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"key": "A"}, "key matches ^[a-z]$"),
        ({"word": "perhaps"}, "word is one of yes, no"),
        ({"flag": None}, "flag is not null"),
        ({"small": 0}, "small is at least 1"),
        ({"count": -1}, "count is at least 0"),
        ({"share": 1.5}, "share is at most 1"),
        ({"share": -0.5}, "share is at least 0"),
        ({"share": float("nan")}, "share is finite"),
        ({"share": float("-inf")}, "share is finite"),
        ({"at": None}, "at is not null"),
        ({"names": ["x", None]}, "names has elements of which each is not null"),
        ({"parts": [{"name": "x", "n": 1}, None]}, "parts has elements of which each is not null"),
        (
            {"parts": [{"name": None, "n": 1}]},
            "parts has elements of which each has a name that is not null",
        ),
        ({"flag": False, "word": "yes"}, "word_is_flagged"),
    ],
)
def test_a_row_that_breaks_its_contract(wrong: dict[str, Any], rule: str) -> None:
    both = rows({"key": "z"}, wrong)
    assert list(broken_rules(Example, both)[rule]) == [False, True]
    assert not both.select(certainly_satisfies_contract(Example)).item()


def test_each_rule_names_its_columns() -> None:
    assert columns_by_rule(Example).keys() == contract_rules(Example).keys() | {
        "no two rows have one key"
    }
    for rule, columns in columns_by_rule(Example).items():
        own = ["flag", "word"] if rule == "word_is_flagged" else [rule.split()[0]]
        assert sorted(columns) == (["key"] if rule.startswith("no two rows") else own)


def test_rows_of_one_key() -> None:
    three = rows({}, {"key": "b"}, {})
    found = {rule: list(breaks) for rule, breaks in broken_rules(Example, three).items()}
    assert found == {"no two rows have one key": [True, False, True]}
    assert not three.select(certainly_satisfies_contract(Example)).item()


def naively_kept(row: dict[str, Any]) -> bool:
    """Whether a row of `Example` keeps its contract, its key apart, value by value."""
    can_be_null = ("word", "small", "share", "raw")
    if any(value is None for name, value in row.items() if name not in can_be_null):
        return False
    small, share = row["small"], row["share"]
    return (
        re.fullmatch("[a-z]", row["key"]) is not None
        and row["word"] in (None, "yes", "no")
        and (small is None or small >= 1)
        and row["count"] >= 0
        and (share is None or 0 <= share <= 1)
        and None not in row["names"]
        and not any(part is None or None in part.values() for part in row["parts"])
        and (row["flag"] or row["word"] is None)
    )


VALUES = {
    "key": st.sampled_from(["a", "b", "c", "A", "ab", "", None]),
    "word": st.sampled_from(["yes", "no", "", "Yes", None]),
    "flag": st.sampled_from([True, False, None]),
    "small": st.sampled_from([1, 2, 0, -1, None]),
    "count": st.sampled_from([0, 7, -1, None]),
    "share": st.one_of(st.none(), st.floats(-1, 2), st.sampled_from([math.nan, math.inf])),
    "at": st.sampled_from([GOOD["at"], None]),
    "names": st.none() | st.lists(st.sampled_from(["x", "", None]), max_size=3),
    "parts": st.none()
    | st.lists(
        st.none()
        | st.fixed_dictionaries(
            {"name": st.sampled_from(["x", None]), "n": st.sampled_from([1, None])}
        ),
        max_size=2,
    ),
    "raw": st.sampled_from([b"", None]),
}
# Most of a row is sound, so that each rule decides at times.
ROW = st.fixed_dictionaries({}, optional=VALUES).filter(lambda row: len(row) <= 3)


@given(st.lists(ROW, max_size=5))
def test_rows_are_held_against_all_that_is_declared(records: list[dict[str, Any]]) -> None:
    found = rows(*records)
    keys = list(found["key"])
    expected = [
        naively_kept(GOOD | record) and keys.count(key) == 1
        for record, key in zip(records, keys, strict=True)
    ]
    breaks = broken_rules(Example, found)
    kept = [not any(rule[number] for rule in breaks.values()) for number in range(len(records))]
    assert kept == expected
    assert found.select(certainly_satisfies_contract(Example)).item() == all(expected)


PINNED_WORDS = {
    "Side": {"hidden", "civilian", "none"},
    "ParseStatus": {"ok", "ambiguous", "unreadable", "outage"},
    "Choice": {"cooperate", "defect"},
    "AnalysisKind": {"gold", "inter"},
    "DocumentStatus": {
        *("ingested", "replacing", "unchanged", "duplicate", "quarantined", "ignored")
    },
}


@pytest.mark.parametrize("name", PINNED_WORDS)
def test_words_of_closed_vocabularies_are_those_of_the_version(name: str) -> None:
    """A word that is only renamed would change the numbers of existing lakes in silence."""
    words = {str(word) for word in getattr(vocabulary, name)}
    assert (VERSION, words) == (11, PINNED_WORDS[name]), (
        "lakes have the old words: raise VERSION in pipeline/events/contracts.py, map each word "
        "that is gone in RENAMED_VALUES of pipeline/lake/tables.py, and pin the new words here"
    )
