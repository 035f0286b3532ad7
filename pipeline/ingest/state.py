"""What a lake holds already, and what each document seen is in its light.

Whether a document is new, known, a copy or a replacement depends on all the others, so it is
decided for all at once, by joins.
"""

from pathlib import Path
from typing import Self

import polars as pl
import pyarrow as pa
from msgspec import Struct

from pipeline.events.contracts import polars_schema
from pipeline.ingest.decode import GAME, KNOWN
from pipeline.lake import Lake
from pipeline.vocabulary import DocumentStatus

_GAME_COLUMNS = ("game_id", "sha256", "game_index", "assigned_model")
_GAME_FACTS = (*_GAME_COLUMNS, "format", "source", "path")

# Source and path joined, so that it does not matter from which folder a file was reached.
LOCATION = pl.concat_str("source", pl.lit("/"), "path")


class State(Struct):
    """What a lake holds: `games`, a row each, and `held`, the game that each place held last.

    Columns of games: game_id, sha256, game_index, assigned_model, format, source, path. Columns of
    held: location, game_id.
    """

    games: pl.DataFrame
    held: pl.DataFrame

    def without(self, game_ids: pl.Series) -> "State":
        """The same state before it held these games."""
        others = ~pl.col("game_id").is_in(game_ids.implode())
        return State(self.games.filter(others), self.held.filter(others))


def state(lake: Lake | None) -> State:
    """The lake's state, nothing for None."""
    documents = (
        pl.LazyFrame(schema=polars_schema("documents")) if lake is None else lake.table("documents")
    )
    games = pl.LazyFrame(schema=polars_schema("games")) if lake is None else lake.table("games")
    of_document = ["sha256", "game_index", "assigned_model"]
    last = (
        documents.filter(pl.col("game_id").is_not_null())
        .sort("ingest_id", maintain_order=True)
        .group_by(LOCATION.alias("location"))
        .agg(pl.last(*of_document))
        .collect()
    )
    found = games.select(_GAME_FACTS).collect()
    # A game without an index gives way to one with: a place holds what its bytes are now.
    held = last.select("location", game_id=_same_game(last, found))
    return State(found, held.drop_nulls("game_id"))


class KnownGames:
    """The games of a lake by the hash of their bytes, in a file that several processes share.

    Only what is asked for is read of it, so its size does not matter.
    """

    def __init__(self, games: pl.DataFrame) -> None:
        self._games = games
        self._keys = games["key"]

    @classmethod
    def save(cls, games: pl.DataFrame, file: Path) -> None:
        """Writes the file from the games of a `State`."""
        keyed = games.with_columns(key=_key(pl.col("sha256"))).sort("key")
        keyed.write_ipc(file, compression="uncompressed")

    @classmethod
    def load(cls, file: str) -> Self:
        """The games in such a file, which has to stay as long as they are used."""
        games = pl.DataFrame(pa.ipc.open_file(pa.memory_map(file)).read_all())
        return cls(games.with_columns(pl.col("key").set_sorted()))

    def among(self, sha256: pl.Series) -> State:
        """A state with just those games that have one of these hashes."""
        keys = sha256.drop_nulls().unique().to_frame().select(_key(pl.col("sha256"))).to_series()
        first = self._keys.search_sorted(keys, side="left")
        size = self._keys.search_sorted(keys, side="right") - first
        rows = pl.int_ranges(first, first + size, eager=True).explode().drop_nulls()
        return State(self._games[rows].drop("key"), _NOTHING_HELD)


def _key(sha256: pl.Expr) -> pl.Expr:
    """A number that sorts hashes: their first 60 bits."""
    return sha256.str.head(15).str.to_integer(base=16)


_NOTHING_HELD = pl.DataFrame(schema={"location": pl.String, "game_id": pl.String})


def known(seen: pl.DataFrame, held: State, model: str | None) -> pl.DataFrame:
    """For each document, `game_id` and `assigned_model` of its game if the lake has it, else nulls.

    Only a decoder can tell whether a log names its models, so both answers are tried.
    """
    as_told = _same_game(seen.with_columns(assigned_model=pl.lit(None, pl.String)), held.games)
    as_given = _same_game(seen.with_columns(assigned_model=pl.lit(model, pl.String)), held.games)
    is_by_given = pl.col("as_told").is_null() & pl.col("as_given").is_not_null()
    return pl.DataFrame({"as_told": as_told, "as_given": as_given}).select(
        game_id=pl.coalesce("as_told", "as_given"),
        assigned_model=pl.when(is_by_given).then(pl.lit(model, pl.String)),
    )


def _same_game(seen: pl.DataFrame, games: pl.DataFrame) -> pl.Series:
    """The game of the lake that each document seen is, in their order; null for none.

    The same bytes are the same game, unless both have an index and these differ. Bytes without an
    index are the game of the lowest; a game without one gives way to any with (`_superseded`).
    """
    key = ["sha256", "assigned_model"]
    candidates = (
        seen.select(*key, "game_index")
        .with_row_index("row")
        .filter(pl.col("sha256").is_not_null())
        .join(games.select(_GAME_COLUMNS), on=key, how="inner", nulls_equal=True, suffix="_lake")
        .filter(
            pl.col("game_index").is_null() | (pl.col("game_index") == pl.col("game_index_lake"))
        )
        .sort("row", "game_index_lake", nulls_last=True)
        .unique("row", keep="first", maintain_order=True)
        .select("row", in_lake="game_id")
    )
    return _of_each(seen, candidates)["in_lake"]


def _of_each(documents: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """What is told of each document, in their order, by its number in `row`; nulls of others."""
    rows = documents.select(pl.int_range(pl.len(), dtype=pl.get_index_type()).alias("row"))
    return rows.join(told, on="row", how="left", maintain_order="left").drop("row")


class Resolution(Struct):
    """What an ingest does.

    `documents` are the documents seen, with their status; `superseded` the lake's games that no
    place holds any more; `surplus` the games, by worker, that were decoded and are another's copy.
    """

    documents: pl.DataFrame
    superseded: pl.DataFrame
    surplus: pl.DataFrame

    def with_again(self, game_ids: pl.Series) -> None:
        """Takes out those of the games, left out of the lake's state, that are there anew."""
        new = self.documents.filter("is_bearer").select("game_id")
        replaced = new.filter(pl.col("game_id").is_in(game_ids.implode()))
        self.superseded = pl.concat([self.superseded, replaced]).unique()


def resolve(seen: pl.DataFrame, held: State) -> Resolution:
    """The status of every document seen, given what the lake holds."""
    seen = seen.sort("place")
    in_lake = _same_game(seen, held.games)
    is_new = (pl.col("found") == GAME) & in_lake.is_null()
    new_games = seen.filter(is_new).select(_GAME_COLUMNS).unique()
    same = in_lake.fill_null(_same_game(seen, new_games))
    is_game = pl.col("found").is_in([GAME, KNOWN])
    documents = (
        seen.rename({"game_id": "own"})
        .with_columns(LOCATION.alias("location"), is_new=in_lake.is_null(), game_id=same)
        .with_columns(pl.when(is_game).then("game_id").alias("game_id"))
        .join(
            held.held.select("location", was="game_id"),
            on="location",
            how="left",
            maintain_order="left",
        )
        .with_columns(is_bearer=_is_bearer())
        .with_columns(status=_status(is_game))
    )
    documents = _described(documents, held)
    return Resolution(
        documents=documents,
        superseded=_superseded(documents, held),
        surplus=_surplus(documents),
    )


def _surplus(documents: pl.DataFrame) -> pl.DataFrame:
    """The games, by worker, that were decoded for no document that bears one."""
    key = ["worker", "game_id"]
    is_copy = (pl.col("found") == GAME) & ~pl.col("is_bearer")
    copies = documents.filter(is_copy).select("worker", game_id="own").unique()
    # The few copies are looked up among all bearers, and not the other way round.
    borne = documents.lazy().filter("is_bearer").select(key)
    of_copies = borne.join(copies.lazy(), on=key, how="semi").collect()
    return copies.join(of_copies, on=key, how="anti")


def _is_bearer() -> pl.Expr:
    """Whether the document is the one that a new game is read from: the first of its copies."""
    is_own = (pl.col("found") == GAME) & pl.col("is_new") & (pl.col("own") == pl.col("game_id"))
    return is_own & (is_own.cast(pl.Int64).cum_sum().over("game_id") == 1)


def _described(documents: pl.DataFrame, held: State) -> pl.DataFrame:
    """The documents with the format of their game, and a copy's reason: where the game is."""
    is_copy = pl.col("status") == DocumentStatus.DUPLICATE
    is_undescribed = pl.col("game_id").is_not_null() & (is_copy | pl.col("format").is_null())
    of_game = ("game_id", "format", "source", "path")
    bearers = documents.lazy().filter("is_bearer").select(of_game)
    games = pl.concat([held.games.lazy().select(of_game), bearers])
    # As a rule few, while texts for all of them would be as many as those of all documents.
    described = (
        documents.lazy()
        .with_row_index("row")
        .filter(is_undescribed)
        .select("row", "game_id", is_copy.alias("is_copy"), own_format="format")
        .join(games, on="game_id", how="left")
        .select(
            "row",
            told_format=pl.coalesce("own_format", "format"),
            told_reason=pl.when("is_copy").then(pl.format("the same game as {}", LOCATION)),
        )
        .collect()
    )
    return documents.with_columns(*_of_each(documents, described)).with_columns(
        pl.coalesce("told_format", "format").alias("format"),
        pl.coalesce("told_reason", "reason").alias("reason"),
    )


def _status(is_game: pl.Expr) -> pl.Expr:
    status = DocumentStatus
    return (
        pl.when(~is_game)
        .then("found")
        .when(pl.col("was") == pl.col("game_id"))
        .then(pl.lit(str(status.UNCHANGED)))
        .when(~pl.col("is_bearer"))
        .then(pl.lit(str(status.DUPLICATE)))
        .when(pl.col("was").is_not_null())
        .then(pl.lit(str(status.REPLACING)))
        .otherwise(pl.lit(str(status.INGESTED)))
    )


def _superseded(documents: pl.DataFrame, held: State) -> pl.DataFrame:
    """The lake's games that no place holds once these documents are in their places.

    One without an index is none any more when the same bytes come with an index.
    """
    # Lazy, so that of all these rows only what is asked for is copied.
    now = documents.lazy().filter(pl.col("game_id").is_not_null())
    here = now.select("location", "game_id").collect()
    moved = held.held.join(here, on="location", how="anti")
    still = pl.concat([moved["game_id"], here["game_id"]])
    key = ["sha256", "assigned_model"]
    is_indexed = pl.col("is_bearer") & pl.col("game_index").is_not_null()
    indexed = now.filter(is_indexed).select(key).collect()
    is_without = pl.col("game_index").is_null()
    replaced = held.games.filter(is_without).join(indexed, on=key, how="semi", nulls_equal=True)
    gone = held.games.filter(~pl.col("game_id").is_in(still.implode()))
    return pl.concat([gone, replaced]).select("game_id").unique()
