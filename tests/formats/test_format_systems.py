"""Formats of other systems: each can be removed from the package alone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from pipeline.formats import systems

PACKAGE = Path(pipeline.__file__).parent
SYSTEMS = sorted(
    path.stem
    for path in Path(systems.__file__).parent.iterdir()
    if path.name not in ("__init__.py", "__pycache__")
)
INGEST = """
import sys
from pipeline.formats import available_formats
from pipeline.ingest import ingest
modules = {
    one.__name__ if hasattr(one, "__name__") else type(one).__module__
    for one in available_formats()
}
assert not any(name.startswith(f"pipeline.formats.systems.{sys.argv[1]}") for name in modules)
assert ingest(sys.argv[2], sys.argv[3]).statuses["ingested"] > 0
"""


@pytest.mark.some(2)
@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_can_be_removed(system: str, tmp_path: Path) -> None:
    """Without its module, all others are there and logs of MAgIC are read."""
    shutil.copytree(PACKAGE, tmp_path / "pipeline", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PACKAGE.parent / "sql", tmp_path / "sql")
    shutil.copy(PACKAGE.parent / "pyproject.toml", tmp_path)  # beside it, SQL files are found
    found = tmp_path / "pipeline" / "formats" / "systems" / system
    if found.is_dir():
        shutil.rmtree(found)
    else:
        found.with_suffix(".py").unlink()
    logs = PACKAGE.parent / "data" / "sample" / "results" / "undercover"
    subprocess.run(
        [sys.executable, "-c", INGEST, system, logs, tmp_path / "lake"],
        check=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
