"""Every metric on its hand-worked case: metric × engine × edition."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import polars as pl
import pytest
from event_tables import ENGINES, assert_same, lake_of

import pipeline.metrics
from pipeline.metrics import metrics
from pipeline.metrics.registry import NAMES, Metric, metric_names
from pipeline.sql_files import read_comment_header
from pipeline.vocabulary import PAPER, RELEASE

EDITIONS = (PAPER, RELEASE)
CASES = Path(__file__).resolve().parents[1] / "cases"


def test_every_metric_is_complete():
    """magic finds metrics by their SQL: without it, a module would be left out in silence."""
    modules = {
        name
        for _, name, _ in iter_modules(pipeline.metrics.__path__)
        if isinstance(getattr(import_module(f"pipeline.metrics.{name}"), "PAPER", None), Metric)
    }
    cases = {file.stem for file in CASES.glob("*.py")}
    assert modules == cases == {*NAMES}, (
        "a metric NAME needs sql/metrics/NAME.sql, pipeline/metrics/NAME.py with PAPER, and "
        "tests/cases/NAME.py: docs/adding.md shows each"
    )
    orders = [read_comment_header(f"metrics/{name}")["order"] for name in NAMES]
    assert len({*map(tuple, orders)}) == len(NAMES), "two metrics have the same `-- order: ..`"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("edition", "name"), [(e, n) for e in EDITIONS for n in metric_names(e)])
def test_case(name, engine, edition, tmp_path):
    case = import_module(f"cases.{name}")
    lake = lake_of(tmp_path, case.TABLES)
    expected = case.EXPECTED.filter(pl.col("edition") == edition)
    assert expected.height
    found = metrics(lake, metric=[name], engine=engine, edition=edition, confidence=None)
    # A game that was added later has a term of its own, and the case has no such game.
    known = expected["terms"].explode().struct.field("term").unique().implode()
    of_case = pl.element().filter(pl.element().struct.field("term").is_in(known))
    found = found.with_columns(pl.col("terms").list.eval(of_case))
    assert_same(found.select(expected.columns), expected)
