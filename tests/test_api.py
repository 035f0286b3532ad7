"""The Python face of a lake: it answers as what is beneath it, and its help leads there."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from pydoc import locate

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rawlogs import write_logs

import pipeline
from pipeline.api import Lake
from pipeline.errors import LakeError
from pipeline.ingest import ingest
from pipeline.metrics import metrics
from pipeline.metrics.evidence import evidence
from pipeline.reports.audit import audit
from pipeline.reports.compare import compare
from pipeline.reports.completeness import completeness, readability
from pipeline.reports.diff import diff
from pipeline.reports.plan import plan
from pipeline.reports.ranking import leaderboard

METHODS = {name: one for name, one in vars(Lake).items() if callable(one) and name[0] != "_"}
FUNCTIONS: list[Callable[..., pl.DataFrame]] = [
    *(audit, compare, completeness, diff, evidence, leaderboard, metrics, plan, readability)
]
BENEATH = {one.__name__: one for one in FUNCTIONS}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    top = tmp_path_factory.mktemp("api")
    for model in ("gpt-4", "cohere"):
        ingest(write_logs(top / model, model), top / "lake")
    return pipeline.open_lake(top / "lake")


@pytest.mark.parametrize("name", METHODS)
def test_help_leads_to_what_is_there(name: str) -> None:
    named = re.findall(r"`(pipeline\.[\w.]+)`", METHODS[name].__doc__)
    assert [one for one in named if not callable(locate(one))] == []
    assert METHODS[name].__doc__


QUESTIONS = {
    "leaderboard": {"models": ["cohere"], "confidence": 0.5, "include_incomplete": True},
    "leaderboard of the release": {"edition": "release", "num_of_game": 3},
    "readability": {"edition": "audited"},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_method_answers_as_what_is_beneath(lake: Lake, question: str) -> None:
    name, asked = question.partition(" ")[0], QUESTIONS[question]
    assert_frame_equal(METHODS[name](lake, **asked), BENEATH[name](lake, **asked))


@pytest.mark.slow
def test_a_plan_and_a_difference(lake: Lake, tmp_path: Path) -> None:
    planned = lake.plan("win_rate", 0.2, power=0.9, level=0.1, edition="audited")
    asked = {"power": 0.9, "level": 0.1, "edition": "audited"}
    assert_frame_equal(planned, plan(lake, "win_rate", 0.2, **asked))
    ingest(write_logs(tmp_path / "other", "other"), tmp_path / "lake")
    after = pipeline.open_lake(tmp_path / "lake")
    moved = lake.diff(after, confidence=0.9)
    assert_frame_equal(moved, diff(lake, after, confidence=0.9))
    assert set(moved.filter(model="other")["reason"]) == {"only after"}
    for path in (tmp_path / "lake", str(tmp_path / "lake")):
        assert_frame_equal(lake.diff(path, confidence=0.9), moved)


@pytest.mark.parametrize("method", ["metrics", "leaderboard", "sql"])
def test_a_damaged_file_is_named_in_python_too(lake: Lake, tmp_path: Path, method: str) -> None:
    shutil.copytree(str(lake.path), tmp_path / "lake")
    damaged = pipeline.open_lake(tmp_path / "lake")
    (name,) = list(damaged.sizes("results"))[:1]
    file = tmp_path / "lake" / "results" / name
    file.write_bytes(b"x" * (file.stat().st_size - 4) + b"PAR1")
    with pytest.raises(LakeError, match=f"{name} of the table `results` has changed"):
        getattr(damaged, method)(*(["FROM results"] if method == "sql" else []))


def test_without_a_path_the_lake_is_that_of_the_command_line(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAGIC_LAKE", raising=False)
    with pytest.raises(LakeError, match=r"^lake: no such lake"):
        pipeline.open_lake()
    (tmp_path / "lake").symlink_to(str(lake.path))
    assert pipeline.open_lake().ingest_id == lake.ingest_id
    monkeypatch.setenv("MAGIC_LAKE", str(tmp_path / "other"))
    with pytest.raises(LakeError, match="other: no such lake"):
        pipeline.open_lake()
    monkeypatch.setenv("MAGIC_LAKE", "")
    assert pipeline.open_lake().ingest_id == lake.ingest_id
