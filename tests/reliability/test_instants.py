"""A kill while a lake is made leaves what the next command makes whole.

`instants.py` has the same for every command that writes a lake; this is a part of it, in seconds.
"""

import re
import shutil
from pathlib import Path

import pytest
from instants import built, steps
from lakes import check, table
from rawlogs import encode, prisoners_dilemma

from pipeline.errors import LakeError
from pipeline.events.contracts import TABLES
from pipeline.ingest import ingest
from pipeline.lake import open_lake, open_or_create_lake

MAKE = "import sys; from pipeline.lake import open_or_create_lake; open_or_create_lake(sys.argv[1])"
# What a kill leaves in the folder of a log: a commit begun, or empty after a power loss.
LEFT = {"begun": f"{0:020}.json#1", "half": f"{0:020}.json#2", "empty": f"{0:020}.json"}


def is_new(lake: Path) -> bool:
    """Whether the lake opens empty, or is said not to be one yet."""
    try:
        return table(lake, "games").is_empty()
    except LakeError as error:
        assert re.search("no such lake|not a lake yet", str(error)), error
        return True


@pytest.mark.slow
def test_a_lake_is_made_whatever_a_kill_left(tmp_path: Path) -> None:
    """Of the instants that differ by the table alone, one is tried."""
    library = built(tmp_path)
    if library is None:
        pytest.skip("needs Linux and a C compiler named cc")
    lake, copy = tmp_path / "lake", tmp_path / "copy"
    others = "|".join(name for name in TABLES if name != "ingests")
    kinds = set()
    for step in steps(library, lake, ["-c", MAKE, lake]):
        kind = re.sub(rf"\b({others})\b", "TABLE", step)
        if lake.exists() and kind not in kinds:
            kinds.add(kind)
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(lake, copy)
            assert is_new(copy), step
            assert open_or_create_lake(copy).existing_tables == tuple(TABLES), step
            assert is_new(copy), step
    assert len(kinds) > len(("mkdir", "open", "write", "link", "unlink")) * 2


@pytest.mark.some(2)
@pytest.mark.parametrize("what", LEFT)
@pytest.mark.parametrize("name", ["votes", "ingests"])
def test_what_a_kill_left_in_a_log_is_no_table(tmp_path: Path, name: str, what: str) -> None:
    """In the table by which a lake is known, and in any other."""
    lake, logs = tmp_path / "lake", tmp_path / "logs"
    logs.mkdir()
    (logs / "1.json").write_bytes(encode(prisoners_dilemma()))
    log = lake / name / "_delta_log"
    log.mkdir(parents=True)
    (log / LEFT[what]).write_text('{"protocol":' if what == "half" else "")
    assert is_new(lake)
    assert ingest(logs, lake).statuses["ingested"] == 1
    check(lake)


def test_a_lake_that_another_makes_meanwhile(
    sample_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that looked for its ingests before its tables does not take it for damaged."""
    looks = [False, False]
    monkeypatch.setattr("pipeline.lake.is_lake", lambda _: not looks or looks.pop())
    with pytest.raises(LakeError, match="not a lake yet"):
        open_lake(sample_lake)
