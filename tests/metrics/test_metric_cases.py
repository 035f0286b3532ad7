"""Every metric on its hand-worked case: metric × engine × edition."""

from importlib import import_module

import polars as pl
import pytest
from event_tables import ENGINES, assert_same, lake_of

from pipeline.metrics import metrics
from pipeline.metrics.catalogue import names
from pipeline.metrics.request import PAPER, RELEASE

EDITIONS = (PAPER, RELEASE)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("edition", "name"), [(e, n) for e in EDITIONS for n in names(e)])
def test_case(name, engine, edition, tmp_path):
    case = import_module(f"cases.{name}")
    lake = lake_of(tmp_path, case.TABLES)
    expected = case.EXPECTED.filter(pl.col("edition") == edition)
    assert expected.height
    found = metrics(lake, names=[name], engine=engine, edition=edition, confidence=None)
    assert_same(found, expected)
