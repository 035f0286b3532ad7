"""Event tables written by hand, stand-ins for a lake that holds them, and rows of metrics.

A table is a text of cells between `|`, under a header of column names. A cell `-` is null, a number
may be a fraction. What a row leaves empty, or the header leaves out, is filled in: by the values
given for the whole table, else with what is plain (tested, finished, read without doubt).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import polars as pl
from polars.testing import assert_frame_equal

from pipeline.events.contracts import (
    TABLES,
    VERSION,
    GameRow,
    broken_rules,
    registered_roles,
    table_schema,
)
from pipeline.games import game_definition
from pipeline.lake import StoredLake
from pipeline.lake.files import TableWriter
from pipeline.lake.stored_lake import LakeView

ENGINES = ("polars", "duckdb")
"""Those that start at once: Spark's tests are in `tests/spark`, all of them in one session."""

ODD = """Zoë's "7B" chat"""
"""A model's name with an accent, quotes of both kinds and spaces."""

PLAIN: dict[str, object] = {
    "system": "magic",
    "is_finished": True,
    "model": "m",
    "is_tested": True,
    "seat": 1,
    "round": 1,
    "parse_status": "ok",
    "is_correct": False,
    "is_own_view_stated": True,
    "is_valid": True,
    "kind": "gold",
    "choice": "cooperate",
    "text": "",
    "party": "A",
    "position": 1,
    "is_last": True,
    "setting": "{}",
    "visible_to": ["all"],
}
ANSWER = {
    "edition": pl.String,
    "metric": pl.String,
    "model": pl.String,
    "game_type": pl.String,
    "value": pl.Float64,
    "hits": pl.Float64,
    "counted": pl.Int64,
    "terms": pl.List(
        pl.Struct(
            {
                "term": pl.String,
                "weight": pl.Float64,
                "hits": pl.Float64,
                "counted": pl.Int64,
                "value": pl.Float64,
            }
        )
    ),
    "n_games": pl.Int64,
    "n_unfinished": pl.Int64,
    "n_unreadable": pl.Int64,
    "reason": pl.String,
}
_TERM = re.compile(r"(?P<term>\w+): (?P<weight>\S+) × (?P<hits>\S+) of (?P<counted>\d+)")


def grid(text: str) -> list[dict[str, str]]:
    """The text's rows, header name -> cell."""
    names, *rows = [
        [cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.strip()
    ]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _value(cell: str, dtype: pl.DataType | type[pl.DataType]) -> object:
    if cell == "-":
        return None
    if dtype == pl.Boolean:
        return {"yes": True, "no": False}[cell]
    if dtype == pl.Float64:
        return float(Fraction(cell))
    return int(cell) if dtype.is_integer() else cell


def table(name: str, text: str, **common: object) -> pl.DataFrame:
    """The event table that the text gives, checked against its contract.

    The column `game` numbers the games: it gives `game_id` and, where none is told, `game_index`.
    """
    schema = table_schema(name)
    rows = []
    for place, cells in enumerate(grid(text)):
        game = int(cells.pop("game"))
        result = {column: _value(cell, schema[column]) for column, cell in cells.items() if cell}
        rows.append(_whole(name, game, place, common | result))
    return checked(name, pl.DataFrame(rows, schema=schema))


def _whole(name: str, game: int, place: int, result: Mapping[str, object]) -> dict[str, object]:
    of_game = {"game_id": f"{game:032x}", "game_index": game, "setting_id": "f" * 32}
    row = PLAIN | of_game | {"message_index": place} | result
    role = game_definition(str(row["game_type"])).find_role(str(result.get("role", "player")))
    assert role, f"no role {result.get('role')} in {row['game_type']}"
    row |= {"role": role.name, "side": role.side}
    if row["is_tested"]:
        row["competition"] = role.competition
    if name == "results":
        # Nobody's seat where it is the whole side's result.
        row |= {"round": None, "seat": row["seat"] if role.side == "none" else None}
    return {column: row.get(column) for column in table_schema(name)}


def checked(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows; raises where they break the table's contract."""
    assert dict(rows.schema) == table_schema(name)
    broken = broken_rules(TABLES[name], rows)
    assert broken == {}, f"rows of {name} break {', '.join(broken)}: fill these columns"
    return rows


def stacked(worlds: Mapping[str, Mapping[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """The tables of several worlds as one, each world's games and models renamed by its name.

    No metric looks from one model to another, so that many worlds cost one computation.
    """
    tables: dict[str, list[pl.DataFrame]] = {}
    for world, frames in worlds.items():
        renamed = {
            "model": pl.lit(f"{world}/") + pl.col("model"),
            "game_id": pl.lit(f"{world}/") + pl.col("game_id"),
        }
        for name, rows in frames.items():
            tables.setdefault(name, []).append(rows.with_columns(**renamed))
    return {name: pl.concat(frames) for name, frames in tables.items()}


class Frames(StoredLake):
    """Tables in memory, which is all that polars asks of a lake. They are of one system."""

    systems: ClassVar = {}
    view: ClassVar = LakeView()

    def __init__(self, tables: Mapping[str, pl.DataFrame]) -> None:
        self.tables = tables

    def _table_with_merged_names(self, table: str) -> pl.LazyFrame:
        if table == "games" and table not in self.tables:
            return games_of(self.tables).lazy()
        empty = registered_roles() if table == "roles" else pl.DataFrame(schema=table_schema(table))
        return self.tables.get(table, empty).lazy()


class Files(StoredLake):
    """Tables as bare Parquet files: all that both engines ask of a lake of one system."""

    systems: ClassVar = {}
    contract_version = str(VERSION)
    states: ClassVar = dict.fromkeys(TABLES)

    def file_sizes_bytes(self, table: str) -> dict[str, int]:
        return {file.name: file.n_bytes for file in self.table_folder(table).list_files()}

    def row_counts_by_file(self, table: str) -> dict[str, int]:
        return {
            name: pl.scan_parquet(str(self.table_folder(table) / name)).collect().height
            for name in self.file_sizes_bytes(table)
        }

    @property
    def state(self) -> tuple[object, ...]:
        return (str(self.path),)

    def file_schema(self, table: str) -> dict[str, pl.DataType]:
        return dict(table_schema(table))


def games_of(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """A row for each game of the tables: what its rows share, and anything else as it comes."""
    shared = list(GameRow.columns())
    parts = [rows.select(shared) for rows in tables.values() if set(shared) <= set(rows.columns)]
    games = pl.concat(parts).unique("game_id") if parts else pl.DataFrame()
    anything = {pl.String(): "", pl.Int32(): 0, pl.Int64(): 0}
    columns = TABLES["games"].columns()
    fillers = {
        name: pl.lit(None if columns[name].nullable else anything[dtype], dtype)
        for name, dtype in table_schema("games").items()
        if name not in shared
    } | {"setting": pl.lit("{}")}
    if games.is_empty():
        return pl.DataFrame(schema=table_schema("games"))
    return games.with_columns(**fillers).select(table_schema("games").keys())


def lake_of(folder: Path, tables: Mapping[str, pl.DataFrame], n_files: int = 1) -> Files:
    """A lake in the folder that holds the tables, each in so many files; the rest are empty."""
    lake = Files(folder.resolve())
    known = {"games": games_of(tables), "roles": registered_roles()}
    for name, rows in (known | tables).items():
        lake.table_folder(name).create_folder()
        size = -(-rows.height // n_files)
        for start in range(0, rows.height, size or 1):
            writer = TableWriter(lake.table_folder(name), name)
            writer.write(rows.slice(start, size))
            writer.close()
    return lake


def results_of(
    rows: Iterable[tuple[str, int, int, float | None]],
    game_type: str = "public_good",
    first: int = 1,
) -> pl.DataFrame:
    """Results of (model, setting, index, win credit) in games numbered from `first`.

    Without a credit a game is unfinished.
    """
    text = ["game | model | setting_id | game_index | win_credit | is_finished"]
    text += [
        f"{number} | {model} | f{setting:031x} | {index} | {'-' if won is None else won} | "
        f"{'no' if won is None else 'yes'}"
        for number, (model, setting, index, won) in enumerate(rows, first)
    ]
    return table("results", "\n".join(text), game_type=game_type)


def lake_of_wins(wins: Mapping[str, Sequence[float]], first: int = 1) -> Frames:
    """Each model's games, won or not, one in each setting from 0 on."""
    rows = [(model, s, 0, won) for model, own in wins.items() for s, won in enumerate(own)]
    return Frames({"results": results_of(rows, first=first)})


def answers(metric: str, text: str) -> pl.DataFrame:
    """The rows of a metric that the text gives.

    A cell of terms is `term: weight × hits of counted, ..`; each term's value follows from it.
    Hits that are not known are `-`.
    """
    rows = []
    for cells in grid(text):
        result = {
            column: _value(cell, ANSWER[column])
            for column, cell in cells.items()
            if cell and column != "terms"
        }
        terms = [_term(match) for match in _TERM.finditer(cells["terms"])]
        rows.append({"metric": metric, "terms": terms} | result)
    return pl.DataFrame(rows, schema=ANSWER)


def _term(match: re.Match[str]) -> dict[str, object]:
    counted = int(match["counted"])
    hits = None if match["hits"] == "-" else Fraction(match["hits"])
    return {
        "term": match["term"],
        "weight": _value(match["weight"], pl.Float64),
        "hits": None if hits is None else float(hits),
        "counted": counted,
        "value": None if hits is None or not counted else float(hits / counted),
    }


def assert_same(left: pl.DataFrame, right: pl.DataFrame) -> None:
    """Asserts that names, types, order and values are equal, floats to 1e-12."""
    assert_frame_equal(left, right, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)
