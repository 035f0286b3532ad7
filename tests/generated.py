"""Renews the texts and pictures of the checkout that a program writes; `make generated` runs it.

Without arguments it renews the tables of the docs, which belong into each change. With `--release`
it also renews what shows numbers of the sample or of real logs: docs/systems.md, notebooks and
pictures. docs/systems.md needs the shared data, and pictures need a Chromium ($CHROMIUM or on the
path). What is missing is named and skipped.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

TOP = Path(__file__).resolve().parent.parent
SHARED = (TOP / os.environ.get("MAGIC_SHARED", "../shared")).resolve()
RENEW = "run `make generated`, and read what it changed"
RENEW_FOR_RELEASE = "run `make generated RELEASE=1`, and read what it changed"
PYTHON = sys.executable


def iter_commands(lake: str, is_for_release: bool) -> Iterator[tuple[str, list[str], str]]:
    """Yield what each command writes, the command, and what it needs but is missing."""
    sample = ["-m", "pipeline", "ingest", "data/sample/results", "--lake", lake]
    yield "a lake of the sample", [PYTHON, *sample], ""
    yield "docs/tables.md", [PYTHON, "tests/tables_page.py"], ""
    yield "docs/sql.md", [PYTHON, "tests/test_cookbook.py", lake], ""
    if not is_for_release:
        return
    has_shared = (SHARED / "real").is_dir()
    missing = "" if has_shared else "the shared data"
    yield "docs/systems.md", [PYTHON, "tests/systems_page.py"], missing
    yield "notebooks/", [PYTHON, "tests/notebook_runs.py"], ""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    is_same = [PYTHON, "docs/pictures/make.py", "--check"]
    if subprocess.run(is_same, cwd=TOP, env=environment(), check=False).returncode:
        pictures = [PYTHON, "docs/pictures/make.py"]
        yield "docs/pictures/", pictures, "" if chromium else "a Chromium"


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{TOP}:{TOP / 'tests'}", "MAGIC_SHARED": str(SHARED)}


def main() -> int:
    with TemporaryDirectory(prefix="magic-") as scratch:
        lake = str(Path(scratch) / "lake")
        for written, command, missing in iter_commands(lake, "--release" in sys.argv):
            if missing:
                print(f"skipped {written}: {missing} is missing")
                continue
            subprocess.run(command, cwd=TOP, env=environment(), check=True, stdout=sys.stderr)
            print(f"renewed {written}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
