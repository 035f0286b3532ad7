"""What evidence adds up to is the value that the metrics give, and its terms add up to it."""

from pathlib import Path

import pytest

from pipeline.api import Lake, open_lake
from pipeline.column import polars_schema
from pipeline.metrics.evidence import EVIDENCE_SUM_COLUMNS as COLUMNS, format_sum_sentence
from pipeline.metrics.registry import ORIGIN_COLUMNS, metric_names
from pipeline.vocabulary import EDITIONS


@pytest.fixture(scope="module")
def lake(sample_lake: Path) -> Lake:
    return open_lake(sample_lake)


@pytest.mark.some(3, 6)
@pytest.mark.parametrize(("edition", "name"), [(e, n) for e in EDITIONS for n in metric_names(e)])
def test_terms_add_up_to_the_value(edition: str, name: str, lake: Lake) -> None:
    values = lake.metrics(metric=name, edition=edition, by=["model"])
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
        (
            "deception",
            {"model": None},
            "deception: 24 of 32 (hidden_wins) + 0.25 × 6 of 6 (wrong_guesses) = ",
        ),
        ("win_rate", {"model": None}, "win_rate: the mean of "),
    ],
)
def test_the_sum_in_words(name: str, asked: dict[str, str], expected: str, lake: Lake) -> None:
    rows = lake.evidence_sum(name, **{"model": "sim-atlas", **asked})
    assert format_sum_sentence(name, rows).startswith(expected)
