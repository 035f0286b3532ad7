"""Export of a data set: event tables as Parquet, with a data card and Croissant metadata.

Called by `pipeline.exports.export`, which also has the redaction of columns and names.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from pipeline.atomic_files import atomic_new_folder
from pipeline.column import display_name
from pipeline.events.contracts import GAME_TABLES, TABLES, row_description
from pipeline.exports import (
    ExportResult,
    Redaction,
    create_redaction,
    iter_frames_of_row_group_size,
    iter_select_rows_in_parts,
    message_text_sql_expression,
    parse_date_or_last_ingest_date,
    write_json_file,
)
from pipeline.lake import StoredLake
from pipeline.render import markdown
from pipeline.reports.cite import BENCHMARK_CITATION, TOOL_CITATION
from pipeline.serialization import write_parquet
from pipeline.sql_files import quote_identifier
from pipeline.text_format import escape_to_one_line, format_count
from pipeline.version import __version__
from pipeline.vocabulary import MAGIC_SYSTEM

# Other tables contain locations of documents and the contents of quarantined documents.
_PUBLISHED_TABLES = (*GAME_TABLES, "roles")
_RESULTS_KEY = ("game_id", "seat", "model", "role")


def write(
    lake: StoredLake,
    destination: Path,
    *,
    redact: Sequence[str] = (),
    redact_names: bool = False,
    title: str = "Games of language models",
    license: str | None = None,
    date: str | None = None,
) -> ExportResult:
    """Write the event tables to a new folder as Parquet files, with a data card and metadata.

    Tables without rows are not written. Rows are sorted by the key of their table.

    Args:
        lake: The exported lake.
        destination: The new folder.
        redact: Columns to leave out, as `table.column`.
        redact_names: Whether models get pseudonyms.
        title: The title of the data set.
        license: The licence of the data set.
        date: The date of the data set in ISO format; by default that of the last ingest.

    Returns:
        The number of rows, notes on the columns that were left out, and the pseudonyms.

    Raises:
        UsageError: If a column is unknown or cannot be left out.
    """
    redaction = create_redaction(lake, redact, has_pseudonyms=redact_names)
    data_card = DataCard(
        title, parse_date_or_last_ingest_date(lake, date), license, lake, redaction
    )
    tables = {name: 0 for name in _PUBLISHED_TABLES if any(lake.row_counts_by_file(name).values())}
    with atomic_new_folder(destination) as folder:
        (folder / "data").mkdir()
        for table in tables:
            columns = redaction.published_columns(table)
            rows = iter_select_rows_in_parts(
                lake,
                _select_in_key_order(lake, table, columns),
                has_message_texts=table == "messages" and "content" in columns,
            )
            redacted_rows = map(partial(redaction.redact_rows, table), rows)
            tables[table] = write_parquet(
                iter_frames_of_row_group_size(redacted_rows), folder / relative_table_path(table)
            )
        (folder / "README.md").write_text(format_data_card(data_card, tables), encoding="utf-8")
        write_json_file(folder / "croissant.json", croissant_metadata(data_card, tables, folder))
    notes = (
        f"{format_count(len(tables), 'table')}; left out: {', '.join(redaction.columns)}",
        *(["texts can contain other spellings of the models' names"] if redact_names else ()),
    )
    return ExportResult(destination, sum(tables.values()), notes, redaction.pseudonyms)


def _select_in_key_order(lake: StoredLake, table: str, columns: Sequence[str]) -> str:
    """Return the SQL that selects columns of a table, with the rows in the order of its key."""
    order = _RESULTS_KEY if table == "results" else TABLES[table].primary_key()
    expressions = (
        {"content": f"{message_text_sql_expression(lake)} AS content"}
        if table == "messages"
        else {}
    )
    column_list = ", ".join(expressions.get(name, quote_identifier(name)) for name in columns)
    order_by = ", ".join(map(quote_identifier, order))
    return f"SELECT {column_list} FROM {quote_identifier(table)} ORDER BY {order_by}"


# The context of Croissant 1.0; readers warn about any other context.
_CROISSANT_TERMS = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject"),
    *("fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField"),
    *("path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate"),
    *("separator", "source", "subField", "transform"),
)
_CROISSANT_CONTEXT: dict[str, Any] = {
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
    **{term: f"cr:{term}" for term in _CROISSANT_TERMS},
}
_CROISSANT_TYPES = {
    pl.Boolean: "sc:Boolean",
    pl.Float64: "sc:Float",
    pl.Int32: "sc:Integer",
    pl.Int64: "sc:Integer",
    pl.Datetime: "sc:DateTime",
}


class DataCard(NamedTuple):
    """The facts of a data set that its card and metadata state.

    Attributes:
        title: The title of the data set.
        published_at: The date of the data set.
        license: The licence; None if none is stated.
        lake: The exported lake.
        redaction: The columns and names that are left out.
    """

    title: str
    published_at: datetime
    license: str | None
    lake: StoredLake
    redaction: Redaction

    @property
    def exported_systems(self) -> Sequence[str]:
        """The systems (harnesses) that ran the exported games."""
        return [self.lake.system] if self.lake.system else [*self.lake.systems]

    @property
    def state_and_version_text(self) -> str:
        """The text "games of SYSTEMS, after ingest N; written by magic-pipeline VERSION"."""
        systems = ", ".join(self.exported_systems)
        provenance = f"after ingest {self.lake.ingest_id}; written by magic-pipeline {__version__}"
        return self.redaction.replace_model_names(
            f"games of {escape_to_one_line(systems) or 'no system'}, {provenance}"
        )


def format_data_card(data_card: DataCard, row_counts: Mapping[str, int]) -> str:
    """Return the text of the data card README.md: a YAML header, and Markdown for readers.

    Args:
        data_card: The facts of the data set.
        row_counts: The number of rows of each table.
    """
    header = {
        "pretty_name": data_card.title,
        **({"license": data_card.license} if data_card.license else {}),
        "tags": ["games", "language-models", "multi-agent"],
        "configs": [
            {"config_name": table, "data_files": relative_table_path(table)} for table in row_counts
        ],
    }
    header_lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in header.items())
    merged_names = data_card.lake.merged_names_text if not data_card.redaction.pseudonyms else ""
    table_rows = (
        f"| `{relative_table_path(table)}` | {n_rows:,} "
        f"| {markdown.escape_text(row_description(table))} |\n"
        for table, n_rows in row_counts.items()
    )
    body = _CARD_TEMPLATE.format(
        title=markdown.format_heading(data_card.title, 1),
        state=markdown.escape_text(data_card.state_and_version_text),
        at=data_card.published_at,
        joined=f"Several names of a model are merged: {markdown.escape_text(merged_names)}.\n\n"
        if merged_names
        else "",
        rows="".join(table_rows),
        columns="".join(f"- `{name}`\n" for name in data_card.redaction.columns),
        pseudonyms=_PSEUDONYMS_TEXT if data_card.redaction.pseudonyms else "",
        license=markdown.escape_text(data_card.license or "none stated"),
        cited="".join(
            f"- {citation}\n"
            for citation in (
                TOOL_CITATION,
                *[BENCHMARK_CITATION] * (MAGIC_SYSTEM in data_card.exported_systems),
            )
        ),
    )
    return f"---\n{header_lines}---\n\n{body}"


_CARD_TEMPLATE = """{title}The {state}. Date: {at:%Y-%m-%d}.

{joined}`croissant.json` says what each column means. Tables are joined by `game_id`.

| file | rows | a row is |
|---|--:|---|
{rows}
```python
import polars as pl

games = pl.read_parquet("data/games.parquet")
```

## What is left out

The original documents, the rejected parts of them, and these columns:

{columns}{pseudonyms}
## Licence and citation

Licence: {license}.

{cited}"""
_PSEUDONYMS_TEXT = """
Models have pseudonyms. In texts, their names are replaced only where they are spelt exactly as in \
the logs. Other spellings, names of developers, and what a model says about itself can remain. \
Hashes are those of the original documents: anybody who has these can identify the models.
"""


def relative_table_path(table: str) -> str:
    """Return the path of a table's Parquet file relative to the folder of the data set."""
    return f"data/{table}.parquet"


def croissant_metadata(data_card: DataCard, tables: Iterable[str], folder: Path) -> dict[str, Any]:
    """Return the content of croissant.json, machine-readable metadata of the files and columns.

    Args:
        data_card: The facts of the data set.
        tables: The names of the tables.
        folder: The folder with the written files, whose hashes are in the metadata.
    """
    return {
        "@context": _CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": data_card.title,
        "description": f"Event tables of {data_card.state_and_version_text}.",
        **({"license": data_card.license} if data_card.license else {}),
        "citeAs": TOOL_CITATION,
        "datePublished": f"{data_card.published_at:%Y-%m-%d}",
        "version": "1.0.0",
        "distribution": [_file_metadata(relative_table_path(table), folder) for table in tables],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": table,
                "name": display_name(table),
                "description": row_description(table),
                "key": [{"@id": f"{table}/{name}"} for name in TABLES[table].primary_key()],
                "field": [
                    _field_metadata(table, name)
                    for name in data_card.redaction.published_columns(table)
                ],
            }
            for table in tables
        ],
    }


def _file_metadata(name: str, folder: Path) -> dict[str, Any]:
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


def _field_metadata(table: str, name: str) -> dict[str, Any]:
    spec = TABLES[table].columns()[name]
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{name}",
        "name": name,
        "description": spec.description,
        "dataType": _CROISSANT_TYPES.get(spec.dtype.base_type(), "sc:Text"),
        "repeated": isinstance(spec.dtype, pl.List),
        "source": {"fileObject": {"@id": relative_table_path(table)}, "extract": {"column": name}},
    }
