"""Files of several games, or of one game in many lines: ingested, refused, recalled."""

from types import SimpleNamespace

import polars as pl
import pytest
import tiny
from lakes import Lab, games_at, nonzero, rows, statuses, table

import pipeline.ingest.worker
from pipeline.archives.splitting import iter_csv_rows as table_rows
from pipeline.formats.sniffer import WELL_FORMED, DocumentSniffer

SECTIONS = b"""
=====
 TINY GAME 1
=====
Ann=2 Bo=6

=====
 TINY GAME 2
=====
Ann=3 Bo=1
"""
TABLE = b"tiny,put\n1,Ann=2 Bo=6\n2,Ann=3 Bo=1\n2,Ann=3 Bo=1\n"
LIST = b'{"tiny_games": [{"tiny_put": {"Ann": 2, "Bo": 6}}, {"other": 1}]}'
EVENTS = b'{"tiny_event": "Ann", "amount": 2}\n{"tiny_event": "Bo", "amount": 6}\n'
FILES = {"a.txt": SECTIONS, "b.csv": TABLE, "c.json": LIST, "7.jsonl": EVENTS}
# More than the lake keeps of a document.
LONG = b" " * 2**16


@pytest.fixture(autouse=True)
def _formats(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.make_known(monkeypatch)


def test_each_part_is_a_game_as_a_file_is(lab: Lab) -> None:
    """Known, copied, added, replaced and refused by itself."""
    for name, data in FILES.items():
        lab.write(name, data)
    assert lab.counts() == {"ingested": 7, "ignored": 1}
    # Equal rows are two games, as equal files of two numbers are.
    assert games_at(lab.lake) == [
        ("7.jsonl", None),
        ("a.txt#1", 1),
        ("a.txt#2", 2),
        ("b.csv#1", 1),
        ("b.csv#2", 2),
        ("b.csv#3", 3),
        ("c.json#1", 1),
    ]
    (reason,) = table(lab.lake, "documents").filter(status="ignored")["reason"]
    assert reason == "not a log: JSON with other keys (other)"
    amounts = table(lab.lake, "contributions").filter(pl.col("player") == "Ann")["amount"]
    assert sorted(amounts) == [2, 2, 2, 2, 3, 3, 3]
    before = rows(lab.lake)
    for name, data in FILES.items():
        lab.write(f"copy-{name}", data)
    assert lab.counts() == {"unchanged": 7, "duplicate": 7, "ignored": 2}
    assert rows(lab.lake) == before
    for name in FILES:
        (lab.root / f"copy-{name}").unlink()
    lab.write("a.txt", SECTIONS + b"\n=====\n TINY GAME 3\n=====\nAnn=1 Bo=1\n")
    lab.write("b.csv", TABLE.replace(b"1,Ann=2", b"1,Ann=4") + b"3,Ann=1 Bo=1\n4,nothing\n")
    lab.write("c.json", LIST[:-10])
    assert lab.counts() == {"ingested": 2, "replacing": 1, "unchanged": 5, "quarantined": 2}
    assert {path for path, status in statuses(lab.lake).items() if status == "replacing"} == {
        "b.csv#1"
    }
    refused = table(lab.lake, "quarantine").sort("path").select("path", "rule", "raw").rows()
    assert refused == [
        ("b.csv#5", "somebody puts something in", b"tiny,put\n4,nothing"),
        ("c.json", WELL_FORMED, LIST[:-10]),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("is_large", [False, True], ids=["kept", "cut"])
def test_a_refused_part_is_read_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, is_large: bool
) -> None:
    puts = b"Ann=2 Bo=6" + LONG * is_large
    (lab.root / "b.csv").write_bytes(b"tiny,put\n1,%b\n1,%b\n" % (puts, puts))
    with monkeypatch.context() as earlier:
        earlier.setattr(tiny, "_put", lambda text: {})
        assert lab.counts() == {"quarantined": 2}
        assert lab.counts() == {"quarantined": 2}
    assert lab.counts() == {"ingested": 2}
    assert games_at(lab.lake) == [("b.csv#1", 1), ("b.csv#2", 2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.txt", "b.csv"])
def test_a_large_file_of_parts_that_has_not_changed_is_not_cut_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(pipeline.ingest.worker, "LARGE_ARCHIVE_BYTES", 0)
    (lab.root / name).write_bytes(FILES[name])
    # Its name reads like a part of the other, which it is not.
    (lab.root / f"{name}#1").write_bytes(b"")
    first = lab.ingest()

    def refuse(path: str, head: bytes) -> None:
        raise AssertionError(path)

    monkeypatch.setattr("pipeline.ingest.worker.find_splitter", refuse)
    again = lab.ingest()
    assert nonzero(again) == {"unchanged": first.statuses["ingested"], "ignored": 1}
    assert table(lab.lake, "documents")["ingest_id"].unique().to_list() == [1]


def test_two_formats_that_ask_for_a_file_or_claim_a_document_refuse_it(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def claims(look: DocumentSniffer) -> bool:
        seen.append(look.path)
        return "tiny_put" in look.keys

    other = SimpleNamespace(
        NAME="other", NAMES_MODELS=True, claims=claims, read=None,
        splitter=lambda path, head: table_rows if path.endswith(".csv") else None,
    )  # fmt: skip
    tiny.make_known(monkeypatch, other)
    lab.write("b.csv", TABLE)
    lab.write("c.json", LIST)
    assert lab.counts() == {"quarantined": 2, "ignored": 1}
    messages = dict(table(lab.lake, "quarantine").select("path", "message").iter_rows())
    assert messages.keys() == {"b.csv", "c.json#1"}
    assert messages["b.csv"].startswith("the formats tiny_rows and other claim it")
    assert messages["c.json#1"].startswith("the formats tiny_entries and other claim it")
    assert seen == ["c.json#1", "c.json#2"]
