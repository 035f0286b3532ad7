"""Transcripts as Inspect Scout reads them: a row for each tested seat, with what it saw and said.

Columns and types are those of `transcripts_db_schema` in `inspect_scout` 0.6; what it does not know
is metadata to it. Messages are JSON: the seat's own are the assistant's, and all others the user's,
which begin with the speaker's name, since Scout shows models only role and text.
"""

from pathlib import Path

import polars as pl

from pipeline.atomic_files import new_folder
from pipeline.exports import Exported, content, grouped, sorted_parts, whole
from pipeline.lake import StoredLake
from pipeline.serialization import write_parquet
from pipeline.sql_files import fill_template
from pipeline.text_format import format_count

FILE = "transcripts.parquet"
_SEAT = ("game_id", "seat")
_OF_MESSAGE = ("message_index", "speaker_seat", "speaker", "phase", "round", "content")
_IS_OWN = pl.col("speaker_seat").eq_missing(pl.col("seat"))
_MESSAGE = pl.struct(
    id=pl.format("{}-{}", "game_id", "message_index"),
    role=pl.when(_IS_OWN).then(pl.lit("assistant")).otherwise(pl.lit("user")),
    content=pl.when(_IS_OWN).then("content").otherwise(pl.format("{}: {}", "speaker", "content")),
    metadata=pl.struct("message_index", "speaker", "phase", "round"),
)
_COLUMNS = {
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
    # What models wrote is shown as plain text, and opens no link.
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


def write(lake: StoredLake, destination: Path) -> Exported:
    """Writes the transcripts of all tested seats to a file in a new folder, sorted by game."""
    select = fill_template("internal/seen_messages", content=content(lake))
    with new_folder(destination) as folder:
        seats = map(_transcripts, whole(sorted_parts(lake, select, has_content=True), _SEAT))
        n_rows = write_parquet(grouped(seats), folder / FILE)
    return Exported(destination, n_rows, (f"{format_count(n_rows, 'transcript')} of tested seats",))


def _transcripts(rows: pl.DataFrame) -> pl.DataFrame:
    """The messages of whole seats as a row for each seat."""
    has_message = pl.col("message_index").is_not_null()
    seats = rows.group_by(_SEAT, maintain_order=True).agg(
        pl.exclude(_OF_MESSAGE).first(),
        messages=_MESSAGE.struct.json_encode().filter(has_message).str.join(","),
        n_messages=has_message.sum(),
    )
    return seats.select(one.alias(name) for name, one in _COLUMNS.items())
