"""What a notebook shows of a lake, a game and a page: ours alone, in a style that stays inside."""

import re
import sys
from itertools import accumulate
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
    games = [evil.game(game_id) for game_id in evil.games()["game_id"]]
    pages = [
        evil.page(name, **PARAMETERS.get(name, {}))
        for name in NAMES
        if name not in ("game", "plan")  # a plan takes two models without gaps
    ]
    seen = ""
    for one in (evil, *games, *pages):
        html = one._repr_html_()
        check(html)
        seen += html
    assert "&lt;script&gt;window.hit=1" in seen
    texts = "".join(game.text for game in games)
    assert set(UNSAFE_CHARACTERS.findall(texts)) <= {"\n"}


def test_the_style_stays_inside(opened: Lake) -> None:
    """All rules are inside of one block, for the class of our own frame."""
    html = opened._repr_html_()
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style.startswith(".magic-page.magic-page {")
    braces = re.sub(r"/\*.*?\*/|[^{}]", "", style, flags=re.DOTALL)
    depths = list(accumulate({"{": 1, "}": -1}[brace] for brace in braces))
    assert depths.index(0) == len(depths) - 1, "a rule is outside of our block"
    assert html.startswith('<div class="magic-page">')
    assert not re.search(r"\b(body|html|:root)\b", style)


def test_a_lake_shows_its_tables_and_not_where_it_is(opened: Lake, lake: Path) -> None:
    html = opened._repr_html_()
    n_messages = sum(opened.row_counts_by_file("messages").values())
    assert ">messages</th><td>One message" in html
    assert f"{n_messages:,}</td>" in html
    assert str(lake.parent) not in html


def test_a_game_shows_what_was_said_and_counted(opened: Lake) -> None:
    game = opened.game(opened.games(game_type="chameleon")["game_id"][0])
    html = game._repr_html_()
    assert html.count("<tr id=") == game.messages.height
    assert "chameleon" in repr(game)
    assert all(f"\n{index}  " in game.text for index in game.messages["message_index"])
    assert [sign for sign in "✓✗" if sign not in game.text or sign not in html] == []


def test_a_wrong_request_is_an_error_as_elsewhere(opened: Lake) -> None:
    with pytest.raises(UsageError, match="no page `x`: choose from"):
        opened.page("x")
    with pytest.raises(UsageError, match="no game of nobody"):
        opened.page("games", model="nobody")
    assert opened.page("games", outcome="unfinished").rows.height == 0
    assert opened.page("game", game=opened.games()["game_id"][0], roles=True).rows.height


def test_without_the_library_for_pages_there_is_the_plain_text(
    opened: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = opened.game(opened.games()["game_id"][0])
    monkeypatch.setitem(sys.modules, "pipeline.pages.report", None)
    assert opened._repr_html_() is None
    assert game._repr_html_() is None
    with pytest.raises(PipelineError, match="pip install"):
        opened.page("leaderboard")
