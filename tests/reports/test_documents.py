"""What became of each document: in Python, on the command line and on the page alike."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from event_tables import Files, lake_of
from lakes import Lab
from rawlogs import chameleon, prisoners_dilemma, public_good

from pipeline.api import Lake, open_lake
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.events.contracts import table_schema
from pipeline.pages import page_definition, parse_page_parameters, render_page_fragment
from pipeline.reports.documents import (
    COUNT_COLUMNS,
    DOCUMENT_COLUMNS,
    DUPLICATE_REASON,
    STATUSES,
    document_counts,
    documents as listed,
)

EVIL = '<img src=x onerror=hit>\x1b[2J "q" | `*'


def faulty() -> dict[str, Any]:
    log = chameleon()
    del log["consistency_metric"]
    return log


class Tables(Files):
    """A lake of bare tables that has the methods of this page."""

    documents = listed
    document_counts = document_counts


def taken_in(folder: Path) -> Lab:
    """A game, its copy, a game with a faulty part, a document that is refused, and two ignored."""
    lab = Lab(folder / "logs", folder / "lake")
    lab.write("a/game.json", prisoners_dilemma())
    lab.write("a/copy.json", prisoners_dilemma())
    lab.write("a/faulty.json", faulty())
    lab.write("a/broken.json", b'{"history": [')
    lab.write("a/notes.json", {"no": "log"})
    lab.write(f"a/{EVIL}.json", {EVIL: 1})
    lab.ingest("a")
    return lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return taken_in(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="module")
def lake(lab: Lab) -> Lake:
    return open_lake(lab.lake)


def briefly(lake: Lake, **asked: Any) -> list[tuple[object, ...]]:
    rows = lake.documents(**asked)
    return rows.select("path", "status", "reason", "n_faulty_parts").rows()


def test_what_became_of_each(lake: Lake, lab: Lab) -> None:
    keys = "not a log: JSON with other keys"
    ill_formed = "broken rule: the document is well-formed JSON in UTF-8"
    assert [row for row in briefly(lake) if EVIL not in str(row[0])] == [
        ("broken.json", "quarantined", ill_formed, 0),
        ("copy.json", "ingested", None, 0),
        ("faulty.json", "ingested", "broken rule: `consistency_metric` is present", 1),
        ("game.json", "duplicate", DUPLICATE_REASON, 0),
        ("notes.json", "ignored", f"{keys} (no)", 0),
    ]
    details = dict(lake.documents().select("path", "detail").iter_rows())
    assert details["game.json"] == f"{lab.root}/a/copy.json"
    assert details["faulty.json"] == "it is missing"
    assert details["copy.json"] is None
    assert briefly(lake, path=EVIL) == [(f"{EVIL}.json", "ignored", keys, 0)]


@pytest.mark.slow
def test_a_document_is_as_the_last_ingest_left_it(tmp_path: Path) -> None:
    """Also where that took in a folder above it: what is as it was keeps its source."""
    lab = taken_in(tmp_path)
    lake = open_lake(lab.lake)
    lab.write("a/broken.json", public_good())
    lab.write("b/other.json", b"{")
    lab.ingest()
    newest = open_lake(lab.lake)
    new = newest.documents().filter(ingest_id=2).select("path", "status").rows()
    assert new == [("a/broken.json", "ingested"), ("b/other.json", "quarantined")]
    old = [row for row in briefly(lake) if row[0] != "broken.json"]
    assert [row for row in briefly(newest) if (row[0], row[1]) not in new] == old
    assert lake.documents(path="broken.json")["status"].to_list() == ["quarantined"]


def test_each_count_is_that_of_a_list(lake: Lake) -> None:
    counts = lake.document_counts()
    assert counts["n_documents"].sum() == lake.documents().height
    order = [STATUSES.index(status) for status in counts["status"]]
    assert order == sorted(order)
    for row in counts.drop_nulls("reason").iter_rows(named=True):
        rows = lake.documents(status=row["status"], source=row["source"], reason=row["reason"])
        assert rows.height == row["n_documents"]
        assert rows["path"][0] == row["example"]


def test_conditions(lake: Lake) -> None:
    assert lake.documents(status=["ignored", "quarantined"]).height == 3
    assert lake.documents(source="nowhere").is_empty()
    assert lake.documents(path="fault")["path"].to_list() == ["faulty.json"]
    assert lake.documents(status="ingested", limit=1).height == 1


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("documents", {"status": "quarantine"}, "no status quarantine: did you mean `quarantined`"),
        ("documents", {"limit": -1}, "limit must be 0 or more, not -1"),
        ("documents", {"offset": -1}, "offset must be 0 or more, and a number of rows, not -1"),
        ("games", {"limit": -1}, "limit must be 0 or more, not -1"),
        ("verify", {"limit": -1}, "the limit must be 1 or more, not -1"),
    ],
)
def test_a_wrong_condition_is_refused(
    lake: Lake, name: str, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        getattr(lake, name)(**asked)


def test_an_empty_lake_has_no_documents(tmp_path: Path) -> None:
    lake = Tables(lake_of(tmp_path, {}).path)
    assert lake.documents().is_empty()
    assert lake.document_counts().is_empty()
    assert lake.documents().columns == list(DOCUMENT_COLUMNS)
    assert lake.document_counts().columns == list(COUNT_COLUMNS)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Documents of which many are at one place, as an archive can have them."""
    rows = [
        {
            "ingest_id": 1,
            "source": f"s{at % 2}",
            "path": f"p{at % 3}",
            "sha256": f"{at:064x}",
            "n_bytes": at,
            "status": "ignored",
            "reason": EVIL,
        }
        for at in range(200)
    ]
    documents = pl.DataFrame(rows, schema=table_schema("documents"))
    return Tables(lake_of(tmp_path_factory.mktemp("crowded"), {"documents": documents}).path)


def on_page(lake: Lake | Tables, **asked: str) -> pl.DataFrame:
    """The rows of all pages."""
    parts, after = [], ""
    while after is not None:
        shown = page_definition("documents").content(
            lake, parse_page_parameters("documents", asked | {"after": after})
        )
        assert not shown.faults
        parts.append(shown.rows)
        after = shown.after
    return pl.concat(parts)


def test_the_page_has_all_of_them(crowded: Tables, lake: Lake) -> None:
    documents = on_page(crowded, status="ignored")
    assert documents.equals(crowded.documents())
    assert documents["n_bytes"].sort().to_list() == list(range(200))
    assert on_page(lake).equals(lake.document_counts())
    assert on_page(lake, status="ignored").equals(lake.documents(status="ignored"))


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ((), None),
        (
            ("--status", "ignored", "--status", "quarantined"),
            {"status": ["ignored", "quarantined"]},
        ),
        (("--path", "y.json"), {"path": "y.json"}),
        (("--reason", DUPLICATE_REASON), {"reason": DUPLICATE_REASON}),
        (("--limit", "2"), {"limit": 2}),
    ],
)
def test_the_command_gives_the_same(
    lake: Lake,
    options: Sequence[str],
    asked: dict[str, Any] | None,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert main(["documents", "--lake", str(lake.path), "--format", "json", *options]) == 0
    rows = lake.document_counts() if asked is None else lake.documents(**asked)
    assert json.loads(capsysbinary.readouterr().out) == rows.to_dicts()
    assert rows.height


def test_a_page_escapes_paths_and_reasons(lake: Lake, crowded: Tables) -> None:
    shown = [lake.page("documents", **asked).html for asked in ({}, {"path": EVIL})]
    asked = parse_page_parameters("documents", {"reason": EVIL})
    found = page_definition("documents").content(crowded, asked)
    shown.append(str(render_page_fragment("documents", found, asked, lambda page, **_: f"#{page}")))
    for html in shown:
        assert "<img src=x" not in html
        assert "\x1b" not in html
        assert "&lt;img src=x onerror=hit&gt;" in html
