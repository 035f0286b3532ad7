"""What a published data set says of itself: a data card, and Croissant metadata in JSON-LD."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from pipeline.column import words
from pipeline.events.contracts import TABLES, row_meaning
from pipeline.exports.redaction import Redaction
from pipeline.lake import StoredLake
from pipeline.present import markdown
from pipeline.reports.cite import BENCHMARK, TOOL, cite
from pipeline.version import __version__

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


class Published(NamedTuple):
    """A table of a data set: its file within the data set, where that is now, and its rows."""

    table: str
    name: str
    file: Path
    n_rows: int


class Card(NamedTuple):
    """What a data set is called, its date and licence, whose games it has, and what it lacks."""

    title: str
    at: datetime
    license: str | None
    lake: StoredLake
    redaction: Redaction

    @property
    def state(self) -> str:
        """The state of the lake in words; without the names of models."""
        return f"{cite(self.lake).state}; written by magic-pipeline {__version__}"


def card(about: Card, tables: Sequence[Published]) -> str:
    """The data card: a head in YAML, which JSON is, and Markdown for people."""
    head: dict[str, Any] = {"pretty_name": about.title}
    head |= {"license": about.license} if about.license else {}
    head["tags"] = ["games", "language-models", "multi-agent"]
    configs = [{"config_name": one.table, "data_files": one.name} for one in tables]
    lines = [f"{key}: {json.dumps(value)}\n" for key, value in head.items()]
    lines += ["configs:\n", *(f"- {json.dumps(one)}\n" for one in configs)]
    return f"---\n{''.join(lines)}---\n\n{''.join(_body(about, tables))}"


def _body(about: Card, tables: Sequence[Published]) -> Iterator[str]:
    yield markdown.heading(about.title, 1)
    yield f"{markdown.escaped(about.state)}. Date: {about.at:%Y-%m-%d}.\n\n"
    yield "`croissant.json` says what each column means. Tables are joined by `game_id`.\n\n"
    yield "| file | rows | a row is |\n|---|--:|---|\n"
    for one in tables:
        meaning = markdown.escaped(row_meaning(one.table))
        yield f"| `{one.name}` | {one.n_rows:,} | {meaning} |\n"
    yield "\n```python\nimport polars as pl\n\n"
    yield 'games = pl.read_parquet("data/games.parquet")\n```\n\n'
    yield markdown.heading("What is left out")
    yield "Documents and what was refused of them, and these columns:\n\n"
    yield "".join(f"- `{name}`\n" for name in about.redaction.columns)
    if about.redaction.pseudonyms:
        yield "\nModels have pseudonyms. "
        yield "In texts their names are replaced where they are spelt exactly as logs name them. "
        yield "Other spellings, makers, and what a model says of itself can be left. "
        yield "Hashes are of the original documents: whoever has these can tell the models.\n"
    yield "\n" + markdown.heading("Licence and citation")
    license = markdown.escaped(about.license or "none stated")
    yield f"Licence: {license}.\n\n- {TOOL}\n- {BENCHMARK}\n"


def croissant(about: Card, tables: Sequence[Published]) -> dict[str, Any]:
    """The metadata of Croissant 1.0: a file and a record set for each table."""
    license = {"license": about.license} if about.license else {}
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": about.title,
        "description": f"Event tables of games that language models played: {about.state}.",
        **license,
        "citeAs": TOOL,
        "datePublished": f"{about.at:%Y-%m-%d}",
        "version": "1.0.0",
        "distribution": [_file(one) for one in tables],
        "recordSet": [_records(one, about.redaction) for one in tables],
    }


def _file(one: Published) -> dict[str, Any]:
    with one.file.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return {
        "@type": "cr:FileObject",
        "@id": one.name,
        "name": one.name,
        "contentUrl": one.name,
        "contentSize": f"{one.file.stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": digest,
    }


def _records(one: Published, redaction: Redaction) -> dict[str, Any]:
    kept, key = redaction.kept(one.table), TABLES[one.table].primary_key()
    keys = [{"@id": f"{one.table}/{name}"} for name in key]
    return {
        "@type": "cr:RecordSet",
        "@id": one.table,
        "name": words(one.table),
        "description": row_meaning(one.table),
        **({"key": keys} if keys else {}),
        "field": [_field(one, name) for name in kept],
    }


def _field(one: Published, name: str) -> dict[str, Any]:
    declared = TABLES[one.table].columns()[name]
    is_list = isinstance(declared.dtype, pl.List)
    return {
        "@type": "cr:Field",
        "@id": f"{one.table}/{name}",
        "name": name,
        "description": declared.description,
        "dataType": _TYPES.get(declared.dtype.base_type(), "sc:Text"),
        **({"repeated": True} if is_list else {}),
        "source": {"fileObject": {"@id": one.name}, "extract": {"column": name}},
    }
