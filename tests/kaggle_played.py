"""Games that kaggle-environments plays in a Python of its own, in a lake."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.verify import verify


def played(script: Path, folder: Path) -> tuple[dict[str, Any], StoredLake]:
    """What the script counted of its games, and a lake of these, in which nothing is wrong.

    Skips the test where `$KAGGLE_PYTHON` names no Python with the package.
    """
    if "KAGGLE_PYTHON" not in os.environ:
        pytest.skip("no kaggle-environments: name a Python that has it in $KAGGLE_PYTHON")
    (folder / "logs").mkdir()
    command = [os.environ["KAGGLE_PYTHON"], str(script), str(folder / "logs")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    ingest(folder / "logs", folder / "lake", jobs=1)
    lake = open_lake(folder / "lake")
    assert lake.table("quarantine").collect().is_empty()
    assert verify(lake.path).faults.is_empty()
    return json.loads(printed.splitlines()[-1]), lake
