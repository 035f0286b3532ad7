"""docs/systems.md says what the archives of real logs come to: both its tables are theirs."""

from pathlib import Path

import pytest
from generated import RENEW_FOR_RELEASE
from systems_page import METRICS, PAGE, REASONS, marked, tables


@pytest.mark.long
def test_the_tables_are_those_of_the_archives(shared: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, table in tables(shared).items():
        assert marked(page, name) == table, RENEW_FOR_RELEASE


def test_the_page_has_every_system_and_metric() -> None:
    head, _, *rows = marked(PAGE.read_text(encoding="utf-8"), "metrics").splitlines()
    columns = head.strip("| ").split(" | ")
    assert columns == ["system", "archive", *METRICS]
    assert {row.split("`")[1] for row in rows} == set(REASONS)
