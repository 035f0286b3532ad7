"""Variants of a task, such as prompts: they are one cluster of an interval and one pair."""

from pathlib import Path

import polars as pl
import pytest
from dilemmas import against_a_bot, lake_of_documents

from pipeline.api import Lake

N_TASKS, PROMPTS = 8, ("v1", "v2", "v3")


def make_lake(folder: Path, more: dict[str, object], *, is_repeatable: bool = True) -> Lake:
    """Eight tasks that are won by every prompt or by none, but for two with v2 alone.

    "ann" and "bob" play alike. `more` is what the setting has beside task and prompt.
    """
    games = (
        against_a_bot(
            model,
            is_won=task % 2 == 0 or (prompt == "v2" and task < 4),
            setting={"task": task, "model": {"prompt": prompt}, "prompt": prompt, **more},
            is_repeatable=is_repeatable,
            events=[{"text": f"{model} {task} {prompt}"}],
        )
        for model in ("ann", "bob")
        for task in range(N_TASKS)
        for prompt in PROMPTS
    )
    return lake_of_documents(folder, games)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return make_lake(tmp_path_factory.mktemp("plain") / "logs", {"model": None})


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    keys = ["prompt", "model.prompt", "temperature"]
    return make_lake(tmp_path_factory.mktemp("stated") / "logs", {"variant_keys": keys})


def test_groups_that_differ_in_a_key_are_paired_by_the_rest(plain: Lake) -> None:
    """v2 wins two of eight tasks more, so it is 2/8 better, on eight common tasks."""
    rows = plain.contrast("ann", "setting.prompt", metric="win_rate")
    pair = rows.filter(pl.col("setting.prompt") == "v1", pl.col("other") == "v2")
    assert pair["method"].item() == "paired by setting"
    assert pair["n_settings"].item() == N_TASKS
    assert pair["difference"].item() == pytest.approx(-0.25)


def test_a_method_that_is_a_key_is_paired_by_the_rest(plain: Lake) -> None:
    """v2 wins 6 of 8, and the other prompts 8 of 16: each task is one pair of both."""
    rows = plain.compare_with("setting.prompt=v2", metric="win_rate")
    assert {*rows["method"]} == {"paired by setting"}
    assert rows["n_settings"].to_list() == [N_TASKS] * 3
    assert rows["difference"].to_list() == pytest.approx([0.25] * 3)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_stated_variants_are_one_cluster(plain: Lake, stated: Lake, engine: str) -> None:
    """The interval is that of eight settings of three items, and not of 24 settings."""
    asked = {"metric": "win_rate", "by": "model", "engine": engine}
    rows, of_settings = stated.metrics(**asked), plain.metrics(**asked)
    assert rows["value"].to_list() == of_settings["value"].to_list()
    assert (rows["effective_items"] < 12).all()
    assert (of_settings["effective_items"] > 20).all()
    # As many games are expected of every model as before.
    assert rows["n_expected"].to_list() == of_settings["n_expected"].to_list() == [24, 24]


def test_models_are_compared_on_tasks(stated: Lake) -> None:
    (row,) = stated.compare(("ann", "bob"), metric="win_rate").to_dicts()
    assert (row["n_settings"], row["method"]) == (N_TASKS, "paired by setting")


def test_one_task_alone_is_clustered_by_game(tmp_path: Path) -> None:
    """Without the prompt, settings of a prompt alone are one: there are no tasks to compare."""
    lake = make_lake(tmp_path / "one", {"task": 0, "model": None})
    rows = lake.contrast("ann", "setting.prompt", metric="win_rate")
    assert {*rows["method"]} == {"unpaired"}
    by_prompt = lake.metrics(metric="win_rate", by=["model", "setting.prompt"])
    assert {*by_prompt["ci_method"]} == {"mid-p, clustered by game"}
    assert (by_prompt["effective_items"] > 2).all()


@pytest.mark.slow
def test_games_that_nobody_can_repeat_stay_apart(tmp_path: Path) -> None:
    keys = {"variant_keys": ["prompt"]}
    lake = make_lake(tmp_path / "own", keys, is_repeatable=False)
    rows = lake.contrast("ann", "setting.prompt", metric="win_rate")
    assert {*rows["method"]} == {"unpaired"}


def test_the_keys_are_a_list_of_texts(tmp_path: Path) -> None:
    lake = make_lake(tmp_path / "bad", {"variant_keys": "prompt"})
    faults = lake.table("quarantine").collect()
    assert "$.setting.variant_keys" in {*faults["json_path"]}
