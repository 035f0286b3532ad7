"""Rows as whoever asks a lake wants them: models under one name, failed games as losses.

A map of names is the user's: exact names, and nothing by pattern or guess. It belongs to a lake
that is open; what is stored stays as it is. What a failure is, and what a loss, is written down
once, in `sql/internal/failed_results.sql`. Of results, all engines run one text in SQL.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import polars as pl

from pipeline.errors import SourceError, UsageError
from pipeline.events.contracts import polars_schema
from pipeline.sqlfiles import filled, identifier, literal

Names: TypeAlias = Mapping[str, str]
"""The name by which a model is counted, by each name that logs give it."""
_EXAMPLE = 'write [models], and below it lines such as "openai/gpt-4o" = "gpt-4o"'
_MODEL = pl.col("model")
READ = ("results", "players", "messages")
_CHANGED = ("is_finished", "parse_status", "is_win", "win_credit", "agreed", "guess_is_correct")


def names_of(given: Names | str | Path) -> dict[str, str]:
    """The map of names, of a TOML file if it is a path; names that stay the same are left out.

    Raises SourceError for a file that cannot be read, and UsageError for a map that is wrong: one
    that is no TOML or no texts, and a name that would be joined twice.
    """
    if isinstance(given, Mapping):
        place, models = "names", given
    else:
        place, models = str(given), _read(Path(given))
    for name, joined in models.items():
        if not all(isinstance(one, str) for one in (name, joined)) or not joined.strip():
            wrong = f"{place}: the name for {name!r} must be a text, not {joined!r}"
            if (dotted := _dotted(name, joined)) != name:
                wrong += f': write a name with a dot in quotes, as "{dotted}"'
            raise UsageError(wrong)
        if (last := models.get(joined, joined)) != joined:
            raise UsageError(
                f'{place}: "{name}" becomes "{joined}", which becomes "{last}": write the last '
                "name for both"
            )
    return {name: joined for name, joined in models.items() if name != joined}


def _dotted(name: str, joined: object) -> str:
    """The name as it is written: TOML cuts one without quotes at its dots, into a table each."""
    if not isinstance(joined, Mapping) or not joined:
        return name
    part, below = next(iter(joined.items()))
    return _dotted(f"{name}.{part}", below)


def _read(file: Path) -> dict[str, str]:
    import tomllib

    try:
        # Some editors begin a file with a byte order mark.
        tables = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{file}: not TOML: {error}; {_EXAMPLE}") from None
    models = tables.pop("models", None)
    if tables or not isinstance(models, dict):
        wrong = f"`{next(iter(tables))}` is not known here" if tables else "no names of models"
        raise UsageError(f"{file}: {wrong}: {_EXAMPLE}")
    return models


def in_words(names: Names) -> str:
    """Which names are joined, such as `"GPT-4o", "openai/gpt-4o" as "gpt-4o"`."""
    several: dict[str, list[str]] = {}
    for name, one in sorted(names.items()):
        several.setdefault(one, []).append(f'"{name}"')
    return "; ".join(f'{", ".join(of)} as "{one}"' for one, of in several.items())


def renamed(rows: pl.LazyFrame, names: Names) -> pl.LazyFrame:
    """The rows with each model under the name by which it is counted."""
    return rows.with_columns(_MODEL.replace(dict(names))) if names else rows


def joined(
    table: str, rows: pl.LazyFrame, names: Names, players: Callable[[], pl.LazyFrame]
) -> pl.LazyFrame:
    """The rows of a table as if logs had the joined names; `players` gives those as stored.

    A side whose seats had several names has one result, as any model in several seats.
    """
    if not names or "model" not in polars_schema(table):
        return rows
    if table != "results":
        return renamed(rows, names)
    context = pl.SQLContext(results=rows, players=players())
    select = joined_select(table, "SELECT * FROM results", "SELECT * FROM players", names)
    # SQL's groups have no order, and a lake's rows have the same each time.
    return context.execute(select, eager=False).sort("game_id", "model", "role", "seat")


def joined_select(table: str, rows: str, players: str, names: Names) -> str:
    """The SELECT of the same; `rows` and `players` are those of what is stored."""
    whens = " ".join(f"WHEN {literal(name)} THEN {literal(one)}" for name, one in names.items())
    model = f"CASE model {whens} ELSE model END"
    columns = list(map(identifier, polars_schema(table)))
    if table != "results":
        listed = (f"{model} AS model" if one == '"model"' else one for one in columns)
        return f"SELECT {', '.join(listed)} FROM ({rows}) AS stored"
    own = map(identifier, ("game_id", "model", "role", "seat", "player", "opponent"))
    others = sorted({*columns} - {*own})
    results = filled(
        "internal/joined_results",
        results=rows,
        players=players,
        joined=model,
        names=", ".join(map(literal, names)),
        columns=",\n    ".join(f"min({one}) AS {one}" for one in others),
    )
    return f"SELECT {', '.join(columns)} FROM ({results}) AS joined"


def failed_results(select: Callable[[str], str]) -> str:
    """The SELECT of the results with losses, and `is_failed`; `select` gives that of a table."""
    columns = (identifier(name) for name in polars_schema("results") if name not in _CHANGED)
    tables = {name: select(name) for name in READ}
    return filled("internal/failed_results", columns=",\n    ".join(columns), **tables)


def with_losses(table: Callable[[str], pl.LazyFrame]) -> pl.LazyFrame:
    """The same rows by polars; `table` gives the tables, with the names of models as counted."""
    context = pl.SQLContext({name: table(name) for name in READ})
    return context.execute(failed_results("SELECT * FROM {}".format), eager=False)
