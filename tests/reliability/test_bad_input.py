"""Bad documents, each between two good ones in an archive: read rightly, or quarantined by itself.

`fate` holds for all of them that the rest of the archive goes on and that the counts add up.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import mutate
import polars as pl
import pytest
import zstandard
from lakes import Lab, table
from mutations import MODEL, shapes
from rawlogs import (
    GAMES,
    PLAYERS,
    chameleon,
    chatarena,
    cost_sharing,
    encode,
    prisoners_dilemma,
    public_good,
    say,
    undercover,
)
from test_archives import tar

from pipeline.formats.players import check_distinct
from pipeline.game import BrokenDocument
from pipeline.ingest import ingest
from pipeline.ingest.decode import MOST_FAULTS, TEXT_LIMIT, UNFORESEEN
from pipeline.lake import open_lake

pytestmark = pytest.mark.slow

Fate = dict[str, Any]


def fate(lab: Lab, data: bytes, name: str = "bad.json") -> Fate:
    """What became of a document: its row of `documents`, with its rows of `quarantine`."""
    members = {"a.json": encode(chameleon()), name: data, "z.json": encode(public_good())}
    archive = lab.write("logs.tar", tar(members))
    report = lab.ingest("logs.tar", model=MODEL)
    seen = table(lab.lake, "documents")
    assert report.n_seen == seen.height == 3
    of = {row["path"]: row for row in seen.iter_rows(named=True)}
    assert [of[name]["status"] for name in ("a.json", "z.json")] == ["ingested"] * 2
    faults = table(lab.lake, "quarantine")
    assert set(faults["source"]) | {archive.as_posix()} == {archive.as_posix()}
    assert set(faults["path"]) <= {name}
    return of[name] | {"faults": faults.rows(named=True)}


def check_refused(found: Fate, json_path: str = "$", rule: str = "JSON") -> None:
    """Holds that a document is quarantined whole, with its place, rule and bytes."""
    assert found["status"] == "quarantined"
    (fault,) = found["faults"]
    assert (fault["json_path"], fault["game_id"]) == (json_path, None)
    assert rule in fault["rule"]
    assert fault["message"] in found["reason"]
    assert fault["n_bytes"] == found["n_bytes"]


def check_ingested(found: Fate) -> None:
    assert (found["status"], found["faults"]) == ("ingested", [])


def with_raw(log: Any, key: str, raw: bytes) -> bytes:
    """A log with some JSON, or what is none, as the value of a key."""
    return encode(log | {key: "@"}).replace(b'"@"', raw)


# Bytes


@pytest.mark.long
@pytest.mark.parametrize("build", GAMES.values(), ids=GAMES)
def test_truncated(lab: Lab, build: Callable[[], Any]) -> None:
    data = encode(build())
    check_refused(fate(lab, data[: len(data) * 2 // 3]))


@pytest.mark.parametrize("data", [b"", b" \n", b"\0" * 512], ids=["empty", "blank", "zeros"])
def test_empty(lab: Lab, data: bytes) -> None:
    check_refused(fate(lab, data))


def test_binary(lab: Lab) -> None:
    found = fate(lab, bytes(range(256)) * 9)
    check_refused(found)
    assert found["faults"][0]["raw"] == bytes(range(256)) * 9


@pytest.mark.long
@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252"])
def test_wrong_encoding(lab: Lab, codec: str) -> None:
    text = json.dumps(undercover(model="café"), ensure_ascii=False)
    found = fate(lab, text.encode(codec))
    check_refused(found, "$" if codec.startswith("utf") else "$.player_backends")


@pytest.mark.parametrize(
    ("build", "key"),
    [(prisoners_dilemma, "topic_values"), (public_good, "multiplier")],
)
def test_a_key_that_is_no_text(lab: Lab, build: Callable[[], Any], key: str) -> None:
    data = encode(build()).replace(f'"{key}"'.encode(), b'"\xff"')
    check_refused(fate(lab, data), "$.game_setting")


def test_byte_order_mark(lab: Lab) -> None:
    check_ingested(fate(lab, b"\xef\xbb\xbf" + encode(undercover())))


def test_nul(lab: Lab) -> None:
    """As an escape it is text like any other; as a byte it is no JSON."""
    check_ingested(fate(lab, encode(undercover(model="a\0b"))))
    assert "a\0b" in set(table(lab.lake, "players")["model"])


def test_nul_byte(lab: Lab) -> None:
    check_refused(fate(lab, encode(undercover()).replace(b"pond", b"po\0d")))


# Values


@pytest.mark.parametrize("half", [rb"\ud83e", rb"\udd8e", rb"\udd8e\ud83e"])
def test_lone_surrogates(lab: Lab, half: bytes) -> None:
    found = fate(lab, encode(undercover()).replace(b"pond", b"po" + half + b"d"))
    check_refused(found, "$.game_setting.non_undercover_code")


def test_surrogate_bytes(lab: Lab) -> None:
    check_refused(fate(lab, encode(undercover()).replace(b"It is wet.", b"\xed\xa0\xbe")))


@pytest.mark.parametrize("value", [b"NaN", b"Infinity", b"-Infinity"])
def test_not_a_number(lab: Lab, value: bytes) -> None:
    found = fate(lab, with_raw(public_good(), "scores", b"[1, " + value + b", 2]"))
    check_refused(found, "$.scores[1]")


DIGITS = b"9" * 400


@pytest.mark.long
@pytest.mark.parametrize(
    ("log", "key", "json_path"),
    [
        (undercover(), "win_flag", "$.win_flag"),
        (cost_sharing(), "nego_turn", "$.nego_turn"),
        (prisoners_dilemma(), "scores", "$.scores[0]"),
    ],
)
@pytest.mark.parametrize("sign", [b"", b"-"])
def test_integers_of_400_digits(lab: Lab, log: Any, key: str, json_path: str, sign: bytes) -> None:
    number = sign + DIGITS
    raw = b"[" + number + b"]" if key == "scores" else number
    check_refused(fate(lab, with_raw(log, key, raw)), json_path, "type")


def test_integers_of_400_digits_in_a_part(lab: Lab) -> None:
    """Only the part is refused."""
    log = undercover()
    log["consistency_metric"]["0"]["Player 1"] = int(DIGITS)
    found = fate(lab, encode(log))
    assert found["status"] == "ingested"
    assert found["faults"][0]["json_path"] == "$.consistency_metric.0"


def test_integers_of_400_digits_in_a_text(lab: Lab) -> None:
    said = dict.fromkeys(PLAYERS, f"I contribute {DIGITS.decode()}")
    check_refused(fate(lab, encode(public_good([said]))), "$", "contributions")


@pytest.mark.long
@pytest.mark.parametrize("key", ["history", "game_setting", "topic", "unheard_of"])
@pytest.mark.parametrize("ends", [(b"[", b"]"), (b'{"a":', b"}")], ids=["lists", "objects"])
def test_nesting_of_100_000_levels(lab: Lab, key: str, ends: tuple[bytes, bytes]) -> None:
    raw = ends[0] * 100_000 + b"1" + ends[1] * 100_000
    found = fate(lab, with_raw(chameleon(flag=3), key, raw))
    check_refused(found)
    assert "nested too deeply" in found["reason"]


def test_duplicate_keys(lab: Lab) -> None:
    """The last one counts, as for Python's own reader of what Python wrote."""
    data = encode(chameleon(flag=3)).replace(b'"win_flag": 3', b'"win_flag": 0, "win_flag": 3')
    assert json.loads(data)["win_flag"] == 3
    check_ingested(fate(lab, data))
    games = table(lab.lake, "games").filter(path="bad.json")
    assert games["outcome_code"].to_list() == [3]


def test_duplicate_keys_of_the_history(lab: Lab) -> None:
    data = encode(chameleon(flag=3)).replace(b"{", b'{"history": "none", ', 1)
    check_refused(fate(lab, data), "$.history", "type")


ODD: list[Any] = [None, True, -1, 0.5, 2**70, "", "x", [], [[]], [None], {}, {"": {}}, {"0": 7}]


def places_in(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a document; of a long list only its first."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:1])
    for key, child in items if isinstance(value, dict | list) else ():
        yield (*so_far, key)
        if isinstance(child, dict | list):
            yield from places_in(child, (*so_far, key))


def bent(log: Any, path: tuple[Any, ...], value: Any) -> bytes:
    """One line with the log, which has another value somewhere."""
    copy = json.loads(encode(log))
    parent = copy
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = value
    return json.dumps(copy).encode()


@pytest.mark.long
@pytest.mark.parametrize("build", [*GAMES.values(), chatarena], ids=[*GAMES, "transcript"])
def test_wrong_types_in_every_field(lab: Lab, build: Callable[[], Any]) -> None:
    log = build()
    lines = [bent(log, path, value) for path in places_in(log) for value in ODD]
    lab.write("bad.jsonl", b"\n".join(lines))
    report = lab.ingest(model=MODEL)
    assert report.n_seen == len(lines) == table(lab.lake, "documents").height > 50
    refused = table(lab.lake, "quarantine")
    assert report.statuses["quarantined"] == refused["game_id"].null_count() > 20
    assert refused["json_path"].str.starts_with("$").all()
    assert not refused["rule"].str.starts_with(UNFORESEEN).any()


# Players


def test_players_named_alike(lab: Lab) -> None:
    data = encode(undercover()).replace(b'"Player 3"', b'"Player 2"')
    check_refused(fate(lab, data), "$.player_backends", "no two players")


def test_players_named_alike_in_a_negotiation(lab: Lab) -> None:
    data = encode(cost_sharing()).replace(b'"Player 3"', b'"Player 2"')
    check_refused(fate(lab, data), "$.player_backends", "no two players")


class Compared(str):
    """A name that counts how often any is held against another."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_many_players_named_alike_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not each with each: a log of 64 MiB has room for millions."""
    names = [Compared(n) for n in (*range(1000), *[998, 999] * 500)]
    monkeypatch.setattr("json.loads", lambda *_, **__: [(name, None) for name in names])
    with pytest.raises(BrokenDocument) as refusal:
        check_distinct(msgspec.Raw(b"{}"), 1000, 2, "$.player_backends")
    assert refusal.value.fault.message == "'998'"
    assert Compared.times < 2 * len(names)


@pytest.mark.long
@pytest.mark.parametrize("name", ["Moderator", "all", "x" * 1001])
@pytest.mark.parametrize("build", [undercover, cost_sharing, prisoners_dilemma])
def test_players_without_a_name_of_their_own(lab: Lab, build: Callable[[], Any], name: str) -> None:
    data = encode(build()).replace(b'"Player 1"', json.dumps(name).encode())
    found = fate(lab, data)
    assert found["status"] == "quarantined"
    assert "every player has a name" in found["faults"][0]["rule"]


@pytest.mark.parametrize("build", [chameleon, undercover, cost_sharing])
def test_seats_missing(lab: Lab, build: Callable[..., Any]) -> None:
    """The game stays, and whoever speaks without a seat is told of."""
    log = build()
    del log["player_backends"]["Player 3"]
    found = fate(lab, encode(log))
    assert found["status"] == "ingested"
    rules = {fault["rule"]: fault for fault in found["faults"]}
    result = rules["every player who speaks has a seat"]
    assert result["message"] == "'Player 3'"
    index = int(re.fullmatch(r"\$\.history\[(\d+)\]", result["json_path"])[1])
    assert log["history"][index]["agent_name"] == "Player 3"


def test_seats_missing_of_the_hidden_player(lab: Lab) -> None:
    log = chameleon()
    del log["player_backends"][log["chameleon"]]
    check_refused(fate(lab, encode(log)), "$", "hidden player")


def crowd(build: Callable[[], Any], n: int) -> Any:
    """A log of so many players."""
    log = build()
    if build is chatarena:
        return [*log, *(say(f"Player {n}", "I vote for Player 1.") for n in range(4, n + 1))]
    if "player_backends" not in log:
        return log | {"scores": [1] * n}
    backend = log["player_backends"]["Player 1"]
    return log | {"player_backends": {f"Player {k}": backend for k in range(1, n + 1)}}


@pytest.mark.long
@pytest.mark.parametrize("build", [chameleon, cost_sharing, public_good, chatarena])
def test_a_million_players(lab: Lab, build: Callable[[], Any]) -> None:
    """Of transcripts, whose players have to speak, as many as a document holds."""
    n_players = 100_000 if build is chatarena else 1_000_000
    found = fate(lab, json.dumps(crowd(build, n_players)).encode())
    assert found["status"] == "quarantined"
    (fault,) = found["faults"]
    assert re.fullmatch("a game has at most [0-9,]+ players", fault["rule"])
    assert fault["message"] == f"{n_players:,} players"


@pytest.mark.parametrize("build", [chameleon, public_good, chatarena])
def test_a_thousand_players(lab: Lab, build: Callable[[], Any]) -> None:
    assert fate(lab, encode(crowd(build, 1000)))["status"] == "ingested"
    assert table(lab.lake, "games").filter(path="bad.json")["n_players"].to_list() == [1000]


def test_10_million_messages(lab: Lab) -> None:
    """Half a gigabyte: refused unread, and nobody waits for it."""
    rows = b'{"agent_name":"Player 1","content":"I wait."},' * 10_000
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    parts = [packer.compress(b'{"history":[')]
    parts += [packer.compress(rows) for _ in range(1000)]
    lab.write("bad.json.zst", b"".join([*parts, packer.flush()]))
    lab.write("good.json", chameleon())
    assert lab.counts() == {"ingested": 1, "quarantined": 1}
    (fault,) = table(lab.lake, "quarantine").rows(named=True)
    assert fault["path"] == "bad.json.zst"
    assert "--max-document" in fault["message"]


@pytest.mark.slow
def test_30_thousand_messages(lab: Lab) -> None:
    """Odd, and no reason to refuse it."""
    log = undercover()
    log["history"] += [say("Player 1", "I wait.", msg_type="text")] * 30_000
    check_ingested(fate(lab, json.dumps(log).encode()))
    games = table(lab.lake, "games").filter(path="bad.json")
    assert games["n_messages"].to_list() == [len(log["history"])]


# What is told of a document is bounded


def test_thousands_of_faulty_parts(lab: Lab) -> None:
    """Each row of the quarantine has the document's bytes, so there are not as many."""
    log = chameleon(votes={f"Player {n}": "Player 1" for n in range(4, 5004)})
    found = fate(lab, encode(log))
    assert found["status"] == "ingested"
    assert len(found["faults"]) == MOST_FAULTS
    assert sum("4,981 more" in fault["message"] for fault in found["faults"]) == 1


def test_a_fault_as_long_as_its_document(lab: Lab) -> None:
    found = fate(lab, encode(chameleon() | {"result": "x" * 10**6}))
    assert found["status"] == "quarantined"
    assert len(found["reason"]) == len(found["faults"][0]["message"]) == TEXT_LIMIT


@pytest.mark.long
@pytest.mark.parametrize("signs", ["-", "*", "* -", "\x0b", ": ", "=:", " \n", "airline A ", "9"])
def test_a_text_of_nothing_but_signs(lab: Lab, signs: str) -> None:
    """A search that goes back and forth in it would take hours."""
    text = f"Airline A: 4{signs * 30_000}x"
    said: Any = [((text,) * 3, ("I vote for Player 1.",) * 3)]
    assert fate(lab, encode(cost_sharing(said, proposal={"Player 1": {}})))["status"] == "ingested"


# Defects of ours


def test_a_document_that_fails_unforeseen_is_refused_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(log: Any) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("pipeline.formats.magic.undercover.game", fail)
    found = fate(lab, encode(undercover()))
    check_refused(found, "$", UNFORESEEN)
    assert "ZeroDivisionError" in found["reason"]
    assert "report it" in found["reason"]


def test_rows_that_fail_unforeseen_are_refused_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.ingest import decode

    frames = decode.frames

    def fail(batch: Any) -> Any:
        if any(placed.path == "bad.json" for placed in batch):
            raise pl.exceptions.PanicException("a panic")
        return frames(batch)

    monkeypatch.setattr(decode, "frames", fail)
    check_refused(fate(lab, encode(undercover())), "$", UNFORESEEN)


# Accounts


def test_documents_add_up(lab: Lab) -> None:
    """seen = ingested + replacing + unchanged + duplicate + quarantined + ignored, every time."""
    lab.write("same.json", chameleon())
    lab.write("changes.json", undercover())
    lab.write("breaks.json", public_good())
    assert lab.ingest().n_seen == 3
    lab.write("changes.json", undercover(flag=2))
    lab.write("breaks.json", b"{")
    lab.write("new.json", prisoners_dilemma())
    lab.write("copy.json", chameleon())
    lab.write("setting.json", {"topic": "Rivers"})
    report = lab.ingest()
    assert report.statuses == dict.fromkeys(report.statuses, 1)
    assert report.n_seen == len(report.statuses) == 6
    # The one that is unchanged is counted, and has no row.
    last = table(lab.lake, "documents").filter(ingest_id=report.ingest_id)
    assert last.height == 5
    rehearsed = ingest(lab.root, lab.lake, dry_run=True)
    assert rehearsed.n_seen == 6


def test_a_document_lost_on_the_way_stops_the_commit(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.errors import PipelineError
    from pipeline.ingest import worker

    lab.write("0.json", chameleon())
    lab.ingest()
    before = open_lake(lab.lake).table("ingests").collect()
    lab.write("1.json", undercover())
    monkeypatch.setattr(
        worker, "seen_frame", lambda seen, number, whole=worker.seen_frame: whole(seen[1:], number)
    )
    monkeypatch.setattr(worker.Worker, "_mark_known", lambda *_: None)
    with pytest.raises(PipelineError, match="2 documents were read but 1 are accounted for"):
        lab.ingest()
    assert open_lake(lab.lake).table("ingests").collect().equals(before)


# Mutated logs; `make torture` tries hundreds of thousands


def test_mutated_logs() -> None:
    chunk = mutate.try_chunk(0, 0, 300)
    assert chunk.failures == []
    assert sum(chunk.found.values()) == 300
    assert min(chunk.found["game"], chunk.found["quarantined"]) > 50


def test_shapes_are_of_every_game(tmp_path: Path) -> None:
    """What is mutated is whole to begin with."""
    from pipeline.formats import read

    games = [read(data, MODEL) for data in shapes()]
    assert {(str(game.game_type), game.format) for game in games if game} == {
        *((name, "magic") for name in GAMES),
        *((name, "chatarena") for name in GAMES if name != "cost_sharing"),
    }
    assert None not in games


@pytest.mark.parametrize("what", ["Hang", "crash", "lost"])
def test_the_script_notices(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def decode(*_: Any) -> Any:
        if what == "crash":
            raise ZeroDivisionError
        while what == "Hang":
            pass
        return whole(*_)

    whole = mutate.decode
    monkeypatch.setattr(mutate, "decode", decode)
    monkeypatch.setattr(mutate, "SECONDS", 0.2)
    if what == "lost":
        monkeypatch.setattr(mutate, "GAME", "another word")
    failures = mutate.try_documents([encode(chameleon())], 5).failures
    assert [failure.number for failure in failures] == [5]
