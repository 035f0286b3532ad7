"""Logs that other systems wrote: what an ingest makes of them, and of their games in plain Python.

A reader of a system yields each result and each act that a metric counts, as a metric, the model,
its role, and a hit; their means have to be the metrics' values in both engines.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from event_tables import ENGINES
from reallogs import files

from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics
from pipeline.reports.audit import findings
from pipeline.verify import verify

pytestmark = pytest.mark.slow(seconds=8)

MODEL = "some model"
Hit = tuple[str, str, str, float]
# By archive and status the number of its documents.
DOCUMENTS = {
    ("aiwolf", "ingested"): 55,
    ("aiwolf", "ignored"): 1,
    ("avalon", "ingested"): 90,
    ("avalon", "ignored"): 7,
    ("bargain", "ingested"): 74,
    ("chatarena-chameleon", "ingested"): 103,
    ("chatarena-chameleon", "ignored"): 1,
    ("chatarena-transcripts", "ingested"): 300,
    ("chatarena-transcripts", "ignored"): 9,
    ("ck-arena", "ingested"): 112,
    ("ck-arena", "duplicate"): 14,
    ("goods", "ingested"): 88,
    ("goods", "ignored"): 406,
    ("pd-cheap-talk", "ignored"): 3,
    ("pgg-bench", "ingested"): 92,
    ("textarena-avalon", "ingested"): 298,
    ("werewolf-arena", "ingested"): 19,
    ("werewolf-arena", "ignored"): 1,
}
# What says no more than the games beside it, or nothing of a game.
IGNORED = (
    r"LICENSE$|all_games\.json$|player_memories\.json$|game_logs\.json$|chameleon[^/]*\.json$"
    r"|summary\.txt$|run\.log$|global_scores\.jsonl#"
)
OUTCOMES = {
    "aiwolf": {"villagers_won": 28, "werewolves_won": 27},
    "bargain": {"agreed": 67, "not_agreed": 7},
    "chatarena": {"guessed_right": 76, "guessed_wrong": 68, "tie": 84, "voted_wrong": 175},
    "ck_arena": {"caught": 77, "parity": 35},
    "goods": {None: 1, "completed": 87},
    "multi_round_avalon": {"good_won": 33, "merlin_found": 21, "quests_failed": 36},
    "pgg_bench": {"completed": 92},
    "textarena": {"good_won": 132, "merlin_found": 38, "quests_failed": 128},
    "werewolf_arena": {"villagers_won": 11, "werewolves_won": 8},
}
# Rows of a table by system and the value of a column, as they were once counted in the logs.
ROWS = [
    ("votes", "aiwolf", "is_valid", {True: 706, False: 6}),
    ("eliminations", "aiwolf", "cause", {"vote": 127, "attack": 74}),
    ("proposals", "bargain", "party_seat", {1: 624, 2: 624, 3: 36, None: 74}),
    ("votes", "chatarena", "parse_status", {"ok": 377, "ambiguous": 958, "unreadable": 175}),
    ("eliminations", "ck_arena", "cause", {"vote": 267, "audience": 26, "metric": 25}),
    ("team_proposals", "multi_round_avalon", "is_voted_on", {True: 503, False: 4}),
    ("assassinations", "multi_round_avalon", "role", {"assassin": 45, "morgana": 9}),
    ("transfers", "pgg_bench", "kind", {"punishment": 1464}),
    ("messages", "pgg_bench", "phase", {"talk": 4578}),
    ("team_proposals", "textarena", "is_voted_on", {True: 2304, False: 61}),
    ("team_votes", "textarena", "approves", {True: 5821, False: 5699}),
]


@pytest.fixture(scope="module")
def lake(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> StoredLake:
    top = tmp_path_factory.mktemp("archives") / "lake"
    ingest(sorted((shared / "real").glob("*.tar.zst")), top, model=MODEL, jobs=1)
    return open_lake(top)


def test_every_document_is_accounted_for(lake: StoredLake) -> None:
    """Some transcripts contradict themselves: two of three votes name the chameleon, the third all
    players, of whom the engine took the first."""
    documents = lake.table("documents").collect()
    names = documents["source"].str.extract(r"([^/]+)\.tar\.zst$")
    assert Counter(zip(names, documents["status"], strict=True)) == DOCUMENTS
    ignored = documents.filter(pl.col("status") == "ignored", ~pl.col("source").str.contains("pd-"))
    assert ignored.filter(~pl.col("path").str.contains(IGNORED))["path"].to_list() == []
    faults = Counter(lake.table("quarantine").collect()["rule"])
    assert faults == {"at least one player is tested": 96, "a status is ALIVE or DEAD": 1}
    assert set(verify(lake.path).faults["check"]) == {"audit.outcomes"}
    contradicted = findings(lake.for_system("chatarena"), "outcomes")
    assert contradicted["game_id"].n_unique() == 3


def test_outcomes_are_those_known(lake: StoredLake) -> None:
    found: dict[str, Counter[str | None]] = defaultdict(Counter)
    for system, outcome in lake.table("games").select("system", "outcome").collect().iter_rows():
        found[system][outcome] += 1
    assert found == OUTCOMES


@pytest.mark.parametrize(("table", "system", "column", "known"), ROWS)
def test_rows_are_those_known(
    lake: StoredLake, table: str, system: str, column: str, known: dict[Any, int]
) -> None:
    rows = lake.for_system(system).table(table).select(column).collect()
    assert Counter(rows[column]) == known


def test_copies_with_an_edited_score_are_of_one_content(lake: StoredLake) -> None:
    """Seven games come again with a judge's score that somebody edited, such as 0.4001 for 0.4."""
    games = lake.for_system("ck_arena").table("games").collect()
    assert Counter(Counter(games["content_id"]).values()) == {1: 98, 2: 7}


def test_transcripts_end_as_their_summaries_say(shared: Path, lake: StoredLake) -> None:
    line = re.compile(r"run=(\d+), chameleon_won=(\w+), win_method=([\w-]+)")
    expected = {
        (path.split("/")[-2], number): (is_won == "True", method)
        for path, data in files(shared / "real" / "chatarena-transcripts.tar.zst").items()
        if path.endswith("summary.txt")
        for number, is_won, method in line.findall(data.decode())
    }
    won = lake.table("results").filter(role="chameleon").select("game_id", "is_win")
    rows = lake.table("games").join(won, on="game_id").filter(pl.col("path").str.contains("txt#"))
    methods = {"guessed_right": "chameleon-guess", "guessed_wrong": "non-chameleon"}
    found = {
        (path.split("/")[-2], path.rpartition("#")[2]): (
            is_win,
            methods.get(outcome, "chameleon-votes"),
        )
        for path, outcome, is_win in rows.select("path", "outcome", "is_win").collect().iter_rows()
    }
    assert found == expected
    assert len(found) == 300


# Readers of the logs


def sides(
    seats: Iterable[tuple[str, str]], hidden: Collection[str], *, is_won: bool
) -> Iterator[Hit]:
    """The results of a game of two sides, one for each model and role; `is_won` by the hidden."""
    for model, role in set(seats):
        won = float(is_won == (role in hidden))
        yield "win_rate", model, role, won
        if role in hidden:
            yield "deception", model, role, won


def judged(
    seats: Mapping[Any, tuple[str, str]], hidden: Collection[str], votes: Iterable[tuple[Any, Any]]
) -> Iterator[Hit]:
    """The votes of those who do not hide, which are right if they are for who is most hidden."""
    for voter, target in votes:
        model, role = seats[voter]
        if role not in hidden:
            yield "judgement", model, role, seats.get(target, ("", ""))[1] == hidden[0]


WOLVES = ("werewolf", "possessed")
EVIL = ("minion", "assassin", "morgana", "mordred", "oberon")
AVALON = {"good": "servant", "evil": "minion"}


def aiwolf(data: bytes) -> Iterator[Hit]:
    rows = [line.split(",") for line in data.decode().replace("\r", "").split("\n") if line]
    first = [row for row in rows if row[:2] == ["0", "status"]]
    seats = {row[2]: (row[5].rstrip("0123456789"), row[3].lower()) for row in first}
    yield from sides(seats.values(), WOLVES, is_won=rows[-1][4] == "WEREWOLF")
    yield from judged(seats, WOLVES, [(row[2], row[3]) for row in rows if row[1] == "vote"])


def werewolf_arena(data: bytes) -> Iterator[Hit]:
    log = json.loads(data)
    seats = {name: (one["model"], one["role"].lower()) for name, one in log["players"].items()}
    yield from sides(seats.values(), WOLVES, is_won=log["winner"] == "Werewolves")
    for one in log["rounds"]:
        yield from judged(seats, WOLVES, one["votes"][-1].items() if one["votes"] else ())


def avalon(data: bytes) -> Iterator[Hit]:
    log = json.loads(data)
    seats = [
        (log["config"]["model"], AVALON.get(one["role"], one["role"])) for one in log["players"]
    ]
    yield from sides(seats, EVIL, is_won=log["winner"] == "evil")


def textarena(data: bytes) -> Iterator[Hit]:
    log = json.loads(data)
    roles = [info["role"].lower() for info in log["game_info"].values()]
    agents = log.get("seat_agents") or [log["agent"]] * len(roles)
    seats = [seat for seat in zip(agents, roles, strict=True) if not seat[0].startswith("deeprole")]
    yield from sides(seats, EVIL, is_won=log["rewards"][str(roles.index("minion"))] == 1)


def ck_arena(data: bytes) -> Iterator[Hit]:
    record = json.loads(data)["game_record"]
    seats = {one["player_id"]: (one["llm_id"], one["role"]) for one in record["players"]}
    winner = record["game_summary"]["winner_role"]
    yield from sides(seats.values(), ("undercover",), is_won=winner == "undercover")
    for voting in record["game_process"].get("voting_rounds", ()):
        votes = [(vote["voter_id"], vote["voted_for"]) for vote in voting["votes"]]
        yield from judged(seats, ("undercover",), votes)


def author(log: Any) -> str | None:
    """Whose proposal all accepted, by the tally of the last round; None where there is none."""
    rows = [row for row in log["conversation_logs"] if row["round"] == log["final_round"]]
    proposers = [row["from"] for row in rows if row["phase"] == "proposal"]
    tallies = "\n".join(row["content"] for row in rows if row["phase"] == "vote_tabulation")
    accepted = re.search(r"(?m)^Proposal #(\d+): \d+ accept, 0 reject$", tallies)
    return proposers[int(accepted[1]) - 1] if accepted else None


def bargain(data: bytes) -> Iterator[Hit]:
    log = json.loads(data)
    for agent, end in log["agent_performance"].items():
        model = end.get("model") or end["model_type"]
        yield "win_rate", model, "player", log["consensus_reached"]
        yield "cooperation", model, "player", log["consensus_reached"]
        if log["consensus_reached"] and author(log):
            yield "coordination", model, "player", author(log) == agent


def pool(data: bytes) -> Iterator[Hit]:
    """A game of `goods` or of `pgg_bench`."""
    events = [json.loads(line) for line in data.splitlines()]
    if events[-1]["type"] != "final":
        return
    models = {name: one["model_name"] for name, one in events[0]["short_name_map"].items()}
    balances = events[-1]["final_tokens"]
    for model, balance in balances.items():
        yield "win_rate", model, "player", balance == max(balances.values())
    rounds: dict[int, dict[str, float]] = defaultdict(dict)
    for event in events:
        if event["type"] == "contribution":
            rounds[event["round"]][models[event["player_id"]]] = event["contribution"]
    for amounts in rounds.values():
        for model, amount in amounts.items():
            yield "rationality", model, "player", amount == min(amounts.values())


# How the moderator ends a game of Chameleon, and what that is worth to the chameleon.
ENDS = {
    "guessed the code wrong": 0.0,
    "guessed the code correctly": 0.5,
    "accusation is incorrect": 1.0,
    "even votes": 0.5,
}


def chatarena(data: bytes) -> Iterator[Hit]:
    """A list of rows, or a transcript of several games."""
    if data.startswith(b"["):
        games = [[row["content"] for row in json.loads(data) if row["agent_name"] == "Moderator"]]
    else:
        parts = re.split(r"  GAME \d+/100\n", data.decode())[1:]
        games = [re.findall(r"(?m)^Message\(agent_name='Moderator'.*", part) for part in parts]
    for said in games:
        (credit,) = {worth for words, worth in ENDS.items() if words in said[-1]}
        yield "win_rate", MODEL, "chameleon", credit
        yield "win_rate", MODEL, "non_chameleon", 1 - credit


READERS: dict[str, tuple[Callable[[bytes], Iterator[Hit]], str, str]] = {
    "aiwolf": (aiwolf, "aiwolf", r"\.log$"),
    "bargain": (bargain, "bargain", r"\.json$"),
    "chatarena": (chatarena, "chatarena-*", r"^result/|transcript\.txt$"),
    "ck_arena": (ck_arena, "ck-arena", r"\.json$"),
    "goods": (pool, "goods", r"game_.*\.jsonl$"),
    "multi_round_avalon": (avalon, "avalon", r"(?<!all_games)(?<!player_memories)\.json$"),
    "pgg_bench": (pool, "pgg-bench", r"\.jsonl$"),
    "textarena": (textarena, "textarena-avalon", r"\.json$"),
    "werewolf_arena": (werewolf_arena, "werewolf-arena", r"game_complete\.json$"),
}


@pytest.mark.parametrize("system", READERS)
def test_metrics_are_those_of_the_naive_reader(shared: Path, lake: StoredLake, system: str) -> None:
    read, name, pattern = READERS[system]
    # Copies of the same bytes are one game.
    logs = {
        data: None
        for archive in (shared / "real").glob(f"{name}.tar.zst")
        for path, data in files(archive).items()
        if re.search(pattern, path)
    }
    hits: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for log in logs:
        for *key, hit in read(log):
            hits[tuple(key)].append(hit)
    expected = {key: sum(some) / len(some) for key, some in hits.items()}
    names = sorted({metric for metric, *_ in expected})
    for engine in ENGINES:
        rows = metrics(
            lake.for_system(system),
            engine=engine,
            metric=names,
            by=["model", "role"],
            confidence=None,
        ).drop_nulls("value")
        found = {
            tuple(key): value
            for *key, value in rows.select("metric", "model", "role", "value").iter_rows()
        }
        assert found == pytest.approx(expected, rel=1e-12), engine
