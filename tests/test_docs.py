"""What the documents say holds: commands run, tables are as described, the sample is ours."""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tables_page
from generated import RENEW, RENEW_FOR_RELEASE

import pipeline
from pipeline.cli import main
from pipeline.cli.command import Command
from pipeline.conversion import iter_converted_documents
from pipeline.ingest import ingest
from pipeline.pages import (
    compute_page_content,
    page_link,
    parse_page_parameters,
    render_page_fragment,
)
from pipeline.simulate import simulate

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


Magic = Callable[..., str]


@pytest.fixture
def magic(
    lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
    queries_here: None,
) -> Magic:
    """Runs a command that goes well in this process, in a folder with our data."""
    (tmp_path / "data").symlink_to(ROOT / "data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAGIC_LAKE", str(lake))

    def run(words: list[str]) -> str:
        code = main(["data/sample/results" if word == "results/" else word for word in words])
        out, err = capsysbinary.readouterr()
        assert code == 0, f"{words}: {err.decode()}"
        assert out or err, words
        return out.decode()

    return run


@pytest.fixture(scope="module")
def lake(sample_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of the sample, which commands can change."""
    return shutil.copytree(sample_lake, tmp_path_factory.mktemp("docs") / "lake")


# A page for each task: their commands run on the sample.
GUIDES = [
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
    *(ROOT / "docs" / name for name in ("editions.md", "export.md")),
]


def commands(page: str) -> list[list[str]]:
    """A page's `magic` commands as words, without their comments and the files they write to."""
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    asked = [line.partition(" > ")[0] for line in lines if line.startswith("magic ")]
    return [shlex.split(line, comments=True)[1:] for line in asked]


def test_the_file_for_citations_has_the_version() -> None:
    assert f"\nversion: {pipeline.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("words", commands(README), ids=" ".join)
def test_readme_command(words: list[str], magic: Magic) -> None:
    assert magic(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_of_a_page_are_understood(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is one of ours, with options that it has and values that they can have.

    Those of the tutorial have lines within quotes; a test of its own runs them all.
    """
    if page.stem == "tutorial":
        return
    monkeypatch.setattr(Command, "invoke", lambda *_: None)
    for words in commands(page.read_text(encoding="utf-8")):
        assert main(words) == 0, words


@pytest.mark.some(5)
@pytest.mark.slow
@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_commands_of_a_guide(guide: Path, magic: Magic) -> None:
    for words in commands(guide.read_text(encoding="utf-8")):
        magic(words)


QUESTIONS = re.findall(
    r"^\| ([^|]*\?) \| ([^|]*) \| ([^|]*) \|$",
    (ROOT / "docs/howto/index.md").read_text(),
    re.MULTILINE,
)


@pytest.fixture(scope="module")
def both(sample_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample after one ingest, and after a second one that adds what it lacks.

    That is the same games as of another system, and one model without its method.
    """
    lake = shutil.copytree(sample_lake, tmp_path_factory.mktemp("questions") / "lake")
    logs = [
        json.loads(one.line)
        for one in iter_converted_documents(ROOT / "data/sample/results")
        if one.line
    ]
    more = []
    for log in logs:
        del log["log_sha256"]
        more.append({**log, "system": "my-harness"})
        if (text := json.dumps(log)) != (renamed := text.replace("sim-birch-pgm", "sim-birch")):
            more.append(json.loads(renamed))
    (lake.parent / "more.jsonl").write_text("\n".join(map(json.dumps, more)))
    ingest(lake.parent / "more.jsonl", lake)
    return lake


@pytest.mark.some(6)
@pytest.mark.slow
@pytest.mark.parametrize(("asked", "page"), [found[1:] for found in QUESTIONS])
def test_a_question_has_a_command_and_a_page_that_answer(
    asked: str,
    page: str,
    both: Path,
    *,
    sample_lake: Path,
    magic: Magic,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAGIC_LAKE", str(both))
    (tmp_path / "mine.py").write_text("from pipeline.metrics.judgement import PAPER")
    other = "gpt-4" if "between" in asked else "sim-atlas"
    names = {"A": "sim-birch-pgm", "B": other, "PROMPT": "hidden"}
    names |= {"before/": str(sample_lake), "after/": str(both)}
    for command in re.findall("`magic ([^`]*)`", asked):
        words = re.sub(r"before/|after/|\b(A|B|PROMPT)\b", lambda one: names[one[0]], command)
        shown = magic([*shlex.split(words), *(["--all"] if words.startswith("diff") else [])])
        assert len(shown.splitlines()) > 2 or shown.startswith("<svg"), command
    if found := re.match(r"\*(\w+)\*(?:: (.*))?", page):
        name, fields = found.groups()
        asked_of = parse_page_parameters(name, {})
        html = render_page_fragment(
            name,
            compute_page_content(name, pipeline.open_lake(both), asked_of),
            asked_of,
            page_link,
        )
        for field in () if "click" in (fields or "click") else fields.split(", "):
            assert field.partition(" `")[0].lower() in html.lower()
    else:
        assert page.startswith("`magic view")


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/howto/python.md"])
def test_python_of_a_page(page: str, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "lake").symlink_to(lake)
    with contextlib.chdir(tmp_path):
        exec("\n".join(python_blocks(page)), {"__name__": "__main__"})


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def test_tables_are_as_described(magic: Magic) -> None:
    printed = magic(["schema", "--format", "markdown"])
    page = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert page.partition(tables_page.MARK)[2] == "\n" + tables_page.sections(printed), RENEW


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_place_that_is_named_exists(page: str) -> None:
    """Placeholders are in capitals, such as NAME.py."""
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:pipeline|sql|tests|docs)/[\w/.-]+)`", text)
    places = [name for name in named if "NAME" not in name]
    assert len(places) > 10
    assert [name for name in places if not (ROOT / name).exists()] == []


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


@pytest.mark.long
def test_the_pictures_are_of_the_pages_as_they_are() -> None:
    done = subprocess.run(
        [sys.executable, "docs/pictures/make.py", "--check"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, RENEW_FOR_RELEASE
