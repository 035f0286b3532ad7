"""Files cut into documents: whose parts they are, what they carry, and how little is in memory."""

import gzip
import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from test_archives import tar

from pipeline.archives import Document, iter_documents
from pipeline.archives.splitting import (
    Splitter,
    csv_group_splitter,
    is_multiline_json,
    iter_csv_rows,
    iter_json_values,
    iter_lines,
    list_splitter,
    read_whole_file,
    section_splitter,
    starts_like_json,
)

GAME = re.compile(rb"=+\n +GAME \d+")
TRANSCRIPT = b"""
======
  GAME 1/2
======

Ann: 1

======
  GAME 2/2
======

Bo: 2
=======
Cy: 3

"""
PARTS = [
    (1, b"======\n  GAME 1/2\n======\n\nAnn: 1"),
    (2, b"======\n  GAME 2/2\n======\n\nBo: 2\n=======\nCy: 3"),
]
LIMIT = 2**20


def cut(splitter: Splitter, *pieces: bytes, limit: int = LIMIT) -> list[tuple[int | None, object]]:
    return [tuple(part) for part in splitter(iter(pieces), limit)]


def pieces_of(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


# Sections


@given(st.integers(1, 40))
def test_sections_do_not_depend_on_how_they_are_read(size: int) -> None:
    assert cut(section_splitter(GAME), *pieces_of(TRANSCRIPT, size)) == PARTS


# Rows


@given(st.integers(1, 30))
def test_rows_do_not_depend_on_how_they_are_read(size: int) -> None:
    data = b'\xef\xbb\xbfn,"te\nxt"\r\n1,"a\n""b"\r\n2,c'
    expected = [(1, b'\xef\xbb\xbfn,"te\nxt"\n1,"a\n""b"'), (2, b'\xef\xbb\xbfn,"te\nxt"\n2,c')]
    assert cut(iter_csv_rows, *pieces_of(data, size)) == expected


def test_a_header_too_long_to_be_repeated_is_refused() -> None:
    with pytest.raises(ValueError, match="the header of the table is larger than"):
        cut(iter_csv_rows, b"x" * 2**15 + b"\n1\n")


@given(st.integers(1, 30))
def test_rows_of_a_group_are_one_document(size: int) -> None:
    data = b'\xef\xbb\xbfid,"te\nxt"\na,1\na,"2\n"\n"b ""x""",3\nb,\n\n'
    header = b'\xef\xbb\xbfid,"te\nxt"\n'
    groups = (b'a,1\na,"2\n"', b'"b ""x""",3', b"b,")
    assert cut(csv_group_splitter("id"), *pieces_of(data, size)) == [
        (number, header + rows) for number, rows in enumerate(groups, start=1)
    ]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"n\n1\n", "no column `id`"),
        (b"id\na\nb\na\n", "are not together"),
        (b"id\n" + b"x" * 2_000_000, "a row is larger than"),
    ],
)
def test_a_table_that_cannot_be_grouped_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        cut(csv_group_splitter("id"), data)


# Whole and lines


JSON = st.recursive(
    st.none() | st.integers() | st.text(alphabet='ab "\\[]{}\n\u2028', max_size=5),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='a"}', max_size=2), inner),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=3), JSON), min_size=1, max_size=4)


@given(OBJECTS, st.sampled_from([None, 0, 1, "\t"]), st.integers(1, 40))
def test_values_are_parts_however_they_are_written(
    objects: list[object], indent: int | str | None, size: int
) -> None:
    texts = [json.dumps(value, indent=indent).encode() for value in objects]
    data = b"\n\n" + b"\n".join(texts) + b"\n\n"
    numbers = [None] if len(texts) == 1 else range(1, len(texts) + 1)
    assert cut(iter_json_values, *pieces_of(data, size)) == list(zip(numbers, texts, strict=True))
    head = data[: size * 10]
    assert starts_like_json(head) is bool(head.strip())
    assert not (is_multiline_json(data) and indent is None)


@pytest.mark.parametrize("splitter", [iter_lines, iter_json_values, section_splitter(GAME)])
def test_a_mark_of_the_byte_order_on_a_blank_line_is_no_part(splitter: Splitter) -> None:
    begin = b"\xef\xbb\xbf\r\n \n"
    found = [
        data for _, data in cut(splitter, begin + b'{"a":\n1}' * (splitter is iter_json_values))
    ]
    assert found == ([b'{"a":\n1}'] if splitter is iter_json_values else [])
    assert cut(iter_json_values, begin + b"{}") == [(None, b"{}")]
    assert cut(iter_lines, begin + b"{}") == [(3, b"{}")]


NO_JSON = [b"", b"[INFO] started", b"[1] A. Name, 2020", b"{{ name }}", b"{'a': 1}", b"[x] done"]


@pytest.mark.parametrize("head", NO_JSON)
def test_other_texts_are_not_taken_for_json(head: bytes) -> None:
    assert not starts_like_json(head)
    assert not starts_like_json(head + b"\nand more\n")
    assert not is_multiline_json(head + b"\nand more\n")
    damaged_line = b'{"a": "b\n{"a": "c"}\n{"a": "d"}\n'
    assert not is_multiline_json(damaged_line)


# Memory


@pytest.mark.slow
@pytest.mark.parametrize(
    ("splitter", "begin", "part"),
    [
        (section_splitter(GAME), b"", b"====\n GAME 1/1\n" + b"x" * 50 + b"\n"),
        (iter_csv_rows, b"n,text\n", b'1,"' + b"x" * 50 + b'"\n'),
        (iter_lines, b"", b"x" * 50 + b"\n"),
    ],
    ids=["sections", "rows", "lines"],
)
def test_a_file_of_many_parts_is_never_held_whole(
    splitter: Splitter, begin: bytes, part: bytes
) -> None:
    n_pieces, n_of_piece = 60, 1000

    def pieces() -> Iterator[bytes]:
        yield begin
        for _ in range(n_pieces):
            yield part * n_of_piece

    tracemalloc.start()
    try:
        n_parts = sum(1 for _ in splitter(pieces(), LIMIT))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n_parts == n_pieces * n_of_piece
    assert peak < 2 * 2**20


# Files


def choose(path: str, head: bytes) -> Splitter | None:
    """Sections, rows, entries, whole, by what the file begins with."""
    if GAME.match(head.lstrip()):
        return section_splitter(GAME)
    if head.startswith(b"n,text"):
        return iter_csv_rows
    if head.startswith(b'{"games"'):
        return list_splitter("games")
    return read_whole_file if head.startswith(b'{"event"') else None


TREE = {
    "a.txt": TRANSCRIPT,
    "b.csv": b"n,text\n1,a\n1,a\n",
    "c.json": b'{"games": [{}, 2]}',
    "d.jsonl": b'{"event": 1}\n{"event": 2}\n',
    "e.jsonl": b"{}\n{}",
    "f.json": b"{}",
    "g.log": b"12:00 started\n",
    "h.txt": b"",
    "i.csv": b"\x00\x01",
    "j.csv": b"n,text\n",
}
EXPECTED = [
    *((f"a.txt#{number}", data, None) for number, data in PARTS),
    ("b.csv#1", b"n,text\n1,a", None),
    ("b.csv#2", b"n,text\n1,a", None),
    ("c.json#1", b"{}", None),
    ("c.json#2", b"2", None),
    ("d.jsonl", TREE["d.jsonl"], None),
    ("e.jsonl#1", b"{}", None),
    ("e.jsonl#2", b"{}", None),
    ("f.json", b"{}", None),
    ("g.log", None, "not a log: text that no format reads"),
    ("h.txt", None, "not a log: it is empty"),
    ("i.csv", None, "not a log: binary data"),
    ("j.csv", None, "no document in it"),
]


def contents(*sources: Path) -> list[tuple[str, bytes | None, str | None]]:
    return [
        (document.path, document.data, document.reason)
        for document in iter_documents(sources, choose=choose)
    ]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, data in TREE.items():
        (folder / name).write_bytes(data)
    return folder


def test_files_of_a_folder_are_cut_as_is_asked(logs: Path) -> None:
    assert contents(logs) == EXPECTED


@pytest.mark.parametrize("ending", ["tar", "tar.gz"])
def test_members_of_an_archive_are_cut_alike(tmp_path: Path, ending: str) -> None:
    packed = tar(TREE) if ending == "tar" else gzip.compress(tar(TREE))
    (tmp_path / f"logs.{ending}").write_bytes(packed)
    assert contents(tmp_path / f"logs.{ending}") == EXPECTED


def test_compressed_files_are_cut_alike(tmp_path: Path) -> None:
    for name, content in TREE.items():
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
    assert [data for _, data, _ in contents(tmp_path)] == [data for _, data, _ in EXPECTED]
    assert contents(tmp_path)[0][0] == "a.txt.gz#1"


def test_without_a_format_that_asks_the_name_decides(logs: Path) -> None:
    found = [document.path for document in iter_documents(logs) if document.data is not None]
    assert found == ["c.json", "d.jsonl#1", "d.jsonl#2", "e.jsonl#1", "e.jsonl#2", "f.json"]


def test_a_file_of_parts_that_is_too_large(logs: Path) -> None:
    """Each part has the limit, but JSON has to be whole to have a list."""
    (logs / "k.json").write_bytes(b'{"games": [' + b"1," * 100 + b"1]}")
    found: list[Document] = list(iter_documents(logs, choose=choose, max_document=100))
    broken = [document.path for document in found if document.is_broken]
    assert broken == ["k.json"]
    assert "larger than 100 bytes" in str(found[-1].reason)


def test_only_the_beginning_of_a_text_that_is_no_log_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"x" * 2**22)
    tracemalloc.start()
    try:
        assert [document.data for document in iter_documents(tmp_path)] == [None]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_a_text_that_is_no_log_can_grow_while_it_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_bytes(b"started\n")

    def grow(path: str, head: bytes) -> None:
        with file.open("ab") as text:
            text.write(b"more\n")

    assert [document.data for document in iter_documents(tmp_path, choose=grow)] == [None]
