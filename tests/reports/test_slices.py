"""Comparisons of slices, contrasts within a model, margins and falls, on lakes written by hand."""

import math

import numpy as np
import polars as pl
import pytest
from event_tables import Frames, lake_of_wins, table
from polars.testing import assert_frame_equal, assert_series_equal

from pipeline.errors import UsageError
from pipeline.metrics import metrics
from pipeline.render import build_result_table
from pipeline.reports.compare import compare, contrast
from pipeline.reports.diff import diff
from pipeline.reports.plan import plan
from pipeline.reports.ranking import leaderboard
from pipeline.statistics.comparison import adjust_holm, is_significant

ROLES = {"A": (1, 1), "B": (1, 0)}


def roles_lake(n: int = 12) -> Frames:
    """Of n settings each model plays both roles: A wins as both, B as undercover alone.

    Each votes right as civilian as often as its wins say, in rounds 1 and 2.
    """
    results = ["game | model | game_type | role | setting_id | win_credit"]
    votes = ["game | model | role | setting_id | round | is_correct"]
    game = 0
    for model, wins in ROLES.items():
        for setting in range(n):
            for role, won in zip(("undercover", "civilian"), wins, strict=True):
                game += 1
                of_game = f"{game} | {model}"
                results.append(f"{of_game} | undercover | {role} | {setting:032x} | {won}")
                if role == "civilian":
                    votes.append(f"{of_game} | {role} | {setting:032x} | 1 | yes")
                    is_right = "yes" if won else "no"
                    votes.append(f"{of_game} | {role} | {setting:032x} | 2 | {is_right}")
    return Frames(
        {
            "results": table("results", "\n".join(results)),
            "votes": table("votes", "\n".join(votes), game_type="undercover"),
        }
    )


def test_models_are_compared_as_one_role():
    """By role, by a condition, and by both roles' own lakes: the same values, differences and p."""
    lake = roles_lake()
    found = compare(lake, ("A", "B"), metric="win_rate", by="role")
    assert found.columns[:4] == ["metric", "role", "model", "other"]
    assert found.select("role", "difference", "family").rows() == [
        ("civilian", 1.0, 2),
        ("undercover", 0.0, 2),
    ]
    assert found["p_value"].to_list() == pytest.approx([2.0**-12, 1.0])
    assert found["p_holm"].to_list() == pytest.approx([2.0**-11, 1.0])
    alone = compare(lake, ("A", "B"), metric="win_rate", where="role = 'civilian'")
    same = ["value", "other_value", "difference", "ci_low", "ci_high", "p_value", "n_settings"]
    assert_frame_equal(alone.select(same), found.filter(role="civilian").select(same))
    assert alone["family"].item() == 1


def test_slices_are_those_of_the_metrics():
    lake = roles_lake()
    found = compare(lake, ("A", "B"), metric="judgement", by=["round"])
    own = metrics(lake, metric="judgement", by=["model", "round"])
    values = {(row["model"], row["round"]): row["value"] for row in own.to_dicts()}
    for row in found.iter_rows(named=True):
        of_round = (values["A", row["round"]], values["B", row["round"]])
        assert (row["value"], row["other_value"]) == of_round
    typed = compare(lake, ("A", "B"), metric="win_rate", by=["game_type"], game_type="all")
    whole = compare(lake, ("A", "B"), metric="win_rate")
    assert_frame_equal(typed.drop("game_type"), whole)
    with pytest.raises(UsageError, match="cannot group"):
        compare(lake, ("A", "B"), by="kind")


def test_a_group_that_one_model_lacks_has_a_reason():
    lake = roles_lake()
    found = compare(lake, ("A", "B"), metric="judgement", by="is_correct")
    rows = {row["is_correct"]: row for row in found.to_dicts()}
    assert rows[False]["reason"] == "no rows of A"
    assert (rows[False]["value"], rows[False]["other_value"], rows[False]["p_value"]) == (
        None,
        0.0,
        None,
    )
    assert rows[True]["reason"] is None


def test_a_metric_of_which_a_condition_leaves_nothing_says_so():
    """In the metrics' order, beside what can be compared."""
    found = compare(roles_lake(), ("A", "B"), metric=["judgement", "win_rate"], where="role = 'x'")
    assert found["metric"].to_list() == ["judgement", "win_rate"]
    assert found["reason"].str.starts_with("no row meets the condition").all()
    some = "role = 'undercover'"  # they do not vote
    found = compare(roles_lake(), ("A", "B"), metric=["judgement", "win_rate"], where=some)
    assert found["reason"][0].startswith("A and B: nothing to count")
    assert found["reason"][1] is None


@pytest.mark.parametrize(
    ("by", "edition", "message"),
    [
        ("role", "paper", "`role` has 2 groups, but at most 1 can be compared"),
        ("game_type", "release", "release has no groups of a model"),
        ("setting_id", "paper", "cannot compare groups of `setting_id`"),
        ("nonsense", "paper", "no column `nonsense`"),
        (["role"], "paper", "by must be a string, not"),
        (None, "paper", "by must be a string, not"),
    ],
)
def test_what_has_no_groups_to_contrast_is_refused(by, edition, message, monkeypatch):
    monkeypatch.setattr("pipeline.reports.compare.differences.MAX_GROUPS", 1)
    with pytest.raises(UsageError, match=message):
        contrast(roles_lake(), "A", by, edition=edition)


@pytest.mark.parametrize(
    ("report", "asked", "margin", "reason"),
    [
        (compare, (("A", "B"),), 1.0, "less than 1"),
        (compare, (("A", "B"),), 0, "greater than 0"),
        (contrast, ("A", "role"), math.inf, "less than 1"),
        (diff, (roles_lake(),), 1.0, "less than 1"),
        (diff, (roles_lake(),), -1, "0 or more"),
        (diff, (roles_lake(),), math.nan, "(0 or more|greater than 0)"),
    ],
)
def test_a_margin_that_no_difference_reaches_is_refused(report, asked, margin, reason):
    with pytest.raises(UsageError, match=f"margin must be {reason}"):
        report(roles_lake(), *asked, metric="win_rate", margin=margin)


HALF = [n % 2 for n in range(200)]
LESS = [hit if n % 20 != 1 else 0 for n, hit in enumerate(HALF)]


def test_verdicts_can_be_told_from_the_adjusted_p_values():
    """Of three pairs, each p of alike times their number as Holm has it."""
    lake = lake_of_wins({"a": HALF, "b": HALF, "c": LESS})
    found = compare(lake, metric="win_rate", margin=0.1)
    assert_series_equal(
        found["p_alike_holm"], found.select(p_alike_holm=adjust_holm(pl.col("p_alike"))).to_series()
    )
    is_alike = found["verdict"] == "alike"
    assert is_alike.to_list() == (found["p_alike_holm"] <= 0.05).to_list()


def test_roles_of_a_model_are_contrasted_by_setting():
    """B wins as undercover and loses as civilian in all twelve settings."""
    (row,) = contrast(roles_lake(), "B", "role", metric="win_rate").to_dicts()
    assert (row["model"], row["role"], row["other"]) == ("B", "civilian", "undercover")
    assert (row["method"], row["n_settings"]) == ("paired by setting", 12)
    assert (row["difference"], row["p_value"]) == pytest.approx((-1.0, 2.0**-12))
    assert row["ci_high"] < 0
    rounds = contrast(roles_lake(), "B", "round")
    assert {*rounds["metric"]} == {"judgement"}  # alone has rounds
    assert rounds.select("round", "other", "difference", "family").rows() == [("1", "2", 1.0, 1)]


def test_verdicts():
    """200 settings of which half are won: the same, the other half, one in ten fewer, and none."""
    others = {"same": HALF, "opposite": [1 - hit for hit in HALF], "less": LESS, "none": [0] * 200}
    lake = lake_of_wins({"half": HALF, **others})
    verdicts = {
        name: compare(lake, ("half", name), metric="win_rate", margin=0.1)["verdict"].item()
        for name in others
    }
    assert verdicts == {"same": "alike", "opposite": "undecided", "less": "alike", "none": "better"}
    back = compare(lake, ("none", "half"), metric="win_rate", margin=0.1)
    assert back["verdict"].item() == "worse"
    assert "verdict" not in compare(lake, ("none", "half")).columns


def test_a_fall_is_tested_against_the_margin():
    """20 of 100 fell: significantly from 0, not beyond .15. Of 60 it is."""
    before = lake_of_wins({"m": [1] * 100})
    for n_lost, is_regression in ((20, False), (60, True)):
        after = lake_of_wins({"m": [0] * n_lost + [1] * (100 - n_lost)}, 1000)
        row = diff(before, after, margin=0.15).filter(metric="win_rate").row(0, named=True)
        assert row["is_significant"] is True
        assert row["is_regression"] is is_regression
        assert (row["p_drop"] <= 0.05) is is_regression
        assert 0.15 < row["detectable_drop"] < 0.4
    same = diff(before, before, margin=0.15).filter(metric="win_rate").row(0, named=True)
    assert (same["p_drop"], same["detectable_drop"], same["is_regression"]) == (None, None, False)
    assert "p_drop" not in diff(before, before).columns


@pytest.mark.some(2)
@pytest.mark.parametrize("confidence", [0.95, 1 - 2.0**-5, 0.97])
def test_one_level_is_asked_everywhere(confidence):
    """Five games lost that the other won: p is 1/32, which the second level is exactly."""
    lake, level = lake_of_wins({"a": [1] * 5, "b": [0] * 5}), {"confidence": confidence}
    states = lake_of_wins({"m": [1] * 5}), lake_of_wins({"m": [0] * 5}, 10)
    fallen = diff(*states, margin=0.1, **level)
    board = leaderboard(lake, **level)
    row = compare(lake, ("a", "b"), metric="win_rate", margin=0.1, **level).row(0, named=True)
    is_apart = confidence != 0.97
    assert (row["verdict"] == "better") is is_apart
    assert (row["ci_low"] > 0) is is_apart
    assert (board["group_letters"].n_unique() == 2) is is_apart
    (fell,) = fallen.filter(metric="win_rate").to_dicts()
    assert fell["is_significant"] is is_apart
    assert fell["is_regression"] is (fell["p_drop"] <= 1 - confidence)
    (note,) = [
        n
        for n in build_result_table("leaderboard", board, **level).notes
        if n.startswith("letters")
    ]
    assert f"at the {100 * (1 - confidence):g} % level" in note


@pytest.mark.parametrize(("p", "confidence"), [(0.05, 0.95), (0.1, 0.9), (6 * 0.05, 0.7)])
def test_a_last_digit_is_no_difference(p, confidence):
    assert is_significant(p, confidence)
    assert pl.select(is_significant(pl.lit(p), confidence)).item()
    assert not is_significant(p + 1e-9, confidence)


def test_a_plan_is_for_many_pairs_and_for_other_settings():
    """The level is divided; two samples need more settings than pairs that go together."""
    lake = lake_of_wins({"A": [1, 1, 1, 0] * 5, "B": [1, 1, 0, 0] * 5})
    one = plan(lake, "win_rate", 0.2).row(0, named=True)
    many = plan(lake, "win_rate", 0.2, n_pairs=45).row(0, named=True)
    apart = plan(lake, "win_rate", 0.2, unpaired=True).row(0, named=True)
    assert many["level"] == pytest.approx(0.05 / 45)
    assert one["settings"] < many["settings"]
    assert one["settings"] < apart["settings"]
    assert apart["n_settings"] == 20
    assert plan(lake, "win_rate", 0.2, n_pairs=np.int64(45)).row(0, named=True) == many


def test_a_plans_sd_is_that_of_a_setting_whatever_else_a_model_played():
    """B also played 80 other settings, half of them won, as in the 20 in common."""
    hits = {"A": [1, 1, 1, 0] * 5, "B": [1, 0] * 10}
    few, many = lake_of_wins(hits), lake_of_wins(hits | {"B": hits["B"] * 5})
    for unpaired in (False, True):
        sds = [plan(one, "win_rate", 0.2, unpaired=unpaired)["sd"].item() for one in (few, many)]
        # Unpaired, they also say more surely what B's settings vary by: it is raised less.
        assert sds[1] == pytest.approx(sds[0] * (0.95 if unpaired else 1), rel=0.02)
