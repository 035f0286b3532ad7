"""docs/systems.md says what the archives of real logs come to: both its tables are theirs."""

from pathlib import Path

import pytest
from systems_page import PAGE, REASONS, marked, tables

from pipeline.metrics.registry import NAMES


@pytest.mark.long
def test_the_tables_are_those_of_the_archives(shared: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, table in tables(shared).items():
        # To write them anew: tests/systems_page.py.
        assert marked(page, name) == table


def test_the_page_has_every_system_and_metric() -> None:
    head, _, *rows = marked(PAGE.read_text(encoding="utf-8"), "metrics").splitlines()
    assert head == f"| system | archive | {' | '.join(NAMES)} |"
    assert {row.split("`")[1] for row in rows} == set(REASONS)
