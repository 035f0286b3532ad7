"""Variants of a task, such as prompts: they are one cluster of an interval and one pair."""

import json
from pathlib import Path

import polars as pl
import pytest

import pipeline
from pipeline.ingest import ingest
from pipeline.lake import StoredLake

N_TASKS, PROMPTS = 8, ("v1", "v2", "v3")


def make_lake(folder: Path, setting: dict[str, object], *, is_repeatable: bool = True) -> Path:
    """Eight tasks that are won by every prompt or by none, but for two with v2 alone.

    "ann" and "bob" play alike. `setting` is what the setting has beside task and prompt.
    """
    games = [
        {
            "magic_interchange": 1,
            "system": "lab",
            "game_type": "prisoners_dilemma",
            "setting": {"task": task, "model": {"prompt": prompt}, "prompt": prompt, **setting},
            "is_repeatable": is_repeatable,
            "is_finished": True,
            "seats": [
                {"player": "Uma", "model": model, "score": 5 if is_won else 1},
                {"player": "bot", "is_bot": True, "score": 3},
            ],
            "events": [{"text": f"{model} {task} {prompt}"}],
        }
        for model in ("ann", "bob")
        for task in range(N_TASKS)
        for prompt in PROMPTS
        for is_won in [task % 2 == 0 or (prompt == "v2" and task < 4)]
    ]
    folder.mkdir()
    (folder / "games.jsonl").write_text("".join(f"{json.dumps(game)}\n" for game in games))
    ingest(folder / "games.jsonl", folder / "lake", jobs=1)
    return folder / "lake"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> pipeline.Lake:
    folder = tmp_path_factory.mktemp("plain") / "logs"
    return pipeline.open_lake(make_lake(folder, {"model": None}))


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> pipeline.Lake:
    folder = tmp_path_factory.mktemp("stated") / "logs"
    keys = ["prompt", "model.prompt", "temperature"]
    return pipeline.open_lake(make_lake(folder, {"variant_keys": keys}))


def test_groups_that_differ_in_a_key_are_paired_by_the_rest(plain: pipeline.Lake) -> None:
    """v2 wins two of eight tasks more, so it is 2/8 better, on eight common tasks."""
    rows = plain.contrast("ann", "setting.prompt", metric="win_rate")
    pair = rows.filter(pl.col("setting.prompt") == "v1", pl.col("other") == "v2")
    assert pair["method"].item() == "paired by setting"
    assert pair["n_settings"].item() == N_TASKS
    assert pair["difference"].item() == pytest.approx(-0.25)


def test_a_method_that_is_a_key_is_paired_by_the_rest(plain: pipeline.Lake) -> None:
    """v2 wins 6 of 8, and the other prompts 8 of 16: each task is one pair of both."""
    rows = plain.compare_with("setting.prompt=v2", metric="win_rate")
    assert {*rows["method"]} == {"paired by setting"}
    assert rows["n_settings"].to_list() == [N_TASKS] * 3
    assert rows["difference"].to_list() == pytest.approx([0.25] * 3)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_stated_variants_are_one_cluster(
    plain: pipeline.Lake, stated: pipeline.Lake, engine: str
) -> None:
    """The interval is that of eight settings of three items, and not of 24 settings."""
    asked = {"metric": "win_rate", "by": "model", "engine": engine}
    rows, of_settings = stated.metrics(**asked), plain.metrics(**asked)
    assert rows["value"].to_list() == of_settings["value"].to_list()
    assert (rows["effective_items"] < 12).all()
    assert (of_settings["effective_items"] > 20).all()
    # As many games are expected of every model as before.
    assert rows["n_expected"].to_list() == of_settings["n_expected"].to_list() == [24, 24]


def test_models_are_compared_on_tasks(stated: pipeline.Lake) -> None:
    (row,) = stated.compare(("ann", "bob"), metric="win_rate").to_dicts()
    assert (row["n_settings"], row["method"]) == (N_TASKS, "paired by setting")


def test_one_task_alone_is_clustered_by_game(tmp_path: Path) -> None:
    """Without the prompt, settings of a prompt alone are one: there are no tasks to compare."""
    lake = pipeline.open_lake(make_lake(tmp_path / "one", {"task": 0, "model": None}))
    rows = lake.contrast("ann", "setting.prompt", metric="win_rate")
    assert {*rows["method"]} == {"unpaired"}
    by_prompt = lake.metrics(metric="win_rate", by=["model", "setting.prompt"])
    assert {*by_prompt["ci_method"]} == {"mid-p, clustered by game"}
    assert (by_prompt["effective_items"] > 2).all()


def test_games_that_nobody_can_repeat_stay_apart(tmp_path: Path) -> None:
    keys = {"variant_keys": ["prompt"]}
    lake = pipeline.open_lake(make_lake(tmp_path / "own", keys, is_repeatable=False))
    assert isinstance(lake, StoredLake)
    rows = lake.contrast("ann", "setting.prompt", metric="win_rate")
    assert {*rows["method"]} == {"unpaired"}


def test_the_keys_are_a_list_of_texts(tmp_path: Path) -> None:
    lake = pipeline.open_lake(make_lake(tmp_path / "bad", {"variant_keys": "prompt"}))
    faults = lake.table("quarantine").collect()
    assert "$.setting.variant_keys" in {*faults["json_path"]}
