"""Bad documents, each between two good ones in an archive: read rightly, or quarantined by itself.

`fates` holds for all of them that the rest of the archive goes on and that the counts add up.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import mutate
import polars as pl
import pytest
from lakes import Lab, check, table
from mutations import MODEL
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

from pipeline.errors import PipelineError
from pipeline.ingest import ingest, worker
from pipeline.ingest.decode import (
    MAX_ERRORS_PER_DOCUMENT,
    MAX_STORED_TEXT_LENGTH,
    UNEXPECTED_ERROR_RULE,
)
from pipeline.lake import open_lake

pytestmark = pytest.mark.slow

Fate = dict[str, Any]


def fates(lab: Lab, documents: dict[str, bytes]) -> dict[str, Fate]:
    """What became of documents: rows of `documents`, each with its rows of `quarantine`."""
    members = {"a.json": encode(chameleon(model="good"))}
    for number, (name, data) in enumerate(documents.items()):
        members |= {name: data, f"{number} good.json": encode(public_good(model=f"good {number}"))}
    archive = lab.write("logs.tar", tar(members))
    report = lab.ingest("logs.tar", model=MODEL)
    seen = table(lab.lake, "documents")
    assert report.n_seen == seen.height == len(members)
    found = {row["path"]: row for row in seen.iter_rows(named=True)}
    assert {found[name]["status"] for name in members.keys() - documents.keys()} == {"ingested"}
    faults = table(lab.lake, "quarantine")
    assert set(faults["source"]) | {archive.as_posix()} == {archive.as_posix()}
    assert set(faults["path"]) <= documents.keys()
    return {
        name: found[name] | {"faults": faults.filter(path=name).rows(named=True)}
        for name in documents
    }


class Case(NamedTuple):
    """A document, and where a rule of it is broken; None where all of it is good."""

    data: bytes
    json_path: str | None = "$"
    rule: str = "JSON"
    says: str = ""
    is_kept: bool = False

    def check(self, found: Fate) -> None:
        """Holds that it is quarantined whole, or a part of it, with its place, rule and bytes."""
        is_game = self.is_kept or self.json_path is None
        assert found["status"] == ("ingested" if is_game else "quarantined")
        if self.json_path is None:
            assert found["faults"] == []
            return
        faults = [one for one in found["faults"] if self.rule in one["rule"]]
        places = [one["json_path"] for one in faults]
        assert self.json_path in places
        fault = faults[places.index(self.json_path)]
        assert self.is_kept or len(found["faults"]) == 1
        assert (fault["game_id"] is not None) == self.is_kept
        assert self.says in fault["message"]
        assert self.is_kept or fault["message"] in found["reason"]
        assert fault["n_bytes"] == found["n_bytes"]


def with_raw(log: Any, key: str, raw: bytes) -> bytes:
    """A log with some JSON, or what is none, as the value of a key."""
    return encode(log | {key: "@"}).replace(b'"@"', raw)


def without_a_seat(build: Callable[[], Any], player: str) -> bytes:
    log = build()
    del log["player_backends"][player]
    return encode(log)


def with_a_part(value: object) -> bytes:
    log = undercover()
    log["consistency_metric"]["0"]["Player 1"] = value
    return encode(log)


CODECS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252")
CAFE = json.dumps(undercover(model="café"), ensure_ascii=False)
DIGITS = b"9" * 400
ENDS = {"lists": (b"[", b"]"), "objects": (b'{"a":', b"}")}
BACKENDS, CODE = "$.player_backends", "$.game_setting.non_undercover_code"
AS_LONG = encode(chameleon() | {"result": "x" * 10**6})
MANY_MESSAGES = undercover(model="many")
MANY_MESSAGES["history"] += [say("Player 1", "I wait.", msg_type="text")] * 30_000


def crowd(build: Callable[[], Any], n: int) -> Any:
    """A log of so many players."""
    log = build()
    if build is chatarena:
        return [*log, *(say(f"Player {n}", "I vote for Player 1.") for n in range(4, n + 1))]
    if "player_backends" not in log:
        return log | {"scores": [1] * n}
    backend = log["player_backends"]["Player 1"]
    return log | {"player_backends": {f"Player {k}": backend for k in range(1, n + 1)}}


def talk(text: str) -> bytes:
    """A negotiation in which everybody says the text."""
    said: Any = [((text,) * 3, ("I vote for Player 1.",) * 3)]
    return encode(cost_sharing(said, proposal={"Player 1": {}}))


FAULTY_PARTS = "thousands of faulty parts.json"
CASES = {
    # Bytes
    **{f"{n} cut": Case(encode(log())[: len(encode(log())) * 2 // 3]) for n, log in GAMES.items()},
    "empty": Case(b""),
    "blank": Case(b" \n"),
    "zeros": Case(b"\0" * 512),
    "binary": Case(bytes(range(256)) * 9),
    **{c: Case(CAFE.encode(c), "$" if c.startswith("utf") else BACKENDS) for c in CODECS},
    **{
        f"{key} no text": Case(
            encode(build()).replace(f'"{key}"'.encode(), b'"\xff"'), "$.game_setting"
        )
        for build, key in ((prisoners_dilemma, "topic_values"), (public_good, "multiplier"))
    },
    "a byte order mark": Case(b"\xef\xbb\xbf" + encode(undercover()), None),
    # As an escape it is text like any other; as a byte it is no JSON.
    "nul": Case(encode(undercover(model="a\0b")), None),
    "a byte of nul": Case(encode(undercover()).replace(b"pond", b"po\0d")),
    # Values
    **{
        f"half {half!r}": Case(encode(undercover()).replace(b"pond", b"po" + half + b"d"), CODE)
        for half in (rb"\ud83e", rb"\udd8e", rb"\udd8e\ud83e")
    },
    "bytes of a half": Case(encode(undercover()).replace(b"It is wet.", b"\xed\xa0\xbe")),
    **{
        f"{value!r}": Case(
            with_raw(public_good(), "scores", b"[1, " + value + b", 2]"), "$.scores[1]"
        )
        for value in (b"NaN", b"Infinity", b"-Infinity")
    },
    **{
        f"{sign!r} digits as {key}": Case(
            with_raw(log, key, b"[%b]" % (sign + DIGITS) if key == "scores" else sign + DIGITS),
            f"$.{key}[0]" if key == "scores" else f"$.{key}",
            "type",
        )
        for log, key in (
            (undercover(), "win_flag"),
            (cost_sharing(), "nego_turn"),
            (prisoners_dilemma(), "scores"),
        )
        for sign in (b"", b"-")
    },
    "digits in a part": Case(with_a_part(int(DIGITS)), "$.consistency_metric.0", "", is_kept=True),
    "digits in a text": Case(
        encode(public_good([dict.fromkeys(PLAYERS, f"I contribute {DIGITS.decode()}")])),
        "$",
        "contributions",
    ),
    **{
        f"nested {kind} as {key}": Case(
            with_raw(chameleon(flag=3), key, start * 100_000 + b"1" + end * 100_000),
            says="nested too deeply",
        )
        for key in ("history", "game_setting", "topic", "unheard_of")
        for kind, (start, end) in ENDS.items()
    },
    # The last one counts, as for Python's own reader of what Python wrote.
    "a key twice": Case(
        encode(chameleon(flag=3)).replace(b'"win_flag": 3', b'"win_flag": 0, "win_flag": 3'), None
    ),
    "the history twice": Case(
        encode(chameleon(flag=3)).replace(b"{", b'{"history": "none", ', 1), "$.history", "type"
    ),
    # Players
    **{
        f"named alike in {build.__name__}": Case(
            encode(build()).replace(b'"Player 3"', b'"Player 2"'), BACKENDS, "no two players"
        )
        for build in (undercover, cost_sharing)
    },
    **{
        f"named {name[:9]} in {build.__name__}": Case(
            encode(build()).replace(b'"Player 1"', json.dumps(name).encode()), place, "has a name"
        )
        for name in ("Moderator", "all", "x" * 1001)
        for build, place in (
            (undercover, BACKENDS),
            (cost_sharing, BACKENDS),
            (prisoners_dilemma, "$"),
        )
    },
    # The game stays, and whoever speaks without a seat is told of.
    **{
        f"a seat missing in {build.__name__}": Case(
            without_a_seat(build, "Player 3"),
            f"$.history[{[row['agent_name'] for row in build()['history']].index('Player 3')}]",
            "every player who speaks has a seat",
            "'Player 3'",
            is_kept=True,
        )
        for build in (chameleon, undercover, cost_sharing)
    },
    "the hidden seat missing": Case(
        without_a_seat(chameleon, chameleon()["chameleon"]), "$", "hidden player"
    ),
    **{
        f"a thousand in {build.__name__}": Case(encode(crowd(build, 1000)), None)
        for build in (chameleon, public_good, chatarena)
    },
    **{
        f"too many in {build.__name__}": Case(
            encode(crowd(build, 1001)), path, "a game has at most", "1,001 players"
        )
        for build, path in (
            (chameleon, BACKENDS),
            (cost_sharing, BACKENDS),
            (public_good, "$"),
            (chatarena, "$"),
        )
    },
    # A search that goes back and forth in such a text would take hours.
    **{
        f"nothing but {signs!r}": Case(talk(f"Airline A: 4{signs * 30_000}x"), None)
        for signs in ("-", "*", "* -", "\x0b", ": ", "=:", " \n", "airline A ", "9")
    },
    "many messages": Case(json.dumps(MANY_MESSAGES).encode(), None),
    "a long fault": Case(AS_LONG, "$.result", ""),
}


@pytest.fixture(scope="module")
def of_cases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, dict[str, Fate]]:
    """A lake of all cases, each between two good ones, and what became of them."""
    top = tmp_path_factory.mktemp("cases")
    lab = Lab(top / "logs", top / "lake")
    faulty = encode(chameleon(votes={f"Player {n}": "Player 1" for n in range(4, 5004)}))
    cases = {f"{name}.json": case.data for name, case in CASES.items()}
    found = fates(lab, {FAULTY_PARTS: faulty, **cases})
    check(lab.lake)
    return lab, found


@pytest.mark.parametrize("name", CASES)
def test_a_document_is_read_rightly_or_refused_by_itself(
    of_cases: tuple[Lab, dict[str, Fate]], name: str
) -> None:
    CASES[name].check(of_cases[1][f"{name}.json"])


def test_what_is_kept_of_odd_documents(of_cases: tuple[Lab, dict[str, Fate]]) -> None:
    lab, found = of_cases
    assert found["binary.json"]["faults"][0]["raw"] == CASES["binary"].data
    assert "a\0b" in set(table(lab.lake, "players")["model"])
    games = {row["path"]: row for row in table(lab.lake, "games").iter_rows(named=True)}
    assert games["a key twice.json"]["outcome_code"] == 3
    n_players = [row["n_players"] for path, row in games.items() if path.startswith("a thousand")]
    assert n_players == [1000] * 3
    assert games["many messages.json"]["n_messages"] == len(MANY_MESSAGES["history"])
    long = found["a long fault.json"]
    assert len(long["reason"]) == len(long["faults"][0]["message"]) == MAX_STORED_TEXT_LENGTH


def test_thousands_of_faulty_parts(of_cases: tuple[Lab, dict[str, Fate]]) -> None:
    """Each row of the quarantine has the document's bytes, so there are not as many."""
    found = of_cases[1][FAULTY_PARTS]
    assert found["status"] == "ingested"
    assert len(found["faults"]) == MAX_ERRORS_PER_DOCUMENT
    assert sum("4,981 more" in fault["message"] for fault in found["faults"]) == 1


# Defects of ours


def test_what_fails_unforeseen_is_refused_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document, and another one's rows."""
    from pipeline.ingest import decode

    frames = decode.build_event_frames

    def fail(log: Any) -> None:
        raise ZeroDivisionError("division by zero")

    def panic(batch: Any) -> Any:
        if any(placed.path == "bad rows.json" for placed in batch):
            raise pl.exceptions.PanicException("a panic")
        return frames(batch)

    monkeypatch.setattr("pipeline.formats.magic.undercover.game", fail)
    monkeypatch.setattr(decode, "build_event_frames", panic)
    bad = {"bad.json": encode(undercover()), "bad rows.json": encode(prisoners_dilemma())}
    found = fates(lab, bad)
    Case(b"", "$", UNEXPECTED_ERROR_RULE, "ZeroDivisionError").check(found["bad.json"])
    Case(b"", "$", UNEXPECTED_ERROR_RULE, "panic").check(found["bad rows.json"])
    assert "report it" in found["bad.json"]["reason"]


# Accounts


def test_documents_add_up(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """seen = ingested + replacing + unchanged + duplicate + quarantined + ignored, every time.

    One that is lost on the way stops the commit.
    """
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

    before = open_lake(lab.lake).table("ingests").collect()
    monkeypatch.setattr(
        worker,
        "scanned_documents_frame",
        lambda seen, number, whole=worker.scanned_documents_frame: whole(seen[1:], number),
    )
    monkeypatch.setattr(worker.Worker, "_mark_known_documents", lambda *_: None)
    with pytest.raises(PipelineError, match="6 documents were read but 5 are accounted for"):
        lab.ingest()
    assert open_lake(lab.lake).table("ingests").collect().equals(before)


# Mutated logs; `make torture` tries hundreds of thousands


def test_mutated_logs() -> None:
    chunk = mutate.try_chunk("magic", 0, 0, 300)
    assert chunk.failures == []
    assert sum(chunk.found.values()) == 300
    assert min(chunk.found["game"], chunk.found["quarantined"]) > 50
