"""The real logs of ChatArena: lists, and transcripts with a summary of how each game ended."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from chatarenalogs import table, transcript
from event_tables import ENGINES
from rawlogs import encode
from reallogs import files

from pipeline.events.readings import content_id
from pipeline.formats import read_game
from pipeline.game_record import GameRecord, InvalidDocumentError
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics
from pipeline.reports.audit import findings

MODEL = "some model"
METHODS = {
    "guessed_right": "chameleon-guess",
    "guessed_wrong": "non-chameleon",
    "voted_wrong": "chameleon-votes",
    "tie": "chameleon-votes",
}
# How the moderator ends a game, and what that is worth to the chameleon.
ENDS = {
    "guessed the code wrong": 0.0,
    "guessed the code correctly": 0.5,
    "accusation is incorrect": 1.0,
    "even votes": 0.5,
}
# What MAgIC's logs say, and rows alone do too.
ALIKE = ("game_type", "outcome", "outcome_code", "is_finished", "n_rounds")
ALIKE += ("decisions", "contributions", "guesses")
Row = dict[str, Any]


def lists(archive: Path) -> list[list[Row]]:
    found = files(archive)
    return [json.loads(data) for path, data in found.items() if path.startswith("result/")]


def transcripts(archive: Path) -> list[list[Row]]:
    """The messages of each game."""
    texts = (data for path, data in files(archive).items() if path.endswith("transcript.txt"))
    return [rows for text in texts for rows in games(text.decode())]


def games(text: str) -> Iterator[list[Row]]:
    for section in re.split(r"  GAME \d+/100\n", text)[1:]:
        calls = [ast.parse(line) for line in section.split("\n") if line.startswith("Message(")]
        fields = [next(n for n in ast.walk(c) if isinstance(n, ast.Call)).keywords for c in calls]
        yield [{f.arg: ast.literal_eval(f.value) for f in row if f.arg} for row in fields]


@pytest.fixture(scope="module")
def lakes(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredLake]:
    top = tmp_path_factory.mktemp("chatarena")
    for name in ("chameleon", "transcripts"):
        archive = shared / "real" / f"chatarena-{name}.tar.zst"
        ingest(archive, top / name, model=MODEL, jobs=1)
    return {name: open_lake(top / name) for name in ("chameleon", "transcripts")}


@pytest.mark.parametrize(
    ("archive", "statuses", "n_contradicted"),
    [
        ("chameleon", {"ingested": 103, "ignored": 1}, 0),
        # Two of three votes name the chameleon, and the moderator says that most are for another:
        # the third text names all, and the engine took the first.
        ("transcripts", {"ingested": 300, "ignored": 9}, 3),
    ],
)
def test_every_document_is_accounted_for(
    lakes: dict[str, StoredLake], archive: str, statuses: dict[str, int], n_contradicted: int
) -> None:
    """Beside games there are settings in JSON, and of each transcript a summary and a log."""
    lake = lakes[archive]
    documents = lake.table("documents").select("path", "status").collect()
    assert Counter(documents["status"]) == statuses
    ignored = documents.filter(status="ignored")["path"]
    assert ignored.str.contains(r"chameleon[^/]*\.json$|summary\.txt$|run\.log$").all()
    assert lake.table("quarantine").collect().is_empty()
    assert findings(lake, "outcomes")["game_id"].n_unique() == n_contradicted


def test_transcripts_end_as_their_summaries_say(shared: Path, lakes: dict[str, StoredLake]) -> None:
    archive = files(shared / "real" / "chatarena-transcripts.tar.zst")
    line = re.compile(r"run=(\d+), chameleon_won=(\w+), win_method=([\w-]+)")
    expected = {
        (path.rpartition("/")[0].rpartition("/")[2], number): (is_won == "True", method)
        for path, data in archive.items()
        if path.endswith("summary.txt")
        for number, is_won, method in line.findall(data.decode())
    }
    lake = lakes["transcripts"]
    won = lake.table("results").filter(role="chameleon").select("game_id", "is_win")
    rows = lake.table("games").join(won, on="game_id").select("path", "outcome", "is_win").collect()
    found = {
        (path.split("/")[-2], path.rpartition("#")[2]): (is_win, METHODS[outcome])
        for path, outcome, is_win in rows.iter_rows()
    }
    assert found == expected
    assert len(found) == 300
    wins = Counter(run for (run, _), (is_win, _) in found.items() if is_win)
    assert wins == {"claude-3p": 75, "claude-4p": 81, "claude-5p": 83}


def test_votes_cut_short_are_not_understood(lakes: dict[str, StoredLake]) -> None:
    """Most are cut while they still go through the clues: to name a player is no vote for it."""
    votes = lakes["transcripts"].table("votes").collect()
    assert Counter(votes["parse_status"]) == {"ok": 95, "ambiguous": 953, "unreadable": 152}
    assert votes["target"].null_count() == 953 + 152


def named(text: str) -> str | None:
    """The only player for whom a text says that it votes, or whom it takes for the chameleon."""
    player = r"\**player[\s_]*(\d+|one|two|three|four|five)\b"
    forms = (
        rf"\b(?:i vote|i'll vote|i'm voting|my vote is|my vote goes) (?:for|to) {player}",
        rf"(?:^|think |believe |suspect |that ){player} (?:is|might be) the chameleon",
        rf"^the chameleon is {player}",
        rf"(?:^|\n\n){player}(?: <EOS>)?$",
    )
    where = [number for form in forms for number in re.findall(form, text, re.IGNORECASE)]
    words = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5"}
    players = {f"Player {words.get(n.lower(), n)}" for n in where}
    return players.pop() if len(players) == 1 else None


@pytest.mark.parametrize(
    ("archive", "n_voting", "n_left"), [("chameleon", 282, 0), ("transcripts", 99, 4)]
)
def test_a_vote_is_what_a_naive_reader_takes_for_one(
    lakes: dict[str, StoredLake], archive: str, n_voting: int, n_left: int
) -> None:
    """Of some that go on to other players, ours takes none for a decision."""
    messages = lakes[archive].table("messages").select("game_id", "message_index", "content")
    votes = lakes[archive].table("votes").join(messages, on=["game_id", "message_index"])
    read = [
        (named(text), target) for text, target in votes.select("content", "target").collect().rows()
    ]
    assert sum(naive is not None for naive, _ in read) == n_voting
    assert [target for naive, target in read if target != naive] == [None] * n_left


def answers(logs: list[list[Row]]) -> dict[str, float]:
    """The win rate, worked out from the rows by loops."""
    hidden_credits, credits = [], []
    for rows in logs:
        said = [row["content"] for row in rows if row["agent_name"] == "Moderator"]
        (credit,) = {worth for words, worth in ENDS.items() if words in said[-1]}
        hidden_credits.append(credit)
        credits.append(1 - credit)
    by_side = [sum(side) / len(side) for side in (hidden_credits, credits)]
    return {"win_rate": sum(by_side) / 2}


@cache
def answers_of(archive: Path) -> dict[str, float]:
    return answers(lists(archive) or transcripts(archive))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("archive", ["chameleon", "transcripts"])
def test_metrics_are_those_of_a_naive_reader(
    shared: Path, lakes: dict[str, StoredLake], archive: str, engine: str
) -> None:
    expected = answers_of(shared / "real" / f"chatarena-{archive}.tar.zst")
    values = metrics(
        lakes[archive], engine=engine, by=["model"], metric=list(expected), confidence=None
    )
    assert dict(values.select("metric", "value").iter_rows()) == pytest.approx(expected)


# Games of MAgIC, from their rows alone


@pytest.fixture(scope="module")
def public(shared: Path) -> list[tuple[bytes, list[Row]]]:
    """MAgIC's public logs, and the rows of each as ChatArena keeps them."""
    logs = files(shared / "corpus" / "magic-public.tar.zst").values()
    return [(data, json.loads(data)["history"]) for data in logs if b'"history"' in data]


def test_games_of_magic_from_their_rows_alone(public: list[tuple[bytes, list[Row]]]) -> None:
    """The moderator says all that a log keeps besides, but for models, and a pool's multiplier."""
    compared: Counter[str] = Counter()
    for data, rows in public:
        log = read_game(data)
        if log.game_type == "cost_sharing":
            with pytest.raises(InvalidDocumentError, match="registered"):
                read_game(encode(rows), MODEL)
            continue
        game = read_game(encode(rows), MODEL)
        compared[game.game_type] += 1
        assert game.faults == []
        for name in ALIKE:
            assert getattr(game, name) == getattr(log, name), name
        assert [(s.player, s.role) for s in game.seats] == [(s.player, s.role) for s in log.seats]
        assert said(game) == said(log)
        assert won(log) <= won(game)
        if log.game_type != "public_good":
            assert [s.final_score for s in game.seats] == [s.final_score for s in log.seats]
    assert compared == {
        "chameleon": 400,
        "undercover": 400,
        "prisoners_dilemma": 210,
        "public_good": 210,
    }


def said(game: GameRecord) -> tuple[object, ...]:
    course = game.messages.course
    return course.seat, course.phase, course.round, game.messages.content


def won(game: GameRecord) -> set[tuple[object, ...]]:
    """Who won: by seat where each plays for itself, else by role."""
    has_roles = game.game_type in ("chameleon", "undercover")
    return {(r.role if has_roles else r.seat, r.is_win, r.win_credit) for r in game.results}


def test_one_game_in_three_forms_is_the_same(public: list[tuple[bytes, list[Row]]]) -> None:
    for _, rows in public[::20]:
        if any("cost distribution" in row["content"] for row in rows):
            continue
        forms = encode(rows), table(rows), transcript(rows).strip()
        games = [
            read_game(data, MODEL, f"a{kind}") for data, kind in zip(forms, KINDS, strict=True)
        ]
        assert len({content_id(game) for game in games if game}) == 1
        assert None not in games


KINDS = (".json", ".csv", ".txt#1")
