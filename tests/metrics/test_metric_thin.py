"""What is thin, what was clustered, and what a condition leaves nothing of."""

import polars as pl
import pytest
from event_tables import ENGINES, Frames, lake_of, table

from pipeline.metrics import metrics
from pipeline.metrics.estimates import MIN_SETTINGS_OF_TERM
from pipeline.metrics.registry import SMALL_SAMPLE_DTYPE
from pipeline.reports.compare import compare
from pipeline.reports.diff import diff
from pipeline.reports.ranking import leaderboard
from pipeline.text_format import format_rounded_down


def votes(numbers: dict[str, int], **common: object) -> pl.DataFrame:
    """So many games of each model, with two votes each, and a setting of its own each."""
    text = ["game | model | role | setting_id | seat | is_correct"]
    number = 0
    for model, n in numbers.items():
        for _ in range(n):
            number += 1
            of_game = f"{number} | {model} | civilian | {number:032x}"
            text += [f"{of_game} | {seat} | yes" for seat in (1, 2)]
    return table("votes", "\n".join(text), game_type="undercover", **common)


def lake_with(folder, numbers: dict[str, int]):
    own = votes(numbers)
    text = own.select("game_id", "model", "setting_id").unique().sort("game_id").iter_rows()
    results = ["game | model | role | setting_id"]
    results += [
        f"{int(game, 16)} | {model} | civilian | {setting}" for game, model, setting in text
    ]
    sides = table("results", "\n".join(results), game_type="undercover")
    return lake_of(folder, {"votes": own, "results": sides})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_term_with_fewer_than_five_settings_is_thin(tmp_path, engine):
    """Settings count, not their items: four settings have eight votes."""
    lake = lake_with(tmp_path, {"four": MIN_SETTINGS_OF_TERM - 1, "five": MIN_SETTINGS_OF_TERM})
    found = metrics(lake, metric="judgement", by=["model"], engine=engine)
    assert found.schema["small_sample_terms"] == SMALL_SAMPLE_DTYPE
    assert dict(found.select("model", "small_sample_terms").iter_rows()) == {
        "four": [{"term": "votes", "n_effective": 4.0}],
        "five": [],
    }


def test_reports_name_what_is_thin(tmp_path):
    lake = lake_with(tmp_path, {"four": 4, "nine": 9})
    board = leaderboard(lake).select(
        "model", "judgement_small_sample_terms", "reasoning_small_sample_terms"
    )
    assert dict(zip(board["model"], board.drop("model").rows(), strict=True)) == {
        "four": ([{"term": "votes", "n_effective": 4.0}], None),
        "nine": ([], None),
    }
    (row,) = compare(lake, ("nine", "four"), metric="judgement").to_dicts()
    assert (row["small_sample_terms"], row["other_small_sample_terms"]) == (
        [],
        [{"term": "votes", "n_effective": 4.0}],
    )


def test_settings_with_few_items_count_for_less(tmp_path):
    """Two settings of thirty games each carry nearly all: (60 + 3)² / (30² + 30² + 1 + 1 + 1)."""
    own = votes({"m": 5})
    numbers = [30, 30, 1, 1, 1]
    games = own["game_id"].unique().sort()
    parts = [
        own.filter(game_id=game).with_columns(game_id=pl.lit(f"{n:02}") + pl.col("game_id"))
        for game, times in zip(games, numbers, strict=True)
        for n in range(times)
    ]
    sides = table("results", "game | role\n1 | civilian", game_type="undercover").clear()
    played = own.select("game_type", "setting_id", "model", "competition").unique()
    results = pl.concat([sides, played], how="diagonal").with_columns(
        is_tested=pl.lit(True), is_finished=pl.lit(True)
    )
    lake = Frames({"votes": pl.concat(parts), "results": results})
    (small_sample_terms,) = (
        metrics(lake, metric="judgement", by=["model"])["small_sample_terms"].item().to_list()
    )
    assert small_sample_terms["n_effective"] == pytest.approx(63**2 / 1803)
    assert format_rounded_down(small_sample_terms["n_effective"]) == "2.2"


def test_nine_settings_are_thin_beside_ninety(tmp_path):
    """Ninety games as undercover and nine as civilian: the nine may be of quite another rate."""
    text = ["game | model | role | setting_id | win_credit"]
    for n in range(99):
        role = "undercover" if n < 90 else "civilian"
        text.append(f"{n} | m | {role} | {n:032x} | {n % 2}")
    results = table("results", "\n".join(text), game_type="undercover")
    lake = lake_of(tmp_path, {"results": results})
    (row,) = metrics(lake, metric="win_rate", by=["model"]).to_dicts()
    assert [one["n_effective"] for one in row["small_sample_terms"] or []] == [9.0]


def test_the_method_says_what_was_clustered(tmp_path):
    """Settings; games, where there is one setting; and both, where competitions differ in that."""
    one_setting = votes({"m": 6}).with_columns(setting_id=pl.lit("0" * 32))
    both = pl.concat([votes({"m": 6}), one_setting.with_columns(game_id="x" + pl.col("game_id"))])
    other = pl.col("game_id").str.starts_with("x")
    both = both.with_columns(
        competition=pl.when(other).then(pl.lit("chameleon_as_chameleon")).otherwise("competition")
    )
    methods = {}
    for name, own in {"setting": votes({"m": 6}), "game": one_setting, "both": both}.items():
        results = own.select("game_id", "game_type", "setting_id", "model", "competition").unique()
        sides = pl.concat(
            [
                table("results", "game | role\n1 | civilian", game_type="undercover").clear(),
                results,
            ],
            how="diagonal",
        ).with_columns(is_tested=pl.lit(True), is_finished=pl.lit(True))
        lake = Frames({"votes": own, "results": sides})
        methods[name] = metrics(lake, metric="judgement", by=["model"])["ci_method"].item()
    assert methods == {
        "setting": "mid-p, clustered by setting",
        "game": "mid-p, clustered by game",
        "both": "mid-p, clustered by setting or game",
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_condition_that_leaves_nothing_of_a_metric_says_so(tmp_path, engine):
    """Votes are cast once, so that their round is 1."""
    lake = lake_with(tmp_path, {"m": 6})
    found = metrics(lake, metric="judgement", by=["model"], where="round > 1", engine=engine)
    (row,) = found.to_dicts()
    assert row["reason"] == "no row meets the condition; `magic schema` explains round"
    assert (row["model"], row["value"], row["small_sample_terms"], row["n_games"]) == (
        None,
        None,
        None,
        0,
    )
    (kept,) = metrics(lake, metric="judgement", by=["model"], where="round = 1").to_dicts()
    assert kept["value"] == 1.0


def test_a_setting_of_two_roles_is_one(tmp_path):
    """Three settings are few, however many roles the model had in each."""
    text = ["game | model | role | setting_id"]
    for number, role in enumerate(("chameleon", "non_chameleon") * 3):
        text.append(f"{number} | m | {role} | {number // 2:032x}")
    said = table("role_identifications", "\n".join(text), game_type="chameleon", is_correct=True)
    sides = table("results", "\n".join(text), game_type="chameleon")
    lake = lake_of(tmp_path, {"role_identifications": said, "results": sides})
    (row,) = metrics(lake, metric="self_awareness", by="model").to_dicts()
    assert row["small_sample_terms"] == [{"term": "identifications", "n_effective": 3.0}]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_setting_that_was_only_begun_is_none(tmp_path, engine):
    """Finished games of one setting are the clusters, whatever else was begun."""
    begun = f"9 | m | {'b' * 32} | - | no"
    text = ["game | model | setting_id | win_credit | is_finished"]
    text += [f"{number} | m | {'a' * 32} | {number % 2} | yes" for number in range(8)]
    found = []
    for lines in (text, [*text, begun]):
        played = {"results": table("results", "\n".join(lines), game_type="public_good")}
        lake = lake_of(tmp_path / str(len(lines)), played)
        found += metrics(lake, metric="win_rate", by="model", engine=engine).to_dicts()
    assert {row["ci_method"] for row in found} == {"mid-p, clustered by game"}
    assert len({row["ci_low"] for row in found}) == 1


def test_a_game_of_two_competitions_changed_once(tmp_path):
    """A model that sits on both sides of a game has one game there."""

    def lake(name: str, n_games: int):
        text = ["game | model | role | seat"]
        for number in range(n_games):
            text += [f"{number} | m | chameleon | 1", f"{number} | m | non_chameleon | 2"]
        of = {"text": "\n".join(text), "game_type": "chameleon"}
        said = table("role_identifications", **of, is_correct=True)
        return lake_of(
            tmp_path / name, {"role_identifications": said, "results": table("results", **of)}
        )

    (row,) = diff(lake("before", 4), lake("after", 6)).filter(metric="self_awareness").to_dicts()
    assert (row["n_common"], row["n_removed"], row["n_new"]) == (4, 0, 2)
