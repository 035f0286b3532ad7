"""Links for others: to a page, past the token, and to a plot."""

import json
import re
from pathlib import Path
from urllib.parse import unquote, urlencode

import pytest
from polars.testing import assert_frame_equal
from readback import content_of, html
from servers import TOP, Served

from pipeline.api import Lake, open_lake
from pipeline.ingest import ingest
from pipeline.render import build_result_table
from pipeline.server.app import local_address_or_root

SAMPLE = TOP / "data" / "sample" / "results"
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake of two ingests."""
    place = tmp_path_factory.mktemp("grown") / "lake"
    ingest(SAMPLE / "undercover", place)
    ingest(SAMPLE / "chameleon", place)
    return open_lake(place)


def test_the_root_leads_to_the_leaderboard_that_is_asked_for(served: Served) -> None:
    for asked in ("", "?edition=release", "?where=role%20%3D%20%27a%27&edition=audited"):
        led = served.get(f"/{asked}")
        assert (led.status, led.headers["location"]) == (303, f"/leaderboard{asked}")


@pytest.mark.slow
def test_an_act_without_words_leads_to_a_place_in_its_game(tmp_path: Path) -> None:
    seats = [
        {"player": name, "model": name.lower(), "role": role}
        for name, role in (("Ann", "chameleon"), ("Bob", "non_chameleon"), ("Cy", "non_chameleon"))
    ]
    votes = [{"act": "votes", "round": number, "target": "Ann"} for number in (1, 2)]
    document = {
        "magic_interchange": 1,
        "system": "own",
        "game_type": "chameleon",
        "setting": {"code": "tea"},
        "is_finished": True,
        "end": {"outcome": "guessed_wrong"},
        "seats": seats,
        "events": [{"actor": "Ann", "text": "Hm.", "round": 1}, {"actor": "Bob", "acts": votes}],
    }
    (tmp_path / "game.json").write_text(json.dumps(document))
    ingest(tmp_path / "game.json", tmp_path / "lake")
    lake = open_lake(tmp_path / "lake")
    rows = html(lake, "evidence", metric="judgement", model="bob")
    links = re.findall(r'href="/game\?game=([^"&]*)[^"]*#(r\d)"', rows)
    assert {at for _, at in links} == {"r1", "r2"}
    for game, at in links:
        assert f'id="{at}"' in html(lake, "game", game=unquote(game))


@pytest.mark.parametrize(
    ("address", "is_local"),
    [
        ("/games?model=a%20b&x=/y", True),
        ("/", True),
        *((address, False) for address in ("", "games", "//evil.example", "/\\evil.example")),
        *((address, False) for address in ("\\\\evil.example", "https://evil.example", "/\t/x")),
        *((address, False) for address in ("/\n/evil.example", " //x", "javascript:x", "/é")),
    ],
)
def test_what_is_next_is_here(address: str, is_local: bool) -> None:
    assert local_address_or_root(address) == (address if is_local else "/")


def test_without_the_token_one_is_asked_for_it(beyond: tuple[Served, str]) -> None:
    served, token = beyond
    answer = served.get("/games?model=<b>&token=wrong", **HTML)
    assert answer.status == 401
    assert 'name="next" value="/games?model=%3Cb%3E"' in answer.text
    assert token not in answer.text
    led = served.get("/?" + urlencode({"next": "/games?model=%3Cb%3E", "token": token}))
    assert (led.status, led.headers["location"]) == (303, "/games?model=%3Cb%3E")
    for other in ("//evil.example", "https://evil.example/", "/\\evil.example", "/\t/evil.example"):
        led = served.get("/?" + urlencode({"next": other, "token": token}))
        assert (led.status, led.headers["location"]) == (303, "/")
        again = served.get("/?" + urlencode({"next": other, "token": "wrong"}), **HTML)
        assert 'name="next" value="/"' in again.text


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        pytest.param(
            "/leaderboard?edition=release&by=role&where=role+%3D+%27%3Cb%3E%27",
            "Leaderboard, edition release, where role = &#39;&lt;b&gt;&#39;, by role",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "/evidence?metric=judgement&where=e",
            "Evidence of Judgement, edition paper, where e",
            marks=pytest.mark.slow,
        ),
        (
            "/games?game_type=chameleon&model=sim-atlas&seen=50",
            "Games, model sim-atlas, game type chameleon",
        ),
        ("/tables?table=votes", "Table votes"),
    ],
)
def test_the_title_and_the_heading_say_the_slice(served: Served, path: str, shown: str) -> None:
    page = served.get(path).text
    title = re.findall("<title>([^·]*) · .* · magic</title>", page)
    (heading,) = re.findall(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    assert title == [shown]
    assert [part for part in shown.split(", ") if part not in heading] == []


@pytest.mark.slow
def test_what_changed_since_an_ingest_is_a_page(grown: Lake) -> None:
    """The values of the state after it, and of the state that the address names."""
    shown = content_of(grown, "diff")
    assert (shown.title, shown.choices["since"]) == ("Since ingest 1", ("1",))
    assert_frame_equal(shown.rows, open_lake(str(grown.path), 1).diff(grown))
    moved, *notes = build_result_table("diff", shown.rows, all_values=False).notes
    assert (shown.moved, shown.notes, shown.shown.height) == (moved, tuple(notes), 0)
    asked = {"all_values": "true", "metric": "judgement", "model": "sim-atlas"}
    row = content_of(grown, "diff", **asked).shown.row(0, named=True)
    assert (row["metric"], row["model"]) == ("judgement", "sim-atlas")
    for wrong in ("2", "x"):
        assert "no earlier ingest" in content_of(grown, "diff", since=wrong).faults["since"]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("page", "field"),
    [
        *((page, "model") for page in ("evidence", "model", "compare", "missing")),
        *(("compare", "other"), ("missing", "competition")),
    ],
)
def test_an_unknown_name_is_said_beside_its_field(page: str, field: str, opened: Lake) -> None:
    faults = content_of(opened, page, **{field: "nope"}).faults
    assert list(faults) == [field]
    assert f'id="fault-{field}" role="alert">{faults[field]}' in html(
        opened, page, **{field: "nope"}
    )


@pytest.mark.slow
def test_a_plot_is_a_file(served: Served) -> None:
    page = served.get("/metric?metric=judgement&by=role").text
    assert 'href="/metric.svg?metric=judgement&amp;by=role"' in page
    svg = served.get("/metric.svg?metric=judgement&by=role")
    assert svg.headers["content-type"] == "image/svg+xml"
    assert svg.headers["content-disposition"] == 'attachment; filename="metric.svg"'
    assert svg.text.startswith("<svg")
    assert "sim-atlas" in svg.text
    fetched = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\"'<>\s]+", svg.text)) <= fetched
    without = served.get("/games.svg")
    assert (without.status, "no plot" in without.text) == (400, True)


@pytest.mark.slow
def test_a_plot_is_a_picture(served: Served) -> None:
    answer = served.bytes("/model.png?model=sim-atlas")
    assert answer.startswith(b"\x89PNG\r\n")
    assert len(answer) > 10_000


@pytest.mark.parametrize("name", ["games", pytest.param("compare", marks=pytest.mark.slow)])
def test_the_game_types_to_choose_from_are_those_of_the_lake(grown: Lake, name: str) -> None:
    """Any other leads nowhere; one that a link brings along stays what is chosen."""
    played = ["chameleon", "undercover"]
    assert [*content_of(grown, name).choices["game_type"][1:]] == played
    offered = content_of(grown, name, game_type="public_good").choices["game_type"][1:]
    assert sorted(offered) == ["chameleon", "public_good", "undercover"]
