"""Make a virtual environment of one of the locks beside this file, with the project installed.

    python requirements/environment.py FOLDER LOCK

What is in place already is not done again. FOLDER/made-of.json names what went into the folder:
the interpreter, the folder's place, each lock and the project by their checksums. It is taken away
before anything changes and written when all is done, so that an install that was cut short never
counts. Where one of its lines no longer holds, or Python does not start, the folder is made anew.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
CONTAINED = {"dev": ["run"]}  # dev.txt pins all that run.txt pins, to the same versions


def checksum(*texts: bytes) -> str:
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


def base_python() -> str:
    """The interpreter below any virtual environment that is active, perhaps this very folder's."""
    return getattr(sys, "_base_executable", None) or sys.executable


def wanted(folder: Path, lock: str) -> dict[str, str]:
    """What the folder has to be made of."""
    project = (TOP / "pyproject.toml").read_bytes()
    source = (TOP / "pipeline" / "__init__.py").read_bytes()
    version = [line for line in source.splitlines() if line.startswith(b"__version__")]
    locks = [lock, *CONTAINED.get(lock, [])]
    return {
        "python": f"{base_python()} {sys.version}",
        "place": str(folder),
        "project": checksum(project, *version),
        **{name: checksum((HERE / f"{name}.txt").read_bytes()) for name in locks},
    }


def made_of(folder: Path) -> dict[str, str]:
    """What the folder was made of; nothing where that is not known or its Python is broken."""
    find = "from importlib.util import find_spec as find; find('pip') and find('pipeline') or 1 / 0"
    command = [folder / "bin" / "python", "-I", "-c", find]
    try:
        found = json.loads((folder / "made-of.json").read_text())
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return {}
    return found


def pip_install(folder: Path, *arguments: str) -> None:
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", *arguments]
    environment = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_USER": "0"}
    if subprocess.run(command, cwd=TOP, env=environment, check=False).returncode:
        sys.exit("pip could not install; its reason stands above. Run the same command again.")


def make_anew(folder: Path) -> None:
    if folder.exists():
        print(f"{folder.name} is out of date, unfinished or broken: making it anew", flush=True)
        shutil.rmtree(folder)
    if subprocess.run([base_python(), "-m", "venv", folder], check=False).returncode:
        shutil.rmtree(folder, ignore_errors=True)
        sys.exit("Python could not make a virtual environment; Debian: apt install python3-venv")


def make(folder: Path, lock: str) -> None:
    found, target = made_of(folder), wanted(folder, lock)
    if target.items() <= found.items():
        return
    changed = {name for name in found if name in target and found[name] != target[name]}
    if not found or changed - {"project"}:
        make_anew(folder)
        found = {}
    (folder / "made-of.json").unlink(missing_ok=True)
    if lock not in found:
        print(f"Installing requirements/{lock}.txt into {folder.name}: a minute or so", flush=True)
        # Most modules are never imported: compiling each at its first import halves the time.
        pip_install(folder, "--no-compile", "--require-hashes", "-r", f"requirements/{lock}.txt")
    pip_install(folder, "--no-deps", "--no-build-isolation", "-e", ".")
    (folder / "made-of.json").write_text(json.dumps(found | target, indent=2) + "\n")


if __name__ == "__main__":
    make(TOP / sys.argv[1], sys.argv[2])
