"""Where bytes come from: the same documents whatever holds them, and no loss without a word."""

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import pickle
import random
import re
import struct
import subprocess
import sys
import tarfile
import time
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pipeline.archives import (
    Document,
    count_files_and_bytes,
    iter_documents,
    iter_file_documents,
    iter_source_files,
)
from pipeline.errors import SourceError
from pipeline.formats import read_game
from pipeline.game_record import InvalidDocumentError

# In the order of whole paths as text: "-" and "." come before "/".
TREE = {
    "a-b/0.json": b'{"n": 1}',
    "a.json": b"{}",
    "a/0.json": b"[0]",
    "a/b/0.JSON": b"",
    "a/b/caf\u00e9 'x'.json": '"\u00e9"'.encode(),
    "a/c.jsonl": b'{"n": 2}\r\n\n  \n{"n": 3}',
    "a/notes.txt": b"not a log",
    "z.json": b"[9]",
}
EXPECTED = [
    ("a-b/0.json", b'{"n": 1}', None),
    ("a.json", b"{}", None),
    ("a/0.json", b"[0]", None),
    ("a/b/0.JSON", b"", None),
    ("a/b/caf\u00e9 'x'.json", '"\u00e9"'.encode(), None),
    ("a/c.jsonl#1", b'{"n": 2}', None),
    ("a/c.jsonl#4", b'{"n": 3}', None),
    ("a/notes.txt", None, "not a log: text that no format reads"),
    ("z.json", b"[9]", None),
]
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".zst": zstandard.compress,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".bz2": lambda data: bz2.compress(data, 1),  # in blocks of 100 kB
}
N_MEMBERS = 40


EMPTY = "no document in it"


def folder(root: Path, tree: dict[str, bytes]) -> Path:
    for path, data in tree.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def tar(tree: dict[str, bytes], *special: tarfile.TarInfo) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for entry in special:
            archive.addfile(entry)
        for path, data in tree.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return target.getvalue()


def zipped(tree: Mapping[Any, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for path, data in tree.items():
            archive.writestr(path, data)
    return target.getvalue()


def zipped_with_zstd(tree: dict[str, bytes]) -> bytes:
    """As 7-Zip and `inspect` write it: what Python 3.11 cannot, so stored and then named so."""
    data = bytearray(
        zipped({path: zstandard.compress(of) for path, of in tree.items()}, zipfile.ZIP_STORED)
    )
    place = 0
    for signature, method in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        for content in tree.values():
            place = data.index(signature, place)
            struct.pack_into("<H", data, place + method, 93)
            struct.pack_into("<I", data, place + method + 6, zlib.crc32(content))
            struct.pack_into("<I", data, place + method + 14, len(content))
            place += 4
    return bytes(data)


def many() -> dict[str, bytes]:
    """Return members that hardly compress, so that a cut anywhere in the archive cuts members."""
    dice = random.Random(7)
    return {f"{i:02}.json": dice.randbytes(dice.randrange(9000)) for i in range(N_MEMBERS)}


PACK: dict[str, Callable[[dict[str, bytes]], bytes]] = {".tar": tar, ".zip": zipped}
ARCHIVES = [pack + packed for pack in PACK for packed in COMPRESS]


def archive(file: Path, tree: dict[str, bytes]) -> Path:
    """Write an archive of the kind that the ending of its name, such as `.tar.gz`, says."""
    file.parent.mkdir(exist_ok=True)
    _, kind, *packed = file.name.split(".")
    file.write_bytes(COMPRESS["".join(f".{codec}" for codec in packed)](PACK[f".{kind}"](tree)))
    return file


def packed_or_folder(place: Path, ending: str, tree: dict[str, bytes]) -> Path:
    """Write the tree into an archive of the kind, or into a folder where there is no ending."""
    return archive(place / f"x{ending}", tree) if ending else folder(place / "a", tree)


def contents(*sources: str | Path) -> list[tuple[str, bytes | None, str | None]]:
    return [(document.path, document.data, document.reason) for document in iter_documents(sources)]


def only(*sources: str | Path) -> Document:
    (document,) = iter_documents(sources)
    return document


def locations(*sources: str | Path) -> list[str]:
    return [f"{document.source}/{document.path}" for document in iter_documents(sources)]


# The same documents, whatever holds them


@pytest.mark.parametrize("ending", ["", *ARCHIVES])
def test_folder_and_archives_hold_the_same(tmp_path: Path, ending: str) -> None:
    """Also within another folder. One source needs no list."""
    source = packed_or_folder(tmp_path / "sub", ending, TREE)
    assert contents(source) == EXPECTED
    assert {document.source for document in iter_documents(str(source))} == {source.as_posix()}
    inside = f"sub/{source.name}/"
    assert contents(tmp_path) == [(inside + path, *rest) for path, *rest in EXPECTED]
    assert {document.source for document in iter_documents(tmp_path)} == {tmp_path.as_posix()}


TO_SKIP = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"what"
LONG_LINES = [b"1" * n_bytes for n_bytes in (1, 65_535, 65_536, 65_537, 300_000)]
NO_FILE, HIDDEN = "not a regular file", "hidden folder"


def special(name: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, "z.json"
    return entry


def of_mode(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    return entry


SPECIAL = [("d.json", tarfile.DIRTYPE), ("l.json", tarfile.SYMTYPE), ("h.json", tarfile.LNKTYPE)]
SPECIAL += [("p.json", tarfile.FIFOTYPE)]
HIDDEN_MEMBERS = ["__MACOSX/0.json", "a/.git/0.json", "./__MACOSX/a/._0.json"]
# By the name of a file, its bytes and the documents in it.
HELD: dict[str, tuple[bytes, list[tuple[str, bytes | None, str | None]]]] = {
    # Short names.
    **{
        f"logs.{short.upper()}": (COMPRESS[packed](tar(TREE)), EXPECTED)
        for short, packed in (("tgz", ".gz"), ("tzst", ".zst"), ("txz", ".xz"), ("tbz2", ".bz2"))
    },
    # Compressed data in several pieces is one.
    **{
        f"0.json{packed}": (
            COMPRESS[packed](b"[1,") + COMPRESS[packed](b"2]") + bytes(8),
            [(f"0.json{packed}", b"[1,2]", None)],
        )
        for packed in (".gz", ".zst", ".xz", ".bz2")
    },
    "skipped.json.zst": (
        TO_SKIP + zstandard.compress(b"{}") + TO_SKIP,
        [("skipped.json.zst", b"{}", None)],
    ),
    "stored.zip": (zipped(TREE, zipfile.ZIP_STORED), EXPECTED),
    "x.jsonl.zst": (
        zstandard.compress(b"\n".join(LONG_LINES)),
        [(f"x.jsonl.zst#{n}", line, None) for n, line in enumerate(LONG_LINES, start=1)],
    ),
    # Backslashes part folders.
    "windows.zip": (zipped({"a\\": b"", "a\\0.json": b"{}"}), [("a/0.json", b"{}", None)]),
    "hidden.zip": (
        zipped(dict.fromkeys(HIDDEN_MEMBERS, b"{}")),
        [(path.removeprefix("./"), None, HIDDEN) for path in HIDDEN_MEMBERS],
    ),
    "special.tar": (
        tar({"z.json": b"{}"}, *(special(*one) for one in SPECIAL)),
        [*((name, None, NO_FILE) for name, _ in SPECIAL[1:]), ("z.json", b"{}", None)],
    ),
    "special.zip": (
        zipped({of_mode("d/", 0o40755): b"", of_mode("l.json", 0o120777): b"z.json"}),
        [("l.json", None, NO_FILE)],
    ),
}


@pytest.mark.parametrize("name", HELD)
def test_what_a_file_holds(tmp_path: Path, name: str) -> None:
    data, expected = HELD[name]
    (tmp_path / name).write_bytes(data)
    assert contents(tmp_path / name) == expected


@pytest.mark.parametrize("packed", COMPRESS)
@pytest.mark.parametrize("pack", ["", *PACK])
def test_compressed_logs_alone_and_as_members(tmp_path: Path, packed: str, pack: str) -> None:
    tree = {
        f"0.json{packed}": COMPRESS[packed](b"{}"),
        f"1.jsonl{packed}": COMPRESS[packed](b"{}\n[]\n"),
        f"2.ndjson{packed}": COMPRESS[packed](b"\n1"),
    }
    expected = [
        f"0.json{packed}",
        f"1.jsonl{packed}#1",
        f"1.jsonl{packed}#2",
        f"2.ndjson{packed}#2",
    ]
    assert contents(packed_or_folder(tmp_path, pack, tree)) == [
        (path, data, None) for path, data in zip(expected, [b"{}", b"{}", b"[]", b"1"], strict=True)
    ]


# Names and identity


@pytest.mark.parametrize("ending", [".tar", ".tar.zst", ".zip"])
def test_location_is_the_same_however_reached(tmp_path: Path, ending: str) -> None:
    root = folder(tmp_path / "a", TREE)
    file = archive(root / f"x{ending}", TREE)
    everything = locations(root)
    *paths, last = (path for path, *_ in EXPECTED)
    inside = [f"x{ending}/{path}" for path in (*paths, last)]
    assert everything == [str(root.resolve() / path) for path in (*paths, *inside, last)]
    assert set(locations(root / "a")) < set(everything)
    assert set(locations(file)) == {place for place in everything if f"x{ending}/" in place}
    assert locations(root / "a" / "c.jsonl") == [
        place for place in everything if "/a/a/c.jsonl#" in place
    ]


def test_source_of_a_file_is_its_folder(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", TREE)
    assert only(root / "a" / "0.json") == Document((root / "a").as_posix(), "0.json", b"[0]")
    paths = [
        (document.source, document.path) for document in iter_documents(root / "a" / "c.jsonl")
    ]
    assert paths == [((root / "a").as_posix(), f"c.jsonl#{line}") for line in (1, 4)]


def test_relative_and_linked_sources_are_resolved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(tmp_path / "a", TREE)
    (tmp_path / "link").symlink_to(root)
    monkeypatch.chdir(root / "a")
    everything = locations(root)
    assert locations("..") == everything
    assert locations(tmp_path / "link") == everything
    assert locations(tmp_path / "link" / "a.json") == locations("../a.json") == everything[1:2]


def test_linked_file_keeps_its_name(tmp_path: Path) -> None:
    """A cache of downloads keeps contents under hashes and links names to them."""
    folder(tmp_path, {"blobs/3f2a": b"{}"})
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "0.json").symlink_to(tmp_path / "blobs" / "3f2a")
    assert only(tmp_path / "logs" / "0.json") == only(tmp_path / "logs")
    assert only(tmp_path / "logs").data == b"{}"


def test_member_names_are_only_labels(tmp_path: Path) -> None:
    names = ["./0.json", "/etc/1.json", "../../2.json", "a/../3.json"]
    (tmp_path / "x.tar").write_bytes(tar(dict.fromkeys(names, b"{}")))
    expected = ["0.json", *names[1:]]
    assert [document.path for document in iter_documents(tmp_path / "x.tar")] == expected
    assert locations(tmp_path) == locations(tmp_path / "x.tar")
    assert list(tmp_path.iterdir()) == [tmp_path / "x.tar"]


def test_member_names_that_name_nothing(tmp_path: Path) -> None:
    names = ["", ".", "..", "a/..", "0.json/.", ".json", "x.", "z.json"]
    (tmp_path / "x.tar").write_bytes(tar(dict.fromkeys(names, b"{}")))
    found = list(iter_documents(tmp_path / "x.tar"))
    assert [document.path for document in found] == names
    assert [document.path for document in found if document.data] == ["z.json"]
    assert not any(document.is_broken for document in found)


def test_members_of_a_zip_packed_with_zstd(tmp_path: Path) -> None:
    tree = TREE | {"large.json": b'"' + random.Random(7).randbytes(2**21).hex().encode() + b'"'}
    file = tmp_path / "x.zip"
    file.write_bytes(zipped_with_zstd(tree))
    (tmp_path / "same.zip").write_bytes(zipped(tree))
    assert contents(file) == contents(tmp_path / "same.zip")
    data = zipped_with_zstd({"0.json": b"[]", "1.json": b"{}"})
    file.write_bytes(data.replace(zstandard.compress(b"[]"), zstandard.compress(b"[1")))
    assert [(one.path, one.is_broken) for one in iter_documents(file)] == [
        *(("0.json", True), ("1.json", False))
    ]


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    names = [os.fsdecode(b"\xe8.json"), os.fsdecode(b"\xe9.json"), os.fsdecode(b"\xe9")]
    try:
        folder(tmp_path / "a", dict.fromkeys([names[0], names[1], f"{names[2]}/0.json"], b"{}"))
    except OSError:
        pytest.skip("this file system has only names of UTF-8")
    archive(tmp_path / "a" / "x.tar", dict.fromkeys(names[:2], b"{}"))
    found = [document for document in iter_documents(tmp_path / "a") if document.data == b"{}"]
    assert len({f"{document.path}".encode() for document in found}) == len(found) == 5
    in_folder = only(tmp_path / "a" / names[2])
    assert f"{in_folder.source}/{in_folder.path}" in locations(tmp_path / "a")


# What is passed over


def test_passed_over_by_name(tmp_path: Path) -> None:
    tree = {
        ".DS_Store": "hidden file",
        "._x.json": "hidden file",
        "LICENSE": "not a log: text that no format reads",
        "x.json.lz4": "not a log: the name ends in .lz4"
        ", which is not read: unpack it, or pack it as .zip or .tar.zst",
        "x.PNG": "not a log: the name ends in .PNG",
        "x.bz2": "not a log: the name ends in .bz2",
        "x.gz": "not a log: the name ends in .gz",
    }
    root = folder(tmp_path / "a", dict.fromkeys(tree, b"?"))
    expected = [(path, None, reason) for path, reason in sorted(tree.items())]
    assert contents(root) == expected
    assert contents(archive(tmp_path / "x.tar", dict.fromkeys(sorted(tree), b"?"))) == expected
    assert contents(root / "LICENSE") == [("LICENSE", None, tree["LICENSE"])]
    assert not any(document.is_broken for document in iter_documents(root))


@pytest.mark.parametrize("ending", ["", ".tar", ".zip"])
def test_a_name_like_a_line_of_another_file_is_marked(tmp_path: Path, ending: str) -> None:
    """Else two documents had one path, and the lake was damaged."""
    tree = {"a.jsonl": b"{}\n[]", "a.jsonl#1": b"", "b.jsonl.gz#22": b"", "c.csv#1": b""}
    source = packed_or_folder(tmp_path, ending, tree)
    assert [path for path, _, _ in contents(source)] == [
        *("a.jsonl#1", "a.jsonl#2", "a.jsonl#1 (file)", "b.jsonl.gz#22 (file)", "c.csv#1 (file)")
    ]


def test_hidden_folders_are_told_of_once(tmp_path: Path) -> None:
    tree = {".git/a.json": b"", ".git/b.json": b"", "__MACOSX/c.json": b"", "d.json": b"{}"}
    expected = [(".git/", None, "hidden folder"), ("__MACOSX/", None, "hidden folder")]
    assert contents(folder(tmp_path / "a", tree)) == [*expected, ("d.json", b"{}", None)]
    assert contents(tmp_path / "a" / ".git") == [("a.json", b"", None), ("b.json", b"", None)]


def test_linked_folder_is_not_followed(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", {"b/0.json": b"{}"})
    (root / "b" / "up").symlink_to(root)
    os.mkfifo(root / "c.json")  # and a pipe is not waited for
    assert contents(root) == [
        ("b/0.json", b"{}", None),
        ("b/up/", None, "a linked folder is not followed"),
        ("c.json", None, NO_FILE),
    ]


@pytest.mark.parametrize("ending", ARCHIVES)
def test_archive_inside_an_archive_is_not_opened(tmp_path: Path, ending: str) -> None:
    inner = ["i.zip", "i.tar", "i.tar.zst", "i.tgz", "i.zip.gz"]
    file = archive(tmp_path / f"x{ending}", dict.fromkeys(inner, tar(TREE)) | {"z.json": b"{}"})
    reason = (
        "an archive inside an archive is not opened: unpack the outer one, and ingest the folder"
    )
    assert contents(file) == [*((name, None, reason) for name in inner), ("z.json", b"{}", None)]


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="a kernel with /proc")
def test_files_of_the_kernel_are_not_read(tmp_path: Path) -> None:
    """They are regular, without a size; to read one such as /proc/kmsg can take forever."""
    names = ["0.json", "0.json.gz", "0.jsonl", "0.tar", "0.tar.zst", "0.zip"]
    for name in names:
        (tmp_path / name).symlink_to("/proc/self/environ")
    found = contents(tmp_path)
    assert [path for path, _, _ in found] == names
    assert found[0][1] == b""
    assert all(data is None and reason for _, data, reason in found[1:])


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b" \n\t\n"])
def test_millions_of_blank_lines_take_no_time(tmp_path: Path, blank: bytes) -> None:
    """A few hundred compressed bytes hold them; lines are counted all the same."""
    n_lines = 1 << 22
    text = blank * (n_lines // blank.count(b"\n"))
    (tmp_path / "x.jsonl.zst").write_bytes(zstandard.compress(b"1\n" + text + b"2\n" + text + b" "))
    began = time.process_time()
    assert [path for path, _, _ in contents(tmp_path)] == [
        "x.jsonl.zst#1",
        f"x.jsonl.zst#{n_lines + 2}",
    ]
    assert time.process_time() - began < 0.5


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    # Eight and nine are digits, and not of the octal numbers in a header.
    "a tar's size": lambda data: data[:124] + b"99999999999" + data[135:],
    "a tar's checksum": lambda data: data[:148] + b"999999" + data[154:],
    "a zip's member": lambda data: data[:30] + b"\xff" * 20 + data[50:],
    "a zip's directory": lambda data: data.replace(b"PK\1\2", b"PK\1\3"),
    "a gzip's data": lambda data: data[:12] + b"\xff" * 6 + data[18:],
    "an xz's data": lambda data: data[:30] + b"\xff" * 6 + data[36:],
    "a bzip2's data": lambda data: data[:12] + b"\xff" * 6 + data[18:],
    "a zstd's data": lambda data: data[:9] + b"\xff" * 6 + data[15:],
}
OF_PYTHON = re.compile(r"int\(\)|Error|unpack|codec|buffer of|NoneType|index|decompressing")


@pytest.mark.parametrize("what", DAMAGE)
def test_reasons_are_not_in_the_words_of_python(tmp_path: Path, what: str) -> None:
    endings = {"tar's": "tar", "zip's": "zip", "gzip's": "json.gz", "xz's": "json.xz"}
    endings["bzip2's"] = "json.bz2"
    file = tmp_path / f"x.{endings.get(what.split()[1], 'json.zst')}"
    tree = {"0.json": b'{"n": 1}' * 100}
    packed = PACK.get(file.suffix)
    data = packed(tree) if packed else COMPRESS[file.suffix](tree["0.json"])
    file.write_bytes(DAMAGE[what](data))
    document = list(iter_documents(file))[-1]
    assert document.is_broken
    assert document.reason
    assert not OF_PYTHON.search(document.reason)


def test_archive_of_nothing(tmp_path: Path) -> None:
    for ending in ARCHIVES:
        archive(tmp_path / f"x{ending}", {})
    assert contents(tmp_path) == [(f"x{ending}", None, EMPTY) for ending in sorted(ARCHIVES)]


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_lines_of_nothing(tmp_path: Path, data: bytes) -> None:
    """By themselves and in an archive: whoever was to write them may have died."""
    folder(tmp_path, {"x.jsonl": data})
    archive(tmp_path / "x.tar", {"x.jsonl": data, "y.json": b"{}"})
    assert contents(tmp_path) == [
        ("x.jsonl", None, EMPTY),
        ("x.tar/x.jsonl", None, EMPTY),
        ("x.tar/y.json", b"{}", None),
    ]


# Several sources


def test_sources_come_in_the_order_given(tmp_path: Path) -> None:
    folder(tmp_path, {"b/0.json": b"{}", "a/0.json": b"{}", "c.json": b"{}"})
    expected = [str(tmp_path / path) for path in ("c.json", "b/0.json", "a/0.json")]
    assert locations(tmp_path / "c.json", tmp_path / "b", str(tmp_path / "a")) == expected


@pytest.mark.parametrize("n_turns", range(5))
def test_overlapping_sources_yield_each_file_once(tmp_path: Path, n_turns: int) -> None:
    root = folder(tmp_path / "a", TREE)
    given: list[str | Path] = [
        root,
        root / "a" / "0.json",
        archive(root / "x.tar", TREE),
        root / "a",
        f"{root}/",
    ]
    given = given[n_turns:] + given[:n_turns]
    assert sorted(locations(*given)) == sorted(locations(root))
    assert count_files_and_bytes(given) == count_files_and_bytes(root)


def test_hidden_folder_given_beside_its_parent_is_read(tmp_path: Path) -> None:
    root = folder(tmp_path / "a", {"0.json": b"{}", ".b/1.json": b"{}", ".b/c/2.json": b"{}"})
    for inside in (root / ".b", root / ".b" / "c"):
        expected = {*locations(root), *locations(inside)}
        assert sorted(locations(root, inside)) == sorted(expected)


def test_globs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path, {"run2/0.json": b"", "run1/a/0.json": b"", "run1/1.json": b"", "x.png": b""})
    monkeypatch.chdir(tmp_path)

    def matched(pattern: str) -> list[str]:
        return [os.path.relpath(place, tmp_path) for place in locations(pattern)]

    assert matched("run*") == ["run1/1.json", "run1/a/0.json", "run2/0.json"]
    assert matched("**/0.json") == ["run1/a/0.json", "run2/0.json"]
    assert matched("run[2-9]/?.json") == ["run2/0.json"]
    assert matched("**") == ["run1/1.json", "run1/a/0.json", "run2/0.json", "x.png"]
    folder(tmp_path, {"run[1]/0.json": b"{}"})  # a name that is there is no pattern
    assert matched("run[1]") == ["run[1]/0.json"]


def test_the_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In files and patterns, unless something here has this very name."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for folder in ("home/logs", "~"):
        (tmp_path / folder).mkdir(parents=True)
    for path in ("home/logs/1.json", "~/mine.json"):
        (tmp_path / path).write_bytes(b"{}")
    assert locations("~/logs") == locations("~/l*") == [f"{tmp_path}/home/logs/1.json"]
    assert locations("~/mine.json") == [f"{tmp_path}/~/mine.json"]
    with pytest.raises(SourceError, match=r"^'~/nothing': no such path"):
        locations("~/nothing")


# Errors of the user


def test_all_bad_sources_are_named_before_anything_is_read(tmp_path: Path) -> None:
    good = folder(tmp_path / "good", TREE)
    (tmp_path / "empty" / "er").mkdir(parents=True)
    folder(tmp_path, {"hidden/.git/0.json": b"{}"})
    bad = ["nope.json", "*.zip", "empty", "hidden"]
    with pytest.raises(SourceError) as caught:
        iter_documents([good, *(tmp_path / name for name in bad)])
    assert all(name in str(caught.value) for name in bad)
    assert str(good) not in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(SourceError):
        count_files_and_bytes(tmp_path / "nope.json")


def test_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = folder(tmp_path / "a", {"locked/0.json": b"{}", "z.json": b"{}"})
    scandir = os.scandir

    def refusing(path: str) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)  # as for a user without the right
    locked, readable = iter_documents(root)
    assert locked == Document(root.as_posix(), "locked/", None, "Permission denied", True)
    assert readable.data == b"{}"
    with pytest.raises(SourceError, match="Permission denied"):
        iter_documents(root / "locked")


@pytest.fixture
def nest(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Makes folders of these names within each other, and files in the innermost; the outermost.

    Their paths may be longer than the system takes. They are taken away in the end by a program
    that can: what pytest does that with goes no deeper than Python's calls.
    """
    outermost = tmp_path / "nested"

    def make(names: Iterable[str], tree: dict[str, bytes]) -> Path:
        outermost.mkdir()
        here = os.open(outermost, os.O_RDONLY)
        for name in names:
            os.mkdir(name, dir_fd=here)
            above, here = here, os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(above)
        for path, data in tree.items():
            with open(path, "xb", opener=partial(os.open, dir_fd=here)) as file:
                file.write(data)
        os.close(here)
        return outermost

    yield make
    subprocess.run(["rm", "-rf", outermost], check=True)


@pytest.mark.slow
def test_folders_nested_deeper_than_calls(nest: Callable[..., Path], tmp_path: Path) -> None:
    depth = sys.getrecursionlimit() + 200
    if os.pathconf(tmp_path, "PC_PATH_MAX") < len(str(tmp_path)) + 2 * depth + 100:
        pytest.skip("this system's paths are shorter")
    root = nest(["d"] * depth, {"0.json": b"{}"})
    (root / "a.json").write_bytes(b"[]")
    (root / "z.json").write_bytes(b"[9]")
    assert contents(root) == [
        ("a.json", b"[]", None),
        ("d/" * depth + "0.json", b"{}", None),
        ("z.json", b"[9]", None),
    ]
    assert count_files_and_bytes(root) == (3, 7)
    with pytest.raises(SourceError, match="nested too deep"):
        iter_documents(root / "**" / "*.json")


LONGEST_NAME = "d" * 250


def test_a_folder_whose_path_is_too_long(nest: Callable[..., Path]) -> None:
    root = nest([LONGEST_NAME] * 20, {"0.json": b"{}"})
    (root / "z.json").write_bytes(b"[9]")
    folder, readable = iter_documents(root)
    assert set(folder.path.split("/")) == {LONGEST_NAME, ""}
    assert folder.is_broken
    assert folder.reason == os.strerror(errno.ENAMETOOLONG)
    assert readable.data == b"[9]"


@pytest.mark.parametrize("name", ["0.json", "0.jsonl", "0.zip", "0.tar.gz"])
def test_a_file_whose_path_is_too_long(
    nest: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    """Its folder can be listed, and nobody took it away."""
    room = os.pathconf(tmp_path, "PC_PATH_MAX") - len(str(tmp_path / "nested")) - 100
    depth, rest = divmod(room, len(LONGEST_NAME) + 1)
    root = nest([LONGEST_NAME] * depth + ["d" * (rest + 1)], {"0" * 200 + name: b"{}"})
    file = only(root)
    assert file.path.endswith(name)
    assert file.is_broken
    assert os.strerror(errno.ENAMETOOLONG) in str(file.reason)


def test_file_that_vanishes_or_never_was(tmp_path: Path) -> None:
    """A link that leads nowhere is broken; of what was there and is gone nobody knows more."""
    root = folder(tmp_path / "a", {"0.json": b"{}", "4.tar": tar(TREE)})
    (root / "1.json").symlink_to("nowhere")
    (root / "2.tar").symlink_to("nowhere")
    (root / "3.json").symlink_to("3.json")
    reading = iter_documents(root)
    broken = [next(reading) for _ in range(4)][1:]
    assert [document.path for document in broken] == ["1.json", "2.tar", "3.json"]
    assert all(document.is_broken and document.reason for document in broken)
    (root / "4.tar").unlink()
    with pytest.raises(SourceError, match=r"4\.tar: it was changed or removed"):
        list(reading)


# Damage


def check_loss(file: Path, whole: list[Document]) -> int:
    """Hold that a prefix came, then one broken document for the file; return how many came."""
    *before, last = iter_documents(file)
    assert before == whole[: len(before)]
    assert (last.source, last.path, last.data) == (file.parent.as_posix(), file.name, None)
    assert last.is_broken
    assert last.reason
    assert not before or before[-1].path.removeprefix(file.name) in last.reason
    return len(before)


@pytest.mark.some(3)
@pytest.mark.parametrize("ending", ARCHIVES)
def test_cut_archive_yields_what_precedes_the_cut(tmp_path: Path, ending: str) -> None:
    file = archive(tmp_path / f"x{ending}", many())
    whole, data = list(iter_documents(file)), file.read_bytes()
    counts = []
    lengths = {*range(0, len(data) - 10_240, len(data) // 50), 100, 512, 700}
    if ending != ".tar":  # it ends in zeros that nobody misses
        lengths |= {len(data) - n_bytes for n_bytes in (1, 4, 8, 12)}
    for length in sorted(lengths):
        file.write_bytes(data[:length])
        counts.append(check_loss(file, whole))
    assert counts == sorted(counts)
    assert "zip" in ending or counts[-1] > N_MEMBERS // 2


def test_loss_between_members_of_a_tar_is_noticed(tmp_path: Path) -> None:
    """Python's reader takes the missing header for the end, and says nothing."""
    file = tmp_path / "x.tar"
    data = tar({f"{i}.json": bytes(512) for i in range(9)})
    file.write_bytes(data)
    whole = list(iter_documents(file))
    for n_members in range(10):
        file.write_bytes(data[: n_members * 1024])
        assert check_loss(file, whole) == n_members
        file.write_bytes(data[: n_members * 1024 + 100])
        assert check_loss(file, whole) == n_members
    file.write_bytes(data[: 5 * 1024 + 3] + b"\xff" + data[5 * 1024 + 4 :])  # in a header
    assert check_loss(file, whole) == 5
    file.write_bytes(data + data)  # a tar behind a tar
    assert check_loss(file, whole) == 9


@pytest.mark.parametrize("packed", [".gz", ".zst", ".xz", ".bz2"])
def test_cut_or_wrong_file(tmp_path: Path, packed: str) -> None:
    data = COMPRESS[packed](b"{}" * 1000)
    for damaged in (b"", data[:-1], data[: len(data) // 2], b"{}", data + b"more"):
        (tmp_path / f"0.json{packed}").write_bytes(damaged)
        document = only(tmp_path)
        assert (document.path, document.data) == (f"0.json{packed}", None)
        assert document.is_broken


@pytest.mark.parametrize("packed", [".gz", ".zst", ".xz", ".bz2"])
def test_cut_lines(tmp_path: Path, packed: str) -> None:
    dice = random.Random(7)
    lines = [dice.randbytes(700).hex().encode() for _ in range(500)]
    file = tmp_path / f"x.jsonl{packed}"
    data = COMPRESS[packed](b"\n".join(lines))
    file.write_bytes(data)
    whole = list(iter_documents(file))
    assert [document.data for document in whole] == lines
    counts = []
    for fifth in range(5):
        file.write_bytes(data[: len(data) * fifth // 5])
        counts.append(check_loss(file, whole))
    assert counts == sorted(counts)
    assert counts[-1] > 200


@pytest.mark.parametrize("ending", [".tar", ".tar.zst", ".zip"])
@pytest.mark.parametrize("packed", [".gz", ".zst", ".xz", ".bz2"])
def test_member_with_damage_of_its_own(tmp_path: Path, ending: str, packed: str) -> None:
    cut = COMPRESS[packed](b"{}\n{}")[:-1]
    tree = {f"0.json{packed}": cut, f"1.jsonl{packed}": b"?", "2.json": b"{}"}
    found = list(iter_documents(archive(tmp_path / f"x{ending}", tree)))
    assert [(document.path, document.is_broken) for document in found] == [
        (f"0.json{packed}", True),
        (f"1.jsonl{packed}", True),
        ("2.json", False),
    ]


@pytest.mark.parametrize("damage", ["junk", "cut"])
@pytest.mark.parametrize("codec", [".gz", ".zst", ".xz", ".bz2"])
@pytest.mark.parametrize("outer", ["", ".tar", ".tar.gz", ".zip"])
def test_the_whole_lines_of_a_short_file_are_kept(
    tmp_path: Path, outer: str, codec: str, damage: str
) -> None:
    """As those of a longer one: all that comes out of it is within what a format is shown."""
    games = [json.dumps({"game": number}).encode() for number in range(4)]
    *whole, last = [COMPRESS[codec](game + b"\n") for game in games]
    data = b"".join(whole) + (b"junk" if damage == "junk" else last[: len(last) // 2])
    source = packed_or_folder(tmp_path, outer, {f"a.jsonl{codec}": data, "b.json": b"{}"})
    *found, broken, other = iter_documents(source)
    assert [document.data for document in found] == games[:3]
    assert broken.is_broken
    assert "everything after #3 is lost" in str(broken.reason)
    assert other.path == "b.json"


@pytest.mark.parametrize("damage", ["junk", "checksum"])
@pytest.mark.parametrize("outer", ["", ".tar", ".zip"])
def test_what_is_whole_before_the_damage_is_kept(tmp_path: Path, outer: str, damage: str) -> None:
    game, lines = json.dumps({"game": 1}, indent=2).encode(), [b'{"game": 1}', b'{"game": 2}']
    tree = {"7.json.gz": game, "8.jsonl.gz": b"\n".join([*lines, b""])}
    for name, text in tree.items():
        data = gzip.compress(text)
        tree[name] = data + b"junk" if damage == "junk" else data[:-8] + b"\0" * 8
    lost = "is lost: the compressed data is damaged"
    assert contents(packed_or_folder(tmp_path, outer, tree)) == [
        ("7.json.gz", game, None),
        ("7.json.gz#2", None, f"everything after the document {lost}"),
        *((f"8.jsonl.gz#{number}", line, None) for number, line in enumerate(lines, start=1)),
        ("8.jsonl.gz", None, f"everything after #2 {lost}"),
    ]


def test_what_is_no_whole_object_before_the_damage_is_lost(tmp_path: Path) -> None:
    """A number may go on, and an object without its end does."""
    for text in (b"12", b'{"game": 1', b'{"game": 1}\n{"game": 2}'):
        (tmp_path / "7.json.gz").write_bytes(gzip.compress(text)[:-8] + b"\0" * 8)
        document = only(tmp_path)
        assert (document.path, document.data, document.is_broken) == ("7.json.gz", None, True)


@pytest.mark.parametrize("indent", [None, 2])
def test_whole_games_of_a_short_tar_that_is_cut_are_kept(tmp_path: Path, indent: int) -> None:
    game = json.dumps({"game": 1}, indent=indent).encode()
    data = tar({"a.json": game, "b.jsonl": game + b"\n" + game + b"\n" + b" " * 999 + game})
    (tmp_path / "x.tar").write_bytes(data[: data.index(b" " * 99) + 99])
    *found, last = iter_documents(tmp_path / "x.tar")
    assert [document.data for document in found] == [game] * 3
    assert last.is_broken


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
FETCHED = (".json", ".jsonl", ".csv", ".log", ".json.gz", ".jsonl.zst", ".txt.xz")


@pytest.mark.parametrize("outer", ["", ".tar.gz", ".zip"])
def test_a_pointer_of_git_lfs_is_named_in_place_of_any_file(tmp_path: Path, outer: str) -> None:
    endings = FETCHED if outer else (*FETCHED, *ARCHIVES)
    tree = {f"{n}{ending}": POINTER for n, ending in enumerate(endings)}
    found = list(iter_documents(packed_or_folder(tmp_path, outer, tree)))
    assert len(found) == len(endings)
    for document in found:
        if document.data is None:
            assert document.is_broken
            assert "git lfs pull" in str(document.reason)
        else:
            with pytest.raises(InvalidDocumentError) as error:
                read_game(document.data, None, document.path)
            assert "git lfs pull" in error.value.fault.message


def test_a_file_in_another_encoding_is_one_document(tmp_path: Path) -> None:
    for name in ("a.json", "b.jsonl", "c.csv"):
        (tmp_path / name).write_bytes('{"a": "b"}\n{"c": "d"}\n'.encode("utf-16"))
    *found, text = iter_documents(tmp_path)
    assert [document.path for document in found] == ["a.json", "b.jsonl"]
    assert "UTF-16" in str(text.reason)


def test_damaged_member_of_a_zip(tmp_path: Path) -> None:
    data = bytearray(zipped({"0.json": b"first", "1.json": b"next"}, zipfile.ZIP_STORED))
    data[data.index(b"first")] ^= 1
    (tmp_path / "x.zip").write_bytes(data)
    damaged, fine = iter_documents(tmp_path / "x.zip")
    assert (damaged.path, damaged.data, damaged.is_broken) == ("0.json", None, True)
    assert (fine.path, fine.data, fine.is_broken) == ("1.json", b"next", False)


def test_encrypted_member_of_a_zip(tmp_path: Path) -> None:
    data = bytearray(zipped({"0.json": b"{}", "1.png": b"", "2.json": b"{}"}))
    data[6] |= 1  # the flags in the member's own header
    data[data.index(b"PK\1\2") + 8] |= 1  # and in the directory
    (tmp_path / "x.zip").write_bytes(data)
    locked, _, fine = iter_documents(tmp_path / "x.zip")
    assert locked[1:] == ("0.json", None, "encrypted", True)
    assert fine.data == b"{}"


@pytest.mark.some(8)
@pytest.mark.parametrize("ending", ARCHIVES)
@pytest.mark.parametrize("seed", range(3))
def test_no_damage_raises(tmp_path: Path, ending: str, seed: int) -> None:
    dice = random.Random(seed)
    data = archive(tmp_path / f"x{ending}", TREE).read_bytes()
    for _ in range(40):
        damaged = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.randrange(len(damaged))] = dice.choice(
                [0, 0x80, 0xFF, dice.randrange(256)]
            )
        (tmp_path / f"x{ending}").write_bytes(damaged)
        for document in iter_documents(tmp_path):
            assert (document.data is None) == (document.reason is not None)


# What is too large


LIMIT = 1000


def sizes(file: Path) -> list[tuple[str, int | None]]:
    """Path and size of each document of at most a thousand bytes, null for one with more."""
    found = list(iter_documents(file, max_document=LIMIT))
    for document in found:
        assert document.is_broken is (document.data is None)
        assert not document.is_broken or "larger than 1,000 bytes" in (document.reason or "")
        assert not document.is_broken or "--max-document" in (document.reason or "")
    return [(found.path, found.data and len(found.data)) for found in found]


@pytest.mark.parametrize("packed", COMPRESS)
def test_a_document_larger_than_the_limit_is_refused(tmp_path: Path, packed: str) -> None:
    file = tmp_path / f"0.json{packed}"
    for n_bytes, result in ((LIMIT, LIMIT), (LIMIT + 1, None), (10**6, None)):
        file.write_bytes(COMPRESS[packed](b"1" * n_bytes))
        assert sizes(file) == [(file.name, result)]


@pytest.mark.parametrize("packed", COMPRESS)
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_line_larger_than_the_limit_is_passed_over(
    tmp_path: Path, packed: str, end: bytes
) -> None:
    lengths = [10, 3, 200_000, LIMIT + 1, LIMIT - 2, 999_999]
    lines = (end or b"\n").join(b"1" * length for length in lengths) + end
    (tmp_path / f"x.jsonl{packed}").write_bytes(COMPRESS[packed](lines))
    result = [length if length < LIMIT else None for length in lengths]
    assert sizes(tmp_path) == [(f"x.jsonl{packed}#{n}", size) for n, size in enumerate(result, 1)]


@pytest.mark.parametrize("ending", ARCHIVES)
def test_an_archive_goes_on_after_a_member_too_large(tmp_path: Path, ending: str) -> None:
    tree = {
        "0.json": b"0" * LIMIT,
        "1.json": b"1" * 300_000,
        "2.json.zst": zstandard.compress(b"2" * 300_000),
        "3.jsonl": b"3\n" + b"3" * 300_000 + b"\n3",
        "4.json": b"4" * (LIMIT + 1),
        "5.json": b"{}",
    }
    assert sizes(archive(tmp_path / f"x{ending}", tree)) == [
        ("0.json", LIMIT),
        ("1.json", None),
        ("2.json.zst", None),
        ("3.jsonl#1", 1),
        ("3.jsonl#2", None),
        ("3.jsonl#3", 1),
        ("4.json", None),
        ("5.json", 2),
    ]


def test_a_zip_whose_directory_understates_a_size(tmp_path: Path) -> None:
    """Not more than that is decompressed; its checksum tells."""
    data = bytearray(zipped({"0.json": b"1" * 10**6, "1.json": b"{}"}))
    place = data.index(b"PK\1\2") + 24
    data[place : place + 4] = (10).to_bytes(4, "little")
    (tmp_path / "x.zip").write_bytes(data)
    lying, fine = iter_documents(tmp_path / "x.zip", max_document=LIMIT)
    assert (lying.data, lying.is_broken) == (None, True)
    assert fine.data == b"{}"


@pytest.mark.parametrize("name", ["0.json.zst", "x.tar.zst", "x.zip"])
def test_what_is_refused_is_not_held(tmp_path: Path, name: str) -> None:
    tree = {"0.json": bytes(90_000_000)}
    if name.startswith("0"):
        (tmp_path / name).write_bytes(COMPRESS[name.removeprefix("0.json")](tree["0.json"]))
    else:
        archive(tmp_path / name, tree)
    del tree
    tracemalloc.start()
    (refused,) = iter_documents(tmp_path, max_document=LIMIT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused.is_broken
    assert peak < 40_000_000


# Two of a name


@pytest.mark.parametrize("pack", [".tar", ".tar.zst", ".zip"])
def test_members_of_one_name_are_told_apart(tmp_path: Path, pack: str) -> None:
    names = ["0.json", "./0.json", "1.jsonl", "0.json (2)", "0.json", "1.jsonl", "2.json"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        target = io.BytesIO()
        if pack == ".zip":
            with zipfile.ZipFile(target, "w") as out:
                for number, name in enumerate(names):
                    out.writestr(name, str(number))
        else:
            with tarfile.open(fileobj=target, mode="w") as tape:
                for number, name in enumerate(names):
                    entry = tarfile.TarInfo(name)
                    entry.size = 1
                    tape.addfile(entry, io.BytesIO(str(number).encode()))
    for number in "ab":
        file = tmp_path / f"{number}{pack}"
        file.write_bytes(
            COMPRESS[pack.removeprefix(".tar").removeprefix(".zip")](target.getvalue())
        )
    expected = [
        ("0.json", b"0"),
        ("0.json (2)", b"1"),
        ("1.jsonl#1", b"2"),
        ("0.json (2) (2)", None),
        ("0.json (3)", b"4"),
        ("1.jsonl (2)#1", b"5"),
        ("2.json", b"6"),
    ]
    assert [(path, data) for path, data, _ in contents(tmp_path)] == [
        (f"{number}{pack}/{path}", data) for number in "ab" for path, data in expected
    ]


# Work to be dealt out


def test_units_dealt_out_are_the_documents(tmp_path: Path) -> None:
    """A unit is read by whoever gets it, as if by one reader."""
    root = folder(tmp_path / "a", TREE)
    for ending in ARCHIVES:
        archive(root / f"x{ending}", TREE)
    whole = list(iter_documents([root, archive(tmp_path / "y.zip", TREE)]))
    dealt = list(iter_source_files([root, tmp_path / "y.zip"]))
    copies = [pickle.loads(pickle.dumps(unit)) for unit in dealt]
    assert copies == dealt
    assert [document for unit in copies for document in iter_file_documents(unit)] == whole
    assert {unit.path for unit in dealt if unit.can_hold_many_documents} == {
        *("a/c.jsonl", "a/notes.txt"),
        "y.zip",
        *(f"x{ending}" for ending in ARCHIVES),
    }
    for unit in dealt:
        assert unit.file
        assert unit.n_bytes == Path(unit.file).stat().st_size
        reported: list[int] = []
        assert list(iter_file_documents(unit, on_bytes=reported.append))
        assert sum(reported) == unit.n_bytes


# Progress


def test_bytes_reported_add_up_to_those_on_disk(tmp_path: Path) -> None:
    """Also where archives are damaged; `test_units_dealt_out_are_the_documents` has whole ones."""
    root = folder(tmp_path / "a", TREE)
    (root / "gone.json").symlink_to("nowhere")
    for ending in (".tar", ".tar.zst", ".tar.gz", ".zip"):
        file = archive(root / f"x{ending}", many())
        file.write_bytes(file.read_bytes()[1000:])
    on_disk = [path.stat().st_size for path in root.rglob("*") if path.is_file()]
    reported: list[int] = []
    for _ in iter_documents(root, reported.append):
        pass
    assert sum(reported) == sum(on_disk)
    assert min(reported) > 0
    assert count_files_and_bytes(root) == (len(on_disk) + 1, sum(on_disk))


@pytest.mark.parametrize("ending", [".tar", ".tar.zst", ".tar.gz", ".tar.xz", ".zip"])
def test_bytes_are_reported_while_an_archive_is_read(tmp_path: Path, ending: str) -> None:
    file = archive(tmp_path / f"x{ending}", {f"{i}.json": os.urandom(20_000) for i in range(50)})
    reported: list[int] = []
    at_documents = [sum(reported) for _ in iter_documents(file, reported.append)]
    assert at_documents[0] < file.stat().st_size / 4
    assert file.stat().st_size / 3 < at_documents[25] < file.stat().st_size * 3 / 4
    assert at_documents == sorted(at_documents)


def test_an_iterator_left_halfway_leaves_nothing_open(tmp_path: Path) -> None:
    for ending in ARCHIVES:
        archive(tmp_path / f"x{ending}", TREE)
    for document in iter_documents(tmp_path):
        assert document.data is not None
        break
