"""Which of a table's files are not as its log has them, once something could not be read.

The libraries that read them do not say which it was, or not to the end of its name.
"""

from collections.abc import Iterator, Mapping

from pipeline.stores import Place

_LAST_BYTES = b"PAR1"  # of a Parquet file


def faults(folder: Place, sizes: Mapping[str, int]) -> Iterator[str]:
    """What is wrong with files of the table in the folder, whose log has them of these sizes.

    Little of each is read: what is damaged within a file is left to `magic verify`.
    """
    table = str(folder).rpartition("/")[2]
    found = {file.name: file.n_bytes for file in folder.files()}
    for name, n_bytes in sizes.items():
        if fault := _fault(folder / name, found.get(name), n_bytes):
            yield f"the file {name} of the table `{table}` {fault}"


def _fault(file: Place, found: int | None, n_bytes: int) -> str | None:
    if found is None:
        return "is missing"
    if found != n_bytes:
        return f"has {found:,} bytes, not {n_bytes:,}"
    try:
        last = file.read_range(n_bytes - len(_LAST_BYTES), len(_LAST_BYTES))
    except OSError as error:
        return f"cannot be read: {error.strerror or error}"
    return None if last == _LAST_BYTES else "is no Parquet file"
