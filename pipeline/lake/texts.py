"""The texts of messages for the rows of a query, of which each can have megabytes.

DuckDB handles 2,048 texts at once, and holds many more to sort them. So where texts are long, it is
asked for their lengths alone, and the texts are read afterwards, for some rows at a time.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from pipeline.lake.lake import StoredLake

LONG_BYTES = 2**14  # in the mean of a row group
PIECE_BYTES = 2**26
_KEY = ("game_id", "message_index")
_LENGTHS = f"(SELECT {', '.join(_KEY)}, strlen(content) AS content FROM messages)"


def texts(lake: "StoredLake") -> str:
    """What a query is to join as `messages`: its `content` has only the lengths of long texts."""
    return _LENGTHS if are_long(lake) else "messages"


def are_long(lake: "StoredLake") -> bool:
    """Whether the texts of a row group are so long that a query should have their lengths alone."""
    # Imported here, so that whoever reads with polars does not wait for Arrow.
    from pipeline.lake.files import text_bytes

    folder = lake.folder("messages")
    groups = (group for name in lake.sizes("messages") for group in text_bytes(folder / name))
    return any(n_bytes > LONG_BYTES * n_rows for n_rows, n_bytes in groups)


def with_texts(lake: "StoredLake", parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The result of such a query with the texts, in parts of bounded bytes; at least one."""
    for rows in parts:
        if rows.schema["content"] == pl.String:
            yield rows
            continue
        piece = rows["content"].fill_null(0).cum_sum() // PIECE_BYTES
        for _, some in rows.drop("content").group_by(piece, maintain_order=True):
            yield looked_up(lake, some)
        if rows.is_empty():
            yield looked_up(lake, rows.drop("content"))


def looked_up(lake: "StoredLake", rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the `content` of their messages, null where there is none."""
    # First by what a reader can skip by, since a join reads all.
    wanted = [
        pl.col(name).is_in(rows[name].unique().to_list())
        for name in ("game_type", "game_id", "message_index")
        if name in rows.columns
    ]
    spoken = lake.table("messages").filter(*wanted).select(*_KEY, "content")
    found = spoken.join(rows.lazy(), on=_KEY, how="semi").collect(engine="streaming")
    return rows.join(found, on=_KEY, how="left", maintain_order="left")
