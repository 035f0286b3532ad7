"""`magic schema`: the contracts of the tables, and the columns of the views beside them."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli import terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, LakeOption
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from polars.datatypes import DataTypeClass

    from pipeline.sqlfiles import View


def schema(
    *,
    table: Annotated[
        list[str] | None,
        typer.Argument(metavar="TABLE", help="Tables or views; default: every table."),
    ] = None,
    lake: LakeOption = DEFAULT_LAKE,
    form: FormOption = "table",
) -> None:
    """Describe the columns of a table or view.

    The description is the same for every lake, so the command needs no lake.

    \b
    Examples:
      magic schema votes
      magic schema judgement evidence.judgement
      magic schema --format markdown > tables.md
    """
    import polars as pl

    from pipeline.cli.output import show
    from pipeline.events.contracts import TABLES, VERSION

    wanted = list(dict.fromkeys(table or TABLES))
    views = {} if TABLES.keys() >= set(wanted) else _views(wanted)
    contracts = pl.concat([_view(name) if name in views else contract(name) for name in wanted])
    if form not in ("table", "markdown"):
        show(contracts, form)
        return
    for name in wanted:
        rows = contracts.filter(pl.col("table") == name)
        _title(f"{name}: {_meaning(name, views)}", form)
        show(rows, form, brief=_brief(rows))
        terminal.out("\n")
    if views.keys() >= set(wanted):
        return
    terminal.note(f"contract version {VERSION}; * marks key columns, ? columns that may be null")


def _title(text: str, form: str) -> None:
    from pipeline.cli.layout import wrapped

    if form == "markdown":
        terminal.out(f"### {text}\n\n")
        return
    for line in wrapped(text, terminal.width()):
        terminal.out(line, "heading")
        terminal.out("\n")
    terminal.out("\n")


def _views(wanted: list[str]) -> "dict[str, View]":
    """The views among these; raises UsageError for what is neither view nor table."""
    from pipeline.events.contracts import TABLES
    from pipeline.metrics.views import views
    from pipeline.warehouse.statements import no_table

    known = views()
    names = [*TABLES, *known]
    if strangers := [name for name in wanted if name not in names]:
        raise UsageError("; ".join(no_table(name, names) for name in strangers))
    return {name: known[name] for name in wanted if name not in TABLES}


def _meaning(name: str, views: "Mapping[str, View]") -> str:
    from pipeline.events.contracts import row_meaning

    return f"A row is {views[name].row}." if name in views else row_meaning(name)


def contract(table: str) -> "pl.DataFrame":
    """A row for each column of the table."""
    from pipeline.events.contracts import TABLES, polars_schema

    columns = TABLES[table].columns()
    rows = [
        {
            "table": table,
            "column": name,
            "type": type_name(dtype),
            "is_nullable": columns[name].nullable,
            "is_key": columns[name].primary_key,
            "low": columns[name].min,
            "high": columns[name].max,
            "words": columns[name].words,
            "pattern": columns[name].regex,
            "description": columns[name].description,
        }
        for name, dtype in polars_schema(table).items()
    ]
    return _contracts(rows)


def _view(name: str) -> "pl.DataFrame":
    """The same of a view, which no contract holds to any values."""
    from pipeline.metrics.views import views
    from pipeline.warehouse import columns
    from pipeline.warehouse.views import descriptions

    known = views()
    found, described = columns(name, known), descriptions(name, known)
    return _contracts(
        [
            {
                "table": name,
                "column": one,
                "type": type_name(dtype),
                "description": described.get(one),
            }
            for one, dtype in found.items()
        ]
    )


def _contracts(rows: list[dict[str, Any]]) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame(
        rows,
        schema={
            "table": pl.String,
            "column": pl.String,
            "type": pl.String,
            "is_nullable": pl.Boolean,
            "is_key": pl.Boolean,
            "low": pl.Float64,
            "high": pl.Float64,
            "words": pl.List(pl.String),
            "pattern": pl.String,
            "description": pl.String,
        },
    )


def type_name(dtype: "pl.DataType | DataTypeClass") -> str:
    """A type in a word or two."""
    import polars as pl

    if isinstance(dtype, pl.List):
        return f"list of {type_name(dtype.inner)}"
    if isinstance(dtype, pl.Struct):
        return f"struct of {', '.join(f'{f.name} {type_name(f.dtype)}' for f in dtype.fields)}"
    if isinstance(dtype, pl.Datetime):
        return f"timestamp, {dtype.time_zone}"
    return str(dtype).lower()


def _brief(rows: "pl.DataFrame") -> "pl.DataFrame":
    """The contract for reading: marks at the names, and one column for what values there are."""
    import polars as pl

    mark = pl.when("is_key").then(pl.lit("*")).when("is_nullable").then(pl.lit("?"))
    values = [_values(row) for row in rows.iter_rows(named=True)]
    return rows.select(
        pl.concat_str("column", mark.otherwise(pl.lit(""))),
        "type",
        pl.Series("values", values, pl.String),
        "description",
    )


def _values(row: dict[str, Any]) -> str:
    """The words, the pattern or the range that a column's values are held to."""
    if row["words"]:
        return ", ".join(row["words"])
    if row["pattern"]:
        return str(row["pattern"])
    if row["low"] is not None and row["high"] is not None:
        return f"{row['low']:g} to {row['high']:g}"
    return "" if row["low"] is None else f"≥ {row['low']:g}"
