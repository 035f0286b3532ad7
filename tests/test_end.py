"""What a command prints when it ends: nothing but what it has to say."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("verify",), ("sql", "FROM games LIMIT 1")])
def test_libraries_say_nothing_in_the_end(sample_lake: Path, arguments) -> None:
    command = [sys.executable, "-m", "pipeline", *arguments, "--lake", str(sample_lake)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "leaked" not in ended.stderr
    assert len(ended.stderr.splitlines()) <= 3, ended.stderr
