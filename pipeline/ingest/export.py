"""What is in quarantine, written out as files.

Their names are numbers of our own, with one of a few endings: nothing that a log or an archive says
becomes a path.
"""

from pathlib import Path

import msgspec
import polars as pl

from pipeline.archives.sources import containing_file_extension
from pipeline.atomic_files import atomic_write
from pipeline.errors import UsageError
from pipeline.lake import open_lake
from pipeline.lake.row_stream import iter_table_rows

MANIFEST_FILE_NAME = "manifest.json"
# `file` is null where a document was never read; `is_cut` where the lake has only its beginning.
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
    """Writes the bytes of each document in quarantine, and at last a manifest; returns its rows.

    A whole document is in a file that ends as its own does, `.json` for most, one whose beginning
    alone the lake has in one that ends in `.cut`. Raises UsageError for a folder that has something
    in it.
    """
    opened, folder = open_lake(lake), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{folder}: the folder is not empty; choose a new one")
    by_document = opened.table("quarantine").group_by(_KEY).agg("rule").collect()
    rules_left = {tuple(key): rules for *key, rules in by_document.iter_rows()}
    rows: list[tuple[object, ...]] = []
    # Of the bytes a bounded part is in memory at a time; each row about a document repeats them.
    for _, some in iter_table_rows(opened, "quarantine", (*_KEY, "game_id", "n_bytes", "raw")):
        for *key, game_id, n_bytes, raw in some.iter_rows():
            if (rules := rules_left.pop(tuple(key), None)) is None:
                continue
            name, is_cut, n_written = None, False, None
            if raw is not None:
                n_written = len(raw)
                is_cut = n_written != n_bytes
                ending = ".cut" if is_cut else containing_file_extension(key[1])
                name = f"document-{len(rows) + 1:06d}{ending}"
                with (folder / name).open("xb") as file:
                    file.write(raw)
            rows.append((name, is_cut, n_written, n_bytes, *key, game_id, rules))
    manifest = pl.DataFrame(rows, MANIFEST_SCHEMA, orient="row")
    text = msgspec.json.format(msgspec.json.encode(manifest.to_dicts()), indent=1)
    with atomic_write(folder / MANIFEST_FILE_NAME) as draft:
        draft.write_bytes(text + b"\n")
    return manifest
