"""Tables as they are declared, and rows held against them."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from pipeline import vocabulary
from pipeline.events.contracts import (
    TABLES,
    VERSION,
    Column,
    Table,
    broken_rules,
    certainly_satisfies_contract,
    columns_by_rule,
    contract_rules,
)
from pipeline.events.readings import sha256
from pipeline.lake.tables import RENAMED_VALUES


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


def test_rows_that_keep_their_contract() -> None:
    kept = rows(
        {},
        {"key": "b", "word": "no", "small": 1, "names": ["x", "y"], "raw": b"\0"},
        {"key": "c", "word": "yes", "count": 7, "share": 0.0, "names": [""], "parts": []},
        {"key": "d", "flag": False, "share": None, "parts": [{"name": "", "n": 0}]},
    )
    assert broken_rules(Example, kept) == {}
    assert kept.select(certainly_satisfies_contract(Example)).item()


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"key": "A"}, "key matches ^[a-z]$"),
        ({"key": "ab"}, "key matches ^[a-z]$"),
        ({"key": None}, "key is not null"),
        ({"word": ""}, "word is one of yes, no"),
        ({"count": None}, "count is not null"),
        ({"names": None}, "names is not null"),
        (
            {"parts": [{"name": "x", "n": None}]},
            "parts has elements of which each has a n that is not null",
        ),
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


# What version 11 has, which stays here as long as lakes of that version can be read.
PINNED_VERSION = 11
PINNED_COLUMNS = "c9ced0a286b7a64063f213d24d6f165be5e9905fe73f4b607a78273882f4aba5"
PINNED_WORDS = {
    "Side": {"hidden", "civilian", "none"},
    "ParseStatus": {"ok", "ambiguous", "unreadable", "outage"},
    "Choice": {"cooperate", "defect"},
    "AnalysisKind": {"gold", "inter"},
    "DocumentStatus": {
        *("ingested", "replacing", "unchanged", "duplicate", "quarantined", "ignored")
    },
}


def is_readable(name: str, words: set[str], version: int, renamed: dict[str, Any]) -> bool:
    """Whether lakes of the pinned version are read right with these words of a vocabulary."""
    mapped = {old for new_by_old in renamed.values() for old in new_by_old}
    is_told = version > PINNED_VERSION or words == PINNED_WORDS[name]
    return is_told and PINNED_WORDS[name] - words <= mapped


def test_a_new_table_or_column_raises_the_version() -> None:
    columns = sorted(f"{name}.{column}" for name in TABLES for column in TABLES[name].columns())
    assert VERSION > PINNED_VERSION or sha256(" ".join(columns).encode()) == PINNED_COLUMNS, (
        "the tables have other columns than lakes of this version: raise VERSION in "
        "pipeline/events/contracts.py, and leave PINNED_COLUMNS as it is"
    )


@pytest.mark.parametrize("name", PINNED_WORDS)
def test_words_of_closed_vocabularies_are_read_from_older_lakes(name: str) -> None:
    """A word that is only renamed would change the numbers of existing lakes in silence."""
    words = {str(word) for word in getattr(vocabulary, name)}
    assert is_readable(name, words, VERSION, RENAMED_VALUES), (
        f"lakes have the words {sorted(PINNED_WORDS[name])}: raise VERSION in "
        "pipeline/events/contracts.py, map each word that is gone in RENAMED_VALUES of "
        "pipeline/lake/tables.py, and leave the words here as they are"
    )


def test_a_renamed_word_needs_a_version_and_a_mapping() -> None:
    words, mapping = {"help", "defect"}, {"choice": {"cooperate": "help"}}
    assert is_readable("Choice", words, PINNED_VERSION + 1, mapping)
    assert not is_readable("Choice", words, PINNED_VERSION + 1, {})
    assert not is_readable("Choice", words, PINNED_VERSION, mapping)
