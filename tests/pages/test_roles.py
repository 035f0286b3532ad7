"""Roles that are hidden: without them, a page is the same whoever has which."""

import re
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace
from servers import Served

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
from pipeline.vocabulary import HIDDEN_ROLE_GAMES, Side

# What all players of a game see; every other table is empty in an altered lake.
PUBLIC = ("games", "players", "messages", "votes", "eliminations", "team_proposals", "team_votes")
SECRET = ("whisper", "assassination", "guess")
OTHER = {Side.HIDDEN: Side.CIVILIAN, Side.CIVILIAN: Side.HIDDEN}


class Kept:
    """A lake whose games are read once, however many pages are made of them."""

    def __init__(self, lake: Lake) -> None:
        self.game = cache(lake.game)
        self.systems = lake.systems
        self.unknown_game_types, self.unknown_tables = lake.unknown_game_types, lake.unknown_tables
        self.changed_game_types, self.view_options = lake.changed_game_types, lake.view_options
        self.failures = lake.failures

    def with_view(self, **_: str) -> "Kept":
        return self


class Altered:
    """A lake whose games have other roles, and whatever follows from these."""

    def __init__(self, lake: Kept) -> None:
        self.lake = lake
        self.systems = lake.systems
        self.unknown_game_types, self.unknown_tables = lake.unknown_game_types, lake.unknown_tables
        self.changed_game_types, self.view_options = lake.changed_game_types, lake.view_options
        self.failures = lake.failures

    def with_view(self, **_: str) -> "Altered":
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
    html = found.title + str(render_page_fragment("game", found, asked, page_link))
    return html, as_json(found, asked, 1), as_csv(all_rows_in_parts("game", lake, asked))


@pytest.mark.slow
@pytest.mark.parametrize("game_type", HIDDEN_ROLE_GAMES)
@pytest.mark.parametrize("edition", ["paper", "audited"])
def test_without_roles_a_page_does_not_depend_on_them(
    game_type: str, edition: str, opened: Lake
) -> None:
    """Neither the text of the page, nor its tooltips, title, JSON and CSV."""
    kept = Kept(opened)
    for game in opened.games(game_type=game_type)["game_id"].head(4):
        given = {"game": game, "edition": edition, "metric": "judgement"}
        hidden = {**given, "roles": "false"}
        assert forms(kept, **hidden) == forms(Altered(kept), **hidden)
        shown, altered = forms(kept, **given), forms(Altered(kept), **given)
        assert all(one != other for one, other in zip(shown, altered, strict=True))


@pytest.mark.some(1)
@pytest.mark.slow
@pytest.mark.parametrize("game_type", game_types_with_hidden_side())
def test_no_system_s_page_depends_on_roles(game_type: str, lake_of_formats: Path) -> None:
    """The same for every format's games with sides, whose acts say more than MAgIC's."""
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
    found = page_definition("game").content(opened, parse_page_parameters("game", hidden))
    shown = found.games[0]
    messages = {part.place: part.message for part in shown.parts if part.message}
    whispers = {place: row for place, row in messages.items() if row["phase"] == "whisper"}
    assert len(whispers) == 3
    names = ("player", "seat", "visible_to")
    assert not any(row[name] for row in whispers.values() for name in names)
    assert set(whispers) <= set(shown.private)
    assert shown.players[2]["out_in_round"] == 1
    assert "out_by" not in shown.players[2]
    html = forms(opened, **hidden)[0]
    assert "attack" not in html
    assert "Private note of the moderator" not in html
    shown = forms(opened, game="aiwolf/1.log")[0]
    assert "attack vote → 樹" in shown
    assert "round 1, by vote" in shown


def test_what_may_say_a_role_is_folded(opened: Lake) -> None:
    game = opened.games(game_type="undercover")["game_id"][0]
    html, _, _ = forms(opened, game=game, roles="false")
    open_text = re.sub(r"<details>.*?</details>", "", html, flags=re.DOTALL)
    assert "Your word is" in html
    assert "my role is" in html
    assert not re.search("Your word is|my role is", open_text)
    assert "Private" not in forms(opened, game=game)[0]


@pytest.mark.slow
def test_other_games_have_nothing_to_hide(opened: Lake) -> None:
    for game_type in ("cost_sharing", "prisoners_dilemma", "public_good"):
        game = opened.games(game_type=game_type)["game_id"][0]
        found = page_definition("game").content(
            opened, parse_page_parameters("game", {"game": game, "roles": "false"})
        )
        assert found.counted.height == opened.game(game).counted.height > 0
        assert not found.are_roles_hidden
        assert found.games[0].game["path"] in forms(opened, game=game, roles="false")[0]


def test_roles_are_shown_until_they_are_hidden(served: Served) -> None:
    row = served.json("/evidence.json?metric=self_awareness")["rows"][0]
    text = served.get("/evidence?metric=self_awareness").text
    (address, *_) = re.findall(rf'href="(/game\?game={row["game_id"]}[^"#]*)', text)
    assert "roles=" not in address
    assert "Self-Awareness" in served.get(address.replace("&amp;", "&")).text
    hidden = served.get(f"/game?game={row['game_id']}&roles=false").text
    assert "Self-Awareness" not in hidden
    assert "Metrics are hidden because they reveal roles" in hidden
