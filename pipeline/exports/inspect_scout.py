"""Export of transcripts for Inspect Scout: one row for each tested seat, with its messages.

Columns and types are those of `transcripts_db_schema` in `inspect_scout` 0.6; further columns are
metadata. Messages are JSON. A message of the seat has the role `assistant`, and any other message
the role `user`. The latter begins with the speaker's name, because Scout displays only role and
text to models. Called by `pipeline.exports.export`.
"""

from pathlib import Path

import polars as pl

from pipeline.atomic_files import atomic_new_folder
from pipeline.exports import (
    ExportResult,
    iter_frames_of_row_group_size,
    iter_frames_with_complete_keys,
    iter_select_rows_in_parts,
    message_text_sql_expression,
)
from pipeline.lake import StoredLake
from pipeline.serialization import write_parquet
from pipeline.sql_files import fill_template
from pipeline.text_format import format_count

TRANSCRIPTS_FILE = "transcripts.parquet"
_SEAT_KEY = ("game_id", "seat")
_MESSAGE_COLUMNS = ("message_index", "speaker_seat", "speaker", "phase", "round", "content")
_IS_OWN_MESSAGE = pl.col("speaker_seat").eq_missing(pl.col("seat"))
_MESSAGE_STRUCT = pl.struct(
    id=pl.format("{}-{}", "game_id", "message_index"),
    role=pl.when(_IS_OWN_MESSAGE).then(pl.lit("assistant")).otherwise(pl.lit("user")),
    content=pl.when(_IS_OWN_MESSAGE)
    .then("content")
    .otherwise(pl.format("{}: {}", "speaker", "content")),
    metadata=pl.struct("message_index", "speaker", "phase", "round"),
)
_TRANSCRIPT_COLUMNS = {
    "transcript_id": pl.format("{}-{}", "game_id", "seat"),
    "source_type": pl.lit("magic-pipeline"),
    "source_id": pl.col("game_id"),
    "date": pl.col("started_at").dt.to_string("%Y-%m-%dT%H:%M:%SZ"),
    "task_set": pl.col("game_type"),
    "task_id": pl.col("setting_id"),
    "task_repeat": pl.col("game_index"),
    "agent": pl.col("role"),
    "model": pl.col("model"),
    "score": pl.col("win_credit").cast(pl.String),
    "success": pl.col("is_win"),
    "message_count": pl.col("n_messages").cast(pl.Int64),
    # The texts of models are displayed as plain text, without links.
    "trust_content": pl.lit(value=False),
    "messages": pl.format("[{}]", "messages"),
    **{
        name: pl.col(name)
        for name in (
            *("system", "seat", "player", "role", "side", "competition"),
            *("outcome", "ended_by", "final_score"),
        )
    },
}


def write(lake: StoredLake, destination: Path) -> ExportResult:
    """Write a transcript for each tested player to a Parquet file in a new folder.

    Args:
        lake: The exported lake.
        destination: The new folder.

    Returns:
        The number of transcripts.
    """
    select = fill_template("internal/seen_messages", content=message_text_sql_expression(lake))
    with atomic_new_folder(destination) as folder:
        seats = map(
            _transcript_row_per_seat,
            iter_frames_with_complete_keys(
                iter_select_rows_in_parts(lake, select, has_message_texts=True), _SEAT_KEY
            ),
        )
        n_rows = write_parquet(iter_frames_of_row_group_size(seats), folder / TRANSCRIPTS_FILE)
    return ExportResult(
        destination, n_rows, (f"{format_count(n_rows, 'transcript')} of tested seats",)
    )


def _transcript_row_per_seat(rows: pl.DataFrame) -> pl.DataFrame:
    """Combine the messages that each player of a game saw into one row for the player."""
    has_message = pl.col("message_index").is_not_null()
    seats = rows.group_by(_SEAT_KEY, maintain_order=True).agg(
        pl.exclude(_MESSAGE_COLUMNS).first(),
        messages=_MESSAGE_STRUCT.struct.json_encode().filter(has_message).str.join(","),
        n_messages=has_message.sum(),
    )
    return seats.select(expression.alias(name) for name, expression in _TRANSCRIPT_COLUMNS.items())
