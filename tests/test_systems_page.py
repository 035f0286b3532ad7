"""docs/systems.md says what the archives of real logs come to: both its tables are theirs."""

from systems_page import METRICS, PAGE, REASONS, marked


def test_the_page_has_every_system_and_metric() -> None:
    head, _, *rows = marked(PAGE.read_text(encoding="utf-8"), "metrics").splitlines()
    columns = head.strip("| ").split(" | ")
    assert columns == ["system", "archive", *METRICS]
    assert {row.split("`")[1] for row in rows} == set(REASONS)
