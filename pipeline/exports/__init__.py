"""A lake's results and games in the forms that other people's tools read.

A kind of export is a module of its name, with underscores for hyphens. Its function `write` makes a
new file or folder; its parameters are the options that the kind has. What it writes depends on the
lake's state and these options alone: the same again is the same bytes.
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

from pipeline.errors import UsageError, suggest_names
from pipeline.events.contracts import TABLES, table_schema
from pipeline.lake import StoredLake
from pipeline.lake.row_stream import has_long_texts, iter_with_texts
from pipeline.lake.tables import COMMITS_TABLE
from pipeline.metrics import DEFAULT_CONFIDENCE
from pipeline.metrics.registry import lake_method
from pipeline.metrics.request import as_list
from pipeline.vocabulary import LOSS, PAPER, Edition, ExportKind

# What an export wrote, and what several kinds of exports do likewise.

GROUP_ROWS = 100_000
GROUP_BYTES = 2**25


class Exported(Struct, frozen=True):
    """What an export wrote: its file or folder, and how many rows, or values and samples.

    `notes` say what was left out. `pseudonyms` has the name that each model got, where any did.
    """

    path: Path
    n_rows: int
    notes: tuple[str, ...] = ()
    pseudonyms: Mapping[str, str] = {}

    @property
    def n_bytes(self) -> int:
        """The bytes of all its files."""
        files = (self.path, *self.path.rglob("*"))
        return sum(file.stat().st_size for file in files if file.is_file())


def instant(lake: StoredLake, date: str | None) -> datetime:
    """The instant that files have, in UTC: the one given, or else that of the last ingest.

    Raises UsageError for a text that is no date.
    """
    last = (lake.last_ingest or {}).get("finished_at", "1970-01-01")
    try:
        at = datetime.fromisoformat(date or str(last))
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{date!r} is no date: write one such as 2026-11-27") from None


def write_json(file: Path, value: Any) -> None:
    """Writes a value as JSON for people."""
    file.write_bytes(json.format(json.encode(value), indent=1) + b"\n")


def content(lake: StoredLake) -> str:
    """The texts of `messages` in a SELECT for `sorted_parts`: of long ones, their lengths."""
    return "strlen(messages.content)" if has_long_texts(lake) else "messages.content"


def sorted_parts(
    lake: StoredLake, select: str, *, has_content: bool = False
) -> Iterator[pl.DataFrame]:
    """The rows of a SELECT of our own, some at a time; at least one part.

    What memory cannot sort goes to the disk. `has_content` says that they have texts of messages.
    """
    # Imported here, so that what is exported without DuckDB does not wait for it.
    from pipeline.warehouse import connect_with_memory_limit, iter_parts

    with connect_with_memory_limit(lake, {}, select, sorts_texts=True) as connection:
        rows = iter_parts(connection, select)
        yield from iter_with_texts(lake, rows) if has_content else rows


def grouped(parts: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The rows in parts that are as large as row groups should be; the last one may be smaller."""
    held: list[pl.DataFrame] = []
    for rows in parts:
        held.append(rows)
        n_rows = sum(one.height for one in held)
        if n_rows >= GROUP_ROWS or sum(one.estimated_size() for one in held) >= GROUP_BYTES:
            yield pl.concat(held)
            held = [rows.clear()]
    yield pl.concat(held)


def whole(parts: Iterable[pl.DataFrame], keys: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Sorted rows in parts that have all rows of each of their keys."""
    held: list[pl.DataFrame] = []
    is_last = pl.all_horizontal(pl.col(key).eq_missing(pl.col(key).last()) for key in keys)
    for rows in parts:
        together = pl.concat([*held, rows])
        yield together.filter(~is_last)
        held = [together.filter(is_last)]
    yield from held


# What is left out of published tables, and what is replaced in them.
#
# A file's folder is never published. Columns go when asked. Models get pseudonyms, and what repeats
# their names: `model` as a whole, and in texts each occurrence that stands between signs which are
# no letters and no digits. Spellings that differ in any way stay.

# A folder of somebody's machine, often with a user's name.
ALWAYS = ("games.source",)
# What says models in ways that cannot be replaced name by name.
WITH_NAMES = ("games.path", "games.assigned_model")


class Redaction(Struct, frozen=True, dict=True):
    """The columns to leave out, as `table.column`, and the pseudonyms of models."""

    columns: tuple[str, ...]
    pseudonyms: Mapping[str, str] = {}

    @cached_property
    def _in_texts(self) -> dict[str, str]:
        """The pseudonym by each name to look for in texts, also as JSON spells it.

        The longest names come first.
        """
        named = {name: known for name, known in self.pseudonyms.items() if name.strip()}
        named |= {json.encode(name)[1:-1].decode(): known for name, known in named.items()}
        return {name: named[name] for name in sorted(named, key=len, reverse=True)}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, self._in_texts))})(?![^\W_])")

    def kept(self, table: str) -> list[str]:
        """The columns that are published of a table."""
        return [name for name in table_schema(table) if f"{table}.{name}" not in self.columns]

    def applied(self, table: str, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of a table's `kept` columns with the names replaced."""
        declared = TABLES[table].columns()
        free = [
            name
            for name in self.kept(table)
            if declared[name].dtype in (pl.String, pl.List(pl.String))
            and name != "model"
            and not declared[name].words
            and not declared[name].regex
        ]
        model = pl.col("^model$").replace(dict(self.pseudonyms))
        return rows.select(self.kept(table)).with_columns(
            model, *(self._replaced(rows[name]) for name in free if self._in_texts)
        )

    def in_text(self, text: str) -> str:
        """A text with the names in it replaced."""
        known = self._in_texts
        return self._pattern.sub(lambda name: known[name[0]], text) if known else text

    def _replaced(self, texts: pl.Series) -> pl.Series:
        """Texts, or lists of texts, with the names in them replaced."""
        is_list = isinstance(texts.dtype, pl.List)
        each = (texts.explode() if is_list else texts).drop_nulls().unique()
        # To look for any name is quick, and few texts have one. Equal ones are replaced once.
        named = each.filter(each.str.contains_any([*self._in_texts]))
        again = {text: self.in_text(text) for text in named}
        if not is_list or not again:
            return texts.replace(again) if again else texts
        lists = [one and [again.get(text, text) for text in one] for one in texts.to_list()]
        return pl.Series(texts.name, lists, texts.dtype)


def redaction(lake: StoredLake, columns: Sequence[str], *, has_pseudonyms: bool) -> Redaction:
    """What is left out and replaced. Raises UsageError for a column that is unknown, or a key.

    Pseudonyms are numbers in an order that only the lake knows, the same in each of its exports.
    """
    known = [f"{table}.{name}" for table in TABLES for name in table_schema(table)]
    if strangers := [name for name in columns if name not in known]:
        table, _, _ = strangers[0].partition(".")
        own = ", ".join(name for name in known if name.startswith(f"{table}."))
        hint = f"choose from {own}" if own else suggest_names([table], TABLES)
        raise UsageError(f"no column {', '.join(strangers)}: {hint}")
    keys = {f"{table}.{name}" for table in TABLES for name in TABLES[table].primary_key()}
    if kept := [name for name in columns if name in keys or name.endswith(".game_id")]:
        raise UsageError(f"{', '.join(kept)} tells rows apart: choose other columns to leave out")
    if not has_pseudonyms:
        return Redaction(tuple(dict.fromkeys((*ALWAYS, *columns))))
    models = lake.table("players").select(pl.col("model").unique()).drop_nulls().collect()["model"]
    # Of names alone, whoever guesses them would have the order.
    secret = lake.delta_table(COMMITS_TABLE).metadata().id
    shuffled = sorted(models, key=lambda name: sha256(f"{secret}/{name}".encode()).digest())
    names = {name: f"model-{number}" for number, name in enumerate(shuffled, start=1)}
    # Texts have the names of the logs, also where these are counted as others.
    names |= {name: names[joined] for name, joined in lake.names.items() if joined in names}
    return Redaction(tuple(dict.fromkeys((*ALWAYS, *WITH_NAMES, *columns))), names)


KINDS: tuple[ExportKind, ...] = get_args(ExportKind)
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
) -> Exported:
    """Writes the lake in a form that another tool reads, to a new file or folder.

    `kind` is one of these:

    - `every-eval-ever`: each metric's values, and what they count unless `without_samples`.
    - `inspect-scout`: a transcript for each tested seat, as Parquet.
    - `battles`: pairs of models with opposed results, as .parquet or .csv.
    - `dataset`: the event tables as Parquet, with a data card. Columns of `redact`, such as
      `messages.content`, are left out; with `redact_names`, models have pseudonyms.

    The first and the third are of one system. `date` is the one that files have, in ISO form, by
    default that of the last ingest. An option that the kind does not have raises UsageError, and so
    do a destination that is there already and an unknown kind. Raises PipelineError for what cannot
    be written. The file or folder appears when it is complete.

    >>> from tempfile import mkdtemp
    >>> lake.export("battles", f"{mkdtemp()}/battles.parquet").n_rows
    96
    """
    if kind not in KINDS:
        raise UsageError(f"no export `{kind}`: {suggest_names([kind], KINDS)}")
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
    given = {
        name: value
        for name, value in options.items()
        if value not in (None, defaults[name].default)
    }
    write: Callable[..., Exported] = import_module(f"{__name__}.{kind.replace('-', '_')}").write
    if strangers := given.keys() - signature(write).parameters.keys():
        raise UsageError(f"the export {kind} has no option {', '.join(sorted(strangers))}")
    lake = lake.for_single_system() if kind in SINGLE_SYSTEM_EXPORTS else lake
    if kind != "every-eval-ever" and lake.failures == LOSS:
        raise UsageError(f"the export {kind} has games as logs have them: none can be a loss")
    exported = write(lake, Path(destination), **given)
    is_empty = not sum(lake.row_counts_by_file("games").values())
    return replace(exported, notes=("the lake has no games",)) if is_empty else exported
