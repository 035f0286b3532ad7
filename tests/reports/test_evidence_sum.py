"""What evidence adds up to is the value that the metrics give, and its terms add up to it."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.api import Lake, open_lake
from pipeline.column import polars_schema
from pipeline.metrics.evidence import EVIDENCE_SUM_COLUMNS as COLUMNS, format_sum_sentence
from pipeline.metrics.registry import ORIGIN_COLUMNS, metric_names
from pipeline.vocabulary import EDITIONS, RELEASE


@pytest.fixture(scope="module")
def lake(sample_lake: Path) -> Lake:
    return open_lake(sample_lake)


@pytest.mark.some(3, 6)
@pytest.mark.parametrize(("edition", "name"), [(e, n) for e in EDITIONS for n in metric_names(e)])
def test_terms_add_up_to_the_value(edition: str, name: str, lake: Lake) -> None:
    values = lake.metrics(metric=name, edition=edition, by=["model"])
    model = values["model"][0]
    for row in values.iter_rows(named=True):
        found = lake.evidence_sum(name, edition=edition, model=row["model"])
        assert found.schema == polars_schema({**COLUMNS, **ORIGIN_COLUMNS})
        *terms, whole = found.to_dicts()
        for column in ("value", "hits", "counted", "n_games", "reason"):
            assert whole[column] == row[column], column
        for column in ("ci_low", "ci_high"):
            is_same = whole[column] == row[column]
            assert is_same or whole[column] == pytest.approx(row[column], rel=1e-12), column
        assert [term["term"] for term in terms] == [term["term"] for term in row["terms"]]
        if whole["value"] is not None:
            parts = [term["value"] for term in terms if term["value"] is not None]
            assert sum(parts) == pytest.approx(whole["value"], rel=1e-12)
    if edition != RELEASE:
        rows = lake.evidence(name, edition=edition, model=model)
        asked = lake.evidence_sum(name, edition=edition, model=model)
        hits = asked.filter(pl.col("term").is_not_null())["hits"].sum()
        assert hits == pytest.approx(rows["hit"].sum())


def test_a_slice_is_added_up_alone(lake: Lake) -> None:
    asked = {"game_type": "chameleon", "where": "seat = 1"}
    rows = lake.evidence("judgement", **asked)
    (*_, whole) = lake.evidence_sum("judgement", **asked).to_dicts()
    assert (whole["hits"], whole["counted"]) == (rows["hit"].sum(), rows.height)


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("judgement", {}, "judgement: 8 of 16 = 0.500, interval .28 to .72, 8 games"),
        (
            "deception",
            {"game_type": "undercover"},
            "deception: 0 of 4 = 0.000, interval .00 to .53, 4 games; small sample: hidden_wins",
        ),
        ("judgement", {"game_type": "public_good"}, "judgement: no value: nothing to count: votes"),
    ],
)
def test_the_sum_in_words(name: str, asked: dict[str, str], expected: str, lake: Lake) -> None:
    assert (
        format_sum_sentence(name, lake.evidence_sum(name, model="sim-atlas", **asked)) == expected
    )


def test_several_terms_in_words(lake: Lake) -> None:
    said = format_sum_sentence("deception", lake.evidence_sum("deception"))
    assert said.startswith("deception: 24 of 32 (hidden_wins) + 0.25 × 6 of 6 (wrong_guesses) = ")
    assert format_sum_sentence("win_rate", lake.evidence_sum("win_rate")).startswith(
        "win_rate: the mean of "
    )
