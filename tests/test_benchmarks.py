"""Every benchmark runs at a tiny size, so that none rots; what it measures there means nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
# That of Spark takes minutes at any size; tests/spark asks the same of a smaller lake.
NO_TEST = {"__main__", "data", "measure", "spark"}
NAMES = sorted({path.stem for path in FOLDER.glob("*.py")} - NO_TEST)


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulated data that the benchmarks share."""
    return tmp_path_factory.mktemp("bench")


@pytest.mark.slow
def test_all_find_what_they_import() -> None:
    modules = ", ".join(sorted({*NAMES, *NO_TEST} - {"__main__"}))
    done = subprocess.run(
        [sys.executable, "-c", f"import {modules}"],
        env={**os.environ, "PYTHONPATH": f"{FOLDER}:{FOLDER.parent}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_benchmark_writes_its_section(name: str, scratch: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.md"
    results.write_text("# Results\n\n## another\n\nkept\n\n## " + name + "\n\nold\n")
    options = ["--games", "70", "--runs", "1", "--results", str(results)]
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), *options],
        env={**os.environ, "MAGIC_BENCH": str(scratch), "PYTHONPATH": str(FOLDER.parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    text = results.read_text(encoding="utf-8")
    # 1 where a limit is missed, as it may be at this size.
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr
    assert text.count(f"\n## {name}\n") == 1, done.stderr
    assert "| case | measured | baseline | ratio |" in text, done.stderr
    assert "kept" in text
    assert "\nold\n" not in text
    assert str(scratch) not in text
