"""The pages for contributors name existing places, and the SQL steps of an ingest in order."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md",)}
PAGES["docs/architecture.md"] = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
STEPS = ROOT / "sql" / "internal" / "ingest"
# The inputs of the first steps.
GIVEN = {
    *("documents", "reported_documents", "lake_games", "games_to_read_again"),
    *("previous_quarantine_rows", "reported_errors_without_raw", "last_documents_with_game"),
}
# The steps that are one statement, of other locations.
LOCATIONS = {
    "last_documents_at_scanned_locations": "scanned_documents",
    "last_documents_at_other_locations": "other_locations_with_same_bytes",
}


def steps() -> list[str]:
    """Return the steps that the page lists, in its order."""
    rows = re.findall(
        r"^\| [A-Z][^|]*\? \| (`.*?`) \|$", PAGES["docs/architecture.md"], re.MULTILINE
    )
    return [step for row in rows for step in re.findall(r"`(\w+)`", row)]


@pytest.mark.parametrize("page", PAGES)
def test_every_place_that_is_named_exists(page: str) -> None:
    """Placeholders are in capitals, such as NAME.py."""
    named = re.findall(r"`((?:pipeline|sql|tests|docs)/[\w/.-]+)`", PAGES[page])
    there = [name for name in named if "NAME" not in name]
    assert len(there) > 10
    assert [name for name in there if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("step", steps())
def test_a_step_reads_only_what_the_page_lists_before_it(step: str) -> None:
    name = "last_documents_at" if step in LOCATIONS else step
    code = re.sub(r"--.*", "", (STEPS / f"{name}.sql").read_text(encoding="utf-8"))
    code = code.replace("${locations}", LOCATIONS.get(step, ""))
    inputs = set(re.findall(r"\b(?:FROM|JOIN)\s+\(?(?:FROM\s+)?(\w+)", code))
    later_steps = {*steps()[steps().index(step) :]}
    assert inputs & later_steps == set()
    assert inputs & {*steps(), *GIVEN}


def test_the_steps_are_those_of_the_ingest() -> None:
    code = (ROOT / "pipeline/ingest/resolve.py").read_text()
    assert len(steps()) > 15
    assert [step for step in steps() if f'"{step}"' not in code] == []
