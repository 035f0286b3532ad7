"""Roles that are hidden: without them, a page is the same whoever has which."""

import re
from functools import cache
from pathlib import Path
from typing import Any, Self

import polars as pl
import pytest
from msgspec.structs import replace
from readback import content_of, html

from pipeline.api import Game, Lake, open_lake
from pipeline.games import game_types_with_hidden_side
from pipeline.pages import (
    all_rows_in_parts,
    as_csv,
    as_json,
    page_definition,
    parse_page_parameters,
    render_page_fragment,
)
from pipeline.pages.templating import page_link
from pipeline.vocabulary import Side

# What all players of a game see; every other table is empty in an altered lake.
PUBLIC = ("games", "players", "messages", "votes", "eliminations", "team_proposals", "team_votes")
SECRET = ("whisper", "assassination", "guess")
OTHER = {Side.HIDDEN: Side.CIVILIAN, Side.CIVILIAN: Side.HIDDEN}


class Kept:
    """A lake whose games are read once, however many pages are made of them."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.game = cache(lake.game)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lake, name)

    def with_view(self, **_: str) -> Self:
        return self


class Altered:
    """A lake whose games have other roles, and whatever follows from these."""

    def __init__(self, lake: Kept) -> None:
        self.lake = lake

    def __getattr__(self, name: str) -> Any:
        return getattr(self.lake, name)

    def with_view(self, **_: str) -> Self:
        return self

    def game(self, game: str, *, edition: str) -> Game:
        found = self.lake.game(game, edition=edition)
        tables = {name: _altered(rows) for name, rows in found.tables.items()}
        for name, rows in tables.items():
            tables[name] = rows if name in PUBLIC else rows.clear()
        tables["messages"] = _sent_to_others(tables["messages"], tables["players"])
        return replace(found, tables=tables, counted=found.counted.reverse().head(1))


def _sent_to_others(messages: pl.DataFrame, players: pl.DataFrame) -> pl.DataFrame:
    """The messages with private notes, and what only some roles may say, sent by and to another."""
    is_note = pl.col("seat").is_null() & ~pl.col("visible_to").list.contains("all")
    is_secret = pl.col("phase").is_in(SECRET)
    other = players.row(-1, named=True)
    sent = pl.when(is_note | is_secret).then(pl.lit([other["player"]])).otherwise("visible_to")
    spoken = {
        name: pl.when(is_secret).then(pl.lit(other[name], messages.schema[name])).otherwise(name)
        for name in ("player", "seat", "model")
    }
    return messages.with_columns(visible_to=sent, **spoken)


def _altered(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the other side, outcome, words and verdicts; the texts stay."""
    changed = {
        "side": pl.col("side").replace(OTHER) if "side" in rows.columns else None,
        "role": pl.lit("another"),
        "competition": pl.lit("another"),
        "is_correct": ~pl.col("is_correct") if "is_correct" in rows.columns else None,
        "path": pl.lit("another.json"),
        "source": pl.lit("/another"),
        "outcome": pl.lit("another"),
        "outcome_code": pl.lit(7),
        "word": pl.lit("another"),
        "other_word": pl.lit("word"),
        "hidden_player": pl.lit("another"),
        "tested_player": pl.lit("another"),
        "setting": pl.lit("{}"),
        "cause": pl.lit("another"),
    }
    return rows.with_columns(**{one: to for one, to in changed.items() if one in rows.columns})


def forms(lake: Lake | Kept | Altered, **given: str) -> tuple[str, str, str]:
    """The page as HTML, JSON and CSV, with all that it is called."""
    asked = parse_page_parameters("game", given)
    found = page_definition("game").content(lake, asked)
    text = found.title + str(render_page_fragment("game", found, asked, page_link))
    return text, as_json(found, asked, 1), as_csv(all_rows_in_parts("game", lake, asked))


@pytest.mark.some(2)
@pytest.mark.slow
@pytest.mark.parametrize("game_type", game_types_with_hidden_side())
def test_no_system_s_page_depends_on_roles(game_type: str, lake_of_formats: Path) -> None:
    """Neither the text of a page of any format's games, nor its tooltips, title, JSON and CSV."""
    opened = open_lake(lake_of_formats)
    games = opened.games(game_type=game_type)["game_id"]
    assert games.len()
    kept = Kept(opened)
    for game in games:
        hidden = {"game": game, "roles": "false"}
        assert forms(kept, **hidden) == forms(Altered(kept), **hidden)
        shown, altered = (forms(one, game=game) for one in (kept, Altered(kept)))
        assert shown[0] != altered[0]


def test_nobody_is_seen_to_whisper(lake_of_formats: Path) -> None:
    """Whoever whispers is a werewolf, and so is whoever hears it."""
    opened = open_lake(lake_of_formats)
    hidden = {"game": "aiwolf/1.log", "roles": "false"}
    shown = content_of(opened, "game", **hidden).games[0]
    whispers = [p for p in shown.parts if p.message and p.message["phase"] == "whisper"]
    assert len(whispers) == 3
    names = ("player", "seat", "visible_to")
    assert not any(whisper.message[name] for whisper in whispers for name in names)
    assert {whisper.place for whisper in whispers} <= set(shown.private)
    assert shown.players[2]["out_in_round"] == 1
    assert "out_by" not in shown.players[2]
    secrets = ("attack vote → 樹", "round 1, by vote")
    hiding, showing = html(opened, "game", **hidden), html(opened, "game", game="aiwolf/1.log")
    hints = ("attack", "Private note of the moderator", "by vote")
    assert [text for text in hints if text in hiding] == []
    assert [text for text in secrets if text not in showing] == []


def test_what_may_say_a_role_is_folded(opened: Lake) -> None:
    game = opened.games(game_type="undercover")["game_id"][0]
    whole = html(opened, "game", game=game, roles="false")
    open_text = re.sub(r"<details>.*?</details>", "", whole, flags=re.DOTALL)
    said = "Your word is", "my role is"
    assert [(text in whole, text in open_text) for text in said] == [(True, False)] * 2


@pytest.mark.slow
def test_other_games_have_nothing_to_hide(opened: Lake) -> None:
    for game_type in ("cost_sharing", "prisoners_dilemma", "public_good"):
        game = opened.games(game_type=game_type)["game_id"][0]
        asked = {"game": game, "roles": "false"}
        found = content_of(opened, "game", **asked)
        assert found.counted.height == opened.game(game).counted.height > 0
        assert not found.are_roles_hidden
        assert found.games[0].game["path"] in html(opened, "game", **asked)


def test_roles_are_shown_until_they_are_hidden(opened: Lake) -> None:
    game = opened.evidence("self_awareness")["game_id"][0]
    links = re.findall(r'href="(/game\?[^"#]*)', html(opened, "evidence", metric="self_awareness"))
    assert [link for link in links if "roles=" in link] == []
    assert "Self-Awareness" in html(opened, "game", game=game)
    hidden = html(opened, "game", game=game, roles="false")
    assert "Self-Awareness" not in hidden
    assert "Metrics are hidden because they reveal roles" in hidden
