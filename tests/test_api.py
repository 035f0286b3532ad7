"""The Python face of a lake: it answers as what is beneath it."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import pipeline
from pipeline.api import Lake
from pipeline.errors import LakeError, UsageError
from pipeline.reports.completeness import readability
from pipeline.reports.plan import plan
from pipeline.reports.ranking import leaderboard


@pytest.fixture(scope="module")
def lake(two_models: Lake) -> Lake:
    return two_models


@pytest.mark.parametrize(
    ("beneath", "asked"),
    [
        (leaderboard, {"model": ["cohere"], "confidence": 0.5, "include_incomplete": True}),
        (leaderboard, {"edition": "release", "num_of_game": 3}),
        (readability, {"edition": "audited"}),
        (plan, {"power": 0.9, "confidence": 0.9, "edition": "audited", "difference": 0.2}),
    ],
)
def test_a_method_answers_as_what_is_beneath(
    lake: Lake, beneath: Callable[..., pl.DataFrame], asked: dict[str, object]
) -> None:
    method = getattr(lake, beneath.__name__)
    assert_frame_equal(method(**asked), beneath(lake, **asked))


@pytest.mark.parametrize("method", ["metrics", "sql"])
def test_a_damaged_file_is_an_error_of_the_lake_in_python_too(
    lake: Lake, tmp_path: Path, method: str
) -> None:
    shutil.copytree(str(lake.path), tmp_path / "lake")
    damaged = pipeline.open_lake(tmp_path / "lake")
    (name,) = list(damaged.file_sizes_bytes("results"))[:1]
    file = tmp_path / "lake" / "results" / name
    file.write_bytes(b"x" * (file.stat().st_size - 4) + b"PAR1")
    what = "table `results`" if method == "sql" else "lake"
    with pytest.raises(LakeError, match=rf"^the {what} cannot be read: .*run `magic verify`"):
        getattr(damaged, method)(*(["FROM results"] if method == "sql" else []))


@pytest.mark.some(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "method"),
    [
        ("judgement", 'lake.metrics(metric="judgement")'),
        ("metrics", "lake.metrics()"),
        ("leaderboard", "lake.leaderboard()"),
        ("settings", "lake.settings()"),
        ("evidence.reasoning", 'lake.evidence("reasoning")'),
        ("audit.scores", 'lake.findings("scores")'),
        ("terms_audited.metrics", None),
    ],
)
def test_a_view_is_no_table_and_says_how_it_is_read(
    lake: Lake, view: str, method: str | None
) -> None:
    with pytest.raises(UsageError) as refusal:
        lake.table(view)
    query, *calls = re.findall("`(lake[^`]*)`", str(refusal.value))
    assert str(refusal.value).startswith(f"`{view}` is a view, not a table: use")
    assert query == f'lake.sql("FROM {view}")'
    assert calls == ([method] if method else [])
    for call in (query, *calls):
        assert eval(call, {"lake": lake}).width


def test_a_name_of_nothing_is_told_with_what_there_is(lake: Lake) -> None:
    for name, meant in (("vote", "votes"), ("judgment", "judgement")):
        with pytest.raises(UsageError, match=rf"^no table `{name}`: did you mean `{meant}`\?$"):
            lake.table(name)
    with pytest.raises(UsageError, match=r"^no table `weather`: choose from documents, "):
        lake.table("weather")


def test_a_game_is_found_by_what_it_is_and_opened_by_its_id(lake: Lake) -> None:
    found = lake.games(model="gpt-4", game_type="undercover")
    assert found.height > 0
    assert set(found["game_type"]) == {"undercover"}
    for game_id, path, outcome in found.select("game_id", "path", "outcome").iter_rows():
        assert lake.game(game_id[:10]).game["game_id"] == game_id
        assert game_id in lake.games(outcome=outcome, path=path)["game_id"]
    game = lake.game(found["game_id"][0])
    assert_frame_equal(game.players, game.tables["players"])
    assert game.messages["message_index"].to_list() == list(range(game.messages.height))
    assert all(text.split("\n")[0].strip() in game.text for text in game.messages["content"])
    assert lake.games(limit=2).equals(lake.games().head(2))


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
