"""A data set to publish: the event tables as Parquet, with a data card and Croissant metadata."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from pipeline.atomic_files import new_folder
from pipeline.column import display_name
from pipeline.events.contracts import GAME_TABLES, TABLES, row_description
from pipeline.exports import (
    Exported,
    Redaction,
    content,
    grouped,
    instant,
    redaction,
    sorted_parts,
    write_json,
)
from pipeline.lake import StoredLake
from pipeline.render import markdown
from pipeline.reports.cite import BENCHMARK_CITATION, TOOL_CITATION
from pipeline.serialization import write_parquet
from pipeline.sql_files import quote_identifier
from pipeline.text_format import escape_to_one_line, format_count
from pipeline.version import __version__
from pipeline.vocabulary import MAGIC_SYSTEM

# The others say where documents were, and what was refused of them.
_PUBLISHED = (*GAME_TABLES, "roles")
_KEY_OF_RESULTS = ("game_id", "seat", "model", "role")


def write(
    lake: StoredLake,
    destination: Path,
    *,
    redact: Sequence[str] = (),
    redact_names: bool = False,
    title: str = "Games of language models",
    license: str | None = None,
    date: str | None = None,
) -> Exported:
    """Writes the tables that have rows to a new folder, each sorted by its key.

    Raises UsageError for columns that cannot be left out.
    """
    redacted = redaction(lake, redact, has_pseudonyms=redact_names)
    about = Card(title, instant(lake, date), license, lake, redacted)
    tables = {name: 0 for name in _PUBLISHED if any(lake.row_counts_by_file(name).values())}
    with new_folder(destination) as folder:
        (folder / "data").mkdir()
        for table in tables:
            columns = redacted.kept(table)
            has_content = table == "messages" and "content" in columns
            rows = sorted_parts(lake, _select(lake, table, columns), has_content=has_content)
            published = map(partial(redacted.applied, table), rows)
            tables[table] = write_parquet(grouped(published), folder / file_of(table))
        (folder / "README.md").write_text(card(about, tables), encoding="utf-8")
        write_json(folder / "croissant.json", croissant(about, tables, folder))
    notes = (
        f"{format_count(len(tables), 'table')}; left out: {', '.join(redacted.columns)}",
        *(["texts can have other spellings of the models' names"] if redact_names else ()),
    )
    return Exported(destination, sum(tables.values()), notes, redacted.pseudonyms)


def _select(lake: StoredLake, table: str, columns: Sequence[str]) -> str:
    """All rows of a table in an order that no file of the lake decides."""
    order = _KEY_OF_RESULTS if table == "results" else TABLES[table].primary_key()
    texts = {"content": f"{content(lake)} AS content"} if table == "messages" else {}
    listed = ", ".join(texts.get(name, quote_identifier(name)) for name in columns)
    order_by = ", ".join(map(quote_identifier, order))
    return f"SELECT {listed} FROM {quote_identifier(table)} ORDER BY {order_by}"


# The context that version 1.0 of Croissant writes; its readers warn of any other.
_TERMS = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject"),
    *("fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField"),
    *("path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
    *("separator", "source", "subField", "transform"),
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in _TERMS},
}
_TYPES = {
    pl.Boolean: "sc:Boolean",
    pl.Float64: "sc:Float",
    pl.Int32: "sc:Integer",
    pl.Int64: "sc:Integer",
    pl.Datetime: "sc:DateTime",
}


class Card(NamedTuple):
    """What a data set is called, its date and licence, whose games it has, and what it lacks."""

    title: str
    at: datetime
    license: str | None
    lake: StoredLake
    redaction: Redaction

    @property
    def systems(self) -> Sequence[str]:
        """Whose games these are."""
        return [self.lake.system] if self.lake.system else [*self.lake.systems]

    @property
    def state(self) -> str:
        """Whose games these are, and as of when; without the names of models."""
        systems = ", ".join(self.systems)
        at = f"after ingest {self.lake.ingest_id}; written by magic-pipeline {__version__}"
        return self.redaction.in_text(
            f"games of {escape_to_one_line(systems) or 'no system'}, {at}"
        )


def card(about: Card, tables: Mapping[str, int]) -> str:
    """The data card: a head in YAML, which JSON is, and Markdown for people."""
    head = {
        "pretty_name": about.title,
        **({"license": about.license} if about.license else {}),
        "tags": ["games", "language-models", "multi-agent"],
        "configs": [{"config_name": table, "data_files": file_of(table)} for table in tables],
    }
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in head.items())
    names = about.lake.describe_merged_names if not about.redaction.pseudonyms else ""
    rows = (
        f"| `{file_of(table)}` | {n_rows:,} | {markdown.escape_markdown(row_description(table))} "
        "|\n"
        for table, n_rows in tables.items()
    )
    body = _BODY.format(
        title=markdown.format_heading(about.title, 1),
        state=markdown.escape_markdown(about.state),
        at=about.at,
        joined=f"Names of models are joined: {markdown.escape_markdown(names)}.\n\n"
        if names
        else "",
        rows="".join(rows),
        columns="".join(f"- `{name}`\n" for name in about.redaction.columns),
        pseudonyms=_PSEUDONYMS if about.redaction.pseudonyms else "",
        license=markdown.escape_markdown(about.license or "none stated"),
        cited="".join(
            f"- {one}\n"
            for one in (TOOL_CITATION, *[BENCHMARK_CITATION] * (MAGIC_SYSTEM in about.systems))
        ),
    )
    return f"---\n{lines}---\n\n{body}"


_BODY = """{title}The {state}. Date: {at:%Y-%m-%d}.

{joined}`croissant.json` says what each column means. Tables are joined by `game_id`.

| file | rows | a row is |
|---|--:|---|
{rows}
```python
import polars as pl

games = pl.read_parquet("data/games.parquet")
```

## What is left out

Documents and what was refused of them, and these columns:

{columns}{pseudonyms}
## Licence and citation

Licence: {license}.

{cited}"""
_PSEUDONYMS = """
Models have pseudonyms. In texts their names are replaced where they are spelt exactly as logs \
name them. Other spellings, makers, and what a model says of itself can be left. Hashes are of the \
original documents: whoever has these can tell the models.
"""


def file_of(table: str) -> str:
    """Where the table is in a data set."""
    return f"data/{table}.parquet"


def croissant(about: Card, tables: Iterable[str], folder: Path) -> dict[str, Any]:
    """The metadata of Croissant 1.0: a file in the folder and a record set for each table."""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": about.title,
        "description": f"Event tables of {about.state}.",
        **({"license": about.license} if about.license else {}),
        "citeAs": TOOL_CITATION,
        "datePublished": f"{about.at:%Y-%m-%d}",
        "version": "1.0.0",
        "distribution": [_file(file_of(table), folder) for table in tables],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table,
                "name": display_name(table),
                "description": row_description(table),
                "key": [{"@id": f"{table}/{name}"} for name in TABLES[table].primary_key()],
                "field": [_field(table, name) for name in about.redaction.kept(table)],
            }
            for table in tables
        ],
    }


def _file(name: str, folder: Path) -> dict[str, Any]:
    with (folder / name).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "contentUrl": name,
        "contentSize": f"{(folder / name).stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": digest,
    }


def _field(table: str, name: str) -> dict[str, Any]:
    declared = TABLES[table].columns()[name]
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{name}",
        "name": name,
        "description": declared.description,
        "dataType": _TYPES.get(declared.dtype.base_type(), "sc:Text"),
        "repeated": isinstance(declared.dtype, pl.List),
        "source": {"fileObject": {"@id": file_of(table)}, "extract": {"column": name}},
    }
