"""Every value, interval and count on the pages, read back out, is what the API gives."""

import re
from html import unescape
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import polars as pl
import pytest
from readback import content_of, html, number, pages_of, table

from pipeline.api import Lake, open_lake
from pipeline.ingest import ingest
from pipeline.metrics import NAMES, metric_spec
from pipeline.metrics.registry import (
    Metric,
    Rows,
    Term,
    metric_names,
    register_metrics_temporarily,
)
from pipeline.pages import encode_query
from pipeline.pages.content import ROWS_PER_PAGE
from pipeline.reports import games
from pipeline.simulate import simulate
from pipeline.vocabulary import EDITIONS, GameType


def check_cells(text: str, name: str, values: pl.DataFrame, keys: list[str]) -> None:
    """Each cell of a metric has the value, interval and counts of its row."""
    rows = {tuple(row[key] for key in keys): row for row in values.iter_rows(named=True)}
    n_checked = 0
    for cells in table(text, name)[1:]:
        named = [cell["text"].split("*")[0] for cell in cells]
        for cell in (cell for cell in cells if cell["metric"]):
            (row,) = [
                row
                for key, row in rows.items()
                if key[0] == cell["metric"] and set(map(str, key[1:])) <= set(named)
            ]
            assert number(cell.get("value")) == row["value"]
            if row["value"] is not None:
                assert number(cell.get("low")) == row["ci_low"]
                assert number(cell.get("high")) == row["ci_high"]
                if name != "leaderboard":
                    assert number(cell.get("counted")) == row["counted"]
                    assert number(cell["games"]) == row["n_games"]
            n_checked += 1
    assert n_checked == values.height


def test_an_address_says_0() -> None:
    assert (
        encode_query({"margin": 0, "model": "", "roles": False, "by": None})
        == "margin=0&roles=false"
    )


@pytest.mark.some(1)
@pytest.mark.parametrize("edition", EDITIONS)
def test_leaderboard(opened: Lake, edition: str) -> None:
    text = html(opened, "leaderboard", edition=edition)
    values = opened.metrics(edition=edition, game_type="all")
    check_cells(text, "leaderboard", values, ["metric", "model"])
    ranked = opened.leaderboard(edition=edition)
    shown = table(text, "leaderboard")[1:]
    assert [number(row[0].get("data")) for row in shown] == ranked["rank"].to_list()
    # A count that is 0 for all models takes no column.
    counted = [name for name in ("n_games", "n_missing") if ranked[name].sum()]
    texts = [tuple(cell["text"] for cell in row[1 : 3 + len(counted)]) for row in shown]
    named = ranked.select("model", "group_letters", *counted).cast(pl.String)
    assert texts == named.rows()


@pytest.mark.some(2)
@pytest.mark.parametrize("name", NAMES)
def test_metric(opened: Lake, name: str) -> None:
    rows = opened.metrics(metric=[name])
    is_all = pl.col("game_type") == "all"
    text = html(opened, "metric", metric=name)
    check_cells(text, "all-types", rows.filter(is_all), ["metric", "model"])


def test_model(opened: Lake) -> None:
    rows = opened.metrics(game_type="all", model="sim-cedar")
    text = html(opened, "model", model="sim-cedar")
    check_cells(text, "profile", rows, ["metric"])


SLICE = {"game_type": "undercover", "where": "seat < 3", "by": "role", "margin": "0.2"}


@pytest.mark.parametrize("given", [pytest.param({}, marks=pytest.mark.slow), SLICE])
def test_compare(opened: Lake, given: dict[str, str]) -> None:
    text = html(opened, "compare", model="sim-atlas", other="sim-delta", **given)
    asked: dict[str, Any] = {name: one for name, one in given.items() if name != "margin"}
    rows = opened.compare(("sim-atlas", "sim-delta"), **asked)
    if "game_type" in given:  # of other games there is nothing to compare
        kept = [n for n in NAMES if given["game_type"] in metric_spec(n).game_types]
        rows = rows.filter(pl.col("metric").is_in(kept))
    columns = ["value", "other_value", "difference", "ci_low", "ci_high", "p_value", "p_holm"]
    columns += ["n_settings", "common_value", "other_common_value"]
    # What is null, as the values on common settings of an unpaired comparison, is not there.
    expected = [[one for one in row if one is not None] for row in rows.select(columns).iter_rows()]
    (body,) = re.findall('<table id="compare".*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    lines = re.findall(r"<tr.*?</tr>", body, re.DOTALL)
    for line, wanted in zip(lines, expected, strict=True):
        shown = map(float, re.findall(r'<data[^>]* value="([^"]*)"', line))
        assert list(shown)[: len(wanted)] == wanted
    assert ("Verdict" in text) == ("margin" in given)
    filters = {name: asked[name] for name in ("game_type", "where") if name in asked}
    apart = opened.settings_apart("sim-atlas", "sim-delta", rows["metric"][0], **filters)
    differences = [number(one[4].get("data")) for one in table(text, "apart")[1:]]
    assert differences == apart["difference"].to_list()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            {"game_type": "chess", "where": "bad(", "by": "colour", "margin": "x"},
            marks=pytest.mark.slow,
        ),
        {"other": "nobody", "margin": "x"},
    ],
)
def test_a_wrong_field_of_a_comparison_has_its_fault(opened: Lake, wrong: dict[str, str]) -> None:
    found = content_of(opened, "compare", **{"model": "sim-atlas", "other": "sim-delta"} | wrong)
    assert found.faults.keys() == wrong.keys()
    assert found.rows.height == (0 if "other" in wrong else len(NAMES))


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"all_pairs": "true", "n_pairs": "6", "metric": "judgement"},
        {"model": "sim-delta", "other": "sim-atlas", "difference": "0.2", "unpaired": "true"},
    ],
)
def test_plan(opened: Lake, given: dict[str, str]) -> None:
    asked: dict[str, Any] = {
        "metric": given.get("metric", "win_rate"),
        "difference": float(given["difference"]) if "difference" in given else None,
        "n_pairs": int(given.get("n_pairs", 1)),
        "pairs": [(given["model"], given["other"])] if "model" in given else [],
        "all_pairs": "all_pairs" in given,
        "unpaired": "unpaired" in given,
    }
    planned = opened.present("plan", **asked)
    text = html(opened, "plan", **given)
    shown = [[cell["text"] for cell in row] for row in table(text, "plan")[1:]]
    wanted = planned.rows.select("model", "other", "settings", "n_more", "games")
    texts = [[str("–" if one is None else one) for one in row] for row in wanted.rows()]
    assert [[*row[:2], *row[-3:]] for row in shown] == texts
    assert unescape(text).count(planned.notes[-1]) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param({"other": ""}, "specify two models, or none", marks=pytest.mark.slow),
        pytest.param({"all_pairs": "true"}, "not both", marks=pytest.mark.slow),
        ({"model": "nobody"}, "no game of nobody"),
        pytest.param({"difference": "9"}, "impossible", marks=pytest.mark.slow),
        pytest.param({"difference": "x"}, "not a number", marks=pytest.mark.slow),
        pytest.param({"n_pairs": "1.5"}, "must be a whole number", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_field_of_a_plan_has_its_fault(
    opened: Lake, wrong: dict[str, str], said: str
) -> None:
    found = content_of(opened, "plan", **{"model": "sim-delta", "other": "sim-atlas"} | wrong)
    assert found.faults.keys() == wrong.keys()
    assert said in "".join(found.faults.values())
    assert found.rows.is_empty()


@pytest.mark.some(4, 4)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_the_sum_above_evidence(opened: Lake, name: str, edition: str) -> None:
    text = html(opened, "evidence", metric=name, model="sim-cedar", edition=edition)
    rows = opened.evidence_sum(name, model="sim-cedar", edition=edition)
    shown = [number(one) for one in re.findall(r'<b><data value="([^"]*)">', text)]
    assert shown == [one for one in rows["value"].tail(1) if one is not None]
    if rows.height > 2:
        added = [number(cells[-1].get("value")) for cells in table(text, "terms")[1:]]
        assert added == rows["value"].to_list()


def test_completeness(opened: Lake) -> None:
    text = html(opened, "completeness")
    rows = opened.completeness()
    numbers = [name for name, dtype in rows.drop("n_missing").schema.items() if dtype.is_numeric()]
    shown = [
        [int(cell["text"]) for cell in cells[2:-1]] for cells in table(text, "completeness")[1:]
    ]
    assert shown == [list(row) for row in rows.select(numbers).iter_rows()]
    bounds = opened.readability().select("value", "value_min", "value_max", "counted").rows()
    read = [
        tuple(
            number(cells[at].get(end))
            for at, end in ((2, "data"), (3, "low"), (3, "high"), (4, "data"))
        )
        for cells in table(text, "readability")[1:]
    ]
    assert read == bounds


def test_audit(opened: Lake) -> None:
    text = html(opened, "audit", kind="stated_votes")
    rows = opened.audit()
    shown = table(text, "audit")[1:]
    counts = [[int(row[1]["text"]), int(row[2]["text"]), int(row[4]["text"])] for row in shown]
    assert counts == [list(row) for row in rows.select("checked", "found", "n_games").iter_rows()]
    floats = [[number(row[at].get("data")) for at in (3, 6, 7, 8)] for row in shown]
    columns = ["share", "as_logged", "as_read", "effect"]
    assert floats == [list(row) for row in rows.select(columns).iter_rows()]
    assert len(table(text, "findings")[1:]) == opened.findings("stated_votes").height


def test_pages_of_a_metric_with_rows_alike_are_all_of_it(opened: Lake) -> None:
    """A seat's proposal has a row for each party: in all that evidence shows they are alike."""
    is_high = (pl.col("share") > 0.4).cast(pl.Float64)
    rows = Rows("proposals", term=pl.lit("shares"), what=pl.lit("share"), hit=is_high)
    declared = Metric(terms=(Term("shares", (GameType.COST_SHARING,)),), rows=(rows,))
    sql = """WITH attempts AS (
    SELECT
        *, 'shares' AS term, 'share' AS what,
        CAST(share > 0.4 AS DOUBLE) AS hit,
        parse_status <> 'outage' AND share IS NOT NULL AS is_counted
    FROM proposals
    WHERE is_tested AND is_finished
)
SELECT
    model, coalesce(game_type, 'all') AS game_type, avg(hit) AS value, sum(hit) AS hits,
    count(*) AS counted, count(DISTINCT game_id) AS n_games
FROM attempts
WHERE is_counted
GROUP BY GROUPING SETS ((model, game_type), (model))"""
    given = opened.with_metric(declared, name="high_shares", sql=sql)
    whole = given.evidence("high_shares")
    assert whole.is_duplicated().any()
    assert whole.height > 2 * ROWS_PER_PAGE
    with register_metrics_temporarily(given._added):
        assert pages_of(given, "evidence", metric="high_shares").equals(whole)


@pytest.mark.parametrize(
    ("name", "given", "key"),
    [("games", {}, ()), ("documents", {"path": "."}, ("source", "path"))],
)
def test_pages_in_any_order_are_all_of_it(
    opened: Lake, name: str, given: dict[str, str], key: tuple[str, ...]
) -> None:
    """Also where many rows are alike in the column that they are sorted by, or have no value."""
    whole = getattr(opened, name)(**given)
    assert whole.height > 2 * ROWS_PER_PAGE
    orders = (pl.String, pl.Int64, pl.Float64)
    sortable = [one for one, dtype in whole.schema.items() if dtype in orders]
    assert len(sortable) > 5
    for column, order in zip(sortable[::2], cycle(["up", "down"])):
        rows = pages_of(opened, name, sort=column, order=order, **given)
        by = list(dict.fromkeys([column, *key]))
        down = [order == "down", *[False] * (len(by) - 1)]
        ordered = whole.sort(by, descending=down, nulls_last=True, maintain_order=True)
        assert rows.equals(ordered), column


def test_names_of_files_are_in_the_order_of_their_numbers() -> None:
    paths = ["b/1.json", "a/10.json", "a/2.json", "a/1.json", "a2/1.json", "a/01.json"]
    ordered = pl.DataFrame({"path": paths}).sort(games._NATURAL_SORT_KEY, "path")["path"].to_list()
    assert ordered == ["a/01.json", "a/1.json", "a/2.json", "a/10.json", "a2/1.json", "b/1.json"]


@pytest.mark.slow
def test_equal_names_of_two_runs_are_told_apart_by_their_source(tmp_path: Path) -> None:
    """A list of games of one source has no such column."""
    for seed, run in enumerate(("monday", "tuesday"), start=1):
        ingest(simulate(tmp_path / run, models=1, games=1, seed=seed).results, tmp_path / "lake")
        shown = html(open_lake(tmp_path / "lake"), "games", game_type="public_good")
        (head, *rows) = ([cell["text"] for cell in cells] for cells in table(shown, "games"))
        assert len({row[head.index("Path")] for row in rows}) == 1
        assert ("Source" in head) == (run == "tuesday")
    sources = [Path(row[head.index("Source")]).parent.name for row in rows]
    assert sorted(sources) == ["monday", "tuesday"]


def test_a_game_says_where_the_log_registered_another_vote_than_the_text(opened: Lake) -> None:
    """Also where a metric counted the vote, whose mark shows only the registered one."""
    differing = opened.findings("stated_votes").row(0, named=True)
    game = content_of(opened, "game", game=differing["game_id"])
    (part,) = [one for one in game.games[0].parts if one.place == f"m{differing['message_index']}"]
    of_magic = metric_names("release")  # a metric that is added can count messages, too
    assert [one.metric for one in part.marks if one.metric in of_magic] == ["judgement"]
    assert f"→ {differing['logged']}" in part.actions[0].line
    assert f"the text says {differing['says']}" in part.actions[0].line


def test_thoughts_are_dimmed_and_folded(opened: Lake) -> None:
    """What a player wrote for nobody else; what all hear of the same length is open."""
    messages = opened.table("messages").filter(
        pl.col("content").str.len_chars().is_between(300, 600)
    )
    private, public = (
        messages.filter(pl.col("phase").is_in(phases)).collect().row(0, named=True)
        for phases in (["reflection"], ["moderation"])
    )
    for message, is_folded in ((private, True), (public, False)):
        shown = html(opened, "game", game=message["game_id"])
        start = shown.index(f'<tr id="m{message["message_index"]}"')
        row = shown[start : shown.index("</tr>", start)]
        assert (" alone" in row.partition(">")[0]) == is_folded
        assert ("<details>" in row) == is_folded


def test_marks_are_quiet_until_a_metric_is_chosen(opened: Lake) -> None:
    counted = opened.evidence("judgement").row(0, named=True)
    quiet, chosen = (
        html(opened, "game", game=counted["game_id"], **more)
        for more in ({}, {"metric": "judgement"})
    )
    assert 'class="transcript"' in quiet
    assert "next counted</a>" not in quiet
    assert 'class="transcript chosen"' in chosen
    assert "next counted</a>" in chosen


def test_a_text_that_says_all_is_looked_for(opened: Lake) -> None:
    """Only of game types it means every one."""
    found = opened.games(path="all")
    assert found.height < opened.games().height
    for name, given in (("games", {"path": "all"}), ("games", {"path": "all", "game_type": "all"})):
        assert pages_of(opened, name, **given).equals(found)
    assert pages_of(opened, "documents", path="all").equals(opened.documents(path="all"))


def test_a_list_is_not_sorted_by_what_has_no_order(opened: Lake) -> None:
    for page, column in (("games", "models"), ("documents", "colour"), ("missing", "paths")):
        assert "cannot sort by" in content_of(opened, page, sort=column).faults["sort"]
    assert content_of(opened, "games", sort="n_rounds", after='["x"]').faults.keys() == {"after"}


def test_a_cell_leads_to_as_many_rows_as_it_counts(opened: Lake) -> None:
    values = opened.metrics(metric="judgement", by=["model", "role"])
    counted = {
        (model, role): n for model, role, n in values.select("model", "role", "counted").rows()
    }
    rows = table(html(opened, "leaderboard", by="role"), "leaderboard")[1:]
    cells = [cell for row in rows for cell in row if cell["metric"] == "judgement"]
    cells = [cell for cell in cells if cell.get("value")]
    for cell in cells:
        asked = dict(parse_qsl(urlsplit(cell["href"]).query))
        role = asked["where"].split("'")[1]
        found = content_of(opened, "evidence", **asked).rows
        assert found.height == counted[asked["model"], role] > 0
    assert len(cells) == sum(map(bool, counted.values())) > 0
