"""A lake on a disk of 20 MB that fills, and on one that can only be read.

The disk is a tmpfs in a mount namespace of its own, for which one has to be root or to be allowed a
user namespace: where neither is so, the exit code is 77 and nothing was tried.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lab import NOT_POSSIBLE, base_lake, change_logs, differences, magic, tables, write_logs

SIZE = "20m"
# What is left when the ingest begins, up to what it needs: it fills in reading, in rewriting what
# was replaced, and in each of the commits.
KIB_LEFT = (0, 4, 16, 64, 128, 192, 256, 288, 320, 352, 384, 416, 448, 480, 512, 1024, 4096)
_INSIDE = "MAGIC_INSIDE"


def main(arguments: list[str]) -> int:
    """Tries it in a namespace of its own; 1 if anything was not as it has to be."""
    if _INSIDE not in os.environ:
        return _in_namespace(arguments)
    with tempfile.TemporaryDirectory(prefix="magic-disk-") as folder:
        return run(Path(folder), [int(left) for left in arguments] or list(KIB_LEFT))


def _in_namespace(arguments: list[str]) -> int:
    for how in (["unshare", "-m"], ["unshare", "-rm"]):
        with tempfile.TemporaryDirectory() as folder:
            mount = [*how, "mount", "-t", "tmpfs", "tmpfs", folder]
            try:
                is_possible = subprocess.run(mount, capture_output=True, check=False)
            except FileNotFoundError:
                continue
        if is_possible.returncode == 0:
            again = [*how, sys.executable, __file__, *arguments]
            return subprocess.run(again, env={**os.environ, _INSIDE: "1"}, check=False).returncode
    print("not possible: neither root nor allowed a user namespace")
    return NOT_POSSIBLE


def run(top: Path, kib_left: list[int]) -> int:
    """Fills the disk up to so many KiB, ingests, and then lets it only be read."""
    results = write_logs(top / "logs", 280)
    base_lake(results, top / "base")
    change_logs(results)
    before = tables(top / "base")
    shutil.copytree(top / "base", top / "undisturbed")
    assert _ingest(results, top / "undisturbed") == (0, "")
    after = tables(top / "undisturbed")
    disk = top / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", disk], check=True)
    wrong = []
    n_full = 0
    for left in kib_left:
        lake, ballast = disk / "lake", disk / "ballast"
        shutil.rmtree(lake, ignore_errors=True)
        shutil.copytree(top / "base", lake)
        _fill(ballast, disk, left * 1024)
        code, result = _ingest(results, lake)
        n_full += code == 1
        if code not in (0, 1) or (code == 1 and not _is_clear(result, "No space left")):
            wrong.append(f"{left} KiB left: exit code {code}, {result!r}")
        if differences(tables(lake), before if code else after):
            wrong.append(f"{left} KiB left, exit code {code}: the state is torn")
        ballast.unlink()
        if _ingest(results, lake)[0] or differences(tables(lake, until=3), after):
            wrong.append(f"{left} KiB left: the second run differs")
    print(f"{len(kib_left)} ingests, {n_full} of them on a disk that was full")
    wrong += [] if 0 < n_full < len(kib_left) else ["the disk was not filled midway"]
    wrong += _read_only(results, disk, top / "base", before)
    for fault in wrong:
        print(fault)
    print(f"{len(wrong)} differences")
    return int(bool(wrong))


def _ingest(results: Path, lake: Path) -> tuple[int, str]:
    """The exit code, and what was complained of; notes about what is quarantined are none."""
    done = magic("ingest", results, "--lake", lake, "--jobs", "2")
    _, result = done.communicate()
    return done.returncode, "" if done.returncode == 0 else result


def _is_clear(result: str, what: str) -> bool:
    return result.count("\n") == 1 and result.startswith("magic: ") and what in result


def _fill(ballast: Path, disk: Path, left: int) -> None:
    """Writes what cannot be compressed until so many bytes are left."""
    n_bytes = shutil.disk_usage(disk).free - left
    ballast.write_bytes(random.Random(0).randbytes(n_bytes))


def _read_only(results: Path, disk: Path, base: Path, before: dict) -> list[str]:  # type: ignore[type-arg]
    lake = disk / "lake"
    shutil.rmtree(lake)
    shutil.copytree(base, lake)
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    wrong = []
    code, result = _ingest(results, lake)
    if code != 1 or not _is_clear(result, "Read-only file system"):
        wrong.append(f"read-only: exit code {code}, {result!r}")
    for command in ("metrics", "verify", "tables", "quarantine"):
        done = magic(command, "--lake", lake)
        _, result = done.communicate()
        if done.returncode:
            wrong.append(f"read-only: magic {command}: {result!r}")
    if differences(tables(lake), before):
        wrong.append("read-only: the state is another")
    subprocess.run(["umount", disk], check=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
