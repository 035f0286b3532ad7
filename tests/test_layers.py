"""Which part of the package may use which: imports point down one list, and some names stay put."""

import ast
from functools import cache
from pathlib import Path

import pipeline
from pipeline.provenance import PARTS

PACKAGE = Path(pipeline.__file__).parent

# From the ground up; each may use those before it. What is in one set knows nothing of the other.
LAYERS: list[set[str]] = [
    {
        "text_format",
        "parameters",
        "errors",
        "processes",
        "registry",
        "thinking_text",
        "vocabulary",
        "version",
    },
    {"stores"},
    {"atomic_files", "plugins"},
    {"column", "game_record", "sql_files", "archives", "simulate"},
    {"games", "provenance", "serialization"},
    {"action_tables"},
    {"formats"},
    {"events"},
    {"conversion"},
    {"lake"},
    {"warehouse"},
    {"ingest"},
    {"spark", "verify"},
    {"statistics"},
    {"metrics"},
    {"testing"},
    {"reports"},
    {"catalog", "plots", "render"},
    {"exports"},
    {"lake_methods"},
    {"query_processes"},
    {"pages"},
    {"api"},
    {"server"},
    {"cli"},
    {"__main__"},
]
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}
# Beyond the order: who may use of the lower layers only what is named here.
ONLY = {
    "games": {"column", "game_record", "plugins", "vocabulary"},
    "action_tables": {"column", "game_record", "games", "vocabulary"},
    "formats": {
        "action_tables",
        "archives",
        "column",
        "game_record",
        "games",
        "plugins",
        "thinking_text",
        "vocabulary",
    },
    "events": {"action_tables", "column", "game_record", "games", "thinking_text", "vocabulary"},
    "query_processes": {"lake_methods", "errors", "lake", "processes"},
    "simulate": {"text_format", "parameters", "errors", "processes", "atomic_files"},
    "stores": {"errors"},
    "archives": {"errors", "stores"},
    "lake": {
        *("errors", "events", "games", "sql_files", "stores", "version"),
        "vocabulary",
    },
}

# A library, and the only parts that may import it.
KEEPERS = {
    "altair": {"plots"},
    "click": {"cli"},
    "deltalake": {"lake"},
    "filelock": {"stores"},
    "fsspec": {"warehouse"},
    "jinja2": {"pages"},
    "obstore": {"stores"},
    "py4j": {"spark"},
    "pyspark": {"spark"},
    "rich": {"text_format", "cli", "render"},
    "sqlglot": {"spark", "metrics"},
    "starlette": {"server"},
    "statsmodels": {"statistics"},
    "uvicorn": {"server"},
    "vl_convert": {"plots"},
    "xlsxwriter": {"cli"},
}
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(file: Path) -> str:
    """The dotted name of a module."""
    path = file.relative_to(PACKAGE.parent).with_suffix("")
    return ".".join(path.parts).removesuffix(".__init__")


NAMES = {name_of(file) for file in MODULES}


@cache
def imports(file: Path) -> list[str]:
    """Every module that a file imports, also in functions and for types."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{file}: imports are absolute"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            found += [name if name in NAMES else node.module for name in inner]
    return found


def part_of(module: str) -> str | None:
    """The part of the package that a module belongs to; None for the package's own face."""
    return module.split(".")[1] if "." in module else None


def may_import(part: str, module: str) -> bool:
    """Whether a part may import a module of ours."""
    used = part_of(module)
    if used is None:
        return RANK[part] > RANK["api"]  # the package's face
    return used == part or (RANK[used] < RANK[part] and used in ONLY.get(part, {used}))


def test_imports_point_down() -> None:
    """Also those in functions and for types."""
    wrong = [
        f"{name_of(file)} imports {module}"
        for file in MODULES
        if (part := part_of(name_of(file)))
        for module in imports(file)
        if module.split(".")[0] == "pipeline" and not may_import(part, module)
    ]
    assert wrong == []


def test_libraries_stay_with_their_keepers() -> None:
    wrong = [
        f"{name_of(file)} imports {module}"
        for file in MODULES
        for module in imports(file)
        if (library := module.split(".")[0]) in KEEPERS
        and part_of(name_of(file)) not in KEEPERS[library]
    ]
    assert wrong == []


def test_what_an_ingest_is_made_of_is_what_its_record_names() -> None:
    """An archive is read again if code has changed that decides an ingest's rows."""
    graph = {name_of(file): set(imports(file)) & NAMES for file in MODULES}
    reached: set[str] = set()
    left = {"pipeline.ingest"}
    while left:
        reached |= left
        left = {name for module in left for name in graph[module]} - reached - {"pipeline"}
    assert {part_of(name) for name in reached} == set(PARTS)
    assert set(PARTS) <= set(RANK)
