"""Archives that somebody made to do harm: what can be had of them is ingested, the loss is told."""

import io
import lzma
import os
import stat
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from lakes import Lab, nonzero, statuses, table
from rawlogs import chameleon, encode, public_good, undercover
from test_archives import COMPRESS, tar, zipped

from pipeline.archives import documents
from pipeline.ingest import ingest

pytestmark = pytest.mark.slow

GIB = 2**30
GOOD = {"a.json": encode(chameleon()), "z.json": encode(public_good())}
END = bytes(2 * tarfile.BLOCKSIZE)
TOP = Path(__file__).resolve().parents[2]


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


A, Z = member("a.json", GOOD["a.json"]), member("z.json", GOOD["z.json"])


def fates(lab: Lab, name: str, data: bytes, **limits: int) -> dict[str, str]:
    """What became of each member of an archive, and of the archive itself if some of it is lost."""
    lab.write(name, data)
    report = ingest(lab.root / name, lab.lake, **limits)
    found = statuses(lab.lake)
    assert report.n_seen == len(found)
    return found


def reasons(lab: Lab) -> dict[str, str]:
    seen = table(lab.lake, "documents")
    return dict(seen.select("path", "reason").drop_nulls().iter_rows())


# Names


@pytest.mark.long
@pytest.mark.parametrize("ending", ["tar", "zip"])
@pytest.mark.parametrize(
    "name",
    [
        "../../up.json",
        "/etc/up.json",
        "a/../../up.json",
        "a\\..\\up.json",
        "C:\\up.json",
        "//x/up.json",
    ],
)
def test_members_that_lead_elsewhere(lab: Lab, ending: str, name: str) -> None:
    """Names are labels, and nothing is unpacked."""
    data = (tar if ending == "tar" else zipped)({name: encode(undercover())} | GOOD)
    assert list(fates(lab, f"x.{ending}", data).values()) == ["ingested"] * 3
    assert not list(lab.root.parent.rglob("up.json"))


def test_a_member_with_a_name_of_64_thousand_characters(lab: Lab) -> None:
    data = pax("p", path="d/" * 30_000 + "7.json") + member("7.json", encode(undercover()))
    found = fates(lab, "x.tar", A + data + Z + END)
    assert list(found.values()) == ["ingested"] * 3
    assert max(map(len, found)) < 5_000
    games = table(lab.lake, "games").filter(game_index=7)
    assert games.height == 1


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_of_a_tar(lab: Lab, kind: bytes) -> None:
    special = tarfile.TarInfo("0.json")
    special.type, special.linkname, special.devmajor = kind, "/etc/passwd", 1
    found = fates(lab, "x.tar", tar(GOOD, special))
    assert found == {"0.json": "ignored", "a.json": "ingested", "z.json": "ingested"}
    assert reasons(lab)["0.json"] == "not a regular file"


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_of_a_zip(lab: Lab, kind: int) -> None:
    target = io.BytesIO(zipped(GOOD))
    with zipfile.ZipFile(target, "a") as archive:
        entry = zipfile.ZipInfo("0.json")
        entry.external_attr = (kind | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    found = fates(lab, "x.zip", target.getvalue())
    assert found == {"0.json": "ignored", "a.json": "ingested", "z.json": "ingested"}


# Bombs


def zeros(codec: str) -> bytes:
    """A compressed unit of 64 MiB of zeros; units may follow one another."""
    return COMPRESS[codec](bytes(2**26))


@pytest.mark.long
@pytest.mark.parametrize("codec", [".zst", ".gz", ".xz", ".bz2"])
@pytest.mark.parametrize("ending", ["tar", "jsonl", "json", "zip"])
def test_a_bomb_of_10_gib(lab: Lab, codec: str, ending: str) -> None:
    """What stands before it is ingested; then reading stops, far from its end."""
    unit = zeros(codec)
    first = COMPRESS[codec](A + block("bomb.json", 10 * GIB) if ending == "tar" else b"\n")
    found = fates(lab, f"x.{ending}{codec}", first + unit * 160, max_expanded=2**27)
    assert found.pop(f"x.{ending}{codec}") == "quarantined"
    expected = {"a.json": "ingested", "bomb.json": "quarantined"} if ending == "tar" else {}
    assert found == expected
    result = reasons(lab)[f"x.{ending}{codec}"]
    assert ("--max-document" if ending == "json" else "--max-expanded") in result


@pytest.mark.long
def test_a_zip_bomb(lab: Lab) -> None:
    """Each member is as large as a document may be; it is their sum that is too much."""
    data = zipped(GOOD | {f"{n}.json": b" " * 2**20 for n in range(300)} | {"~.json": b""})
    assert len(data) < 2**19
    found = fates(lab, "x.zip", data, max_expanded=2**27)
    assert [found["a.json"], found["z.json"]] == ["ingested"] * 2
    assert (found["0.json"], found["x.zip"]) == ("quarantined", "quarantined")
    assert "299.json" not in found
    assert "everything after 12" in reasons(lab)["x.zip"]


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


def test_max_expanded_lets_an_archive_through(lab: Lab) -> None:
    """Left to itself an archive may come to 200 times its size, and a little one to a gibibyte."""
    data = zstandard.compress(tar(GOOD | {"zeros.json": b" " * 2**23}))
    assert fates(lab, "x.tar.zst", data, max_expanded=2**20)["x.tar.zst"] == "quarantined"
    assert "x.tar.zst" not in fates(lab, "x.tar.zst", data, max_expanded=2**24)
    assert "x.tar.zst" not in fates(lab, "x.tar.zst", data)


def test_no_limit_meets_what_is_not_compressed(lab: Lab) -> None:
    found = fates(lab, "x.tar", tar(GOOD), max_expanded=1)
    assert found == dict.fromkeys(GOOD, "ingested")


# Headers that lie


def test_nested_archives(lab: Lab) -> None:
    inner = {"i.zip": zipped(GOOD), "i.tar.zst": zstandard.compress(tar(GOOD))}
    found = fates(lab, "x.zip", zipped(GOOD | inner))
    assert found == dict.fromkeys(GOOD, "ingested") | dict.fromkeys(inner, "quarantined")


@pytest.mark.long
@pytest.mark.parametrize("size", [0, 10, 10**6, 2**32 - 2])
def test_a_zip_that_lies_of_a_size(lab: Lab, size: int) -> None:
    data = bytearray(zipped({"0.json": encode(undercover())} | GOOD))
    at = data.index(b"PK\1\2") + 24
    data[at : at + 4] = size.to_bytes(4, "little")
    found = fates(lab, "x.zip", bytes(data))
    assert found == dict.fromkeys(GOOD, "ingested") | {"0.json": "quarantined"}


@pytest.mark.parametrize("size", [10**5, 2**33, 2**62])
def test_a_tar_that_lies_of_a_size(lab: Lab, size: int) -> None:
    found = fates(lab, "x.tar", A + block("lie.json", size) + Z + END)
    assert found.pop("a.json") == "ingested"
    assert set(found.values()) == {"quarantined"}
    assert "lost" in reasons(lab)["x.tar"]


@pytest.mark.long
@pytest.mark.parametrize("size", ["-1", "-512", "9" * 30, "nan", ""])
def test_a_tar_that_lies_of_a_size_in_words(lab: Lab, size: str) -> None:
    found = fates(lab, "x.tar", A + pax("p", size=size) + member("lie.json", b"{") + Z + END)
    assert found["a.json"] == "ingested"
    assert "quarantined" in found.values()


def test_a_hole_of_an_exabyte(lab: Lab) -> None:
    """A sparse member takes no place in the tar, and would come out as zeros for years."""
    hole = {
        "GNU__sparse__major": 0,
        "GNU__sparse__minor": 1,
        "GNU__sparse__name": "hole.jsonl",
        "GNU__sparse__size": 2**60,
        "GNU__sparse__numblocks": 1,
        "GNU__sparse__map": "0,0",
    }
    data = A + pax("p", **hole) + member("hole.jsonl", b"") + END
    found = fates(lab, "x.tar", data, max_expanded=2**27)
    assert found == {"a.json": "ingested", "x.tar": "quarantined"}
    assert "--max-expanded" in reasons(lab)["x.tar"]


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_headers_that_lead_to_one_another(lab: Lab, kind: bytes) -> None:
    content = b"12 path=abc\n" if kind != tarfile.GNUTYPE_LONGNAME else b"abc\0"
    found = fates(lab, "x.tar", A + member("h", content, kind) * 5000 + Z + END)
    assert found == {"a.json": "ingested", "x.tar": "quarantined"}


@pytest.mark.long
@pytest.mark.parametrize("n_bytes", [50_000, 10**7])
@pytest.mark.parametrize("sign", [b"1", b"9 a=b\n", b"\0"])
def test_a_header_of_rubbish(lab: Lab, n_bytes: int, sign: bytes) -> None:
    """Releases of Python before 3.11.10 look at digits for hours."""
    began = time.process_time()
    rubbish = member("h", sign * (n_bytes // len(sign)), tarfile.XHDTYPE)
    found = fates(lab, "x.tar", A + rubbish + Z + END)
    assert found["a.json"] == "ingested"
    assert time.process_time() - began < 5


def test_an_xz_that_asks_for_gigabytes(lab: Lab) -> None:
    packer = lzma.LZMACompressor(filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    data = bytearray(packer.compress(encode(undercover())) + packer.flush())
    data[16] = 40  # its dictionary is to be of 4 GiB
    data[20:24] = struct.pack("<I", zlib.crc32(bytes(data[12:20])))
    assert fates(lab, "x.json.xz", bytes(data)) == {"x.json.xz": "quarantined"}
    assert "limit" in reasons(lab)["x.json.xz"]


def test_a_zst_that_asks_for_gigabytes(lab: Lab) -> None:
    frame = b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x01\x00\x00"  # a window of 2 GiB
    assert fates(lab, "x.json.zst", frame) == {"x.json.zst": "quarantined"}
    assert "memory" in reasons(lab)["x.json.zst"]


def test_encrypted_members(lab: Lab) -> None:
    data = bytearray(zipped({"0.json": encode(undercover())} | GOOD))
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    found = fates(lab, "x.zip", bytes(data))
    assert found == dict.fromkeys(GOOD, "ingested") | {"0.json": "quarantined"}
    assert reasons(lab)["0.json"] == "encrypted"


# Many, and less than there should be


@pytest.mark.long
@pytest.mark.parametrize("ending", ["tar", "tar.zst", "zip"])
def test_thousands_of_empty_members(lab: Lab, ending: str) -> None:
    tree = GOOD | {f"{n}.json": b"" for n in range(5000)}
    data = zipped(tree) if ending == "zip" else tar(tree)
    found = fates(lab, f"x.{ending}", COMPRESS[".zst"](data) if "zst" in ending else data)
    assert list(found.values()).count("quarantined") == 5000
    assert [found["a.json"], found["z.json"]] == ["ingested"] * 2


@pytest.mark.long
@pytest.mark.parametrize("codec", ["", ".gz", ".zst", ".xz"])
def test_a_truncated_tail(lab: Lab, codec: str) -> None:
    """What precedes is ingested, and the loss is told; the whole archive makes up for it."""
    noise = {f"{n}.txt": os.urandom(20_000) for n in range(20)}
    data = COMPRESS[codec](tar({"a.json": GOOD["a.json"]} | noise | {"z.json": GOOD["z.json"]}))
    name = f"x.tar{codec}"
    found = fates(lab, name, data[: len(data) // 2])
    assert (found["a.json"], found[name]) == ("ingested", "quarantined")
    assert "z.json" not in found
    assert "is lost" in reasons(lab)[name]
    found = fates(lab, name, data)
    assert (found["a.json"], found["z.json"]) == ("unchanged", "ingested")
    assert name not in found


def test_a_truncated_zip(lab: Lab) -> None:
    """Its directory is at its end: nothing precedes."""
    assert fates(lab, "x.zip", zipped(GOOD)[:-30]) == {"x.zip": "quarantined"}


def test_a_bad_archive_beside_good_ones(lab: Lab) -> None:
    lab.write("0.tar", tar(GOOD)[:700])
    lab.write("1.zip", b"PK\3\4 and no more")
    lab.write("2.tar.zst", zstandard.compress(tar(GOOD)))
    lab.write("3.json", undercover())
    report = ingest(lab.root, lab.lake)
    assert nonzero(report) == {"ingested": 3, "quarantined": 2}
    assert report.n_seen == len(list(documents(lab.root)))
