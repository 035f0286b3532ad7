"""The metrics on the known answers: every number of the public games and of the edge cases."""

import json
from pathlib import Path

import oracle
import polars as pl
import pytest
from event_tables import ENGINES, assert_same
from polars.testing import assert_frame_equal

from pipeline.metrics import TITLES, metrics
from pipeline.metrics.registry import format_metrics_as_published_script
from pipeline.vocabulary import PAPER, RELEASE

NAMES = tuple(oracle.METRICS)
"""The metrics of the benchmark: those that the answers have."""

KEYS = ["edition", "metric", "model", "game_type"]


def known(shared: Path, name: str):
    return json.loads((shared / "corpus" / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session", params=ENGINES)
def public_metrics(request, public_lake) -> pl.DataFrame:
    """Both editions on the public games, by one engine."""
    editions = [
        metrics(public_lake, metric=NAMES, engine=request.param, edition=edition)
        for edition in (PAPER, RELEASE)
    ]
    return pl.concat(editions)


def test_answers(shared, public_metrics):
    schema = dict.fromkeys(KEYS, pl.String)
    schema |= {"value": pl.Float64, "hits": pl.Float64, "counted": pl.Int64}
    answers = pl.DataFrame(known(shared, "answers.json"), schema=schema)
    assert answers.height == 330
    found = answers.select(KEYS).join(public_metrics, on=KEYS, how="left", maintain_order="left")
    # Where the answers give no hits and counts, the metrics may.
    is_told = answers["counted"].is_not_null()
    counts = [pl.when(is_told).then(name).alias(name) for name in ("hits", "counted")]
    assert_same(found.select(*KEYS, "value", *counts), answers)
    # What the answers leave out is only the release edition's second name for the same number.
    more = public_metrics.join(answers, on=KEYS, how="anti").select(
        "edition", "metric", "game_type"
    )
    assert set(more.iter_rows()) == {
        ("release", "cooperation", "cost_sharing"),
        ("release", "coordination", "cost_sharing"),
    }


def test_release_is_what_the_published_script_printed(shared, public_metrics):
    printed = known(shared, "release-script-output.json")
    release = public_metrics.filter(edition=RELEASE, game_type="all")
    found = {(r["model"], r["metric"]): r["value"] for r in release.iter_rows(named=True)}
    assert {key: round(value, 3) for key, value in found.items()} == {
        (model, metric): numbers[title]
        for model, numbers in printed.items()
        for metric, title in TITLES.items()
        if metric in NAMES
    }
    assert len(found) == 80


def test_magic_json_is_the_published_scripts_line(shared, public_metrics):
    printed = known(shared, "release-script-output.json")
    assert len(printed) == 10
    for model, numbers in printed.items():
        rows = public_metrics.filter(edition=RELEASE, model=model)
        assert format_metrics_as_published_script(rows) == json.dumps([{"train_split": numbers}])


# ---------------------------------------------------------------- the edge cases


def expected_of(shared: Path, edition: str) -> pl.DataFrame:
    """Every case's values over all, the model named `case/model`."""
    cases = known(shared, "edge-cases.json")
    assert len(cases) == 35
    rows = [
        (metric, f"{case}/{model}", value)
        for case, facts in cases.items()
        for model, values in facts["expected"][edition].items()
        for metric, value in values.items()
    ]
    schema = {"metric": pl.String, "model": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


@pytest.mark.some(2)
@pytest.mark.parametrize("edition", [PAPER, RELEASE])
@pytest.mark.parametrize("engine", ENGINES)
def test_edge_cases(shared, edge_lake, engine, edition):
    found = metrics(edge_lake, metric=NAMES, engine=engine, edition=edition).filter(game_type="all")
    expected = expected_of(shared, edition)
    assert_same(found.select(expected.columns).sort(pl.all()), expected.sort(pl.all()))
    has_reason = found["reason"].is_not_null()
    assert_frame_equal(has_reason.to_frame("null"), found["value"].is_null().to_frame("null"))
