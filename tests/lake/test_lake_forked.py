"""A lake in a process that was forked: read, or refused with what to do, but never waited for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import LakeError
from pipeline.lake import open_lake, open_or_create_lake

FORKED = """
import multiprocessing, sys
import pipeline

def n_rows(_):
    return (lake if sys.argv[2] == "copied" else pipeline.open_lake(sys.argv[1])).metrics().height

if __name__ == "__main__":
    if sys.argv[2] != "first":
        lake = pipeline.open_lake(sys.argv[1])
        lake.metrics()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        try:
            print(pool.map_async(n_rows, [0]).get(timeout=60))
        except pipeline.errors.LakeError as error:
            print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("lake", "says"), [("copied", '"spawn"'), ("first", "[")])
def test_a_process_that_was_forked_reads_or_says_why_not(
    sample_lake: Path, lake: str, says: str
) -> None:
    """The threads of the libraries are not in a fork: where a lake was open, it waited for ever."""
    command = [sys.executable, "-W", "ignore", "-c", FORKED, sample_lake, lake]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=90)
    assert says in done.stdout


def test_a_fork_of_a_process_with_a_lake_is_refused(
    empty_lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For what it opens, has open, or makes."""
    lake = open_lake(empty_lake)
    lake.table("votes")
    monkeypatch.setattr(os, "getpid", lambda: 0)
    for act in (
        lambda: open_lake(empty_lake),
        lambda: lake.table("votes"),
        lambda: open_or_create_lake(tmp_path / "new"),
    ):
        with pytest.raises(LakeError, match=r'forked .*"spawn"'):
            act()
