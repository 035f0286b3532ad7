"""Who said the secret word of the game: in Python, on the command line and on the page."""

import re
from pathlib import Path

import polars as pl
import pytest
from rawlogs import chameleon, encode, undercover

import pipeline
from pipeline.api import Lake
from pipeline.errors import UsageError
from pipeline.ingest import ingest
from pipeline.pages import page_definition, parse_page_parameters
from pipeline.reports.documents import DEFAULT_SEARCH_LIMIT

CLUE = "It flows to the east."


def with_clues(code: str, *clues: str) -> bytes:
    """A game of Chameleon with this secret word and these clues, in order."""
    log = chameleon(flag=0, guess=f'I guess the code is "{code}".')
    log["game_setting"]["code"] = code
    said = [message for message in log["history"] if message["content"] == CLUE]
    for message, clue in zip(said, clues, strict=True):
        message["content"] = clue
    return encode(log)


DANUBE = with_clues("Danube", "The DANUBE!", "Two danubes.", "I live in Danubeland.")


def lake_of(top: Path, logs: dict[str, bytes]) -> Lake:
    (top / "logs").mkdir()
    for name, log in logs.items():
        (top / "logs" / f"{name}.json").write_bytes(log)
    ingest(top / "logs", top / "lake")
    return pipeline.open_lake(top / "lake")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    logs = {
        "danube": DANUBE,
        "signs": with_clues("a.b|(c", "axb", "(a.b|(c)", "A.B|(Cs, I think"),
        "chinese": with_clues("苹果", "我的苹果很好", "香蕉", "果苹"),
        "blank": with_clues("  ", " ", "  ", "nothing"),
    }
    other = undercover()
    for message in other["history"]:
        message["content"] = message["content"].replace("It is wet", "It is a pond or a lakes")
    logs["undercover"] = encode(other)
    return lake_of(tmp_path_factory.mktemp("secrets"), logs)


def at(lake: Lake, path: str, **asked: bool) -> list[tuple[str, str | None, str]]:
    """Phase, player and hit of what is found in one game."""
    (game,) = lake.games(path=path)["game_id"]
    rows = lake.search(secret=True, limit=10**6, **asked).rows.filter(game_id=game)
    return rows.select("phase", "player", "hit").rows()


@pytest.mark.parametrize(
    ("path", "aloud"),
    [
        ("danube", [("clue", "Player 1", "DANUBE"), ("clue", "Player 2", "danubes")]),
        ("signs", [("clue", "Player 2", "a.b|(c"), ("clue", "Player 3", "A.B|(Cs")]),
        ("chinese", [("clue", "Player 1", "苹果")]),
        ("blank", []),
    ],
)
def test_the_word_is_whole_in_any_case_and_script(
    lake: Lake, path: str, aloud: list[tuple[str, str, str]]
) -> None:
    assert at(lake, path, aloud=True) == aloud
    if path == "danube":
        assert at(lake, path) == [*aloud, ("guess", "Player 2", "Danube")]


@pytest.mark.slow
def test_a_word_too_long_to_be_one_is_not_searched(tmp_path: Path) -> None:
    long = with_clues("z" * 200_000, "z", "Z" * 200_000, "zz")
    lake = lake_of(tmp_path, {"danube": DANUBE, "long": long})
    found = lake.search(secret=True).rows
    assert found["hit"].to_list() == ["DANUBE", "danubes", "Danube"]


def test_both_words_of_undercover(lake: Lake) -> None:
    rows = at(lake, "undercover", aloud=True)
    assert {hit for _, _, hit in rows} == {"pond"}
    assert len(rows) == 6
    tested = at(lake, "undercover", aloud=True, tested=True)
    (game,) = lake.games(path="undercover")["game_id"]
    players = lake.table("players").filter("is_tested", game_id=game).collect()["player"]
    assert {player for _, player, _ in tested} == set(players) != {row[1] for row in rows}


def expected(lake: Lake, *, aloud: bool, tested: bool) -> set[tuple[str, int]]:
    """The same by Python's own regular expressions, a message at a time."""
    words = lake.table("games").select("game_id", "word", "other_word").collect()
    of_game = {game: [one for one in words if one and one.strip()] for game, *words in words.rows()}
    found = set()
    for row in lake.table("messages").collect().iter_rows(named=True):
        audience = [name for name in row["visible_to"] if name != row["player"]]
        if row["seat"] is None or (aloud and not audience) or (tested and not row["is_tested"]):
            continue
        for word in of_game[row["game_id"]]:
            whole = rf"(?<![A-Za-z0-9_]){re.escape(word.strip())}(?:e?s)?(?![A-Za-z0-9_])"
            if len(word) < 10_000 and re.search(whole, row["content"], re.IGNORECASE):
                found.add((row["game_id"], row["message_index"]))
    return found


@pytest.mark.parametrize(("aloud", "tested"), [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("name", ["sample_lake", "lake_of_formats", "own"])
def test_it_is_what_each_message_says(
    name: str, aloud: bool, tested: bool, lake: Lake, request: pytest.FixtureRequest
) -> None:
    searched = lake if name == "own" else pipeline.open_lake(request.getfixturevalue(name))
    found = searched.search(secret=True, aloud=aloud, tested=tested, limit=10**6)
    places = found.rows.select("game_id", "message_index").rows()
    assert set(places) == expected(searched, aloud=aloud, tested=tested)
    assert len(places) == len(set(places))
    assert places or name != "own"
    assert found.stopped == "end"


def test_words_are_asked_for_besides(lake: Lake) -> None:
    found = lake.search("danube two", secret=True).rows
    assert found["hit"].to_list() == ["danubes"]
    assert found["before"].to_list() == ["Two "]
    with pytest.raises(UsageError, match="at least one word"):
        lake.search()


def test_conditions_without_a_secret(lake: Lake) -> None:
    everything, aloud, tested = (
        lake.search("a", limit=10**6, **asked).rows
        for asked in ({}, {"aloud": True}, {"tested": True})
    )
    rows = lake.table("messages").select("game_id", "message_index", "visible_to", "is_tested")
    joined = everything.join(rows.collect(), on=["game_id", "message_index"], maintain_order="left")
    assert tested.equals(joined.filter("is_tested").select(everything.columns))
    heard = [
        any(name != player for name in names)
        for names, player in joined.select("visible_to", "player").iter_rows()
    ]
    assert aloud.equals(everything.filter(pl.Series(heard)))
    assert 0 < aloud.height < everything.height
    assert 0 < tested.height < everything.height


@pytest.mark.slow
def test_the_page_finds_the_same_and_hides_roles(lake: Lake) -> None:
    given = {"secret": "true", "aloud": "true"}
    shown = page_definition("search").content(lake, parse_page_parameters("search", given))
    assert shown.rows.equals(lake.search(secret=True, aloud=True, limit=DEFAULT_SEARCH_LIMIT).rows)
    hidden, told = (
        lake.page("search", **given, **roles).html.replace("<wbr>", "")
        for roles in ({"roles": False}, {})
    )
    assert "<mark>DANUBE</mark>" in hidden
    assert ">clue</td>" in hidden
    assert "non_chameleon" not in hidden
    assert "non_chameleon" in told
