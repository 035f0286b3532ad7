"""How to cite: what is said is true of the lake, and the same wherever it is said."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from test_latex import typeset

import pipeline
from pipeline.api import Lake
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.lake import open_or_create_lake
from pipeline.reports.cite import BENCHMARK_CITATION, TOOL_CITATION
from pipeline.vocabulary import EDITIONS

TOP = Path(pipeline.__file__).parent.parent


@pytest.fixture(scope="module")
def lake(two_models: Lake) -> Lake:
    return two_models


def test_the_sentence_names_the_state_edition_and_version(lake: Lake) -> None:
    for edition in EDITIONS:
        said = lake.cite(edition=edition).sentence
        games = lake.sql("SELECT count(*) n, count_if(is_finished) f FROM games").row(0)
        at = lake.sql("SELECT finished_at FROM ingests WHERE ingest_id = 2").item()
        assert f"{games[0]:,} games ({games[1]:,} finished)" in said
        assert f"after ingest 2 of {at:%Y-%m-%d %H:%M} UTC" in said
        assert f"magic-pipeline {pipeline.__version__}, edition {edition} " in said


def test_an_older_state_and_an_empty_lake(lake: Lake, tmp_path: Path) -> None:
    older = pipeline.open_lake(str(lake.path), as_of=1).cite()
    assert (older.ingest_id, older.n_games) < (2, lake.cite().n_games)
    open_or_create_lake(tmp_path / "empty")
    empty = pipeline.open_lake(tmp_path / "empty").cite()
    assert (empty.ingest_id, empty.ingested_at, empty.n_games) == (0, None, 0)
    assert "before the first ingest" in empty.sentence
    with pytest.raises(UsageError, match="choose from paper"):
        lake.cite(edition="other")


def test_the_command_prints_it(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "--lake", str(lake.path)]) == 0
    said = capsys.readouterr().out
    assert (
        said == f"Values: {lake.cite().sentence}\nTool: {TOOL_CITATION}\n"
        f"Benchmark: {BENCHMARK_CITATION}\n"
    )
    assert main(["cite", "--lake", str(lake.path), "--format", "bibtex"]) == 0
    entries = capsys.readouterr().out
    assert re.findall(r"^@(\w+)\{([\w-]+),$", entries, re.MULTILINE) == [
        ("software", "magic-pipeline"),
        ("misc", "magic"),
    ]
    assert lake.cite().sentence in entries


def test_a_system_of_any_name_is_quoted(lake: Lake) -> None:
    """A log may name its system as it likes: neither a terminal nor BibTeX takes it for more."""
    name = "a_b\x1b[2J } \\input{x} % 5$\n@misc{evil,"
    cited = replace(lake.cite(), system=name)
    assert r"of the system a_b\x1b[2J } \input{x} % 5$ @misc{evil," in cited.sentence
    assert cited.text.count("\n") == 3
    (note,) = re.findall(r"^  note    = \{(.*)\},$", cited.bibtex, re.MULTILINE)
    assert typeset(note) == cited.sentence
    # It counts braces, whatever is before them.
    assert re.sub(r"\{\}|\{[\[\]*]\}", "", note).count("{") == 0
    assert cited.bibtex.count("{") == cited.bibtex.count("}")
    assert re.findall(r"^@", cited.bibtex, re.MULTILINE) == ["@", "@"]
