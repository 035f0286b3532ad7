"""One game as a whole: who sat where, what was said and to whom, and what each metric counted."""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import polars as pl
from msgspec import Struct

from pipeline.column import ID_LENGTH
from pipeline.errors import UsageError
from pipeline.events.contracts import GAME_TABLES, empty_table, table_schema
from pipeline.lake import StoredLake
from pipeline.metrics.evidence import EVIDENCE_COLUMNS, evidence_rows
from pipeline.metrics.registry import lake_method, metric_names, metric_spec
from pipeline.metrics.request import Request, check_number_of_games
from pipeline.processes import available_cores
from pipeline.reports.transcript_items import (
    EVERYBODY,
    Sources,
    TranscriptItem,
    as_text,
    game_title,
    sources_of,
    transcript_items,
)
from pipeline.sql_files import quote_identifier, quote_literal
from pipeline.vocabulary import DEFAULT_N_GAMES, PAPER, Edition
from pipeline.warehouse import query_small

SEEN = ("message_index", "player", "content")
"""What a player sees of a message; a player does not see who else was shown it."""
_NAMED = 5
# All of them are counted.
_OF_COUNTED = [name for name in EVIDENCE_COLUMNS if name != "is_counted"]


class Transcript(Struct, frozen=True):
    """One game: its rows in each table, and the rows that metrics counted in it.

    `tables` has a frame for each table of games by its name, with the table's columns. `counted`
    has the rows of `Lake.evidence` in the `edition` that are of this game, and `sources` the tables
    whose rows each metric counts.
    """

    tables: dict[str, pl.DataFrame]
    counted: pl.DataFrame
    edition: Edition
    sources: Sources

    @property
    def game(self) -> dict[str, object]:
        """The game's row of `games`."""
        return self.tables["games"].row(0, named=True)

    @property
    def players(self) -> pl.DataFrame:
        """The game's rows of `players`: a row for each seat."""
        return self.tables["players"]

    @property
    def messages(self) -> pl.DataFrame:
        """The game's rows of `messages`, in order."""
        return self.tables["messages"]

    @property
    def text(self) -> str:
        """The transcript as plain text: each message with who was shown it, and what was counted
        in it. ✓ is a hit, ✗ a miss, a number a partial hit, and ? an unknown one."""
        return as_text(game_title(self.game), self.items)

    @property
    def items(self) -> list[TranscriptItem]:
        """Messages, and acts without words, each with what was done and counted in it."""
        return transcript_items(self.tables, self.counted, self.sources)

    def items_seen_by(self, seat: int) -> pl.DataFrame:
        """The messages that were shown to a seat.

        Columns:

        - `message_index`, `player`, `content`: the message, who spoke, and the text.

        Raises UsageError for a seat that the game does not have.
        """
        players = dict(self.tables["players"].select("seat", "player").iter_rows())
        if seat not in players:
            seats = ", ".join(map(str, sorted(players)))
            raise UsageError(f"no seat {seat} in this game: choose from {seats}")
        shown_to = pl.col("visible_to").list.contains
        is_seen = shown_to(pl.lit(EVERYBODY)) | shown_to(pl.lit(players[seat], pl.String))
        return self.tables["messages"].filter(is_seen).select(SEEN)


@lake_method
def transcript(
    lake: StoredLake, game: str, *, edition: Edition = PAPER, num_of_game: int = DEFAULT_N_GAMES
) -> Transcript:
    """The game with this id, or the first characters of it, or with this path of its log.

    `edition` and `num_of_game` say which rows are counted, as in `Lake.evidence`. Raises
    UsageError if no game or several games match, and for an unknown edition.
    """
    read = partial(transcripts, lake, edition=edition, num_of_game=num_of_game)
    # Searching for a path or for the beginning of an id takes as long as reading the game.
    if len(game) == ID_LENGTH and (known := next(read([game]), None)):
        return known
    return next(read([_id_of(lake, game)]))


@lake_method
def transcripts(
    lake: StoredLake,
    game_ids: Sequence[str],
    *,
    edition: Edition = PAPER,
    num_of_game: int = DEFAULT_N_GAMES,
) -> Iterator[Transcript]:
    """The games with these ids, in this order, with the rows that the edition's metrics counted.

    They are read all at once. An id that the lake does not have is left out.

    >>> ids = lake.games(limit=2)["game_id"].to_list()
    >>> [game.messages.height for game in lake.transcripts(ids)]
    [42, 42]
    """
    metric_names(edition)  # an unknown one is refused before anything is read
    request = Request(edition=edition, num_of_game=num_of_game)
    check_number_of_games(request)
    tables = _tables(lake, game_ids)
    if tables["games"].is_empty():
        return iter(())
    counted = _counted(lake, tables, request)
    return _split(game_ids, tables, counted, edition, sources_of(counted["metric"].unique()))


def _split(
    game_ids: Sequence[str],
    tables: dict[str, pl.DataFrame],
    counted: pl.DataFrame,
    edition: Edition,
    sources: Sources,
) -> Iterator[Transcript]:
    """The rows of all, by game."""
    order = ("round", "seat", "message_index")
    for name, rows in tables.items():
        keys = ["message_index"] if name == "messages" else [c for c in order if c in rows.columns]
        tables[name] = rows.sort(keys) if keys else rows
    parts = {name: _by_game(rows) for name, rows in tables.items()}
    of_game = _by_game(counted)
    for game_id in game_ids:
        if game_id in parts["games"]:
            rows_of_game = {
                name: parts[name].get(game_id, rows.clear()) for name, rows in tables.items()
            }
            yield Transcript(rows_of_game, of_game.get(game_id, counted.clear()), edition, sources)


def _tables(lake: StoredLake, game_ids: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The rows of the games. DuckDB finds them, by the files' Bloom filters, where it is not known
    in which rows they are."""
    if not game_ids:
        return {name: empty_table(name) for name in GAME_TABLES}
    condition = f"game_id IN ({', '.join(map(quote_literal, game_ids))})"
    games = _rows(lake, "games", condition)
    types = games["game_type"].unique().to_list()
    # A table has the rows of one type together.
    condition += f" AND game_type IN ({', '.join(map(quote_literal, types)) or 'NULL'})"
    known = [
        name
        for name in GAME_TABLES
        if name != "games" and any(lake.may_have_game_type(name, game_type) for game_type in types)
    ]
    with ThreadPoolExecutor(available_cores()) as threads:
        frames = threads.map(lambda name: _rows(lake, name, condition), known)
        tables = {"games": games, **dict(zip(known, frames, strict=True))}
    return {name: tables[name] if name in tables else empty_table(name) for name in GAME_TABLES}


def _rows(lake: StoredLake, table: str, condition: str) -> pl.DataFrame:
    columns = dict(table_schema(table))
    select = f"SELECT {', '.join(map(quote_identifier, columns))} FROM {table} WHERE {condition}"
    # The tables are read in parallel, all by one connection.
    return query_small(lake, {}, select, " ".join(GAME_TABLES)).cast(pl.Schema(columns))


def _by_game(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    if rows.is_empty():
        return {}
    parts = rows.partition_by("game_id", as_dict=True, maintain_order=True)
    return {str(game_id): part for (game_id,), part in parts.items()}


def _counted(lake: StoredLake, tables: dict[str, pl.DataFrame], request: Request) -> pl.DataFrame:
    """The rows of these games that the metrics counted, as they are counted in the whole lake."""
    known = metric_names(request.edition)
    types, systems = (set(tables["games"][name]) for name in ("game_type", "system"))
    # Those of other games count nothing in these. One at least says which columns there are.
    asked = [name for name in known if types & set(metric_spec(name, request.edition).game_types)]
    parts = []
    for name in asked or known[:1]:
        whole = {rows.table for rows in metric_spec(name, request.edition).rows if rows.spans_games}
        is_shown = pl.col("game_id").is_in(tables["games"]["game_id"].implode())
        for of_all in map(lake.for_system, sorted(systems)) if whole else [lake]:
            counted = evidence_rows(partial(_table, tables, of_all, whole), name, request)
            counted = counted.filter(is_shown) if whole else counted
            parts.append(counted.with_columns(metric=pl.lit(name)).select(_OF_COUNTED))
    place = pl.col("metric").replace_strict({name: at for at, name in enumerate(known)})
    order = ("what", "term", "round", "seat", "role", "model")
    return pl.concat(parts).collect().sort("message_index", place, *order, nulls_last=True)


def _table(
    tables: dict[str, pl.DataFrame], lake: StoredLake, whole: Collection[object], name: str
) -> pl.LazyFrame:
    """A table of these games alone, or of all where a metric looks at others too."""
    return lake.table(name) if name in whole or name not in tables else tables[name].lazy()


def _id_of(lake: StoredLake, game: str) -> str:
    is_it = pl.col("game_id").str.starts_with(game) | (pl.col("path") == game)
    games = lake.table("games").filter(is_it).select("game_id", "path").head(_NAMED + 1).collect()
    if games.is_empty() or not game:
        raise UsageError(
            f"no game `{game}`: give a game's id, the first characters of it, or the path of its "
            'log; run `magic sql "SELECT game_id, path FROM games"` to list them'
        )
    if games.height > 1:
        ids = ", ".join(games["game_id"].head(_NAMED))
        more = ", .." if games.height > _NAMED else ""
        raise UsageError(
            f"`{game}` matches several games: {ids}{more}; give more characters of the id"
        )
    game_id: str = games["game_id"].item()
    return game_id
