"""The reference of the metrics, from the headers of their SQL files."""

from plain import cell, fence

from pipeline import sql_files
from pipeline.metrics.registry import NAMES, TITLES, metric_names, metric_sql_file_name
from pipeline.vocabulary import EDITIONS, PAPER

INTRODUCTION = """# Metrics and their SQL

Each metric is one SQL file in `sql/metrics/`; this page is made from these files. An edition
that has no file of its own uses that of `paper`. [The metrics](metrics.md) says what is counted,
and [Editions](editions.md) which edition to use.
"""
FIELDS = {
    "row": "one row is",
    "value": "value",
    "range": "range",
    "source": "source",
}


def text() -> str:
    """Return the page: a section for each metric, with each edition's SQL file."""
    parts = [INTRODUCTION]
    for name in NAMES:
        parts.append(f"## {TITLES[name]}")
        files: dict[str, str] = {}
        for edition in sorted(EDITIONS, key=lambda edition: edition != PAPER):
            if name in metric_names(edition):
                files.setdefault(metric_sql_file_name(name, edition), edition)
        for file, edition in files.items():
            parts += file_section(name, file, edition)
    return "\n\n".join(parts) + "\n"


def file_section(name: str, file: str, edition: str) -> list[str]:
    """Return the table and the SQL of one file, for the first edition that uses it."""
    header = sql_files.read_comment_header(file)
    view = name if edition == PAPER else f"{edition}.{name}"
    rows = [
        f"| {label} | {cell(' '.join(header[key]))} |"
        for key, label in FIELDS.items()
        if key in header
    ]
    lines = ["| edition | " + f"`{edition}` |", "| --- | --- |", f"| view | `{view}` |", *rows]
    sql = "\n".join(
        f"    {line}" for line in fence("sql", sql_files.read_sql_file(file)).splitlines()
    )
    return ["\n".join(lines), f'??? note "SQL of `{view}`"\n\n{sql}']
