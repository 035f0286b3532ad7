"""What the documents say holds: commands run, tables are as described, the sample is ours."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.simulate import simulate

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def magic(*arguments: str, lake: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pipeline.cli", *arguments],
        cwd=ROOT,
        env={**os.environ, "MAGIC_LAKE": str(lake), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("docs") / "lake"
    done = magic("ingest", "data/sample/results", lake=path)
    assert done.returncode == 0, done.stderr
    return path


def readme_commands() -> list[list[str]]:
    """README's `magic` commands as words, their comments and placeholders aside."""
    blocks = re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("magic ")]


def test_readme_has_commands() -> None:
    assert len(readme_commands()) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("words", readme_commands(), ids=" ".join)
def test_readme_command(words: list[str], lake: Path) -> None:
    own = ["data/sample/results" if word == "results/" else word for word in words]
    done = magic(*own, lake=lake)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_readme_python(lake: Path, tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / "lake").symlink_to(lake)
    subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )


def test_tables_are_as_described(lake: Path) -> None:
    printed = magic("schema", "--format", "markdown", lake=lake).stdout
    assert (ROOT / "docs" / "tables.md").read_text(encoding="utf-8").endswith(printed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_sample_is_what_its_command_writes(tmp_path: Path) -> None:
    simulate(tmp_path / "sample", models=4, games=4, seed=1)
    assert contents(tmp_path / "sample") == contents(ROOT / "data" / "sample")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "README.md"
    }
