"""The pages for contributors name places that exist, and the ingest's SQL as it is."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md",)}
PAGES["docs/architecture.md"] = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
STEPS = ROOT / "sql" / "internal" / "ingest"
# What the steps are made of before any of them is.
GIVEN = {"documents", "found", "lake_games", "again", "before", "faults_without_raw", "last_seen"}
# The steps that are one statement, of other locations.
LOCATIONS = {"last_here": "seen", "last_elsewhere": "further_locations"}


def table() -> dict[str, set[str]]:
    """The page's table of steps: what each is made of."""
    rows = re.findall(r"^\| `(\w+)` \| (`.*?`) \| ", PAGES["docs/architecture.md"], re.MULTILINE)
    return {step: set(re.findall(r"`(\w+)`", made_of)) for step, made_of in rows}


@pytest.mark.parametrize("page", PAGES)
def test_every_place_that_is_named_exists(page: str) -> None:
    """Placeholders are in capitals, such as NAME.py."""
    named = re.findall(r"`((?:pipeline|sql|tests|docs)/[\w/.-]+)`", PAGES[page])
    there = [name for name in named if "NAME" not in name]
    assert len(there) > 10
    assert [name for name in there if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("step", table())
def test_a_step_is_made_of_what_the_page_says(step: str) -> None:
    file = STEPS / f"{'last_at' if step in LOCATIONS else step}.sql"
    code = re.sub(r"--.*", "", file.read_text(encoding="utf-8"))
    code = code.replace("${locations}", LOCATIONS.get(step, ""))
    read = set(re.findall(r"\b(?:FROM|JOIN)\s+\(?(?:FROM\s+)?(\w+)", code))
    assert read & {*table(), *GIVEN} == table()[step]


def test_the_steps_are_those_of_the_ingest() -> None:
    """A step is made of what is given and of those above it."""
    code = (ROOT / "pipeline/ingest/resolve.py").read_text()
    known = set(GIVEN)
    for step, made_of in table().items():
        assert f'"{step}"' in code
        assert made_of <= known, step
        known.add(step)
