"""The shared logs, taken in whole: acceptance A2 and A5, and what of the edge cases is refused."""

import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from lakes import PROVENANCE, check, nonzero, rows, statuses, table

from pipeline.ingest import IngestSummary, ingest
from pipeline.lake import StoredLake

DEFENDERS = ("gpt-4", "gpt-4-fix")


def unpack(archive: Path, folder: Path) -> Path:
    """The members of a tar.zst, as files in a folder."""
    with (
        archive.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as members,
    ):
        members.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def public(
    shared: Path, public_lake: StoredLake, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Path]]:
    """The public corpus unpacked, and a lake of the archive and of the folder."""
    top = tmp_path_factory.mktemp("public")
    folder = unpack(shared / "corpus" / "magic-public.tar.zst", top / "unpacked")
    assert nonzero(ingest(folder, top / "lake")) == {"ingested": 1430, "ignored": 103}
    of_archive = Path(str(public_lake.path))
    yield {"folder": folder, "of archive": of_archive, "of folder": top / "lake"}
    check(of_archive)
    check(top / "lake")


def test_documents_and_games(public_lake: StoredLake) -> None:
    lake = Path(str(public_lake.path))
    assert Counter(statuses(lake).values()) == {"ingested": 1430, "ignored": 103}
    assert table(lake, "quarantine").is_empty()
    games = table(lake, "games")
    assert Counter(games["game_type"]) == {
        "chameleon": 400,
        "undercover": 400,
        "cost_sharing": 210,
        "prisoners_dilemma": 210,
        "public_good": 210,
    }
    assert games["game_id"].n_unique() == 1430
    assert table(lake, "results").height == 1430


@pytest.mark.long
def test_archive_and_folder_make_identical_tables(public: dict[str, Path]) -> None:
    """As in `test_archive_and_folder_make_the_same_lake`, of a few logs."""
    ours, theirs = (
        rows(public[lake], without=PROVENANCE, but_for=["archives", "ingests"])
        for lake in ("of archive", "of folder")
    )
    for name, found in ours.items():
        assert found == theirs[name], name


@pytest.mark.long
def test_the_folder_after_the_archive_is_all_copies(public: dict[str, Path]) -> None:
    """As in `test_folder_then_archive`, of a few logs."""
    report = ingest(public["folder"], public["of archive"], dry_run=True)
    assert nonzero(report) == {"duplicate": 1430, "ignored": 103}
    assert report.n_superseded == 0
    report = ingest([*public["folder"].glob("*")], public["of folder"], dry_run=True)
    assert nonzero(report) == {"unchanged": 1430, "ignored": 103}


def test_every_model_was_played_on_the_same_settings(public_lake: StoredLake) -> None:
    """A setting is known by what was fixed before play, in whichever harness and by whom."""
    players = public_lake.table("players").filter("is_tested").collect()
    tested = players.select("model", "setting_id", "competition").unique()
    for (competition,), group in tested.group_by("competition"):
        settings = {model: set(own["setting_id"]) for (model,), own in group.group_by("model")}
        assert len(settings) == 10, competition
        assert len({frozenset(of_model) for of_model in settings.values()}) == 1, competition


# Transcripts


@pytest.fixture(scope="module")
def transcripts(
    shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, IngestSummary]]:
    lake = tmp_path_factory.mktemp("transcripts") / "lake"
    archive = shared / "real" / "chatarena-chameleon.tar.zst"
    yield lake, ingest(archive, lake, model="gpt-3.5-turbo")
    check(lake)


def test_transcripts(transcripts: tuple[Path, IngestSummary]) -> None:
    lake, report = transcripts
    assert nonzero(report) == {"ingested": 103, "ignored": 1}
    assert [path for path, s in statuses(lake).items() if s == "ignored"] == ["chameleon.json"]
    assert Counter(table(lake, "games")["outcome"]) == {
        "voted_wrong": 41,
        "tie": 43,
        "guessed_right": 12,
        "guessed_wrong": 7,
    }
    assert set(table(lake, "players")["model"]) == {"gpt-3.5-turbo"}
    assert table(lake, "players")["is_tested"].all()
    assert table(lake, "results").height == 206
    assert table(lake, "quarantine").is_empty()


def test_transcripts_without_a_model(transcripts: tuple[Path, IngestSummary], shared: Path) -> None:
    """They are known by their bytes; where they are new, somebody has to say who played."""
    lake, _ = transcripts
    archive = shared / "real" / "chatarena-chameleon.tar.zst"
    again = ingest(archive, lake, dry_run=True)
    assert nonzero(again) == {"unchanged": 103, "ignored": 1}
    assert again.n_known_by_content == 103
    first = ingest(archive, lake.with_name("none"), dry_run=True)
    assert nonzero(first) == {"quarantined": 103, "ignored": 1}
    assert set(first.faults["message"]) == {first.faults["message"][0]}


# Edge cases


def test_no_edge_case_makes_an_ingest_fail(
    shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One log is half a file; of one, a part is missing; every other one is a game and whole."""
    lake = tmp_path_factory.mktemp("edges") / "lake"
    report = ingest(shared / "corpus" / "edge-cases.tar.zst", lake)
    assert report.statuses["quarantined"] == 1
    assert report.statuses["replacing"] == report.statuses["unchanged"] == 0
    refused = table(lake, "quarantine").select("path", "json_path", "game_id").rows()
    assert {
        (path.split("/")[0], json_path, game_id is None) for path, json_path, game_id in refused
    } == {
        ("20_truncated_json", "$", True),
        ("21_no_consistency_metric", "$.consistency_metric", False),
    }
    check(lake)
