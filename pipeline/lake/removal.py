"""Rows taken out of a table: what a file keeps is written to a new one, a row group at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pipeline.errors import DAMAGE_HINT, LakeError
from pipeline.events.arrow import arrow_schema
from pipeline.lake.files import TEXTS, DataFile, TableWriter
from pipeline.library_errors import one_line
from pipeline.stores import Location, open_file

Mask = NDArray[np.bool_]


class Removal(NamedTuple):
    """Which rows to remove: `mask` marks them, given these columns, texts as dictionaries."""

    columns: tuple[str, ...]
    mask: Callable[[pa.Table], Mask]


def rewritten(
    folder: Location, table: str, files: Iterable[str], removal: Removal
) -> tuple[list[str], list[DataFile]]:
    """The files that have rows to remove, and new files with their other rows.

    Raises LakeError for a file that is damaged.
    """
    schema = arrow_schema(table)
    encoded = [f.name for f in schema if f.type == pa.string() and f.name not in TEXTS]
    changed = []
    with TableWriter(folder, table).whole() as writer:
        for file in files:
            with _opened(file, encoded) as parquet:
                groups = range(parquet.num_row_groups)
                masks = [
                    removal.mask(parquet.read_row_group(n, list(removal.columns))) for n in groups
                ]
                if not any(mask.any() for mask in masks):
                    continue
                changed.append(file)
                for number, mask in enumerate(masks):
                    if not mask.all():
                        rows = _filled(parquet.read_row_group(number), schema)
                        writer.write(_without(rows, mask, schema) if mask.any() else rows)
    return changed, writer.files


@contextmanager
def _opened(file: str, encoded: Sequence[str]) -> Iterator[pq.ParquetFile]:
    try:
        with open_file(file) as opened:
            metadata = pq.read_metadata(opened)
            known = metadata.schema.to_arrow_schema().names
            dictionaries = [name for name in encoded if name in known]
            yield pq.ParquetFile(opened, metadata=metadata, read_dictionary=dictionaries)
    except pa.ArrowInvalid as error:
        why = f"{file}: {one_line(error)}; {DAMAGE_HINT}"
        raise LakeError(why) from None


def _without(rows: pa.Table, mask: Mask, schema: pa.Schema) -> pa.Table:
    # Decoded, so that no dictionary keeps what only those rows had that are gone.
    return rows.filter(pl.Series(~mask).to_arrow()).cast(schema)


def _filled(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows with null in columns that an older file lacks."""
    lacking = pa.schema([field for field in schema if field.name not in rows.column_names])
    nothing = pa.Table.from_batches([], lacking)
    return pa.concat_tables([rows, nothing], promote_options="default").select(schema.names)
