"""Answers as JSON and CSV: whole, and errors in the form that was asked for."""

import csv
import io
import json
from urllib.parse import urlencode

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from readback import content_of, html
from servers import Served

from pipeline.api import Lake
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES, table_schema
from pipeline.pages import all_rows_in_parts, parse_page_parameters, templating
from pipeline.reports.sql_views import list_sql_schemas, type_name
from pipeline.server.app import (
    PageRequest,
    Reply,
    render_document,
    render_or_report_error,
    render_reply,
)

JUDGED = {"metric": "judgement"}


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.usefixtures("queries_here")
@pytest.mark.parametrize(
    ("path", "status"),
    [
        *(("/leaderboard{}?unknown=1", 400), ("/games{}?outcome=x", 400)),
        ("/evidence{}?model=sim-atlas&model=sim-delta", 400),
        *(("/nothing{}", 404), ("/a/b/c{}", 404), ("/sql{}?query=SELEC", 400)),
        *(("/completeness{}?expected=9223372036854775808", 400), ("/game{}?game=x", 400)),
        *(("/metric{}?metric=..", 400), ("/tables{}?table=../votes", 400)),
        *(("/audit{}?kind=x", 400), ("/sql{}?query=DROP+TABLE+votes", 400)),
        (f"/tables{{}}?x={'x' * 17_000}", 414),
    ],
)
def test_an_error_has_the_form_that_was_asked_for(served: Served, path: str, status: int) -> None:
    as_json, as_text = served.get(path.format(".json")), served.get(path.format(".csv"))
    for answer in (as_json, as_text, served.get(path.format(""))):
        assert answer.status == status
        assert "a defect of the server" not in answer.text
        assert "content-disposition" not in answer.headers
    assert as_json.headers["content-type"].startswith("application/json")
    said = json.loads(as_json.text)
    assert said.get("error") or said["faults"]
    assert as_text.headers["content-type"] == "text/plain; charset=utf-8"
    assert len(as_text.text.strip()) > 10


@pytest.mark.usefixtures("queries_here")
def test_a_query_runs_whatever_was_plotted_before(served: Served) -> None:
    """Its JSON has all rows, of which the page shows the first thousand."""
    asked = urlencode({"query": "SELECT 1 AS one, range AS n FROM range(2000)", "x": "n", "y": "z"})
    page = served.get(f"/sql?{asked}")
    assert page.status == 200
    assert "<li>no plot: no column z to plot" in page.text
    assert served.json(f"/sql.json?{asked}")["rows"] == [{"one": 1, "n": n} for n in range(2000)]


@pytest.mark.usefixtures("queries_here")
def test_the_page_of_sql_lists_columns_and_views_and_marks_what_is_wrong(opened: Lake) -> None:
    page = html(opened, "sql")
    listed = [
        f'<li>{column} <span class="none">{type_name(dtype)}</span></li>'
        for table in TABLES
        for column, dtype in table_schema(table).items()
    ]
    listed += [f"<summary>{table}</summary>" for table in TABLES]
    for schema, _, names in list_sql_schemas():
        listed.append(f"<summary>{schema or 'main'} ")
        full_names = {name: f"{schema}.{name}" if schema else name for name in names}
        listed += [f'<a href="/tables?table={full_names[one]}">{one}</a>' for one in names]
    assert [one for one in listed if one not in page] == []
    wrong = html(opened, "sql", query="SELECT\n  '<b>', nope\nFROM votes")
    assert '<pre class="fault">LINE 2:   &#39;&lt;b&gt;&#39;, nope\n' in wrong


def test_a_view_is_described_as_a_table_is(opened: Lake) -> None:
    page = content_of(opened, "tables", table="evidence.judgement")
    assert page.title == "View evidence.judgement"
    described = opened.schema("evidence.judgement").select("column", "type", "description")
    assert_frame_equal(page.rows, described)
    page_text = html(opened, "tables", table="evidence.judgement")
    assert "FROM+evidence.judgement+LIMIT" in page_text
    with pytest.raises(UsageError, match="no table"):
        content_of(opened, "tables", table="nothing")


@pytest.mark.usefixtures("queries_here")
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


def test_a_csv_is_the_whole_answer(opened: Lake) -> None:
    """From whatever page of it one asks."""
    for page, given, rows in (
        ("evidence", JUDGED, opened.evidence("judgement")),
        ("evidence", {"hit": "misses"}, opened.evidence("win_rate", hit=False)),
        ("evidence", JUDGED | {"hit": "unclear"}, opened.evidence("judgement", unclear=True)),
        ("games", {}, opened.games()),
        ("search", {"words": "I"}, opened.search("I", limit=100_000).rows),
    ):
        after = content_of(opened, page, **given).after or ""
        first, second = (
            render_reply(opened, PageRequest(page, "csv", given | more)).text
            for more in ({}, {"after": after})
        )
        assert first == second
        whole = rows_of(first)
        assert list(whole[0]) == rows.columns
        assert [row["game_id"] for row in whole] == rows["game_id"].to_list()


@pytest.mark.parametrize("form", ["csv", "json"])
def test_an_answer_that_is_too_large_is_refused(
    form: str, opened: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = PageRequest("games", form, {})
    monkeypatch.setattr(
        templating, "MAX_RESPONSE_CHARACTERS", len(render_reply(opened, asked).text)
    )
    assert render_reply(opened, asked).status == 200
    monkeypatch.setattr(templating, "MAX_RESPONSE_CHARACTERS", 1000)
    with pytest.raises(UsageError, match="ask for less"):
        render_reply(opened, asked)


def test_a_page_whose_extra_is_missing_says_what_to_install(
    opened: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.plugins.find_spec", lambda _: None)
    shown = render_or_report_error(opened, PageRequest("ratings", "html", {}))
    assert (shown.status, shown.title) == (501, "Not installed")
    assert "pip install 'magic-benchmark-pipeline[ratings]'" in shown.text


@pytest.mark.slow
def test_a_copy_of_findings_has_all(opened: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the page the first ones; the rows of the page are those of the audit, as before."""
    monkeypatch.setattr("pipeline.pages.list_pages.ROWS_PER_PAGE", 5)
    whole = opened.findings("silent_analyses")
    assert whole.height > 5
    shown = content_of(opened, "audit", kind="silent_analyses")
    assert_frame_equal(shown.frame("findings"), whole.head(5))
    for frame, rows in (("findings", whole), ("", opened.audit())):
        asked = parse_page_parameters("audit", {"kind": "silent_analyses", "frame": frame})
        assert_frame_equal(pl.concat(all_rows_in_parts("audit", opened, asked)), rows)
    with pytest.raises(UsageError, match="no frame title"):
        shown.frame("title")


def test_a_search_that_stopped_gives_no_csv(opened: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.pages.list_pages.MAX_CSV_MESSAGES", 10)
    with pytest.raises(UsageError, match="stopped after"):
        render_reply(opened, PageRequest("search", "csv", {"words": "I"}))


def test_the_menu_keeps_edition_and_system(opened: Lake) -> None:
    """Where a page has them: that of SQL has neither."""

    def menu(**given: str) -> str:
        page = render_document(
            "lake", opened, Reply(200, "Model", ""), PageRequest("model", "html", given)
        )
        return page[page.index("<nav") : page.index("</nav>")]

    kept = menu(system="a&b", edition="audited", model="m")
    assert 'href="/leaderboard?edition=audited&amp;system=a%26b"' in kept
    assert 'href="/sql"' in kept
    assert "model=m" not in kept
    assert 'href="/leaderboard"' in menu()
