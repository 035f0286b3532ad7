"""Transcripts: all rows of single games, with the rows that the metrics counted in them.

Used by `pipeline.lake_methods`, the CLI and the pages; depends on `pipeline.metrics.evidence` and
`pipeline.warehouse`.
"""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import polars as pl
from msgspec import Struct

from pipeline.column import ID_LENGTH
from pipeline.errors import UsageError
from pipeline.events.contracts import GAME_TABLES, empty_table, table_schema
from pipeline.lake import StoredLake
from pipeline.metrics.evidence import EVIDENCE_COLUMNS, unsorted_evidence_rows
from pipeline.metrics.registry import lake_method, metric_names, metric_spec
from pipeline.metrics.request import Request, check_number_of_games
from pipeline.processes import available_cores
from pipeline.reports.transcript_items import (
    VISIBLE_TO_ALL,
    SourceTables,
    TranscriptItem,
    format_transcript,
    game_title,
    source_tables_by_metric,
    transcript_items,
)
from pipeline.sql_files import quote_identifier, quote_literal
from pipeline.vocabulary import DEFAULT_N_GAMES, PAPER, Edition
from pipeline.warehouse import query_on_cached_connection

SEEN_COLUMNS = ("message_index", "player", "content")
"""The columns of a message that a player sees; a player does not see who else was shown it."""
_MAX_LISTED_IDS = 5
# The column `is_counted` is left out, because all of these rows are counted.
_COUNTED_COLUMNS = [name for name in EVIDENCE_COLUMNS if name != "is_counted"]


class Transcript(Struct, frozen=True):
    """One game: its rows in each table, and the rows that metrics counted in it.

    Attributes:
        tables: The game's rows of each table of games, by the name of the table.
        counted: The rows of `Lake.evidence` in the `edition` that belong to this game.
        edition: The edition of the metrics.
        sources: The tables whose rows each metric counts.
    """

    tables: dict[str, pl.DataFrame]
    counted: pl.DataFrame
    edition: Edition
    sources: SourceTables

    @property
    def game(self) -> dict[str, object]:
        """The game's row of the table `games`: values by column."""
        return self.tables["games"].row(0, named=True)

    @property
    def players(self) -> pl.DataFrame:
        """The game's rows of the table `players`, one for each seat."""
        return self.tables["players"]

    @property
    def messages(self) -> pl.DataFrame:
        """The game's rows of the table `messages`, in order."""
        return self.tables["messages"]

    @property
    def text(self) -> str:
        """The transcript as plain text.

        Each message says who was shown it and what was counted in it: ✓ is a hit, ✗ a miss, a
        number a partial hit, and ? an unknown hit.
        """
        return format_transcript(game_title(self.game), self.items)

    @property
    def items(self) -> list[TranscriptItem]:
        """The messages and actions in order, each with the rows that metrics counted."""
        return transcript_items(self.tables, self.counted, self.sources)

    def items_seen_by(self, seat: int) -> pl.DataFrame:
        """Return the messages that the player in a seat could see.

        Columns:

        - `message_index`, `player`, `content`: the index of the message, the speaker, and the text.

        Raises UsageError for a seat that the game does not have.
        """
        players = dict(self.tables["players"].select("seat", "player").iter_rows())
        if seat not in players:
            seat_list = ", ".join(map(str, sorted(players)))
            raise UsageError(f"no seat {seat} in this game: choose from {seat_list}")
        is_visible_to = pl.col("visible_to").list.contains
        is_seen = is_visible_to(pl.lit(VISIBLE_TO_ALL)) | is_visible_to(
            pl.lit(players[seat], pl.String)
        )
        return self.tables["messages"].filter(is_seen).select(SEEN_COLUMNS)


@lake_method
def transcript(
    lake: StoredLake, game: str, *, edition: Edition = PAPER, num_of_game: int = DEFAULT_N_GAMES
) -> Transcript:
    """Return the transcript of one game, given its id, the beginning of its id, or its log's path.

    `edition` and `num_of_game`
    determine which rows are counted, as in `Lake.evidence`.

    Raises UsageError if no game or several games match, and for an unknown edition.
    """
    read_transcripts = partial(transcripts, lake, edition=edition, num_of_game=num_of_game)
    # A complete id is tried first, because searching for a path or for the beginning of an id
    # takes as long as reading the game.
    if len(game) == ID_LENGTH and (full_id_match := next(read_transcripts([game]), None)):
        return full_id_match
    return next(read_transcripts([_find_game_id_by_prefix_or_path(lake, game)]))


@lake_method
def transcripts(
    lake: StoredLake,
    game_ids: Sequence[str],
    *,
    edition: Edition = PAPER,
    num_of_game: int = DEFAULT_N_GAMES,
) -> Iterator[Transcript]:
    """Iterate over the transcripts of the games with these ids, in the order of the ids.

    All games are read at once, with the rows that the metrics of the edition counted. Ids that the
    lake does not have are skipped.

    >>> ids = lake.games(limit=2)["game_id"].to_list()
    >>> [game.messages.height for game in lake.transcripts(ids)]
    [42, 42]
    """
    metric_names(edition)  # raises for an unknown edition, before anything is read
    request = Request(edition=edition, num_of_game=num_of_game)
    check_number_of_games(request)
    tables = _load_table_rows_of_games(lake, game_ids)
    if tables["games"].is_empty():
        return iter(())
    counted = _load_rows_counted_by_metrics(lake, tables, request)
    return _iter_transcripts_from_tables(
        game_ids, tables, counted, edition, source_tables_by_metric(counted["metric"].unique())
    )


def _iter_transcripts_from_tables(
    game_ids: Sequence[str],
    tables: dict[str, pl.DataFrame],
    counted: pl.DataFrame,
    edition: Edition,
    sources: SourceTables,
) -> Iterator[Transcript]:
    """Yield a transcript for each id, made from the rows of all games in `tables` and `counted`."""
    sort_columns = ("round", "seat", "message_index")
    for name, rows in tables.items():
        keys = (
            ["message_index"]
            if name == "messages"
            else [column for column in sort_columns if column in rows.columns]
        )
        tables[name] = rows.sort(keys) if keys else rows
    rows_by_table_and_game = {name: _partition_by_game(rows) for name, rows in tables.items()}
    counted_by_game = _partition_by_game(counted)
    for game_id in game_ids:
        if game_id in rows_by_table_and_game["games"]:
            rows_of_game = {
                name: rows_by_table_and_game[name].get(game_id, rows.clear())
                for name, rows in tables.items()
            }
            yield Transcript(
                rows_of_game, counted_by_game.get(game_id, counted.clear()), edition, sources
            )


def _load_table_rows_of_games(lake: StoredLake, game_ids: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Return the rows of the games in each event table, by the name of the table.

    If the lake does not know which rows belong to a game, DuckDB finds them with the Bloom filters
    of the files.
    """
    if not game_ids:
        return {name: empty_table(name) for name in GAME_TABLES}
    condition = f"game_id IN ({', '.join(map(quote_literal, game_ids))})"
    games = _load_rows(lake, "games", condition)
    game_types = games["game_type"].unique().to_list()
    # Rows of the same game type are stored together in a table.
    condition += f" AND game_type IN ({', '.join(map(quote_literal, game_types)) or 'NULL'})"
    table_names = [
        name
        for name in GAME_TABLES
        if name != "games"
        and any(lake.may_have_game_type(name, game_type) for game_type in game_types)
    ]
    with ThreadPoolExecutor(available_cores()) as threads:
        frames = threads.map(lambda name: _load_rows(lake, name, condition), table_names)
        tables = {"games": games, **dict(zip(table_names, frames, strict=True))}
    return {name: tables[name] if name in tables else empty_table(name) for name in GAME_TABLES}


def _load_rows(lake: StoredLake, table: str, condition: str) -> pl.DataFrame:
    columns = dict(table_schema(table))
    select = f"SELECT {', '.join(map(quote_identifier, columns))} FROM {table} WHERE {condition}"
    # One connection reads all tables in parallel.
    return query_on_cached_connection(lake, {}, select, " ".join(GAME_TABLES)).cast(
        pl.Schema(columns)
    )


def _partition_by_game(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    if rows.is_empty():
        return {}
    parts = rows.partition_by("game_id", as_dict=True, maintain_order=True)
    return {str(game_id): part for (game_id,), part in parts.items()}


def _load_rows_counted_by_metrics(
    lake: StoredLake, tables: dict[str, pl.DataFrame], request: Request
) -> pl.DataFrame:
    """Return the rows that the metrics count in the games of `tables`, with the metric's name."""
    all_metrics = metric_names(request.edition)
    game_types, systems = (set(tables["games"][column]) for column in ("game_type", "system"))
    # Metrics of other game types count nothing here. One metric is kept to get the columns.
    relevant_metrics = [
        metric
        for metric in all_metrics
        if game_types & set(metric_spec(metric, request.edition).game_types)
    ]
    parts = []
    for metric in relevant_metrics or all_metrics[:1]:
        spanning_tables = {
            rows.table for rows in metric_spec(metric, request.edition).rows if rows.spans_games
        }
        is_selected_game = pl.col("game_id").is_in(tables["games"]["game_id"].implode())
        for system_lake in map(lake.for_system, sorted(systems)) if spanning_tables else [lake]:
            counted_rows = unsorted_evidence_rows(
                partial(_rows_of_selected_or_all_games, tables, system_lake, spanning_tables),
                metric,
                request,
            )
            counted_rows = (
                counted_rows.filter(is_selected_game) if spanning_tables else counted_rows
            )
            parts.append(counted_rows.with_columns(metric=pl.lit(metric)).select(_COUNTED_COLUMNS))
    metric_order = pl.col("metric").replace_strict(
        {metric: position for position, metric in enumerate(all_metrics)}
    )
    sort_columns = ("what", "term", "round", "seat", "role", "model")
    return (
        pl.concat(parts)
        .collect()
        .sort("message_index", metric_order, *sort_columns, nulls_last=True)
    )


def _rows_of_selected_or_all_games(
    tables: dict[str, pl.DataFrame],
    lake: StoredLake,
    spanning_tables: Collection[object],
    name: str,
) -> pl.LazyFrame:
    """Return a table's rows of these games, or of all games if the metric combines games."""
    return (
        lake.table(name) if name in spanning_tables or name not in tables else tables[name].lazy()
    )


def _find_game_id_by_prefix_or_path(lake: StoredLake, game: str) -> str:
    """Return the id of the one game with this prefix of its id or this path of its log.

    Raises UsageError if there are several such games, or none.
    """
    matches = pl.col("game_id").str.starts_with(game) | (pl.col("path") == game)
    games = (
        lake.table("games")
        .filter(matches)
        .select("game_id", "path")
        .head(_MAX_LISTED_IDS + 1)
        .collect()
    )
    if games.is_empty() or not game:
        raise UsageError(
            f"no game `{game}`: specify a game's id, its first characters, or the path of its "
            'log; run `magic sql "SELECT game_id, path FROM games"` to list them'
        )
    if games.height > 1:
        ids = ", ".join(games["game_id"].head(_MAX_LISTED_IDS))
        ellipsis = ", .." if games.height > _MAX_LISTED_IDS else ""
        raise UsageError(
            f"`{game}` matches several games: {ids}{ellipsis}; specify more characters of the id"
        )
    game_id: str = games["game_id"].item()
    return game_id
