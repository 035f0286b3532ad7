"""Models with and without a method: pairs by name or by column, and the mean over models."""

from functools import reduce

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import pipeline
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.ingest import ingest
from pipeline.pages import page_definition, parse_page_parameters, render_page_fragment
from pipeline.reports.compare import pair_models_by_name_suffix
from pipeline.simulate import simulate

# The names of the four simulated models; the last two have the very games of the first two.
NAMES = {"sim-atlas": "one", "sim-birch-pgm": "one-pgm"}
COPIES = {"sim-atlas": "two", "sim-birch-pgm": "two-pgm"}
SUFFIXES = [
    (("a", "a-pgm", "b"), "pgm", [("a-pgm", "a")]),
    (("a", "a+PGM"), "-pgm", [("a+PGM", "a")]),
    (("a", "a_cot", "a-pgm"), "cot", [("a_cot", "a")]),
    (("a b", "a b pgm", "c-pgm"), "pgm", [("a b pgm", "a b")]),
    (
        ("a", "a-pgm", "a+pgm", "a-pgm-pgm"),
        "pgm",
        [("a+pgm", "a"), ("a-pgm", "a"), ("a-pgm-pgm", "a-pgm")],
    ),
    (("a.", "a.-x.*"), "x.*", [("a.-x.*", "a.")]),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> pipeline.Lake:
    """Two models with and without, of which one is a copy of the other."""
    top = tmp_path_factory.mktemp("methods")
    logs = [
        (log, log.read_text())
        for log in simulate(top / "logs", models=2, games=4, seed=4).results.rglob("*.json")
    ]
    for name, names in (("own", NAMES), ("copies", COPIES)):
        for log, text in logs:
            place = top / name / log.relative_to(top / "logs")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(reduce(lambda one, pair: one.replace(*pair), names.items(), text))
        ingest(top / name, top / "lake")
    return pipeline.open_lake(top / "lake")


@pytest.mark.parametrize(("models", "method", "pairs"), SUFFIXES)
def test_a_name_with_the_suffix_belongs_to_the_rest(
    models: tuple[str, ...], method: str, pairs: list[tuple[str, str]]
) -> None:
    assert pair_models_by_name_suffix(models, method) == pairs


def test_rows_are_those_of_compare(lake: pipeline.Lake) -> None:
    rows = lake.compare_with("pgm", metric=["win_rate", "reasoning"])
    own = rows.filter(n_models=1)
    compared = lake.compare(
        ("one-pgm", "one"), ("two-pgm", "two"), metric=["win_rate", "reasoning"]
    )
    of_family = ("p_holm", "family")
    assert_frame_equal(own.select(pl.exclude(*of_family, "n_models")), compared.drop(of_family))
    assert rows["family"].unique().to_list() == [rows["p_value"].count()]
    assert rows["metric"].to_list() == ["win_rate"] * 3 + ["reasoning"] * 3
    assert rows.filter(n_models=2)["model"].to_list() == [None, None]


def test_a_mean_over_copies_knows_no_more_than_one(lake: pipeline.Lake) -> None:
    """They share all settings: twice the games, and the same p and interval.

    Were their settings taken for others, it would be .7 as wide. Where it is that of the terms'
    own intervals, it is a little narrower.
    """
    rows = lake.compare_with("pgm").drop_nulls("difference")
    means = rows.filter(pl.col("n_models") > 1)
    assert means.height > 4
    for mean in means.iter_rows(named=True):
        for one in rows.filter(metric=mean["metric"], n_models=1).iter_rows(named=True):
            for name in ("value", "other_value", "difference", "p_value", "common_value"):
                assert mean[name] == pytest.approx(one[name], abs=1e-9), name
            widths = [row["ci_high"] - row["ci_low"] for row in (mean, one)]
            assert 0.9 < widths[0] / widths[1] < 1 + 1e-9
            assert (mean["method"], mean["n_settings"]) == (one["method"], one["n_settings"])


def test_a_mean_is_that_of_the_differences(public_lake: pipeline.Lake) -> None:
    rows = pipeline.open_lake(public_lake.path).compare_with("pgm", margin=0.2)
    own = rows.filter(pl.col("n_models") == 1, method="paired by setting")
    of_pairs = own.group_by("metric").agg(pl.col("difference").mean(), n=pl.len())
    means = rows.filter(pl.col("n_models") == 3).join(
        of_pairs.filter(n=3), on="metric", suffix="_mean"
    )
    assert means.height >= 5
    for found, expected in means.select("difference", "difference_mean").iter_rows():
        assert found == pytest.approx(expected, abs=1e-9)
    assert set(rows["verdict"].drop_nulls()) <= {"alike", "better", "worse", "undecided"}


def test_games_with_a_value_are_compared_with_the_others(lake: pipeline.Lake) -> None:
    rows = lake.compare_with("role=civilian", metric="reasoning", where="side = 'civilian'")
    values = lake.metrics(metric="reasoning", by=["model", "role"])
    for row in rows.filter(n_models=1).iter_rows(named=True):
        assert row["model"] == f"{row['other']}, role civilian"
        of = dict(values.filter(model=row["other"]).select("role", "value").iter_rows())
        assert (row["value"], row["other_value"]) == (of["civilian"], of["non_chameleon"])
    with pytest.raises(UsageError, match=r"the condition `side = 1\) OR \(side = 2` cannot"):
        lake.compare_with("role=civilian", metric="reasoning", where="side = 1) OR (side = 2")
    numbers = lake.compare_with("n_rounds=3", metric="reasoning")
    assert numbers.filter(n_models=1).height == 4
    same = lake.compare_with("n_rounds=3.0", metric="reasoning", where="n_rounds > 0 -- all")
    assert_frame_equal(same.drop("model"), numbers.drop("model"))


@pytest.mark.some(5)
@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("cot", "no model exists with and without `cot`"),
        ("rule=3", "no column rule"),
        ("n_rounds=x", "^`n_rounds` is a number, not `x`$"),
        ("n_rounds=2 OR n_rounds=3", "^`n_rounds` is a number, not `2 OR n_rounds=3`$"),
        ("is_correct=1", "^`is_correct` is true or false, not `1`$"),
        (
            "role=x' OR 'a' = 'a",
            "no model has both games with role x' OR 'a' = 'a and games without it$",
        ),
        ("role=nobody", "no model has both games with role nobody and games without it$"),
        ("format_version=pgm", "without it; names of models end with it, so specify `pgm`"),
    ],
)
def test_what_is_no_method_is_refused(lake: pipeline.Lake, method: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        lake.compare_with(method, metric="reasoning")


@pytest.mark.slow
def test_the_command_and_the_page_show_the_mean(
    lake: pipeline.Lake, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--with", "pgm", "--lake", str(lake.path), "--metric", "win_rate"]) == 0
    assert "mean of 2" in capfd.readouterr().out
    assert main(["compare", "one", "--with", "pgm", "--lake", str(lake.path)]) == 2
    for method, shown in (
        ("pgm", "mean of 2"),
        ("cot", "no model exists with"),
        ("", "With and"),
    ):
        asked = parse_page_parameters("compare_with", {"method": method})
        content = page_definition("compare_with").content(lake, asked)
        html = str(
            render_page_fragment("compare_with", content, asked, lambda name, **_: f"#{name}")
        )
        assert shown in html
        assert (content.rows.height > 0) is (method == "pgm")
