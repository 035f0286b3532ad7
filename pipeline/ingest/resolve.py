"""What each document seen is, in the light of all others and of what the lake holds.

Whether a document is new, known, a copy or a replacement depends on all the others, so it is
decided for all at once: by the statements in `sql/ingest`, in DuckDB, which keeps on disk what is
too much for memory.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection

from pipeline.events.contracts import polars_schema
from pipeline.ingest.database import ROWS_AT_ONCE, IngestDatabase, statement
from pipeline.ingest.decode import seen_frame
from pipeline.ingest.ids import GameIds
from pipeline.ingest.quarantine import Refusals
from pipeline.lake import StoredLake
from pipeline.vocabulary import DocumentStatus
from pipeline.warehouse import answer, batches, register, view


def known_games(database: IngestDatabase, lake: StoredLake | None) -> Path | None:
    """A file of the ids of the lake's games, None where it has none."""
    if lake is None or not lake.sizes("games"):
        return None
    with database.connection(lake) as connection:
        return database.ids_file(connection, "SELECT game_id FROM lake_games", "known")


@contextmanager
def resolution(
    database: IngestDatabase, lake: StoredLake | None, seen: Sequence[Path], faults: Sequence[Path]
) -> Iterator["Resolution"]:
    """What an ingest does, given what the lake holds and the files of what the workers found."""
    with database.connection(lake) as connection:
        database.register(connection, "found", seen, seen_frame([]))
        database.compute(connection, "named_before", statement("named_before"))
        view(connection, "seen", statement("seen"))
        for name, select in _steps().items():
            database.compute(connection, name, select)
        is_first = lake is not None and not lake.sizes("documents")
        changed = "SELECT location FROM resolved" if is_first else statement("changed")
        database.compute(connection, "changed", changed)
        is_empty = lake is None or not lake.sizes("quarantine")
        refusals = Refusals(connection, database, faults, is_empty=is_empty)
        yield Resolution(connection, database, refusals)


def _steps() -> dict[str, str]:
    """What is worked out, in this order: each is made of those before it."""
    of_games = ("new_games", "unindexed", "chosen_documents", "copies", "held")
    return {
        "last_here": statement("last_at", locations="seen"),
        "further_locations": statement("further_locations"),
        "last_elsewhere": statement("last_at", locations="further_locations"),
        "last_seen": "FROM last_here UNION ALL FROM last_elsewhere",
        **{
            name: statement(name)
            for name in (*of_games, "resolved", "superseded", "surplus", "moved")
        },
    }


class Resolution:
    """What an ingest does: what becomes of the documents seen, and which games are to go.

    `statuses` are the numbers of documents by status; `games` has the columns game_type, n_games
    (new in the lake); `n_in_other_form` of them have the content of another game; `superseded` are
    the lake's games that are to go, `superseded_or_moved` also those that are in another document
    now; `ignored` has the columns reason, n_documents, example. Of `n_known_by_content` documents,
    which name no model, the lake has the games. Only a text tells `n_read_votes` votes of new
    games, and of these it does not decide `n_undecided_votes`. `n_unnumbered`
    duplicates are interchange JSON that does not number its game.
    """

    def __init__(
        self, connection: DuckDBPyConnection, database: IngestDatabase, refusals: Refusals
    ) -> None:
        self._connection = connection
        self._database = database
        self.refusals = refusals
        counted = answer(connection, statement("counts"))
        n_documents = dict(counted.select("status", "n_documents").iter_rows())
        self.statuses = {str(status): n_documents.get(str(status), 0) for status in DocumentStatus}
        self.n_bytes = int(counted["n_bytes"].sum())
        self.n_known_by_content = int(counted["n_known_by_content"].sum())
        self.n_read_votes = int(counted["n_read_votes"].sum())
        self.n_undecided_votes = int(counted["n_undecided_votes"].sum())
        self.n_unnumbered = int(counted["n_unnumbered"].sum())
        self.games = answer(
            connection,
            "SELECT game_type, count(*) AS n_games FROM resolved WHERE is_chosen "
            "GROUP BY game_type ORDER BY game_type",
        )
        self.superseded = database.ids(connection, "FROM superseded", "superseded")
        with_moved = "FROM superseded UNION ALL SELECT game_id FROM moved"
        self.superseded_or_moved = database.ids(connection, with_moved, "superseded_or_moved")
        self.n_in_other_form: int = (
            answer(connection, statement("in_other_form")).item() if self.games.height else 0
        )
        self.ignored = answer(connection, statement("ignored"))
        self._with_surplus = set(
            answer(connection, "SELECT DISTINCT worker FROM surplus")["worker"]
        )

    def surplus(self, worker: int) -> GameIds:
        """The games that the worker decoded in vain: another copy is taken, or the lake's."""
        if worker not in self._with_surplus:
            return GameIds()
        select = f"SELECT game_id FROM surplus WHERE worker = {worker}"
        return self._database.ids(self._connection, select, f"surplus-{worker}")

    def moved_games(self) -> Iterator[pa.Table]:
        """The rows of `games` of those that moved, with their new places, some at a time."""
        columns = "lake_games.* REPLACE (moved.source AS source, moved.path AS path)"
        select = f"SELECT {columns} FROM lake_games INNER JOIN moved USING (game_id)"
        return batches(self._connection, select, ROWS_AT_ONCE)

    def lost(self) -> pl.DataFrame:
        """The documents whose game was known when the ingest began and is not there any more."""
        return answer(self._connection, "SELECT location FROM resolved WHERE is_lost")

    def noted(self, archives: pl.DataFrame) -> pl.DataFrame:
        """The rows of `archives` that an ingest adds, of those that it read: all documents of such
        an archive have a row. One that is known has it already, unless one of them changed.
        """
        if archives.is_empty():  # as of most ingests; to ask DuckDB for nothing takes it 10 ms
            numbers = pl.DataFrame(schema={"source_order": pl.Int64, "number": pl.UInt32})
            register(self._connection, "in_archives_read", numbers)
            register(self._connection, "noted", numbers)
            return archives.drop("is_known")
        register(self._connection, "archives_read", archives.with_row_index("number"))
        seen = "(FROM resolved, (SELECT DISTINCT ingest_id FROM archives_read))"
        inside = statement("in_archives", documents=seen, archives="archives_read")
        view(self._connection, "in_archives_read", inside)
        noted = answer(self._connection, statement("noted"))
        register(self._connection, "noted", noted)
        return noted.select(list(polars_schema("archives")))

    def documents(self, ingest_id: int) -> Iterator[pa.Table]:
        """The rows of `documents`, in the order of the sources, some at a time.

        What is as it was has none, but in an archive that is `noted`.
        """
        select = statement("documents", ingest_id=str(ingest_id))
        return batches(self._connection, select, ROWS_AT_ONCE)
