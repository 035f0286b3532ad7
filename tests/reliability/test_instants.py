"""What a kill while a lake is made leaves, the next command makes whole."""

import re
from pathlib import Path

import pytest
from lakes import check, table
from rawlogs import encode, prisoners_dilemma

from pipeline.errors import LakeError
from pipeline.ingest import ingest
from pipeline.lake import open_lake

# What a kill leaves in the folder of a log: a commit begun, or empty after a power loss.
LEFT = {"begun": f"{0:020}.json#1", "half": f"{0:020}.json#2", "empty": f"{0:020}.json"}


def is_new(lake: Path) -> bool:
    """Whether the lake opens empty, or is said not to be one yet."""
    try:
        return table(lake, "games").is_empty()
    except LakeError as error:
        assert re.search("no such lake|not a lake yet", str(error)), error
        return True


@pytest.mark.some(1)
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
