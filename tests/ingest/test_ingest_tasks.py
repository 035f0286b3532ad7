"""How the work of an ingest is cut: which archives are read for others, which only named."""

from pipeline.archives import Document, SourceFile
from pipeline.ingest.worker import LARGE_ARCHIVE_BYTES, split_into_tasks


def archive(n_bytes: int) -> SourceFile:
    return SourceFile("source", "a.zip", "/source/a.zip", n_bytes)


def read(unit: SourceFile) -> list[Document]:
    """An archive with one document."""
    return [Document(unit.source, unit.path, b"{}")]


def are_shared(*units: SourceFile) -> list[bool]:
    """Whether each was read here; the others are named, in tasks of several."""
    found: list[bool] = []
    for task in split_into_tasks(units, read):
        found += [True] * len(task.documents) + [False] * len(task.source_files)
    return found


def test_a_large_archive_is_shared_wherever_it_comes() -> None:
    large, small = archive(LARGE_ARCHIVE_BYTES), archive(LARGE_ARCHIVE_BYTES - 1)
    assert are_shared(large, small, small, large) == [True, False, False, True]


def test_one_large_file_is_not_shared() -> None:
    assert are_shared(SourceFile("source", "a.json", "/source/a.json", LARGE_ARCHIVE_BYTES)) == [
        False
    ]


def test_whoever_reads_for_themselves_gets_all_archives_by_name() -> None:
    units = [archive(LARGE_ARCHIVE_BYTES)] * 3
    assert [task.source_files for task in split_into_tasks(units, None)] == [
        (unit,) for unit in units
    ]


def test_tasks_are_numbered_in_the_order_of_the_sources() -> None:
    tasks = list(split_into_tasks([archive(1), archive(LARGE_ARCHIVE_BYTES), archive(1)], read))
    assert [task.number for task in tasks] == [0, 1, 2]
    assert [len(task.documents) for task in tasks] == [0, 1, 0]
