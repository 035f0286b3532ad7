"""Archives that somebody made to do harm: what can be had of them is ingested, the loss is told."""

import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from lakes import Lab, statuses, table
from rawlogs import chameleon, encode, public_good, undercover
from test_archives import COMPRESS, tar, zipped

from pipeline.archives import iter_documents
from pipeline.ingest import ingest

pytestmark = pytest.mark.slow

GIB = 2**30
GOOD = {"a.json": encode(chameleon()), "z.json": encode(public_good())}
END = bytes(2 * tarfile.BLOCKSIZE)


@pytest.fixture(autouse=True)
def nothing_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Holds that nothing is written but the lake, wherever a member's name leads from here."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    yield
    assert list(here.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} <= {"here", "logs", "lake"}
    assert not any(path.is_dir() for path in (tmp_path / "logs").iterdir())


def block(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """The header of a tar's member."""
    header = tarfile.TarInfo(name)
    header.size, header.type = size, kind
    return header.tobuf(tarfile.GNU_FORMAT)


def member(name: str, data: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A member of a tar, its header and its content."""
    return block(name, len(data), kind) + data + bytes(-len(data) % tarfile.BLOCKSIZE)


def pax(name: str, **records: object) -> bytes:
    """A member that is a header of the next one."""
    lines = b""
    for key, value in records.items():
        line = f" {key.replace('__', '.')}={value}\n".encode()
        size = len(line) + 1
        while len(str(size)) + len(line) != size:
            size += 1
        lines += str(size).encode() + line
    return member(name, lines, tarfile.XHDTYPE)


def fates(lab: Lab, name: str, data: bytes, **limits: int) -> dict[str, str]:
    """What became of each member of an archive, and of the archive itself if some of it is lost."""
    lab.write(name, data)
    report = ingest(lab.root / name, lab.lake, **limits)
    found = statuses(lab.lake)
    assert report.n_seen == len(found)
    return found


Good = dict[str, bytes]


def special(kind: bytes) -> tarfile.TarInfo:
    """A link or a device as a member of a tar."""
    member = tarfile.TarInfo("0.json")
    member.type, member.linkname, member.devmajor = kind, "/etc/passwd", 1
    return member


def zip_with_special(good: Good, kind: int) -> bytes:
    target = io.BytesIO(zipped(good))
    with zipfile.ZipFile(target, "a") as archive:
        entry = zipfile.ZipInfo("0.json")
        entry.external_attr = (kind | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return target.getvalue()


def with_bytes(data: bytes, before: bytes, at: int, new: bytes) -> bytes:
    """The data with other bytes so far behind the first place of some."""
    start = data.index(before) + at
    return data[:start] + new + data[start + len(new) :]


def encrypted(good: Good) -> bytes:
    data = zipped({"0.json": encode(undercover())} | good)
    return with_bytes(with_bytes(data, b"PK\3\4", 6, b"\1"), b"PK\1\2", 8, b"\1")


def asking_for_gigabytes(good: Good) -> bytes:
    """An xz whose dictionary is to be of 4 GiB."""
    packer = lzma.LZMACompressor(filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    data = bytearray(packer.compress(encode(undercover())) + packer.flush())
    data[16] = 40
    data[20:24] = struct.pack("<I", zlib.crc32(bytes(data[12:20])))
    return bytes(data)


def parts(good: Good) -> tuple[bytes, bytes]:
    """The good ones as members of a tar, to put something between."""
    return member("a.json", good["a.json"]), member("z.json", good["z.json"]) + END


def between(good: Good, *parts_of_tar: bytes) -> bytes:
    first, last = parts(good)
    return first + b"".join(parts_of_tar) + last


BOTH, LOST = {"a.json": "ingested", "z.json": "ingested"}, {"a.json": "ingested", "": "quarantined"}
LONG, HEADER = "d/" * 30_000 + "7.json", member("h", b"12 path=abc\n", tarfile.XHDTYPE)
WINDOW = b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x01\x00\x00"  # of 2 GiB
TAR_KINDS = ("SYMTYPE", "LNKTYPE", "CHRTYPE", "BLKTYPE", "FIFOTYPE")
ZIP_KINDS = {"link": stat.S_IFLNK, "device": stat.S_IFCHR, "pipe": stat.S_IFIFO}
HEADERS = {"GNUTYPE_LONGNAME": b"abc\0", "XHDTYPE": b"12 path=abc\n", "XGLTYPE": b"12 path=abc\n"}
ELSEWHERE = ("../../up.json", "/etc/up.json", "a/../../up.json", "a\\..\\up.json", "//x/up.json")
# Archives of two good documents and something else; what becomes of the members, "" for the archive
# itself, * for any name; and what is said of the first that is not ingested.
ARCHIVES: dict[str, tuple[Callable[[Good], bytes], dict[str, str], str]] = {
    # Names are labels, and nothing is unpacked.
    **{
        f"elsewhere {n}.{ending}": (
            lambda good, pack=pack, name=name: pack(
                {name: encode(undercover(model=f"{pack} {name}"))} | good
            ),
            BOTH | {"*": "ingested"},
            "",
        )
        for n, name in enumerate((*ELSEWHERE, "C:\\up.json"))
        for ending, pack in (("tar", tar), ("zip", zipped))
    },
    "a long name.tar": (
        lambda good: between(
            good, pax("p", path=LONG), member("7.json", encode(chameleon(flag=3)))
        ),
        BOTH | {"*": "ingested"},
        "",
    ),
    **{
        f"{kind}.tar": (
            lambda good, kind=kind: tar(good, special(getattr(tarfile, kind))),
            BOTH | {"0.json": "ignored"},
            "not a regular file",
        )
        for kind in TAR_KINDS
    },
    **{
        f"{name}.zip": (
            lambda good, kind=kind: zip_with_special(good, kind),
            BOTH | {"0.json": "ignored"},
            "not a regular file",
        )
        for name, kind in ZIP_KINDS.items()
    },
    # Headers that lie
    "nested.zip": (
        lambda good: zipped(good | {"i.zip": zipped(good), "i.tar.zst": zstandard.compress(b"")}),
        BOTH | {"i.zip": "quarantined", "i.tar.zst": "quarantined"},
        "",
    ),
    **{
        f"of size {size}.zip": (
            lambda good, size=size: with_bytes(
                zipped({"0.json": encode(undercover())} | good),
                b"PK\1\2",
                24,
                size.to_bytes(4, "little"),
            ),
            BOTH | {"0.json": "quarantined"},
            "",
        )
        for size in (0, 10, 10**6, 2**32 - 2)
    },
    **{
        f"of size {size}.tar": (
            lambda good, size=size: between(good, block("lie.json", size)),
            LOST | ({"*": "quarantined"} if size > 2**30 else {}),
            "lost",
        )
        for size in (10**5, 2**33, 2**62)
    },
    **{
        f"of size {size or 'none'}.tar": (
            lambda good, size=size: between(good, pax("p", size=size), member("lie.json", b"{")),
            {"a.json": "ingested", "*": "quarantined"},
            "",
        )
        for size in ("-1", "-512", "9" * 30, "nan", "")
    },
    **{
        f"many {kind}.tar": (
            lambda good, kind=kind: between(
                good, member("h", HEADERS[kind], getattr(tarfile, kind)) * 5000
            ),
            LOST,
            "",
        )
        for kind in HEADERS
    },
    "asks.json.xz": (asking_for_gigabytes, {"": "quarantined"}, "limit"),
    "asks.json.zst": (lambda good: WINDOW, {"": "quarantined"}, "memory"),
    "encrypted.zip": (encrypted, BOTH | {"0.json": "quarantined"}, "encrypted"),
    # Its directory is at its end: nothing precedes.
    "cut.zip": (lambda good: zipped(good)[:-30], {"": "quarantined"}, ""),
    "no zip.zip": (lambda good: b"PK\3\4 and no more", {"": "quarantined"}, ""),
    "cut.tar": (lambda good: tar(good)[:700], {"": "quarantined"}, ""),
}


def good(name: str) -> Good:
    """Two games that no archive of another name has."""
    return {
        "a.json": encode(chameleon(model=name)),
        "z.json": encode(public_good(model=name)),
    }


def test_what_can_be_had_of_an_archive_is_ingested_and_the_loss_told(lab: Lab) -> None:
    for name, (build, _, _) in ARCHIVES.items():
        lab.write(name, build(good(name)))
    report = lab.ingest()
    rows = table(lab.lake, "documents").select("path", "status", "reason").rows()
    assert report.n_seen == len(rows) == len(list(iter_documents(lab.root)))
    for name, (_, expected, says) in ARCHIVES.items():
        of = {path[len(name) :].lstrip("/"): rest for path, *rest in rows if path.startswith(name)}
        for member_name in expected.keys() - {"*"}:
            assert of.pop(member_name)[0] == expected[member_name], (name, member_name)
        others = {status for status, _ in of.values()}
        assert others == {expected[n] for n in expected if n == "*"}, name
        reasons = [why for path, status, why in rows if path.startswith(name) and why]
        assert not says or any(says in why for why in reasons), (name, reasons)
    assert max(len(path) for path, *_ in rows) < 5_000
    assert table(lab.lake, "games").filter(game_index=7).height == 1


# Limits


def hole(good: Good) -> bytes:
    """A sparse member takes no place in the tar, and would come out as zeros for years."""
    records = {"major": 0, "minor": 1, "name": "hole.jsonl", "size": 2**60, "numblocks": 1}
    sparse = {f"GNU__sparse__{key}": value for key, value in records.items()}
    header = pax("p", **sparse, GNU__sparse__map="0,0")
    return parts(good)[0] + header + member("hole.jsonl", b"") + END


def test_an_archive_is_read_as_far_as_it_may_expand(lab: Lab) -> None:
    """Left to itself it may come to 200 times its size, and a little one to a gibibyte."""
    zeros = zstandard.compress(tar(good("zeros") | {"zeros.json": b" " * 2**23}))
    file = lab.write("zeros.tar.zst", zeros)
    lab.write("hole.tar", hole(good("hole")))
    lab.write("plain.tar", tar(good("plain")))  # no limit meets what is not compressed
    ingest(lab.root, lab.lake, max_expanded=2**20)
    found = statuses(lab.lake)
    assert found["plain.tar/a.json"] == found["plain.tar/z.json"] == "ingested"
    assert found["hole.tar/a.json"] == "ingested"
    assert found["hole.tar"] == found["zeros.tar.zst"] == "quarantined"
    said = dict(table(lab.lake, "documents").select("path", "reason").iter_rows())
    assert "--max-expanded" in said["hole.tar"]
    for limit in ({"max_expanded": 2**24}, {}):
        ingest(file, lab.lake, **limit)
        assert "zeros.tar.zst" not in statuses(lab.lake)


# Bombs


def zeros(codec: str) -> bytes:
    """A compressed unit of 64 MiB of zeros; units may follow one another."""
    return COMPRESS[codec](bytes(2**26))


@pytest.mark.parametrize("name", ["x.tar.zst", "x.jsonl.gz", "x.json.zst"])
def test_a_bomb_of_10_gib(lab: Lab, name: str) -> None:
    """What stands before it is ingested; then reading stops, far from its end."""
    codec = Path(name).suffix
    is_tar = name.startswith("x.tar")
    first = member("a.json", GOOD["a.json"]) + block("bomb.json", 10 * GIB) if is_tar else b"\n"
    found = fates(lab, name, COMPRESS[codec](first) + zeros(codec) * 160, max_expanded=2**27)
    assert found.pop(name) == "quarantined"
    assert found == ({"a.json": "ingested", "bomb.json": "quarantined"} if is_tar else {})
    (reason,) = table(lab.lake, "documents").filter(path=name)["reason"]
    assert ("--max-document" if name.startswith("x.json.") else "--max-expanded") in reason


def test_a_zip_bomb_whose_members_overlap(lab: Lab) -> None:
    """One stream of bytes that is a thousand members' is read a thousand times, within limits."""
    data = bytearray(zipped({"0.json": b" " * 2**20}))
    start, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    entries = b"".join(
        data[start:end].replace(b"0.json", b"%d.json" % (n % 10)) for n in range(1000)
    )
    tail = bytearray(data[end:])
    tail[8:16] = struct.pack("<HHI", 1000, 1000, len(entries))
    found = fates(lab, "x.zip", bytes(data[:start]) + entries + bytes(tail), max_expanded=2**25)
    assert found["x.zip"] == "quarantined"
    assert len(found) == 33
