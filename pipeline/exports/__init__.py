"""Exports of a lake's results and games in formats that other tools read.

Each kind of export is a module of this package, with underscores instead of hyphens. Its function
`write` creates a file or folder, and its parameters are the options of the kind. The output
depends only on the lake's state and on these options, so a repeated export has the same bytes. Used
by `magic export` and `Lake.export`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, get_args

import polars as pl
from msgspec import Struct, json
from msgspec.structs import replace

from pipeline.errors import UsageError, known_names_hint
from pipeline.events.contracts import TABLES, table_schema
from pipeline.lake import StoredLake
from pipeline.lake.row_stream import has_long_message_texts, iter_with_message_texts
from pipeline.lake.tables import COMMITS_TABLE
from pipeline.metrics import DEFAULT_CONFIDENCE
from pipeline.metrics.registry import lake_method
from pipeline.metrics.request import as_list
from pipeline.vocabulary import LOSS, PAPER, Edition, ExportKind

# The result of an export, and functions that several kinds of exports use.

ROW_GROUP_ROWS = 100_000
ROW_GROUP_BYTES = 2**25


class ExportResult(Struct, frozen=True):
    """What an export wrote.

    Attributes:
        path: The file or folder.
        n_rows: The number of rows, or of values and samples.
        notes: What was left out.
        pseudonyms: The pseudonym of each model; empty without pseudonyms.
    """

    path: Path
    n_rows: int
    notes: tuple[str, ...] = ()
    pseudonyms: Mapping[str, str] = {}

    @property
    def n_bytes(self) -> int:
        """The total size of the written files in bytes."""
        files = (self.path, *self.path.rglob("*"))
        return sum(file.stat().st_size for file in files if file.is_file())


def parse_date_or_last_ingest_date(lake: StoredLake, date: str | None) -> datetime:
    """Return the date of an export in UTC, by default the time of the lake's last ingest.

    Args:
        lake: The exported lake.
        date: A date or time in ISO format; without a time zone it is in UTC. If it is None and
            the lake is empty, the result is the start of 1970.

    Raises:
        UsageError: If `date` is not in ISO format.
    """
    last_finished_at = (lake.last_ingest or {}).get("finished_at", "1970-01-01")
    try:
        instant = datetime.fromisoformat(date or str(last_finished_at))
        return instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{date!r} is not a date: write one such as 2026-11-27") from None


def write_json_file(file: Path, value: Any) -> None:
    """Write a value to a new file as indented JSON."""
    file.write_bytes(json.format(json.encode(value), indent=1) + b"\n")


def message_text_sql_expression(lake: StoredLake) -> str:
    """Return the SQL expression that selects message texts in `iter_select_rows_in_parts`.

    If the lake has long texts, only their lengths are selected and sorted, and the texts are joined
    afterwards.
    """
    return "strlen(messages.content)" if has_long_message_texts(lake) else "messages.content"


def iter_select_rows_in_parts(
    lake: StoredLake, select: str, *, has_message_texts: bool = False
) -> Iterator[pl.DataFrame]:
    """Run a SELECT with an ORDER BY clause, and yield its rows in parts that fit in memory.

    Rows that do not fit in memory are sorted on disk. The SELECT must not come from a user.

    Args:
        lake: The lake that the SELECT reads.
        select: The SQL statement.
        has_message_texts: Whether it selects `message_text_sql_expression`.

    Yields:
        At least one frame.
    """
    # Imported here, so that exports without DuckDB do not have to load it.
    from pipeline.warehouse import connect_with_memory_limit, iter_polars_batches

    with connect_with_memory_limit(lake, {}, select, sorts_texts=True) as connection:
        rows = iter_polars_batches(connection, select)
        yield from iter_with_message_texts(lake, rows) if has_message_texts else rows


def iter_frames_of_row_group_size(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Combine frames into larger frames, each of which becomes a row group of a Parquet file.

    Args:
        parts: Frames of any size.

    Yields:
        Frames of at least `ROW_GROUP_ROWS` rows or `ROW_GROUP_BYTES` bytes; the last one can be
        smaller.
    """
    waiting_frames: list[pl.DataFrame] = []
    for rows in parts:
        waiting_frames.append(rows)
        n_rows = sum(part.height for part in waiting_frames)
        if (
            n_rows >= ROW_GROUP_ROWS
            or sum(part.estimated_size() for part in waiting_frames) >= ROW_GROUP_BYTES
        ):
            yield pl.concat(waiting_frames)
            waiting_frames = [rows.clear()]
    yield pl.concat(waiting_frames)


def iter_frames_with_complete_keys(
    sorted_frames: Iterable[pl.DataFrame], key_columns: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Divide sorted rows into other frames, so that rows with equal keys are in the same frame.

    Args:
        sorted_frames: Frames whose rows are sorted by the key, within and across frames.
        key_columns: The columns of the key.

    Yields:
        All rows in the same order.
    """
    frames_with_last_key: list[pl.DataFrame] = []
    has_last_key = pl.all_horizontal(
        pl.col(name).eq_missing(pl.col(name).last()) for name in key_columns
    )
    for rows in sorted_frames:
        combined = pl.concat([*frames_with_last_key, rows])
        yield combined.filter(~has_last_key)
        frames_with_last_key = [combined.filter(has_last_key)]
    yield from frames_with_last_key


# Redaction: columns that are not published, and names that are replaced.
#
# The folder of a log is never published. Other columns are removed on request. Models can get
# pseudonyms: the column `model` is replaced as a whole, and in texts each occurrence of a name that
# is not part of a longer word. Other spellings of a name are not replaced.

# A folder on the machine of the ingest, often with the name of a user.
ALWAYS_REDACTED = ("games.source",)
# Columns that contain names of models in forms that cannot be replaced.
REDACTED_WITH_NAMES = ("games.path", "games.assigned_model")


class Redaction(Struct, frozen=True, dict=True):
    """The columns to leave out of an export, and the pseudonyms of models.

    Attributes:
        columns: The columns as `table.column`.
        pseudonyms: The pseudonym of each model.
    """

    columns: tuple[str, ...]
    pseudonyms: Mapping[str, str] = {}

    @cached_property
    def _pseudonyms_by_spelling(self) -> dict[str, str]:
        """The pseudonyms by the name of the model, and by its spelling in JSON."""
        names = {name: text for name, text in self.pseudonyms.items() if name.strip()}
        return names | {json.encode(name)[1:-1].decode(): text for name, text in names.items()}

    @cached_property
    def _model_name_pattern(self) -> re.Pattern[str]:
        # A longer name comes first, because it can begin with a shorter one.
        spellings = sorted(self._pseudonyms_by_spelling, key=len, reverse=True)
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, spellings))})(?![^\W_])")

    def published_columns(self, table: str) -> list[str]:
        """Return the names of a table's columns that are not left out of the export."""
        return [name for name in table_schema(table) if f"{table}.{name}" not in self.columns]

    def redact_rows(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows of a table without the columns to leave out, and with pseudonyms of models.

        Args:
            table: The name of the event table.
            rows: Rows of the table.
        """
        specs = TABLES[table].columns()
        text_columns = [
            name
            for name in self.published_columns(table)
            if specs[name].dtype in (pl.String, pl.List(pl.String))
            and name != "model"
            and not specs[name].words
            and not specs[name].regex
            and self._pseudonyms_by_spelling
        ]
        return rows.select(self.published_columns(table)).with_columns(
            pl.col("^model$").replace(dict(self.pseudonyms)),
            *(self._replace_model_names_in_column(rows[name]) for name in text_columns),
        )

    def replace_model_names(self, text: str) -> str:
        """Return a text with pseudonyms in place of the names of models."""
        pseudonyms = self._pseudonyms_by_spelling
        if not pseudonyms:
            return text
        return self._model_name_pattern.sub(lambda match: pseudonyms[match[0]], text)

    def _replace_model_names_in_column(self, texts: pl.Series) -> pl.Series:
        is_list = isinstance(texts.dtype, pl.List)
        distinct_texts = (texts.explode() if is_list else texts).drop_nulls().unique()
        # Searching for any name is fast, and few texts contain one. Equal texts are replaced once.
        texts_with_names = distinct_texts.filter(
            distinct_texts.str.contains_any([*self._pseudonyms_by_spelling])
        )
        replaced_texts = {text: self.replace_model_names(text) for text in texts_with_names}
        if not is_list or not replaced_texts:
            return texts.replace(replaced_texts) if replaced_texts else texts
        lists = [
            text_list and [replaced_texts.get(text, text) for text in text_list]
            for text_list in texts.to_list()
        ]
        return pl.Series(texts.name, lists, texts.dtype)


def create_redaction(
    lake: StoredLake, omitted_columns: Sequence[str], *, has_pseudonyms: bool
) -> Redaction:
    """Return the columns to leave out of an export, and the pseudonym of each model.

    The folder of the logs is always left out. Pseudonyms are numbered in an order that only the
    lake determines; it is the same in each export of the lake.

    Args:
        lake: The exported lake.
        omitted_columns: Further columns to leave out, as `table.column`.
        has_pseudonyms: Whether models get pseudonyms.

    Raises:
        UsageError: If a column is unknown or identifies rows.
    """
    all_columns = [f"{table}.{name}" for table in TABLES for name in table_schema(table)]
    if unknown_columns := [name for name in omitted_columns if name not in all_columns]:
        table, _, _ = unknown_columns[0].partition(".")
        table_columns = ", ".join(name for name in all_columns if name.startswith(f"{table}."))
        hint = (
            f"choose from {table_columns}" if table_columns else known_names_hint([table], TABLES)
        )
        raise UsageError(f"no column {', '.join(unknown_columns)}: {hint}")
    keys = {f"{table}.{name}" for table in TABLES for name in TABLES[table].primary_key()}
    if omitted_keys := [
        name for name in omitted_columns if name in keys or name.endswith(".game_id")
    ]:
        raise UsageError(
            f"{', '.join(omitted_keys)} identifies rows and cannot be left out: "
            "choose other columns"
        )
    if not has_pseudonyms:
        return Redaction(tuple(dict.fromkeys((*ALWAYS_REDACTED, *omitted_columns))))
    models = lake.table("players").select(pl.col("model").unique()).drop_nulls().collect()["model"]
    # A hash of the names alone would let anybody who guesses the names compute their order.
    lake_id = lake.delta_table(COMMITS_TABLE).metadata().id
    ordered_models = sorted(models, key=lambda name: sha256(f"{lake_id}/{name}".encode()).digest())
    pseudonyms = {name: f"model-{number}" for number, name in enumerate(ordered_models, start=1)}
    # Texts contain the names of the logs, also if these are counted under another name.
    pseudonyms |= {
        name: pseudonyms[merged_name]
        for name, merged_name in lake.names.items()
        if merged_name in pseudonyms
    }
    return Redaction(
        tuple(dict.fromkeys((*ALWAYS_REDACTED, *REDACTED_WITH_NAMES, *omitted_columns))), pseudonyms
    )


EXPORT_KINDS: tuple[ExportKind, ...] = get_args(ExportKind)
SINGLE_SYSTEM_EXPORTS: tuple[ExportKind, ...] = ("every-eval-ever", "battles")


@lake_method
def export(
    lake: StoredLake,
    kind: ExportKind,
    destination: str | Path,
    *,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
    without_samples: bool = False,
    organization: str | None = None,
    redact: str | Sequence[str] | None = None,
    redact_names: bool = False,
    title: str | None = None,
    license: str | None = None,
    date: str | None = None,
) -> ExportResult:
    """Write the lake's results or games to a new file or folder, in the format of another tool.

    `kind` is one of these:

    - `every-eval-ever`: the values of each metric, and the rows that they count unless
      `without_samples`.
    - `inspect-scout`: a transcript for each tested seat, as Parquet.
    - `battles`: pairs of models with opposed results, as .parquet or .csv.
    - `dataset`: the event tables as Parquet, with a data card. The columns in `redact`, such as
      `messages.content`, are left out; with `redact_names`, models have pseudonyms.

    `every-eval-ever` and `battles` export one system. `date` is the date in the files, in ISO
    format, by default that of the last ingest. The file or folder appears when it is complete.

    Raises UsageError for an unknown kind, for an option that the kind does not have, and if the
    destination exists; raises PipelineError if the output cannot be written.

    >>> from tempfile import mkdtemp
    >>> lake.export("battles", f"{mkdtemp()}/battles.parquet").n_rows
    96
    """
    if kind not in EXPORT_KINDS:
        raise UsageError(f"no export `{kind}`: {known_names_hint([kind], EXPORT_KINDS)}")
    options = {
        "edition": edition,
        "confidence": confidence,
        "without_samples": without_samples,
        "organization": organization,
        "redact": as_list(redact),
        "redact_names": redact_names,
        "title": title,
        "license": license,
        "date": date,
    }
    defaults = signature(export).parameters
    changed_options = {
        name: value
        for name, value in options.items()
        if value not in (None, defaults[name].default)
    }
    write: Callable[..., ExportResult] = import_module(f"{__name__}.{kind.replace('-', '_')}").write
    if unknown_options := changed_options.keys() - signature(write).parameters.keys():
        raise UsageError(f"the export {kind} has no option {', '.join(sorted(unknown_options))}")
    lake = lake.for_single_system() if kind in SINGLE_SYSTEM_EXPORTS else lake
    if kind != "every-eval-ever" and lake.failures == LOSS:
        raise UsageError(
            f"the export {kind} contains games as logged: failed games cannot be losses"
        )
    result = write(lake, Path(destination), **changed_options)
    is_empty = not sum(lake.row_counts_by_file("games").values())
    return replace(result, notes=("the lake has no games",)) if is_empty else result
