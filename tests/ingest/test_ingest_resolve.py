"""What becomes of documents, by the statements in `sql/ingest`, against loops in plain Python."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from pipeline.events.contracts import table_schema
from pipeline.events.readings import game_id, game_index_from_path
from pipeline.ingest import resolve
from pipeline.ingest.decode import (
    GAME,
    IGNORED,
    KNOWN,
    QUARANTINED,
    GameIds,
    ScannedDocument,
    scanned_documents_frame,
)
from pipeline.ingest.resolve import IngestDatabase

SOURCE = "/logs"
PATHS = ("a/1.json", "b/1.json", "a/2.json", "a/x.json", "all.jsonl#1", "all.jsonl#2")
NAMING = ("a" * 64, "b" * 64)  # bytes that say who played
PREFIXES = ("a/", "all.jsonl#")  # as if they were archives
ANONYMOUS = "c" * 64
BROKEN, NO_LOG = "d" * 64, "e" * 64
DOCUMENTS = st.tuples(
    st.sampled_from(PATHS),
    st.sampled_from([*NAMING, ANONYMOUS, BROKEN, NO_LOG]),
    st.integers(0, 1),
)


class Ingest(NamedTuple):
    """One ingest: its documents, each with a worker, the model given, and bytes to read again.

    It reads archives that are new, or that are known, or none.
    """

    documents: Sequence[tuple[str, str, int]]
    model: str | None
    again: str | None
    knows: bool | None


INGESTS = st.builds(
    Ingest,
    st.lists(DOCUMENTS, max_size=6),
    st.sampled_from([None, "m1", "m2"]),
    st.none() | st.sampled_from([*NAMING, ANONYMOUS]),
    st.none() | st.booleans(),
)
Game = dict[str, Any]


class Expected(NamedTuple):
    """What an ingest does: what documents are, new games, games to go, moved ones, and copies.

    A game moved where the document in its place holds another; copies are by worker.
    """

    rows: list[dict[str, Any]]
    borne: list[Game]
    superseded: set[str]
    moved: dict[str, tuple[str, str]]
    surplus: set[tuple[int, str]]


class Oracle:
    """A lake as lists, which it searches from end to end."""

    def __init__(self) -> None:
        self.games: list[Game] = []
        self.documents: list[dict[str, Any]] = []
        self.in_quarantine: list[Game] = []
        self.n_ingests = 0

    def seen(self, one: Ingest) -> list[tuple[ScannedDocument, int]]:
        """What workers tell that know the lake's games, and the number of each."""
        ids = {game["game_id"] for game in self.games if game["sha256"] != one.again}
        found = []
        for order, (path, sha256, worker) in enumerate(one.documents):
            seen = ScannedDocument(order, SOURCE, path, 10, sha256, game_index_from_path(path))
            found.append((seen, worker))
            if sha256 in (BROKEN, NO_LOG):
                seen.status_alone, seen.reason = (
                    (QUARANTINED if sha256 == BROKEN else IGNORED),
                    "a reason",
                )
                continue
            model = one.model if sha256 == ANONYMOUS else None
            result = game_id(sha256, seen.game_index, None)
            if sha256 == ANONYMOUS and model is None and result not in ids:
                seen.status_alone, seen.reason = QUARANTINED, "no model"
                continue
            seen.assigned_model = model
            seen.game_id = game_id(sha256, seen.game_index, model)
            seen.status_alone = KNOWN if seen.game_id in ids else GAME
            if seen.status_alone == GAME:
                seen.format, seen.game_type = "magic", "chameleon"
        return found

    def expected(self, one: Ingest, seen: Sequence[tuple[ScannedDocument, int]]) -> Expected:
        """What is to become of them."""
        games = [game for game in self.games if game["sha256"] != one.again]
        was, held = self._held(games, one.again)
        new = [
            {"game_id": s.game_id, "sha256": s.sha256, "game_index": s.game_index}
            | {"assigned_model": s.assigned_model, "source": s.source, "path": s.path}
            | {"format": s.format}
            for s, _ in seen
            if s.status_alone == GAME and self._same(s, games) is None
        ]
        borne: list[Game] = []
        rows, chosen = [], set()
        for s, _ in seen:
            game = self._same(s, games) or self._same(s, new) if s.game_id else None
            if game in new and game["game_id"] == s.game_id and game not in borne:
                borne.append(game)
                chosen.add(s.source_order)
            rows.append(self._row(s, game, was.get(location(s)), s.source_order in chosen))
        here = {row["location"] for row in rows if row["game_id"]}
        kept = {row["game_id"] for row in rows}
        kept |= {id for place, id in held if place not in here}
        gone = {id for place, id in held if place in here} - kept
        gone |= {
            game["game_id"]
            for game in games
            if game["game_index"] is None
            and any(b["game_index"] is not None and bytes_of(b) == bytes_of(game) for b in borne)
        }
        gone |= {b["game_id"] for b in borne} & {game["game_id"] for game in self.games}
        moved = self._moved(rows, held, gone)
        for row in rows:
            if row["game_id"] in moved and row["status"] == "duplicate":
                row["reason"] = row["reason"].replace("the same game as", "the game that was in")
        of_chosen = {(worker, s.game_id) for s, worker in seen if s.source_order in chosen}
        copies = {
            (worker, str(s.game_id))
            for s, worker in seen
            if s.status_alone == GAME and s.source_order not in chosen
        }
        return Expected(rows, borne, gone, moved, copies - of_chosen)

    def _moved(
        self, rows: Sequence[dict[str, Any]], held: set[tuple[str, str]], gone: set[str]
    ) -> dict[str, tuple[str, str]]:
        """The games whose place holds another now, each with the first place that holds it."""
        here = [(row["location"], row["game_id"]) for row in rows if row["game_id"]]
        seen = {place for place, _ in here}
        elsewhere = sorted(one for one in held if one[0] not in seen)
        moved = {}
        for game in self.games:
            place, id = f"{game['source']}/{game['path']}", game["game_id"]
            if (place, id) in held and place in seen and (place, id) not in here and id not in gone:
                first = next(where for where, what in [*here, *elsewhere] if what == id)
                moved[id] = (SOURCE, first.removeprefix(f"{SOURCE}/"))
        return moved

    def written(
        self, done: Expected, prefixes: Sequence[str], *, is_known: bool
    ) -> list[dict[str, Any]]:
        """The rows of `documents`: of places that are not as they were, and of all in an archive
        that is not known, or of which one is such a place.
        """
        places = {of["game_id"]: f"{of['source']}/{of['path']}" for of in self.games}
        places |= {of: "/".join(place) for of, place in done.moved.items()}
        ends = {row["location"]: row["ingest_id"] for row in self.documents}
        before = [row for row in self.documents if row["ingest_id"] == ends[row["location"]]]
        changed = set()
        for place in {row["location"] for row in done.rows}:
            was, now = (
                [row for row in found if row["location"] == place] for found in (before, done.rows)
            )
            if {*map(kept, was)} != {*map(kept, now)}:
                changed.add(place)
            if any(row["game_id"] and row["status"] != "unchanged" for row in now):
                changed.add(place)
            if any(r["status"] == "duplicate" and places.get(r["game_id"]) == place for r in was):
                changed.add(place)
        for prefix in prefixes:
            inside = {r["location"] for r in done.rows if r["path"].startswith(prefix)}
            changed |= inside if inside & changed or not is_known else set()
        return [row for row in done.rows if row["location"] in changed]

    def take(self, done: Expected, rows: Sequence[dict[str, Any]]) -> None:
        """Is the lake after the ingest."""
        self.n_ingests += 1
        self.games = [game for game in self.games if game["game_id"] not in done.superseded]
        for game in self.games:
            if game["game_id"] in done.moved:
                game["source"], game["path"] = done.moved[game["game_id"]]
        self.games += done.borne
        self.documents += [row | {"ingest_id": self.n_ingests} for row in rows]

    def table(self, name: str) -> pl.DataFrame:
        rows = {
            "games": self.games,
            "documents": self.documents,
            "quarantine": self.in_quarantine,
        }[name]
        schema = table_schema(name)
        return pl.DataFrame([{n: row.get(n) for n in schema} for row in rows], schema)

    def _held(
        self, games: Sequence[Game], again: str | None
    ) -> tuple[dict[str, str], set[tuple[str, str]]]:
        """The game that a place is compared with, and all games that places hold."""
        of_games = [row for row in self.documents if row["game_id"]]
        ends = {row["location"]: row["ingest_id"] for row in of_games}
        was, held = {}, set()
        to_read_again = {game["game_id"] for game in self.games if game["sha256"] == again}
        for row in sorted(of_games, key=lambda row: row["sha256"]):
            place = row["location"]
            if row["ingest_id"] != ends[place]:
                continue
            was.pop(place, None)
            if game := self._same(
                ScannedDocument(**{n: row[n] for n in KEY}, source_order=0), games
            ):
                was[place] = game["game_id"]
                held.add((place, game["game_id"]))
            if row["game_id"] in to_read_again:
                held.add((place, row["game_id"]))
        return was, held

    @staticmethod
    def _same(seen: ScannedDocument, games: Sequence[Game]) -> Game | None:
        alike = [
            game
            for game in games
            if bytes_of(game) == (seen.sha256, seen.assigned_model)
            and seen.game_index in (None, game["game_index"])
        ]
        lowest = min(
            alike,
            key=lambda game: (game["game_index"] is None, game["game_index"] or 0),
            default=None,
        )
        return lowest

    def _row(
        self, s: ScannedDocument, game: Game | None, was: str | None, is_chosen: bool
    ) -> dict[str, Any]:
        found = {n: getattr(s, n) for n in (*KEY, "n_bytes", "reason")}
        found |= {"location": location(s), "game_id": game and game["game_id"], "format": s.format}
        if game is None:
            return found | {"status": s.status_alone}
        found["format"] = game["format"]
        if was == game["game_id"]:
            return found | {"status": "unchanged"}
        if not is_chosen:
            where = f"the same game as {game['source']}/{game['path']}"
            return found | {"status": "duplicate", "reason": where}
        return found | {"status": "ingested" if was is None else "replacing"}


KEY = ("source", "path", "sha256", "game_index", "assigned_model")


def location(seen: ScannedDocument) -> str:
    return f"{seen.source}/{seen.path}"


def kept(row: dict[str, Any]) -> tuple[Any, ...]:
    """All that a row says of a document but when it was read, and why a game was not."""
    names = ("n_bytes", "sha256", "format", "game_id", "game_index", "assigned_model")
    why = (None, None) if row["game_id"] else (row["status"], row["reason"])
    return *(row[name] for name in names), *why


def bytes_of(game: Game) -> tuple[str, str | None]:
    return game["sha256"], game["assigned_model"]


@pytest.mark.long
@settings(deadline=None)
@given(st.lists(INGESTS, min_size=1, max_size=4))
def test_what_becomes_of_documents(
    tmp_path_factory: pytest.TempPathFactory, ingests: Sequence[Ingest]
) -> None:
    lake = Oracle()
    scratch = tmp_path_factory.mktemp("scratch")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("pipeline.ingest.resolve.open_ingest_connection", over(lake))
        for one in ingests:
            seen = lake.seen(one)
            expected = lake.expected(one, seen)
            lake.in_quarantine = [game for game in lake.games if game["sha256"] == one.again]
            database = IngestDatabase(scratch, 2**30, rereads=True)
            with resolve.plan_ingest(database, None, written(seen, scratch), []) as found:
                prefixes = () if one.knows is None else PREFIXES
                noted = found.select_and_register_archive_rows(
                    archives(prefixes, is_known=bool(one.knows))
                )
                rows = lake.written(expected, prefixes, is_known=bool(one.knows))
                assert set(noted["prefix"]) == {
                    prefix
                    for prefix in prefixes
                    if not one.knows or any(row["path"].startswith(prefix) for row in rows)
                }
                result = [
                    row for table in found.iter_new_document_rows(7) for row in table.to_pylist()
                ]
                assert result == [
                    {n: 7 if n == "ingest_id" else row[n] for n in table_schema("documents")}
                    for row in rows
                ]
                assert_ids(found.superseded_ids, expected.superseded)
                moved = [
                    row for table in found.iter_relocated_game_rows() for row in table.to_pylist()
                ]
                assert {row["game_id"]: (row["source"], row["path"]) for row in moved} == (
                    expected.moved
                )
                assert_ids(
                    found.superseded_or_relocated_ids, expected.superseded | {*expected.moved}
                )
                for worker in range(2):
                    copies = {id for of, id in expected.surplus if of == worker}
                    assert_ids(found.load_ids_of_games_not_to_add(worker), copies)
                summary = found.summarize(7)
                assert summary.games["n_games"].sum() == len(expected.borne)
                assert summary.n_bytes == 10 * len(seen)
                assert found.locations_of_removed_known_games().is_empty()
                assert found.quarantine_changes.outdated_rows_removal() is None
            lake.take(expected, rows)


def archives(prefixes: Iterable[str], *, is_known: bool) -> pl.DataFrame:
    """The archives that ingest 7 read."""
    rows = [(7, SOURCE, prefix, 1, "f" * 64, is_known) for prefix in prefixes]
    schema = {**table_schema("archives"), "is_known": pl.Boolean()}
    return pl.DataFrame(rows, schema, orient="row")


def assert_ids(ids: GameIds, expected: set[str]) -> None:
    assert len(ids) == len(expected)
    assert ids.contains_each(sorted(expected)).all()


def over(lake: Oracle) -> Any:
    """The connection, over the oracle's tables."""

    @contextmanager
    def opened(*_: object) -> Iterator[duckdb.DuckDBPyConnection]:
        with duckdb.connect() as connection:
            for name in ("documents", "games", "quarantine"):
                connection.register(name, lake.table(name).to_arrow())
            yield connection

    return opened


def written(seen: Sequence[tuple[ScannedDocument, int]], scratch: Path) -> list[Path]:
    files = []
    for worker in (0, 1):
        files.append(scratch / f"seen-{worker}.parquet")
        scanned_documents_frame([s for s, of in seen if of == worker], worker).write_parquet(
            files[-1]
        )
    return files
