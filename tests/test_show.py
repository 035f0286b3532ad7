"""`magic show`: all that the tables say of a game, or no more than one seat was shown."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace
from rawlogs import encode

from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.events.contracts import GAME_TABLES
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import NAMES
from pipeline.metrics.evidence import evidence
from pipeline.reports.transcript import Transcript, transcript
from pipeline.simulate import simulate
from pipeline.vocabulary import EDITIONS

EVIL = "\x1b[2J# no heading\n\x1b[31m```\n| a | \x9b2J\u202e"
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A lake of a game of each kind, one with a hostile message."""
    folder = tmp_path_factory.mktemp("show")
    results = simulate(folder / "logs", models=1, games=1, seed=3).results
    log = next(results.glob("chameleon/*_as_chameleon_*/0.json"))
    document = json.loads(log.read_text())
    document["history"][0]["content"] += EVIL
    (log.parent / "9.json").write_bytes(encode(document))
    ingest(results, folder / "lake")
    return folder / "lake"


@pytest.fixture(scope="module")
def lake(place) -> StoredLake:
    return open_lake(place)


@pytest.fixture(scope="module")
def games(lake) -> list[str]:
    return lake.table("games").collect()["game_id"].to_list()


@pytest.fixture(scope="module")
def transcripts(lake, games) -> dict[str, Transcript]:
    """The transcript of each game."""
    return {game: transcript(lake, game) for game in games}


def shown(capsysbinary, place, *words: str) -> str:
    assert main(["show", *words, "--lake", str(place)]) == 0
    return capsysbinary.readouterr().out.decode()


def test_a_transcript_is_the_rows_of_its_game(lake, transcripts):
    everything = pl.concat(
        [evidence(lake, name).cast({"round": pl.Int32}) for name in NAMES], how="vertical_relaxed"
    )
    for game, result in transcripts.items():
        for name in GAME_TABLES:
            rows = lake.table(name).filter(pl.col("game_id") == game).collect()
            assert sorted(map(repr, result.tables[name].rows())) == sorted(map(repr, rows.rows()))
        mine = everything.filter(pl.col("game_id") == game)
        mine = mine.select(result.counted.columns)
        assert sorted(map(repr, result.counted.rows())) == sorted(map(repr, mine.rows()))
        assert mine.height
        indices = result.tables["messages"]["message_index"]
        assert indices.to_list() == list(range(result.game["n_messages"]))


def test_a_seat_sees_what_was_shown_to_it_or_to_all(transcripts):
    n_hidden = 0
    for result in transcripts.values():
        messages = result.tables["messages"].rows(named=True)
        for seat, player in result.tables["players"].select("seat", "player").iter_rows():
            seen = result.items_seen_by(seat)
            assert seen.columns == ["message_index", "player", "content"]
            assert seen.rows() == [
                (m["message_index"], m["player"], m["content"])
                for m in messages
                if player in m["visible_to"] or "all" in m["visible_to"]
            ]
            n_hidden += len(messages) - seen.height
    assert n_hidden


@pytest.mark.some(1)
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_a_seat_learns_nobodys_role(form, capsysbinary, place, lake):
    """Chameleon's word is told to two, and to none other; nor are models and roles."""
    chameleon = lake.table("games").filter(game_type="chameleon", game_index=0).collect()
    result = transcript(lake, chameleon["game_id"][0])
    seats = dict(result.tables["players"].select("seat", "side").iter_rows())
    for seat, side in seats.items():
        text = shown(
            capsysbinary, place, result.game["game_id"], "--seat", str(seat), "--format", form
        )
        private = [
            m["content"].strip()
            for m in result.tables["messages"].rows(named=True)
            if m["phase"] in ("identification", "analysis")
        ]
        assert private
        assert not any(json.dumps(line)[1:-1] in text or line in text for line in private)
        assert ("You are not chameleon" in text) == (side == "civilian")
        assert ("You are the chameleon!" in text) == (side == "hidden")
        assert not any(model in text for model in result.tables["players"]["model"])


@pytest.mark.slow
def test_text_and_markdown_have_every_message_and_what_was_counted(
    capsysbinary, place, transcripts
):
    for place_of, (game, result) in enumerate(transcripts.items()):
        form = ("text", "markdown")[place_of % 2]
        text = shown(capsysbinary, place, game, "--format", form)
        lines = {line.strip() for line in text.splitlines()}
        for content in result.tables["messages"]["content"]:
            if EVIL not in content:
                assert {line.strip() for line in content.strip().split("\n")} <= lines
        assert len(re.findall("[✓✗]|^ *(?:- )?0[.]\\d+ ", text, re.MULTILINE)) == (
            result.counted["message_index"].count()
        )


@pytest.mark.some(1)
@pytest.mark.parametrize("form", ["text", "json", "markdown"])
@pytest.mark.parametrize("seat", [[], ["--seat", "1"]])
def test_hostile_text_is_text(form, seat, capsysbinary, place):
    path = "chameleon/sim-atlas_competition_as_chameleon_vs_gpt4/9.json"
    text = shown(capsysbinary, place, path, "--format", form, *seat)
    assert "\\x1b[2J# no heading" in text or "\\u001b[2J# no heading" in text
    assert not UNSAFE.search(text)
    if form == "markdown":
        assert not re.search(r"^(```|\| a)", text, re.MULTILINE)


def test_a_game_is_found_by_the_beginning_of_its_id(lake, games):
    for game in games[:2]:
        assert transcript(lake, game[:16]).game["game_id"] == game


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("", "no game ``: specify a game's id"),
        ("0.json", "no game `0.json`"),
        (32 * "f", "no game `f{32}`"),
    ],
)
def test_no_such_game(game, message, lake):
    with pytest.raises(UsageError, match=message):
        transcript(lake, game)


def test_a_beginning_of_several_ids_names_them(lake, games):
    firsts = [game[0] for game in games]
    several = next(first for first in firsts if firsts.count(first) > 1)
    with pytest.raises(UsageError, match=f"`{several}` matches several games: {several}"):
        transcript(lake, several)


def test_no_such_seat(lake, games):
    with pytest.raises(UsageError, match="no seat 9 in this game: choose from 1, 2, 3"):
        transcript(lake, games[0]).items_seen_by(9)


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
def test_json_is_every_row_with_the_marks_of_an_edition(
    edition, capsysbinary, place, lake, transcripts
):
    for game, result in [*transcripts.items()][:2]:
        asked = (game, "--edition", edition)
        found = json.loads(shown(capsysbinary, place, *asked, "--format", "json"))
        assert list(found) == [*GAME_TABLES, "counted"]
        n_rows = {name: len(found[name]) for name in GAME_TABLES}
        assert n_rows == {name: result.tables[name].height for name in GAME_TABLES}
        expected = transcript(lake, game, edition=edition).counted.select("metric", "hit")
        assert [(one["metric"], one["hit"]) for one in found["counted"]] == expected.rows()
        assert {(one["edition"], one["system"]) for one in found["counted"]} <= {(edition, "magic")}
        assert f"What the metrics counted, edition {edition}" in shown(capsysbinary, place, *asked)


def test_a_number_of_games_needs_the_edition_release(capsys, place, games):
    assert main(["show", games[0], "--num-of-game", "3", "--lake", str(place)]) == 2
    assert "release" in capsys.readouterr().err


def test_what_is_unknown_has_a_mark_of_its_own(transcripts):
    """Neither a hit nor a miss: release knows no win of a run that is repeated."""
    result = next(one for one in transcripts.values() if "win_rate" in one.counted["metric"])
    unknown = replace(result, counted=result.counted.with_columns(hit=pl.lit(None, pl.Float64)))
    marks = [line.strip() for line in unknown.text.splitlines() if "win_rate: " in line]
    assert marks
    assert [mark for mark in marks if not mark.startswith("? win_rate: ")] == []
