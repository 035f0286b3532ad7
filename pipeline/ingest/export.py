"""Export the quarantined documents of a lake to files, with a manifest.

The names of the files are numbers with one of a few file extensions, so that no text of a log or an
archive becomes part of a path.
"""

from pathlib import Path

import msgspec
import polars as pl

from pipeline.archives.sources import extension_for_exported_document
from pipeline.atomic_files import atomic_write
from pipeline.errors import UsageError
from pipeline.lake import open_lake
from pipeline.lake.row_stream import iter_table_batches_with_row_numbers

MANIFEST_FILE_NAME = "manifest.json"
# `file` is null if the document was not read; `is_cut`: the lake has only its beginning.
MANIFEST_SCHEMA: dict[str, pl.DataType] = {
    "file": pl.String(),
    "is_cut": pl.Boolean(),
    "n_written": pl.Int64(),
    "n_bytes": pl.Int64(),
    "source": pl.String(),
    "path": pl.String(),
    "sha256": pl.String(),
    "game_id": pl.String(),
    "rules": pl.List(pl.String()),
}
_KEY = ("source", "path", "sha256")


def export_quarantine(lake: str | Path, folder: str | Path) -> pl.DataFrame:
    """Write each quarantined document of a lake to a file, and a manifest of all files.

    A complete document gets its own file extension, usually `.json`. If the lake has only the
    beginning of a document, the file extension is `.cut`.

    Args:
        lake: Path or URL of the lake.
        folder: Folder for the files; it is created if it does not exist.

    Returns:
        The manifest: one row per quarantined document, with the columns of `MANIFEST_SCHEMA`.

    Raises:
        UsageError: If the folder is not empty.
    """
    opened_lake, folder = open_lake(lake), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{folder}: the folder is not empty; choose a new one")
    rules_by_document = opened_lake.table("quarantine").group_by(_KEY).agg("rule").collect()
    rules_by_unwritten_document = {
        tuple(key): rules for *key, rules in rules_by_document.iter_rows()
    }
    rows: list[tuple[object, ...]] = []
    # Rows are read in batches to bound memory, because every row of a document repeats its bytes.
    for _, batch in iter_table_batches_with_row_numbers(
        opened_lake, "quarantine", (*_KEY, "game_id", "n_bytes", "raw")
    ):
        for *key, game_id, n_bytes, raw in batch.iter_rows():
            if (rules := rules_by_unwritten_document.pop(tuple(key), None)) is None:
                continue
            file_name, is_cut, n_written = None, False, None
            if raw is not None:
                n_written = len(raw)
                is_cut = n_written != n_bytes
                file_extension = ".cut" if is_cut else extension_for_exported_document(key[1])
                file_name = f"document-{len(rows) + 1:06d}{file_extension}"
                with (folder / file_name).open("xb") as file:
                    file.write(raw)
            rows.append((file_name, is_cut, n_written, n_bytes, *key, game_id, rules))
    manifest = pl.DataFrame(rows, MANIFEST_SCHEMA, orient="row")
    text = msgspec.json.format(msgspec.json.encode(manifest.to_dicts()), indent=1)
    with atomic_write(folder / MANIFEST_FILE_NAME) as draft:
        draft.write_bytes(text + b"\n")
    return manifest
