"""Answers as JSON and CSV: whole, and errors in the form that was asked for."""

import csv
import io
import json
from pathlib import Path
from urllib.parse import urlencode

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from servers import Served

from pipeline.api import Lake, open_lake
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES, table_schema
from pipeline.pages import (
    all_rows_in_parts,
    as_csv,
    compute_page_content,
    parse_page_parameters,
    templating,
)
from pipeline.reports.sql_views import list_sql_schemas, type_name
from pipeline.server.app import (
    PageRequest,
    Reply,
    Site,
    error_reply,
    render_document,
    render_or_report_error,
    render_reply,
)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "status"),
    [
        *(("/leaderboard.{}?unknown=1", 400), ("/leaderboard.{}?where=nonsense", 400)),
        ("/evidence.{}?model=sim-atlas&model=sim-delta", 400),
        *(("/nothing.{}", 404), ("/a/b/c.{}", 404), ("/sql.{}?query=SELEC", 400)),
        *(("/completeness.{}?expected=100000000000000000000000", 400), ("/game.{}?game=x", 400)),
        *(("/completeness.{}?expected=9223372036854775808", 400), ("/games.{}?outcome=x", 400)),
        (f"/tables.{{}}?x={'x' * 17_000}", 414),
    ],
)
def test_an_error_has_the_form_that_was_asked_for(served: Served, path: str, status: int) -> None:
    as_json, as_text = served.get(path.format("json")), served.get(path.format("csv"))
    assert as_json.status == status
    assert as_json.headers["content-type"].startswith("application/json")
    said = json.loads(as_json.text)
    assert said.get("error") or said["faults"]
    assert as_text.status == status
    assert as_text.headers["content-type"] == "text/plain; charset=utf-8"
    assert "content-disposition" not in as_text.headers
    assert len(as_text.text.strip()) > 10


@pytest.mark.parametrize("form", ["html", "json", "csv"])
def test_what_no_page_says_has_a_form_too(lake: Path, form: str) -> None:
    """Whatever its title and its first sign."""
    site = Site(open_lake(lake), str(lake), None)
    for reason in (
        error_reply(504, "<it took longer", "Too slow"),
        error_reply(500, "ended", "Other"),
    ):
        answer = site._error_response(form, reason)
        kind = {"html": "text/html", "json": "application/json", "csv": "text/plain"}[form]
        assert answer.status_code == reason.status
        assert answer.headers["content-type"].startswith(kind)
        assert "content-disposition" not in answer.headers


@pytest.mark.slow
def test_a_query_runs_whatever_was_plotted_before(served: Served) -> None:
    asked = urlencode({"query": "SELECT 1 AS one, 2 AS two", "x": "model", "y": "votes"})
    page = served.get(f"/sql?{asked}")
    assert page.status == 200
    assert "<li>no plot: no column model, votes to plot" in page.text
    assert rows_of(served.get(f"/sql.csv?{asked}").text) == [{"one": "1", "two": "2"}]


@pytest.mark.slow
def test_the_leaderboard_is_split_by_any_column_once(served: Served) -> None:
    lake_types = served.json("/leaderboard.json")["choices"]["game_type"][1:]
    by_type = served.json("/leaderboard.json?by=game_type,game_type,model")["rows"]
    assert {row["game_type"] for row in by_type} == set(lake_types)
    for row in by_type:
        asked = urlencode({"game_type": row["game_type"]})
        (own,) = (
            one
            for one in served.json(f"/leaderboard.json?{asked}")["rows"]
            if one["model"] == row["model"]
        )
        assert {name: row[name] for name in own} == own
    assert served.get("/leaderboard?by=model").status == 200
    assert served.get("/metric?by=role,role").status == 200


def test_the_page_of_sql_lists_columns_and_views_and_marks_what_is_wrong(served: Served) -> None:
    page = served.get("/sql").text
    for table in TABLES:
        assert f"<summary>{table}</summary>" in page
        for column, dtype in table_schema(table).items():
            assert f'<li>{column} <span class="none">{type_name(dtype)}</span></li>' in page
    for schema, _, names in list_sql_schemas():
        assert f"<summary>{schema or 'main'} " in page
        for name in names:
            full = f"{schema}.{name}" if schema else name
            assert f'<a href="/tables?table={full}">{name}</a>' in page
    asked = urlencode({"query": "SELECT\n  '<b>', nope\nFROM votes"})
    wrong = served.get(f"/sql?{asked}").text
    assert '<pre class="fault">LINE 2:   &#39;&lt;b&gt;&#39;, nope\n' in wrong


def test_a_view_is_described_as_a_table_is(lake: Path, served: Served) -> None:
    page = served.json("/tables.json?table=evidence.judgement")
    rows = open_lake(lake).schema("evidence.judgement")
    assert page["title"] == "View evidence.judgement"
    assert page["rows"] == rows.select("column", "type", "description").to_dicts()
    assert "FROM+evidence.judgement+LIMIT" in served.get("/tables?table=evidence.judgement").text
    assert served.get("/tables?table=nothing").status == 400


@pytest.mark.slow
def test_ids_in_a_result_lead_to_games_messages_and_settings(served: Served) -> None:
    query = "SELECT game_id, message_index, setting_id FROM messages WHERE seat = 1 LIMIT 1"
    (row,) = served.json(f"/sql.json?{urlencode({'query': query})}")["rows"]
    page = served.get(f"/sql?{urlencode({'query': query})}").text
    game, index, setting = row.values()
    assert f'<a href="/game?game={game}#m{index}">{game}</a>' in page
    assert f'<a href="/game?game={game}#m{index}">{index}</a>' in page
    assert f'<a href="/games?setting_id={setting}">{setting}</a>' in page
    lone = "SELECT message_index, NULL AS game_id FROM messages LIMIT 1"
    assert "/game?" not in served.get(f"/sql?{urlencode({'query': lone})}").text
    odd = "SELECT '\"><b>' AS game_id, {'a': 1} AS message_index"
    hostile = served.get(f"/sql?{urlencode({'query': odd})}").text
    assert "<b>" not in hostile.partition('id="result"')[2]


def test_a_csv_is_the_whole_answer(lake: Path, served: Served) -> None:
    opened = open_lake(lake)
    metric = "win_rate"
    expected = opened.evidence(metric)
    assert expected.height > 50
    whole = rows_of(served.get(f"/evidence.csv?metric={metric}").text)
    assert [row["game_id"] for row in whole] == expected["game_id"].to_list()
    assert list(whole[0]) == expected.columns
    misses = rows_of(served.get(f"/evidence.csv?metric={metric}&hit=misses").text)
    assert len(misses) == opened.evidence(metric, hit=False).height
    address = "/evidence{}?metric=judgement&hit=unclear"
    unclear = rows_of(served.get(address.format(".csv")).text)
    assert len(unclear) == opened.evidence("judgement", unclear=True).height > 0
    assert "Rows that are unclear" in (page := served.get(address.format("")).text)
    assert all(f">{heading}</th>" in page for heading in ("Role", "Counted", "Parse status"))
    games = rows_of(served.get("/games.csv").text)
    assert [row["game_id"] for row in games] == opened.games()["game_id"].to_list()
    found = rows_of(served.get("/search.csv?words=I").text)
    every = opened.search("I", limit=100_000).rows
    assert every.height > 50
    assert [row["message_index"] for row in found] == [*map(str, every["message_index"])]


@pytest.mark.parametrize("page", ["evidence", "games", "search"])
def test_a_csv_ignores_the_place_of_a_page(lake: Path, page: str) -> None:
    opened = open_lake(lake)
    given = {"words": "I"} if page == "search" else {}
    after = str(json.loads(render_reply(opened, PageRequest(page, "json", given)).text)["after"])
    texts = {
        render_reply(opened, PageRequest(page, "csv", given | more)).text
        for more in ({}, {"after": after})
    }
    assert len(texts) == 1
    assert len(rows_of(texts.pop())) > 50


def test_a_csv_that_is_too_large_is_refused(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templating, "MAX_RESPONSE_CHARACTERS", 1000)
    opened = open_lake(lake)
    with pytest.raises(UsageError, match="ask for less"):
        as_csv(all_rows_in_parts("evidence", opened, parse_page_parameters("evidence", {})))
    assert as_csv([pl.DataFrame({"a": [1]})]) == "a\n1\n"


def test_json_that_is_too_large_is_refused(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One SELECT can return far more rows than a browser or the server has memory for."""
    opened = open_lake(lake)
    task = PageRequest("sql", "json", {"query": "SELECT range AS n FROM range(10000)"})
    assert len(json.loads(render_reply(opened, task).text)["rows"]) == 10_000
    monkeypatch.setattr(templating, "MAX_RESPONSE_CHARACTERS", 50_000)
    with pytest.raises(UsageError, match=r"the JSON has more than .* ask for less"):
        render_reply(opened, task)


def test_a_page_whose_extra_is_missing_says_what_to_install(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.plugins.find_spec", lambda _: None)
    shown = render_or_report_error(open_lake(lake), PageRequest("ratings", "html", {}))
    assert (shown.status, shown.title) == (501, "Not installed")
    assert "pip install 'magic-benchmark-pipeline[ratings]'" in shown.text


@pytest.mark.slow
def test_a_copy_of_findings_has_all(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the page the first ones; the rows of the page are those of the audit, as before."""
    monkeypatch.setattr("pipeline.pages.list_pages.ROWS_PER_PAGE", 5)
    opened, query = open_lake(lake), {"kind": "silent_analyses"}
    whole = opened.findings("silent_analyses")
    assert whole.height > 5
    assert (
        compute_page_content("audit", opened, parse_page_parameters("audit", query))
        .frame("findings")
        .height
        == 5
    )
    for frame, rows in (("findings", whole), ("", opened.audit())):
        asked = parse_page_parameters("audit", {**query, "frame": frame})
        assert_frame_equal(pl.concat(all_rows_in_parts("audit", opened, asked)), rows)


def test_a_search_that_stopped_gives_no_csv(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.pages.list_pages.MAX_CSV_MESSAGES", 10)
    with pytest.raises(UsageError, match="stopped after"):
        render_reply(open_lake(lake), PageRequest("search", "csv", {"words": "I"}))


def test_too_many_expected_games_are_refused(lake: Path) -> None:
    opened: Lake = open_lake(lake)
    assert opened.completeness(expected=1_000_000_000)["expected"].max() == 1_000_000_000
    for expected in (0, 1_000_000_001, 2**63, 10**30):
        with pytest.raises(
            UsageError, match=r"expected (games )?must be 1 (to 1,000,000,000|or more)"
        ):
            opened.completeness(expected=expected)


def test_the_menu_keeps_edition_and_system(lake: Path) -> None:
    """Where a page has them: that of SQL has neither."""
    opened = open_lake(lake)

    def menu(**given: str) -> str:
        html = render_document(
            "lake", opened, Reply(200, "Model", ""), PageRequest("model", "html", given)
        )
        return html[html.index("<nav") : html.index("</nav>")]

    html = menu(system="a&b", edition="audited", model="m")
    assert 'href="/leaderboard?edition=audited&amp;system=a%26b"' in html
    assert 'href="/sql"' in html
    assert "model=m" not in html
    assert 'href="/leaderboard"' in menu()
