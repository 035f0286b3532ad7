"""What a notebook shows of a lake, a game and a page: ours alone, in a style that stays inside."""

import re
import sys
from pathlib import Path

import pytest
from test_hostile_pages import OURS, Tags

import pipeline
from pipeline.api import Lake
from pipeline.errors import PipelineError, UsageError
from pipeline.pages import NAMES
from pipeline.text_format import UNSAFE_CHARACTERS

PARAMETERS = {"search": {"words": "vote"}, "sql": {"query": "FROM players LIMIT 3"}}


@pytest.fixture(scope="module")
def evil(hostile: Path) -> Lake:
    return pipeline.open_lake(hostile)


def style_of(html: str) -> str:
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    return str(style)


def check(html: str) -> None:
    """Nothing of a log is an element, an address or an attribute that runs."""
    tags = Tags(html).found
    assert [tag for tag, _ in tags].count("style") == 1
    assert {tag for tag, _ in tags} <= (OURS | {"style", "h4"}) - {"script", "link", "html", "form"}
    ids = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for _, attributes in tags:
        hx = {"hx-boost:inherited"}  # which does nothing without the library of `magic view`
        assert not [one for one in {*attributes} - hx if one.startswith(("on", "hx-"))]
        assert re.match(r"#|$", attributes.get("href", "")), attributes
        assert not {"src", "action", "style"} & set(attributes)
    assert not [sign for sign in UNSAFE_CHARACTERS.findall(html) if sign != "\n"]


@pytest.mark.slow
def test_nothing_of_a_log_becomes_a_part_of_a_cell(evil: Lake) -> None:
    seen = evil._repr_html_()
    check(seen)
    for game_id in evil.games()["game_id"]:
        game = evil.game(game_id)
        html = game._repr_html_()
        check(html)
        assert not [sign for sign in UNSAFE_CHARACTERS.findall(game.text) if sign != "\n"]
        seen += html
    for name in NAMES:
        if name != "game":
            if name == "plan":  # which takes two models without gaps
                with pytest.raises(UsageError, match="a plan needs two models"):
                    evil.page(name)
                continue
            html = evil.page(name, **PARAMETERS.get(name, {}))._repr_html_()
            check(html)
            seen += html
    assert "&lt;script&gt;window.hit=1" in seen


def test_the_style_stays_inside(lake: Path) -> None:
    """All rules are inside of one block, for the class of our own frame."""
    html = pipeline.open_lake(lake)._repr_html_()
    style = style_of(html)
    assert style.startswith(".magic-page.magic-page {")
    depth = [0]
    for sign in re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL):
        depth.append(depth[-1] + {"{": 1, "}": -1}.get(sign, 0))
    assert depth[-1] == 0
    assert 0 not in depth[depth.index(1) : -1]
    assert html.startswith('<div class="magic-page">')
    assert not re.search(r"\b(body|html|:root)\b", style)


def test_a_lake_shows_its_tables_and_not_where_it_is(lake: Path) -> None:
    opened = pipeline.open_lake(lake)
    html = opened._repr_html_()
    n_messages = sum(opened.row_counts_by_file("messages").values())
    assert f">messages</th><td>{'One message'}" in html
    assert f"{n_messages:,}</td>" in html
    assert str(lake.parent) not in html


def test_a_game_shows_what_was_said_and_counted(lake: Path) -> None:
    opened = pipeline.open_lake(lake)
    game = opened.game(opened.games(game_type="chameleon")["game_id"][0])
    html = game._repr_html_()
    assert html.count("<tr id=") == game.messages.height
    assert "chameleon" in repr(game)
    assert all(f"\n{index}  " in game.text for index in game.messages["message_index"])
    for what in ("✓", "✗"):
        assert what in game.text
        assert what in html


def test_a_wrong_request_is_an_error_as_elsewhere(lake: Path) -> None:
    opened = pipeline.open_lake(lake)
    with pytest.raises(UsageError, match="no page `x`: choose from"):
        opened.page("x")
    with pytest.raises(UsageError, match="no parameter y: this page has"):
        opened.page("tables", y=1)
    with pytest.raises(UsageError, match="no game of nobody"):
        opened.page("games", model="nobody")
    assert opened.page("games", outcome="unfinished").rows.height == 0
    assert opened.page("game", game=opened.games()["game_id"][0], roles=True).rows.height


def test_without_the_library_for_pages_there_is_the_plain_text(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = pipeline.open_lake(lake)
    game = opened.game(opened.games()["game_id"][0])
    monkeypatch.setitem(sys.modules, "pipeline.pages.report", None)
    assert opened._repr_html_() is None
    assert game._repr_html_() is None
    with pytest.raises(PipelineError, match="pip install"):
        opened.page("leaderboard")
