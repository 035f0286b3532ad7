"""How the work of an ingest is cut: which archives are read for others, which only named."""

from pipeline.archives import Document, SourceFile
from pipeline.ingest.worker import LARGE_ARCHIVE_BYTES, split_into_tasks


def archive(n_bytes: int) -> SourceFile:
    return SourceFile("source", "a.zip", "/source/a.zip", n_bytes)


def read(unit: SourceFile) -> list[Document]:
    """An archive with one document."""
    return [Document(unit.source, unit.path, b"{}")]


def test_a_large_archive_is_shared_wherever_it_comes() -> None:
    """It is read here; others, and large files, are named. Tasks are in the order of sources."""
    large, small = archive(LARGE_ARCHIVE_BYTES), archive(LARGE_ARCHIVE_BYTES - 1)
    file = SourceFile("source", "a.json", "/source/a.json", LARGE_ARCHIVE_BYTES)
    tasks = list(split_into_tasks([large, small, small, large, file], read))
    assert [task.number for task in tasks] == [0, 1, 2, 3]
    assert [len(task.documents) for task in tasks] == [1, 0, 1, 0]
    assert [task.source_files for task in tasks] == [(), (small, small), (), (file,)]


def test_whoever_reads_for_themselves_gets_all_archives_by_name() -> None:
    units = [archive(LARGE_ARCHIVE_BYTES)] * 3
    assert [task.source_files for task in split_into_tasks(units, None)] == [
        (unit,) for unit in units
    ]
