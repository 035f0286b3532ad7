"""From a number of completeness to the games that are missing, and to those of others."""

import json
from itertools import cycle
from urllib.parse import parse_qsl, urlsplit

import polars as pl
import pytest
from format_logs import logs_in_files
from readback import content_of, html, pages_of, table

from pipeline.api import Lake, open_lake
from pipeline.errors import UsageError
from pipeline.ingest import ingest
from pipeline.pages import all_rows_in_parts, parse_page_parameters
from pipeline.reports.games import missing
from pipeline.simulate import simulate

KEY = ("model", "competition", "game_index", "setting_id")
ROWS_PER_PAGE = 10


@pytest.fixture(autouse=True)
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.pages.content.ROWS_PER_PAGE", ROWS_PER_PAGE)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Of two models one lacks most games, and one game is cut off; beside games of two systems."""
    top = tmp_path_factory.mktemp("missing")
    simulated = simulate(top / "logs", models=2, games=4, seed=5)
    results = simulated.results
    other = simulated.models[1]
    for log in results.rglob("*.json"):
        if log.parent.name.startswith(other) and log.parts[-3] != "prisoner":
            log.unlink()
    cut_off = next(results.glob(f"prisoner/{other}*/3.json"))
    cut_off.write_text(json.dumps(json.loads(cut_off.read_text()) | {"result": None}))
    for system in ("goods", "ck_arena"):
        folder = top / "others" / system
        folder.mkdir(parents=True)
        for number, (file, log) in enumerate(logs_in_files(system)):
            (folder / file.format(number)).write_bytes(log)
    ingest([results, top / "others"], top / "lake")
    return open_lake(top / "lake")


def rows_at(lake: Lake, href: str) -> pl.DataFrame:
    """All rows of the page at an address."""
    parts = urlsplit(href)
    name, given = parts.path.strip("/"), dict(parse_qsl(parts.query))
    return pl.concat(all_rows_in_parts(name, lake, parse_page_parameters(name, given)))


def test_every_number_leads_to_its_rows(lake: Lake) -> None:
    """Also where the lake has several systems: the page counts one, and its links say which."""
    for system in ({}, {"system": "goods"}, {"system": "ck_arena"}):
        rows = lake.for_single_system(system.get("system")).completeness()
        names = [name for name in rows.columns if name not in ("game_type", "system", "n_missing")]
        shown = table(html(lake, "completeness", **system), "completeness")[1:]
        for row, cells in zip(rows.iter_rows(named=True), shown, strict=True):
            cell = dict(zip(names, cells, strict=True))
            for name in ("n_games", "n_unfinished"):
                assert n_rows_at(lake, cell[name]) == row[name]
            assert n_missing_at(lake, cell["finished"]) == row["n_missing"]


def n_rows_at(lake: Lake, cell: dict[str, str]) -> int:
    return rows_at(lake, cell["href"]).height if "href" in cell else 0


def n_missing_at(lake: Lake, cell: dict[str, str]) -> int:
    return rows_at(lake, cell["href"])["n_missing"].sum() if "href" in cell else 0


def test_so_many_games_as_are_asked_for_lead_to_no_settings(lake: Lake) -> None:
    shown = html(lake, "completeness", expected="99")
    assert "/missing?" not in shown
    assert "/games?" in shown


def test_the_leaderboard_leads_to_as_many(lake: Lake) -> None:
    board = lake.for_single_system().leaderboard()
    assert board["n_missing"].sum() == lake.missing()["n_missing"].sum() > ROWS_PER_PAGE
    shown = table(html(lake, "leaderboard"), "leaderboard")[1:]
    for row, cells in zip(board.iter_rows(named=True), shown, strict=True):
        (leading,) = [one for one in cells if "/missing?" in one.get("href", "")] or [{}]
        assert n_missing_at(lake, leading) == row["n_missing"]


def test_a_setting_leads_to_the_games_of_others(lake: Lake) -> None:
    rows = lake.missing()
    shown = table(html(lake, "missing"), "missing")[1:]
    assert len(shown) == ROWS_PER_PAGE
    for row, cells in zip(rows.iter_rows(named=True), shown, strict=False):
        played = rows_at(lake, cells[2]["href"])
        assert played.height
        assert set(played["setting_id"]) == {row["setting_id"]}
        models = {model for models in played["models"] for model in models}
        assert models - {row["model"]} if not row["n_unfinished"] else row["model"] in models


def test_what_was_begun_leads_to_its_game(lake: Lake) -> None:
    (row,) = lake.missing().filter(pl.col("n_unfinished") > 0).rows(named=True)
    given = {"model": row["model"], "competition": row["competition"]}
    (cells,) = table(html(lake, "missing", **given), "missing")[1:]
    assert rows_at(lake, cells[-2]["href"])["path"].to_list() == row["paths"]


def test_pages_lose_no_row(lake: Lake) -> None:
    rows = missing(lake)
    assert rows.height > ROWS_PER_PAGE
    assert pages_of(lake, "missing").equals(rows)
    counts = content_of(lake, "missing").competitions
    assert sum(counts.values()) == rows["n_missing"].sum()
    for name, n in counts.items():
        whole = rows_at(lake, f"/missing?competition={name}")
        assert whole["n_missing"].sum() == n
        shown = content_of(lake, "missing", competition=name).rows
        assert shown.equals(whole.head(ROWS_PER_PAGE))
        assert lake.missing(competition=name).equals(rows.filter(competition=name))
    with pytest.raises(UsageError, match="no competition chess"):
        lake.missing(competition="chess")


def test_pages_in_any_order_lose_no_row(lake: Lake) -> None:
    rows = missing(lake)
    columns = ("model", "topic", "game_index", "n_rounds_fixed", "n_unfinished")
    for column, order in zip(columns, cycle(["up", "down"])):
        by = list(dict.fromkeys([column, *KEY]))
        down = [order == "down", *[False] * (len(by) - 1)]
        ordered = rows.sort(by, descending=down, nulls_last=True)
        assert pages_of(lake, "missing", sort=column, order=order).equals(ordered), column


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"model": "nobody"}, "model"),
        ({"after": '["a", "b", "c"]'}, "after"),
        ({"after": "{}"}, "after"),
    ],
)
def test_a_wrong_request_is_said_beside_its_field(
    lake: Lake, given: dict[str, str], field: str
) -> None:
    assert list(content_of(lake, "missing", **given).faults) == [field]
    assert f'id="fault-{field}"' in html(lake, "missing", **given)
