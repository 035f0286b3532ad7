"""The project's own files agree with each other: metadata, locks, licence, README."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import pipeline

TOP = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
RUNTIME = PROJECT["dependencies"]
VIEWED = [*RUNTIME, *PROJECT["optional-dependencies"]["view"]]  # what `make demo` installs
EVERYTHING = [
    *RUNTIME,
    *PYPROJECT["dependency-groups"]["build"],
    *(line for extra in PROJECT["optional-dependencies"].values() for line in extra),
]

Bounds = dict[str, SpecifierSet]
Pins = dict[str, set[str]]


def declared(lines: list[str]) -> Bounds:
    """The versions that pyproject.toml allows of each package, this one left out."""
    requirements = [Requirement(line) for line in lines]
    return {
        canonicalize_name(requirement.name): requirement.specifier
        for requirement in requirements
        if requirement.name != PROJECT["name"]
    }


def locked(lock: str) -> Pins:
    """The versions that a lock pins of each package: several where the Python decides."""
    pins: Pins = {}
    for line in (TOP / "requirements" / f"{lock}.txt").read_text().splitlines():
        if found := re.match(r"([^\s=]+)==([^\s;]+)", line):
            pins.setdefault(canonicalize_name(found[1]), set()).add(found[2])
    return pins


def lower_bound(specifiers: SpecifierSet) -> str | None:
    return next((one.version for one in specifiers if one.operator == ">="), None)


def test_lowest_lock_pins_exactly_the_lower_bounds() -> None:
    lowest = locked("lowest")
    expected = {name: {lower_bound(bounds)} for name, bounds in declared(EVERYTHING).items()}
    assert {name: lowest.get(name) for name in expected} == expected


@pytest.mark.parametrize(("lock", "lines"), [("run", VIEWED), ("dev", EVERYTHING)])
def test_lock_satisfies_what_is_declared(lock: str, lines: list[str]) -> None:
    pins = locked(lock)
    wrong = {
        name: pins.get(name)
        for name, bounds in declared(lines).items()
        if not pins.get(name) or not all(bounds.contains(version) for version in pins[name])
    }
    assert wrong == {}, "requirements/ is out of date: run `make lock`"


def test_dev_lock_contains_the_run_lock() -> None:
    dev = locked("dev")
    assert {name: dev.get(name) for name in locked("run")} == locked("run")


def test_every_pin_has_a_hash() -> None:
    for path in (TOP / "requirements").glob("*.txt"):
        pins = re.findall(r"^\S+==.*(?:\n .*)*", path.read_text(), re.MULTILINE)
        assert pins
        assert [pin for pin in pins if "--hash=sha256:" not in pin] == [], path.name


def test_requirements_name_no_place() -> None:
    for path in (TOP / "requirements").iterdir():
        if path.is_file():
            assert "://" not in path.read_text(), path.name


def test_version_is_a_release_number() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", pipeline.__version__)
    assert PROJECT["dynamic"] == ["version"]


# --- size ---------------------------------------------------------------------------------------

CEILING: dict[str, int] = PYPROJECT["tool"]["magic"]["ceiling"]


def n_statements(path: Path) -> int:
    """The statements of a module; a docstring is none."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    texts = [node for node in nodes if isinstance(node, ast.Expr) and is_text(node.value)]
    return sum(isinstance(node, ast.stmt) for node in nodes) - len(texts)


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_no_room_is_larger_than_its_ceiling() -> None:
    """What needs more raises the ceiling in pyproject.toml, with the reason in its message.

    In steps of 25, so that two branches seldom change one line.
    """
    rooms: Counter[str] = Counter()
    for path in (TOP / "pipeline").rglob("*.py"):
        room, *rest = path.relative_to(TOP / "pipeline").parts
        rooms[room if rest else "top"] += n_statements(path)
    assert rooms.keys() == CEILING.keys()
    lines = [f"{room} = {-(-n // 25) * 25}" for room, n in rooms.items() if n > CEILING[room]]
    assert not lines, (
        "a folder has more statements than [tool.magic.ceiling] of pyproject.toml allows: remove "
        f"some, or write {', '.join(lines)} and give the reason in the commit"
    )
    assert [n for n in CEILING.values() if n % 25] == []
