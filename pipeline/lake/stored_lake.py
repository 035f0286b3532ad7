"""A lake opened at one state of all its tables.

Every committed ingest leaves a row in `ingests` with the version of each table that it completes.
A reader takes the last such row and reads every table at that version, so it sees an ingest in all
tables or in none, whatever is committed meanwhile.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, cast, get_args

import polars as pl

from pipeline import games
from pipeline.errors import SourceError, UsageError, read_error, suggest_names
from pipeline.events.contracts import TABLES, empty_table, registered_roles, table_schema
from pipeline.lake.tables import (
    COMMITS_TABLE,
    EMPTY,
    ROLES_TABLE,
    VERSION_KEY,
    OpenTable,
    TableState,
    has_newer_commits,
    open_commits_table,
    open_recorded_table,
    open_table,
    raise_if_forked,
    row_counts,
    scan_files,
    table_states,
)
from pipeline.sql_files import fill_template, quote_identifier, quote_literal
from pipeline.stores import File, Location, parse_location
from pipeline.vocabulary import EXCLUDE, LOSS, Failures

if TYPE_CHECKING:
    from deltalake import DeltaTable

# Rows as whoever asks a lake wants them: models under one name, failed games as losses.
#
# A map of names is the user's: exact names, and nothing by pattern or guess. It belongs to a lake
# that is open; what is stored stays as it is. What a failure is, and what a loss, is written down
# once, in `sql/internal/failed_results.sql`. Of results, all engines run one text in SQL.

Names: TypeAlias = Mapping[str, str]
"""The name by which a model is counted, by each name that logs give it."""
_EXAMPLE = 'write [models], and below it lines such as "openai/gpt-4o" = "gpt-4o"'
_MODEL = pl.col("model")
READ = ("results", "players", "messages")
_CHANGED = ("is_finished", "parse_status", "is_win", "win_credit", "agreed", "guess_is_correct")


def load_model_names(given: Names | str | Path) -> dict[str, str]:
    """Return the map of model names, from a TOML file if a path is given, without unchanged names.

    Raises SourceError for a file that cannot be read, and UsageError for a map that is wrong: one
    that is no TOML or no texts, and a name that would be joined twice.
    """
    if isinstance(given, Mapping):
        place, models = "names", given
    else:
        place, models = str(given), _read_toml(Path(given))
    for name, joined in models.items():
        if not all(isinstance(one, str) for one in (name, joined)) or not joined.strip():
            wrong = f"{place}: the name for {name!r} must be a text, not {joined!r}"
            if (dotted := _join_dotted_names(name, joined)) != name:
                wrong += f': write a name with a dot in quotes, as "{dotted}"'
            raise UsageError(wrong)
        if (last := models.get(joined, joined)) != joined:
            raise UsageError(
                f'{place}: "{name}" becomes "{joined}", which becomes "{last}": write the last '
                "name for both"
            )
    return {name: joined for name, joined in models.items() if name != joined}


def _join_dotted_names(name: str, joined: object) -> str:
    """Join the parts of a name that TOML split at dots because it was not in quotes."""
    if not isinstance(joined, Mapping) or not joined:
        return name
    part, below = next(iter(joined.items()))
    return _join_dotted_names(f"{name}.{part}", below)


def _read_toml(file: Path) -> dict[str, str]:
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


def rename_models(rows: pl.LazyFrame, names: Names) -> pl.LazyFrame:
    """Replace the model names in rows by the names to count them by."""
    return rows.with_columns(_MODEL.replace(dict(names))) if names else rows


def merge_model_names(
    table: str, rows: pl.LazyFrame, names: Names, players: Callable[[], pl.LazyFrame]
) -> pl.LazyFrame:
    """Return the rows of a table with model names replaced; `players` returns the stored players.

    A side whose seats had several names has one result, as any model in several seats.
    """
    if not names or "model" not in table_schema(table):
        return rows
    if table != "results":
        return rename_models(rows, names)
    context = pl.SQLContext(results=rows, players=players())
    select = merged_names_select(table, "SELECT * FROM results", "SELECT * FROM players", names)
    # SQL's groups have no order, and a lake's rows have the same each time.
    return context.execute(select, eager=False).sort("game_id", "model", "role", "seat")


def merged_names_select(table: str, rows: str, players: str, names: Names) -> str:
    """Return the SELECT that replaces model names, like `joined` does in polars."""
    whens = " ".join(
        f"WHEN {quote_literal(name)} THEN {quote_literal(one)}" for name, one in names.items()
    )
    model = f"CASE model {whens} ELSE model END"
    columns = list(map(quote_identifier, table_schema(table)))
    if table != "results":
        listed = (f"{model} AS model" if one == '"model"' else one for one in columns)
        return f"SELECT {', '.join(listed)} FROM ({rows}) AS stored"
    own = map(quote_identifier, ("game_id", "model", "role", "seat", "player", "opponent"))
    others = sorted({*columns} - {*own})
    results = fill_template(
        "internal/joined_results",
        results=rows,
        players=players,
        joined=model,
        names=", ".join(map(quote_literal, names)),
        columns=",\n    ".join(f"min({one}) AS {one}" for one in others),
    )
    return f"SELECT {', '.join(columns)} FROM ({results}) AS joined"


def failed_results_select(select: Callable[[str], str]) -> str:
    """Return the SELECT of all results with failed games as losses, and the column `is_failed`."""
    columns = (quote_identifier(name) for name in table_schema("results") if name not in _CHANGED)
    tables = {name: select(name) for name in READ}
    return fill_template("internal/failed_results", columns=",\n    ".join(columns), **tables)


T = TypeVar("T")


class view_property(cached_property[T]):  # noqa: N801 - it is used like `property`
    """A cached property that depends on the view options, so each view computes its own value."""


# By file, the least and the most of a column, null where the log does not say.
_Ranges: TypeAlias = dict[str, tuple[str | None, str | None]]
_CREDITED = ("side", "win_credit", "is_win")
_NO_GAME = pl.DataFrame({"game_id": [None]}, {"game_id": pl.String})


class StoredLake:
    """One state of a lake: the latest, or the state after the ingest `as_of`.

    Open it again to see what was committed since. A copy, also one that is pickled for another
    process, is of the same state. `system` is the one whose games are seen, None for all. `names`
    are those by which models are counted, by the names in logs. `failures` are what games are to
    the sides that failed them.
    """

    failures: Failures = EXCLUDE
    # Metrics that the lake was given: the functions of metrics know them, see
    # `with_registered_metrics`.
    _added: Mapping[str, Any] = {}

    def __init__(
        self,
        path: str | Path | Location,
        as_of: int | None = None,
        version: int | None = None,
        system: str | None = None,
        names: Names | None = None,
    ) -> None:
        """Open the table of commits at `version`, by default the newest."""
        self.path = parse_location(path)
        self.system = system
        self.names = names or {}
        self._as_of = as_of
        self._version = version
        self._opened: dict[str, OpenTable] = {}
        self._known_ranges: dict[tuple[str, str], _Ranges] = {}
        self._seen_log: list[File] = []

    def __repr__(self) -> str:
        of_system = f", {self.system} alone" if self.system else ""
        return f"<Lake {self.path} after ingest {self.ingest_id}{of_system}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # The tables that are open cannot be copied; those of these versions can be opened again.
        version = self.delta_table(COMMITS_TABLE).version()
        arguments = str(self.path), self._as_of, version, self.system, self.names
        return type(self), arguments, {"failures": self.failures, "_added": self._added}

    @view_property
    def state(self) -> tuple[object, ...]:
        """A key of this state, which differs for a lake that is created later at the same path."""
        commits = self.delta_table(COMMITS_TABLE)
        of_lake = str(self.path), self._as_of, commits.version(), commits.metadata().id
        return *of_lake, self.system, self.failures, *sorted(self.names.items())

    def is_newest(self) -> bool:
        """Return whether nothing was committed, and no lake created, after this state."""
        # To list the log takes a tenth of the time that it takes to read it.
        log = (self.table_folder(COMMITS_TABLE) / "_delta_log").list_files()
        if not log or log != self._seen_log:
            opened, newest = (
                self.delta_table(COMMITS_TABLE),
                open_table(self.table_folder(COMMITS_TABLE)),
            )
            one, other = ((table.version(), table.metadata().id) for table in (opened, newest))
            self._seen_log = log if one == other else []
            return one == other
        return True

    @view_property
    def _results_by_function(self) -> dict[object, Any]:
        return {}

    def compute_once(self, function: "Callable[[StoredLake], T]") -> T:
        """Return the function's result for this state, which is computed only once."""
        if function not in self._results_by_function:
            self._results_by_function[function] = function(self)
        answer: T = self._results_by_function[function]
        return answer

    @cached_property
    def last_ingest(self) -> dict[str, object] | None:
        """The last row of `ingests` in this state, or None before the first ingest."""
        try:
            ingests = self.table(COMMITS_TABLE)
            if self._as_of is not None:
                ingests = ingests.filter(pl.col("ingest_id") <= self._as_of)
            rows = ingests.sort("ingest_id").tail(1).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise read_error(error, COMMITS_TABLE) from None
        return rows.row(0, named=True) if rows.height else None

    @property
    def ingest_id(self) -> int:
        """The number of the last ingest; 0 before the first."""
        last = self.last_ingest
        return int(str(last["ingest_id"])) if last else 0

    @cached_property
    def states(self) -> dict[str, TableState]:
        """The version and contents of each table except `ingests`, in this state."""
        last = self.last_ingest
        if last is None:
            return {table: TableState(0, EMPTY) for table in TABLES if table != COMMITS_TABLE}
        versions = last["versions"]
        assert isinstance(versions, list)
        return table_states(versions)

    @cached_property
    def contract_version(self) -> str | None:
        """The contract version that the lake was written with."""
        return self.delta_table(COMMITS_TABLE).metadata().configuration.get(VERSION_KEY)

    @property
    def existing_tables(self) -> tuple[str, ...]:
        """The tables of the lake; tables of packages that were installed later are missing."""
        return tuple(table for table in TABLES if table == COMMITS_TABLE or table in self.states)

    @property
    def unknown_tables(self) -> tuple[str, ...]:
        """The tables of the lake that belong to packages that are not installed."""
        return tuple(table for table in self.states if table not in TABLES)

    @cached_property
    def unknown_game_types(self) -> tuple[str, ...]:
        """The game types in the lake that belong to packages that are not installed."""
        types = self.roles["game_type"].unique().sort()
        return tuple(name for name in types if name not in games.game_type_names())

    @cached_property
    def roles(self) -> pl.DataFrame:
        """The table `roles`: the definition of each game type when its games were ingested."""
        return self.table(ROLES_TABLE).collect()

    @view_property
    def changed_game_types(self) -> tuple[str, ...]:
        """The game types whose roles have changed since their games were ingested.

        Of games that documents declare also those that have a role more here, and those of which a
        game ended as none does here, or was credited otherwise. Code gets roles with new versions.
        """
        stored, declared = (set(rows.iter_rows()) for rows in (self.roles, registered_roles()))
        there, in_files = {name for name, *_ in stored}, {*games.game_types_in_files()}
        changed = {name for name, *_ in stored - declared} & {*games.game_type_names()}
        changed |= {name for name, *_ in declared - stored} & there & in_files
        if edited := in_files & {*self.game_types}:
            credited = self._credited_ends(edited).iter_rows()
            changed |= {name for name, *ended in credited if not _defines_end(name, *ended)}
        return tuple(sorted(changed))

    def _credited_ends(self, game_types: Iterable[str]) -> pl.DataFrame:
        """Return the distinct ends of games of these types.

        The columns are game_type, outcome, side, win_credit and is_win.

        A game that has no outcome is left out.
        """
        outcomes = self.table("games").filter("is_finished").select("game_id", "outcome")
        results = self.stored_table("results").filter(pl.col("game_type").is_in(list(game_types)))
        ended = results.join(outcomes.drop_nulls("outcome"), on="game_id")
        return ended.select("game_type", "outcome", *_CREDITED).unique().collect()

    def file_schema(self, table: str) -> dict[str, pl.DataType]:
        """Return the contract's columns that the table's files have; older files lack some."""
        columns = dict(table_schema(table))
        if table not in self.existing_tables:
            return columns
        known = {field.name for field in self.delta_table(table).schema().fields}
        return {name: dtype for name, dtype in columns.items() if name in known}

    def delta_table(self, table: str) -> "DeltaTable":
        """Open the Delta table at this state's version; raise UsageError for an unknown name.

        Raises LakeError where the table's log names other files than the ingest left.
        """
        return self._open_table(table).delta

    def _open_table(self, table: str) -> "OpenTable":
        raise_if_forked()
        if table not in TABLES:
            raise UsageError(self._unknown_table_message(table))
        if table not in self._opened:
            if table == COMMITS_TABLE:
                self._opened[table] = open_commits_table(self.table_folder(table), self._version)
            else:
                self._opened[table] = open_recorded_table(
                    self.table_folder(table), self.states[table]
                )
        return self._opened[table]

    def _unknown_table_message(self, name: str) -> str:
        """Return the error message for an unknown table."""
        return f"no table `{name}`: {suggest_names([name], TABLES)}"

    def has_later_commits(self) -> bool:
        """Whether `documents` has commits after this state."""
        return has_newer_commits(self.table_folder("documents"), self.states["documents"].version)

    def latest_version(self, table: str) -> int:
        """Return the table's newest version, which may be from an ingest that was killed."""
        own = self.delta_table(table).version()
        # The signs that names begin with beside digits come after these.
        names = [file.name for file in (self.table_folder(table) / "_delta_log").list_files()]
        is_behind = any(f"{own + 1:020d}" <= name < "_" for name in names)
        return open_table(self.table_folder(table)).version() if is_behind else own

    def table_folder(self, table: str) -> Location:
        """Return the folder of the table's files."""
        return self.path / table

    @cached_property
    def systems(self) -> dict[str, int]:
        """The systems of the lake's games, with their numbers of games, largest first.

        Also in a lake of one system, they are those of the whole lake.
        """
        n_rows = row_counts(self.table_folder("games"), self._log_values("games", "num_records"))
        n_games: dict[str, int] = {}
        mixed = []
        for name, (low, high) in self._column_ranges("games", "system").items():
            if low is not None and low == high:
                n_games[low] = n_games.get(low, 0) + n_rows[name]
            else:
                mixed.append(str(self.table_folder("games") / name))
        if mixed:
            counted = (
                scan_files("games", mixed).group_by("system").len().collect(engine="streaming")
            )
            for system, n in counted.iter_rows():
                n_games[system] = n_games.get(system, 0) + n
        return dict(sorted(n_games.items(), key=lambda entry: (-entry[1], entry[0])))

    def for_system(self, system: str) -> Self:
        """Return the lake with the games of one system only, in every table that has games.

        Of documents and of the quarantine, it leaves out what belongs to games of other systems. A
        document without a game is of no system, so it stays. Raises UsageError for a system that
        ran none of its games.

        >>> lake.for_system("magic")
        <Lake ...lake after ingest 1, magic alone>
        """
        if system == self.system:
            return self
        if system not in self.systems:
            known = (
                suggest_names([system], self.systems) if self.systems else "the lake has no games"
            )
            raise UsageError(f"no game of the system `{system}`: {known}")
        return self._cached_copy("system", system)

    def with_names(self, names: Names | str | Path) -> Self:
        """Return the lake with other model names than those in logs; see `open_lake`.

        Exact names, by the name in logs, or the path of a TOML file with them. Nothing that is
        stored changes. Raises UsageError for a map that is wrong.

        >>> joined = lake.with_names({"sim-boreas": "sim-atlas"})
        >>> joined.table("players").filter(model="sim-boreas").collect().height
        0
        """
        return self._copy_with(names=load_model_names(names))

    def with_failures(self, failures: Failures) -> Self:
        """Return the lake with failed games excluded, or counted as losses.

        `failures` is "loss" or "exclude", as a lake is opened. A side fails a game if the log says
        so of one of its seats, see `players.failure`, or if the game has no result that counts and
        an answer of one of its seats is an outage. For other sides the game is what the log says.
        Nothing that is stored changes. Raises UsageError for another word.

        >>> lake.with_failures("loss").failures
        'loss'
        """
        if failures not in (known := get_args(Failures)):
            raise UsageError(f"no failures `{failures}`: {suggest_names([failures], known)}")
        return self if failures == self.failures else self._cached_copy("failures", failures)

    @view_property
    def used_names(self) -> Names:
        """The entries of `names` whose name occurs in the lake's games."""
        models = self.stored_table("players").select("model").unique().collect(engine="streaming")
        return {name: self.names[name] for name in self.names.keys() & {*models["model"]}}

    @property
    def merged_names_text(self) -> str:
        """The merged model names, such as `"GPT-4o", "openai/gpt-4o" as "gpt-4o"`."""
        several: dict[str, list[str]] = {}
        for name, joined_name in sorted(self.used_names.items() if self.names else ()):
            several.setdefault(joined_name, []).append(f'"{name}"')
        return "; ".join(f'{", ".join(names)} as "{one}"' for one, names in several.items())

    @property
    def view_options(self) -> dict[str, str]:
        """The view options that change numbers: merged names, and failures as losses."""
        said = {"joined_names": self.merged_names_text, "failures": self.failures}
        return {name: text for name, text in said.items() if text not in ("", EXCLUDE)}

    def _cached_copy(self, name: str, value: str) -> Self:
        """Return a cached copy with one attribute changed, because it is requested repeatedly."""
        if (name, value) not in self._results_by_function:
            self._results_by_function[name, value] = self._copy_with(**{name: value})
        return cast(Self, self._results_by_function[name, value])

    def _copy_with(self, **changed: object) -> Self:
        """Return a copy that is another view of the same state."""
        copy = object.__new__(type(self))
        copy.__dict__ = {
            name: value
            for name, value in {**self.__dict__, **changed}.items()
            if not isinstance(getattr(type(self), name, None), view_property)
        }
        return copy

    def for_single_system(self, system: str | None = None) -> Self:
        """Return the lake of this system, by default its only or largest system.

        What models do in one harness says nothing of another, so nothing is counted over several.
        Raises UsageError for a system that ran none of its games.
        """
        if system is not None:
            return self.for_system(system)
        if self.system is not None or not self.systems:
            return self
        return self.for_system(next(iter(self.systems)))

    def split_by_system(self) -> list[Self]:
        """Return a lake for each system, largest first.

        A lake without games is returned unchanged.
        """
        if self.system is not None or not self.systems:
            return [self]
        return [self.for_system(system) for system in self.systems]

    def table_files(self, table: str) -> list[str]:
        """Return the Parquet files of the table, as absolute paths or URLs.

        In a lake of one system, those that may have rows of it.
        """
        return sorted(str(self.table_folder(table) / name) for name in self.file_sizes_bytes(table))

    def file_sizes_bytes(self, table: str) -> dict[str, int]:
        """Return the size of each of the table's files in bytes, by file name."""
        return self._entries_of_system(table, self._log_values(table, "size_bytes"))

    def row_counts_by_file(self, table: str) -> dict[str, int]:
        """Return the number of rows of each file, from the table's log or the footer.

        In a lake of one system only its own rows are counted.
        """
        logged = self._entries_of_system(table, self._log_values(table, "num_records"))
        n_rows = row_counts(self.table_folder(table), logged)
        others = [name for name in n_rows if self._has_other_rows(table, name)]
        own = [
            self._rows_of_system(
                table, scan_files(table, [str(self.table_folder(table) / name)])
            ).select(pl.len())
            for name in others
        ]
        counted = (rows.item() for rows in pl.collect_all(own, engine="streaming"))
        return n_rows | dict(zip(others, counted, strict=True))

    def has_rows_of_other_systems(self, table: str) -> bool:
        """Return whether these files have, or may have, rows of other systems."""
        return _has_system(table) and any(
            self._has_other_rows(table, name) for name in self.file_sizes_bytes(table)
        )

    def _has_other_rows(self, table: str, name: str) -> bool:
        """Return whether a file has, or may have, rows of other systems."""
        if self.system is None:
            return False
        if _has_system(table):
            return self._column_ranges(table, "system")[name] != (self.system, self.system)
        return self.is_shared_by_systems(table)

    def is_shared_by_systems(self, table: str) -> bool:
        """Return whether only the `game_id` tells to which system a row of the table belongs.

        The tables of documents have no system, since most of their rows are known before a game is.
        """
        is_of_games = "game_id" in table_schema(table) and not _has_system(table)
        return is_of_games and self.system is not None and len(self.systems) > 1

    def _entries_of_system(self, table: str, by_file: dict[str, T]) -> dict[str, T]:
        """Return the entries of `by_file` whose files may have rows of the lake's system."""
        system = self.system
        if system is None or not _has_system(table):
            return by_file
        ranges = self._column_ranges(table, "system")
        return {
            name: value for name, value in by_file.items() if _may_contain(ranges[name], system)
        }

    def _column_ranges(self, table: str, column: str) -> _Ranges:
        """Return the smallest and largest string of a column in each file, from the table's log."""
        key = table, column
        if key not in self._known_ranges:
            lows, highs = (self._log_values(table, f"{end}.{column}") for end in ("min", "max"))
            self._known_ranges[key] = {name: (low, highs[name]) for name, low in lows.items()}
        return self._known_ranges[key]

    @view_property
    def game_types(self) -> tuple[str, ...]:
        """The game types that occur in this lake, in the order of their definition."""
        types = self.table("games").select(pl.col("game_type").unique())
        played = set(types.collect(engine="streaming")["game_type"])
        return (
            *(name for name in games.game_type_names() if name in played),
            *sorted(played - {*games.game_type_names()}),
        )

    def may_have_game_type(self, table: str, game_type: str) -> bool:
        """Return whether the log allows rows of the game type in a file of the table."""
        return any(
            _may_contain(ends, game_type)
            for ends in self._column_ranges(table, "game_type").values()
        )

    def _log_values(self, table: str, column: str) -> dict[str, Any]:
        """Return the log's values of each file; an empty result for a missing table."""
        if table in TABLES and table != COMMITS_TABLE and table not in self.states:
            return {}
        return self._open_table(table).log_values(column)

    def table(self, table: str) -> pl.LazyFrame:
        """Return the table as a polars LazyFrame, with the columns and types of its contract.

        >>> votes = lake.table("votes").filter("is_tested")
        >>> votes.select("model", "is_correct").collect().height
        96
        """
        if table == "results" and self.failures == LOSS:
            return self.failed_results().select(*table_schema(table))
        return self._table_with_merged_names(table)

    def failed_results(self) -> pl.LazyFrame:
        """Return the results with failed games as losses, and the column `is_failed`.

        >>> lake.failed_results().filter("is_failed").collect().height
        0
        """
        context = pl.SQLContext({name: self._table_with_merged_names(name) for name in READ})
        return context.execute(failed_results_select("SELECT * FROM {}".format), eager=False)

    def _table_with_merged_names(self, table: str) -> pl.LazyFrame:
        return merge_model_names(
            table, self.stored_table(table), self.names, lambda: self.stored_table("players")
        )

    def stored_table(self, table: str) -> pl.LazyFrame:
        """Return the table as stored, with the model names and results from the logs.

        >>> lake.stored("votes").collect().height
        192
        """
        files = self.table_files(table)
        rows = scan_files(table, files) if files else empty_table(table).lazy()
        return self._rows_of_system(table, rows)

    def _rows_of_system(self, table: str, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows of a table without the rows of other systems."""
        if self.is_shared_by_systems(table):
            own = pl.concat([self.table("games").select("game_id"), _NO_GAME.lazy()])
            return rows.join(own, on="game_id", how="semi", nulls_equal=True)
        return rows.filter(system=self.system) if self.has_rows_of_other_systems(table) else rows


def _defines_end(
    game_type: str, outcome: str, side: str, credit: float | None, is_win: bool | None
) -> bool:
    """Return whether the game type defines this end for this side."""
    ending = games.game_definition(game_type).ending(outcome)
    if ending is None:
        return False
    return ending.credit(side) in (None, credit) and ending.is_win(side) in (None, is_win)


def _has_system(table: str) -> bool:
    return "system" in table_schema(table)


def _may_contain(ends: tuple[str | None, str | None], value: str) -> bool:
    """Return whether a column may have the value, given its minimum and maximum."""
    low, high = ends
    return low is None or high is None or low <= value <= high
