"""The leaderboard with the values of a column in place of metrics, and any table in percent."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pipeline
from pipeline.errors import UsageError
from pipeline.pages import page_definition, parse_page_parameters, render_page_fragment

GRIDS: list[dict[str, Any]] = [
    {"columns": "game_type"},
    {"columns": "game_type", "metric": "rationality", "edition": "audited"},
    {"columns": "role", "metric": "judgement", "where": "round = 1"},
    {"columns": "n_rounds", "metric": ["reasoning"], "game_type": "undercover"},
    {"columns": "opponent", "metric": "win_rate", "model": "sim-cedar"},
]
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"columns": "model"}, "each row is a model"),
    (
        {"columns": "role", "metric": ["judgement", "reasoning"]},
        "one metric, not judgement, rea",
    ),
    ({"columns": "rol"}, "no column `rol` to group by"),
    ({"columns": "role", "sort": "win_rate"}, "no column win_rate: choose from chameleon"),
    ({"columns": "role", "include_incomplete": True}, "a slice has no rank"),
    ({"columns": "game_id"}, "has 112 values, but at most 60"),
    ({"columns": "role", "edition": "release"}, "the release edition is computed per model"),
]


@pytest.fixture(scope="module")
def lake(sample_lake: Path) -> pipeline.Lake:
    return pipeline.open_lake(sample_lake)


@pytest.mark.some(3)
@pytest.mark.parametrize("asked", GRIDS, ids=str)
def test_a_grid_has_the_values_of_metrics(lake: pipeline.Lake, asked: dict[str, Any]) -> None:
    column = asked["columns"]
    rest = {name: value for name, value in asked.items() if name != "columns"}
    by = ["model", column] if column != "game_type" else ["model", "game_type"]
    expected = lake.metrics(**({"metric": "win_rate"} | rest), by=by)
    rows = lake.leaderboard(**asked)
    values = rows.unpivot(
        [str(name) for name in expected[column].unique()], index="model", variable_name=column
    )
    both = expected.with_columns(pl.col(column).cast(pl.String)).join(
        values, on=["model", column], suffix="_shown", nulls_equal=True
    )
    assert (
        both.height
        == expected.height
        == values.drop_nulls("value").height + (expected["value"].null_count())
    )
    assert both["value"].equals(both["value_shown"].rename("value"))
    assert rows["model"].is_sorted()
    assert rows["rank"].count() == 0


def test_a_grid_is_sorted_by_a_column(lake: pipeline.Lake) -> None:
    rows = lake.leaderboard(columns="game_type", sort="all")
    assert rows["all"].is_sorted(descending=True)
    assert rows.columns.index("all") < rows.columns.index("chameleon")


@pytest.mark.parametrize(("asked", "reason"), WRONG, ids=str)
def test_what_is_no_grid_is_refused(
    lake: pipeline.Lake, asked: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(reason)):
        lake.leaderboard(**asked)


def test_percent_has_the_same_values_with_the_best_bold(lake: pipeline.Lake) -> None:
    plain, shown = (lake.present("leaderboard", percent=percent) for percent in (False, True))
    best = f"{100 * plain.rows['judgement'].max():.1f}"  # type: ignore[operator]
    n_best = sum(f"{100 * value:.1f}" == best for value in plain.rows["judgement"])
    assert shown.rows.equals(plain.rows)
    assert shown.csv() == plain.csv()
    judgement = next(one for one in shown.visible_fields if one.name == "judgement")
    assert [one.text for one in judgement.cells if one.is_best] == [best] * n_best
    assert not any(one.is_best for field in plain.visible_fields for one in field.cells)
    forms = {"markdown": f"**{best}** (", "latex": rf"\textbf{{{best}}}", "html": f"<b>{best}</b>"}
    for form, text in forms.items():
        assert getattr(shown, form)().count(text) >= n_best
        assert text not in getattr(plain, form)()
    assert best in shown.text()


@pytest.mark.some(1)
@pytest.mark.parametrize("percent", ["", "true"])
def test_its_page_leads_to_the_rows_behind_a_value(lake: pipeline.Lake, percent: str) -> None:
    asked = parse_page_parameters(
        "leaderboard", {"columns": "n_rounds", "metric": "reasoning", "percent": percent}
    )
    content = page_definition("leaderboard").content(lake, asked)
    links: list[dict[str, Any]] = []

    def link(name: str, at: str = "", **given: Any) -> str:
        links.extend([given] if name == "evidence" else [])
        return f"#{name}"

    text = str(render_page_fragment("leaderboard", content, asked, link))
    assert "Reasoning by n rounds" in text
    assert ("<b>" in text) is bool(percent)
    shown = [one for one in links if one.get("where")]
    assert shown
    for one in shown:
        assert lake.evidence(**{name: one[name] for name in ("metric", "model", "where")}).height
    wrong = parse_page_parameters("leaderboard", {"columns": "rol"})
    faults = page_definition("leaderboard").content(lake, wrong).faults
    assert "no column `rol`" in faults["columns"]
