"""A lake opened at one state of all its tables.

Each committed ingest adds a row to `ingests` with the version of every table. A reader takes the
last row and reads each table at that version, so it sees an ingest in all tables or in none, even
if another ingest commits meanwhile. Reports, metrics and exports read lakes through `StoredLake`.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias, TypeVar, cast, get_args

import polars as pl
from msgspec import Struct
from msgspec.structs import astuple, replace

from pipeline import games
from pipeline.errors import SourceError, UsageError, known_names_hint, lake_read_error
from pipeline.events.contracts import TABLES, empty_table, registered_roles, table_schema
from pipeline.lake.tables import (
    COMMITS_TABLE,
    EMPTY,
    ROLES_TABLE,
    VERSION_KEY,
    OpenTable,
    TableState,
    fill_missing_row_counts,
    may_have_newer_own_commits,
    open_commits_table_and_check_row_count,
    open_delta_table,
    open_table_and_check_contents,
    parse_table_states,
    raise_if_forked,
    scan_files,
)
from pipeline.sql_files import fill_template, quote_identifier, quote_literal
from pipeline.stores import File, Location, parse_location
from pipeline.vocabulary import EXCLUDE, LOSS, Failures

if TYPE_CHECKING:
    from deltalake import DeltaTable

Names: TypeAlias = Mapping[str, str]
"""The name to count a model by, for each model name in logs."""


class LakeView(Struct, frozen=True):
    """The options of an open lake: which games it includes, and how their results count.

    They change nothing that is stored. All engines filter rows by `game_conditions`, and execute
    the same SQL for merged names and for losses. Model names are merged only by the user's exact
    map, never by a pattern or a guess. `sql/internal/failed_results.sql` defines losses.

    Attributes:
        system: The system whose games are included; None for all systems.
        names: The name to count a model by, for each model name in logs.
        failures: Whether a failed game is excluded or a loss for the side that failed it.
    """

    system: str | None = None
    names: Names = {}
    failures: Failures = EXCLUDE

    @property
    def key(self) -> tuple[object, ...]:
        """A hashable value that is equal for equal options."""
        return tuple(
            tuple(sorted(value.items())) if isinstance(value, Mapping) else value
            for value in astuple(self)
        )

    @property
    def game_conditions(self) -> dict[str, str]:
        """The SQL conditions of included games, by the column of `games` that each tests."""
        if self.system is None:
            return {}
        return {"system": f"system = {quote_literal(self.system)}"}


class RowFilter(NamedTuple):
    """How the rows of a table that belong to a lake's view are selected.

    Attributes:
        condition: An SQL condition on columns of `games`.
        is_on_games: Whether the table lacks these columns, so that the condition selects rows of
            `games`, and then the rows of these games. Rows of no game are selected, too.
    """

    condition: str
    is_on_games: bool


_MODEL_NAMES_EXAMPLE = 'write [models], and below it lines such as "openai/gpt-4o" = "gpt-4o"'
# The tables that `failed_results.sql` reads, and the columns of `results` that it recomputes.
_FAILED_RESULTS_TABLES = ("results", "players", "messages")
_RECOMPUTED_COLUMNS = (
    "is_finished",
    "parse_status",
    "is_win",
    "win_credit",
    "agreed",
    "guess_is_correct",
)


def load_model_names(source: Names | str | Path) -> dict[str, str]:
    """Check a mapping of new model names, which is read from a TOML file if `source` is a path.

    Args:
        source: The new name for each model name in logs, or the path of a TOML file with these
            names in a table `models`.

    Returns:
        The new name for each name in logs that changes.

    Raises:
        SourceError: If the file cannot be read.
        UsageError: If the file is not valid TOML or has other entries, if a name is not a string,
            or if a new name is itself replaced by another name.
    """
    if isinstance(source, Mapping):
        source_name, models = "names", source
    else:
        source_name, models = str(source), _read_models_table_of_toml(Path(source))
    for name, new_name in models.items():
        if not all(isinstance(text, str) for text in (name, new_name)) or not new_name.strip():
            message = f"{source_name}: the name for {name!r} must be a string, not {new_name!r}"
            if (dotted := _rejoin_name_split_at_dots(name, new_name)) != name:
                message += f': write a name with a dot in quotes, as "{dotted}"'
            raise UsageError(message)
        if (last_name := models.get(new_name, new_name)) != new_name:
            raise UsageError(
                f'{source_name}: "{name}" becomes "{new_name}", which becomes "{last_name}": use '
                "the last name for both"
            )
    return {name: new_name for name, new_name in models.items() if name != new_name}


def _rejoin_name_split_at_dots(first_part: str, toml_value: object) -> str:
    """Return the full name that the user meant, if TOML split an unquoted name at its dots.

    Args:
        first_part: The first part of the name.
        toml_value: Its value in TOML: nested tables with the other parts as keys.
    """
    if not isinstance(toml_value, Mapping) or not toml_value:
        return first_part
    part, nested_value = next(iter(toml_value.items()))
    return _rejoin_name_split_at_dots(f"{first_part}.{part}", nested_value)


def _read_models_table_of_toml(file: Path) -> dict[str, str]:
    import tomllib

    try:
        # Decoded as utf-8-sig, because some editors begin a file with a byte order mark.
        tables = tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{file}: not TOML: {error}; {_MODEL_NAMES_EXAMPLE}") from None
    models = tables.pop("models", None)
    if tables or not isinstance(models, dict):
        reason = (
            f"`{next(iter(tables))}` is an unknown entry" if tables else "there are no model names"
        )
        raise UsageError(f"{file}: {reason}: {_MODEL_NAMES_EXAMPLE}")
    return models


def replace_model_names(rows: pl.LazyFrame, new_names: Names) -> pl.LazyFrame:
    """Replace model names in the column `model`; names without a new name stay."""
    return rows.with_columns(pl.col("model").replace(dict(new_names))) if new_names else rows


def replace_model_names_and_merge_results(
    table: str, rows: pl.LazyFrame, new_names: Names, load_players: Callable[[], pl.LazyFrame]
) -> pl.LazyFrame:
    """Replace the model names in a table's rows, and merge results that get the same name.

    If several players of one side get the same new name, their rows in `results` become one row.

    Args:
        table: The table's name.
        rows: The table's rows, with the model names from the logs.
        new_names: The new name for each name in logs.
        load_players: Returns the rows of `players` with the model names from the logs.

    Returns:
        The rows with the same columns. If names in `results` are replaced, they are sorted by
        game, model, role and seat.
    """
    if not new_names or "model" not in table_schema(table):
        return rows
    if table != "results":
        return replace_model_names(rows, new_names)
    context = pl.SQLContext(results=rows, players=load_players())
    select = replaced_names_select(
        table, "SELECT * FROM results", "SELECT * FROM players", new_names
    )
    # Sorted, because SQL groups have no order, and a lake returns its rows always in one order.
    return context.execute(select, eager=False).sort("game_id", "model", "role", "seat")


def replaced_names_select(
    table: str, rows_select: str, players_select: str, new_names: Names
) -> str:
    """Return a SELECT that replaces model names like `replace_model_names_and_merge_results`.

    Args:
        table: The table's name.
        rows_select: A SELECT of the table's rows, with the model names from the logs.
        players_select: A SELECT of the rows of `players`, with the model names from the logs.
        new_names: The new name for each name in logs.

    Returns:
        A SELECT of the columns of the table's contract, in their order.
    """
    whens = " ".join(
        f"WHEN {quote_literal(name)} THEN {quote_literal(new_name)}"
        for name, new_name in new_names.items()
    )
    model = f"CASE model {whens} ELSE model END"
    columns = list(map(quote_identifier, table_schema(table)))
    if table != "results":
        select = (f"{model} AS model" if name == '"model"' else name for name in columns)
        return f"SELECT {', '.join(select)} FROM ({rows_select}) AS stored"
    keys = map(quote_identifier, ("game_id", "model", "role", "seat", "player", "opponent"))
    results = fill_template(
        "internal/joined_results",
        results=rows_select,
        players=players_select,
        joined=model,
        names=", ".join(map(quote_literal, new_names)),
        columns=",\n    ".join(f"min({name}) AS {name}" for name in sorted({*columns} - {*keys})),
    )
    return f"SELECT {', '.join(columns)} FROM ({results}) AS joined"


def failed_games_as_losses_select(table_select: Callable[[str], str]) -> str:
    """Return a SELECT of all results in which failed games are losses of the side that failed.

    A column `is_failed` is added.

    Args:
        table_select: Returns a SELECT of the rows of a table, given its name.
    """
    columns = [name for name in table_schema("results") if name not in _RECOMPUTED_COLUMNS]
    return fill_template(
        "internal/failed_results",
        columns=",\n    ".join(map(quote_identifier, columns)),
        **{table: table_select(table) for table in _FAILED_RESULTS_TABLES},
    )


T = TypeVar("T")


class view_property(cached_property[T]):  # noqa: N801 - it is used like `property`
    """Cached property that is computed again in a copy of the lake with other view options."""


# The minimum and maximum of a column by file name; None if the log has none.
_RangesByFile: TypeAlias = dict[str, tuple[str | None, str | None]]
# Rows of documents without a game have a null `game_id`; they belong to every system.
_NO_GAME = pl.DataFrame({"game_id": [None]}, {"game_id": pl.String})


class StoredLake:
    """One state of a lake: the latest, or the state after the ingest `as_of`.

    Open it again to see later commits. Copies have the same state, also pickled copies in other
    processes.

    Attributes:
        path: The lake's folder.
        view: Which games the lake includes, and how their results count.
    """

    # Metrics registered with this lake, see `with_registered_metrics`.
    _added: Mapping[str, Any] = {}

    def __init__(
        self,
        path: str | Path | Location,
        as_of: int | None = None,
        version: int | None = None,
        view: LakeView | None = None,
    ) -> None:
        """Open the table of commits at `version`, by default the newest."""
        self.path = parse_location(path)
        self.view = view or LakeView()
        self._as_of = as_of
        self._version = version
        self._opened: dict[str, OpenTable] = {}
        self._cached_string_ranges: dict[tuple[str, str], _RangesByFile] = {}
        self._log_when_newest: list[File] = []

    def __repr__(self) -> str:
        suffix = f", {self.system} alone" if self.system else ""
        return f"<Lake {self.path} after ingest {self.ingest_id}{suffix}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Open tables cannot be pickled, but the copy can open the same versions again.
        version = self.delta_table(COMMITS_TABLE).version()
        arguments = str(self.path), self._as_of, version, self.view
        return type(self), arguments, {"_added": self._added}

    @property
    def system(self) -> str | None:
        """The system whose games are included; None for all systems."""
        return self.view.system

    @property
    def names(self) -> Names:
        """The name to count a model by, for each model name in logs."""
        return self.view.names

    @property
    def failures(self) -> Failures:
        """Whether a failed game is excluded or a loss for the side that failed it."""
        return self.view.failures

    @view_property
    def state(self) -> tuple[object, ...]:
        """A hashable key that is equal for lakes opened at the same state with equal view options.

        It differs for a lake that was deleted and created again at the same path.
        """
        commits = self.delta_table(COMMITS_TABLE)
        return (
            str(self.path),
            self._as_of,
            commits.version(),
            commits.metadata().id,
            self.view.key,
        )

    def is_newest(self) -> bool:
        """Return whether this is still the newest state of the lake at this path."""
        folder = self.table_folder(COMMITS_TABLE)
        # Listing the log takes a tenth of the time of reading it.
        log = (folder / "_delta_log").list_files()
        if log and log == self._log_when_newest:
            return True
        tables = self.delta_table(COMMITS_TABLE), open_delta_table(folder)
        is_newest = len({(table.version(), table.metadata().id) for table in tables}) == 1
        self._log_when_newest = log if is_newest else []
        return is_newest

    @view_property
    def _cached_results(self) -> dict[object, Any]:
        return {}

    def compute_once(self, function: "Callable[[StoredLake], T]") -> T:
        """Call a function with this lake, or return its cached result if it was called before."""
        if function not in self._cached_results:
            self._cached_results[function] = function(self)
        return cast(T, self._cached_results[function])

    @cached_property
    def last_ingest(self) -> dict[str, object] | None:
        """The last row of the table `ingests`, by column; None before the first ingest."""
        try:
            ingests = self.table(COMMITS_TABLE)
            if self._as_of is not None:
                ingests = ingests.filter(pl.col("ingest_id") <= self._as_of)
            rows = ingests.sort("ingest_id").tail(1).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise lake_read_error(error, COMMITS_TABLE) from None
        return rows.row(0, named=True) if rows.height else None

    @property
    def ingest_id(self) -> int:
        """The number of the last ingest in this state; 0 before the first ingest."""
        return int(str(self.last_ingest["ingest_id"])) if self.last_ingest else 0

    @cached_property
    def states(self) -> dict[str, TableState]:
        """The Delta version and contents of each table in this state, except `ingests`."""
        if self.last_ingest is None:
            return {table: TableState(0, EMPTY) for table in TABLES if table != COMMITS_TABLE}
        versions = self.last_ingest["versions"]
        assert isinstance(versions, list)
        return parse_table_states(versions)

    @cached_property
    def contract_version(self) -> str | None:
        """The version of the table definitions that the lake was written with."""
        return self.delta_table(COMMITS_TABLE).metadata().configuration.get(VERSION_KEY)

    @property
    def existing_tables(self) -> tuple[str, ...]:
        """The names of the lake's tables.

        Tables of packages that were installed after the last ingest are missing.
        """
        return tuple(table for table in TABLES if table == COMMITS_TABLE or table in self.states)

    @property
    def unknown_tables(self) -> tuple[str, ...]:
        """The names of the lake's tables that no installed package defines."""
        return tuple(table for table in self.states if table not in TABLES)

    @cached_property
    def unknown_game_types(self) -> tuple[str, ...]:
        """The game types in the lake that no installed package defines."""
        types = self.roles["game_type"].unique().sort()
        return tuple(name for name in types if name not in games.game_type_names())

    @cached_property
    def roles(self) -> pl.DataFrame:
        """The rows of the table `roles`: each game type's roles when its games were ingested."""
        return self.table(ROLES_TABLE).collect()

    @view_property
    def changed_game_types(self) -> tuple[str, ...]:
        """The game types whose definition no longer fits the games that were ingested earlier.

        A game type has changed if one of its stored roles is no longer defined in the same way. If
        a file defines the game type, it has also changed if the file has a new role, or does not
        define the ending or the credit of a stored game. Game types in code may get new roles.
        """
        stored_roles, defined_roles = (
            set(rows.iter_rows()) for rows in (self.roles, registered_roles())
        )
        stored_types, file_types = (
            {name for name, *_ in stored_roles},
            {*games.game_types_in_environment_files()},
        )
        changed_types = {name for name, *_ in stored_roles - defined_roles} & {
            *games.game_type_names()
        }
        changed_types |= (
            {name for name, *_ in defined_roles - stored_roles} & stored_types & file_types
        )
        if used_file_types := file_types & {*self.game_types}:
            endings = self._distinct_endings_and_credits(used_file_types).iter_rows()
            changed_types |= {row[0] for row in endings if not _is_ending_still_defined(*row)}
        return tuple(sorted(changed_types))

    def _distinct_endings_and_credits(self, game_types: Iterable[str]) -> pl.DataFrame:
        """Return the distinct combinations of outcome, side and credit in finished games.

        The columns are game_type, outcome, side, win_credit and is_win. Games without an outcome
        are excluded.
        """
        outcomes = self.table("games").filter("is_finished").select("game_id", "outcome")
        results = self.stored("results").filter(pl.col("game_type").is_in(list(game_types)))
        rows = results.join(outcomes.drop_nulls("outcome"), on="game_id")
        columns = ("game_type", "outcome", "side", "win_credit", "is_win")
        return rows.select(columns).unique().collect()

    def file_schema(self, table: str) -> dict[str, pl.DataType]:
        """Return the columns that the table's files have; files of older versions lack some."""
        columns = dict(table_schema(table))
        if table not in self.existing_tables:
            return columns
        stored_columns = {field.name for field in self.delta_table(table).schema().fields}
        return {name: dtype for name, dtype in columns.items() if name in stored_columns}

    def delta_table(self, table: str) -> "DeltaTable":
        """Return deltalake's object for a table, opened at the version of this state.

        Raises UsageError for an unknown name, and LakeError if the table's log contradicts the
        contents that the ingest recorded.
        """
        return self._open_table(table).delta

    def _open_table(self, table: str) -> "OpenTable":
        raise_if_forked()
        if table not in TABLES:
            raise UsageError(self._unknown_table_message(table))
        folder = self.table_folder(table)
        if table not in self._opened:
            self._opened[table] = (
                open_commits_table_and_check_row_count(folder, self._version)
                if table == COMMITS_TABLE
                else open_table_and_check_contents(folder, self.states[table])
            )
        return self._opened[table]

    def _unknown_table_message(self, name: str) -> str:
        """Return the error message for an unknown table; the subclass `Lake` overrides it."""
        return f"no table `{name}`: {known_names_hint([name], TABLES)}"

    def has_later_commits(self) -> bool:
        """Return whether magic has changed the lake since this state, or may have begun to.

        Only the table `documents` is checked; commits of other tools do not count.
        """
        return may_have_newer_own_commits(
            self.table_folder("documents"), self.states["documents"].version
        )

    def latest_version(self, table: str) -> int:
        """Return the number of the table's newest Delta version, even if it is not in this state.

        It can be later than this state, or be left by an ingest that was killed.
        """
        version = self.delta_table(table).version()
        # Names of versions begin with a digit; all other names in a log sort after `_`.
        names = [file.name for file in (self.table_folder(table) / "_delta_log").list_files()]
        is_behind = any(f"{version + 1:020d}" <= name < "_" for name in names)
        return open_delta_table(self.table_folder(table)).version() if is_behind else version

    def table_folder(self, table: str) -> Location:
        """Return the location of the table's Delta folder."""
        return self.path / table

    @cached_property
    def systems(self) -> dict[str, int]:
        """The number of games by system (the software that ran the games), largest first.

        All systems are included, even if the lake is restricted to one system.
        """
        n_rows = fill_missing_row_counts(
            self.table_folder("games"), self._log_values_by_file("games", "num_records")
        )
        n_games: dict[str, int] = {}
        # Files that may have games of several systems.
        mixed_files = []
        for name, (low, high) in self._string_ranges_by_file("games", "system").items():
            if low is not None and low == high:
                n_games[low] = n_games.get(low, 0) + n_rows[name]
            else:
                mixed_files.append(str(self.table_folder("games") / name))
        if mixed_files:
            counts = scan_files("games", mixed_files).group_by("system").len()
            for system, n in counts.collect(engine="streaming").iter_rows():
                n_games[system] = n_games.get(system, 0) + n
        return dict(sorted(n_games.items(), key=lambda entry: (-entry[1], entry[0])))

    def for_system(self, system: str) -> Self:
        """Return a copy of the lake that is restricted to the games of one system.

        Rows of other systems' games are excluded from all tables, also from `documents` and
        `quarantine`. Documents without a game stay. Raises UsageError if the lake has no game of
        the system.

        >>> lake.for_system("magic")
        <Lake ...lake after ingest 1, magic alone>
        """
        if system == self.system:
            return self
        if system not in self.systems:
            hint = (
                known_names_hint([system], self.systems)
                if self.systems
                else "the lake has no games"
            )
            raise UsageError(f"no game of the system `{system}`: {hint}")
        return self.with_view(system=system)

    def with_names(self, names: Names | str | Path) -> Self:
        """Return a copy of the lake in which model names from the logs are replaced.

        `names` has the new name for each name in logs, or is the path of a TOML file with these
        names. Nothing that is stored changes. Raises UsageError if `names` is not valid.

        >>> joined = lake.with_names({"sim-boreas": "sim-atlas"})
        >>> joined.table("players").filter(model="sim-boreas").collect().height
        0
        """
        return self.with_view(names=load_model_names(names))

    def with_failures(self, failures: Failures) -> Self:
        """Return a copy of the lake in which failed games are excluded, or count as losses.

        `failures` is "exclude", the default of an opened lake, or "loss". A side has failed a game
        if the log says so of one of its players (see `players.failure`), or if the game has no
        valid result and an answer of one of its players has the parse status `outage`. The results
        of the other sides do not change, and nothing that is stored changes. Raises UsageError for
        any other value.

        >>> lake.with_failures("loss").failures
        'loss'
        """
        if failures not in (options := get_args(Failures)):
            raise UsageError(f"no failures `{failures}`: {known_names_hint([failures], options)}")
        return self.with_view(failures=failures)

    @view_property
    def used_names(self) -> Names:
        """The replaced model names that occur in the lake's games, with their new names."""
        models = self.stored("players").select("model").unique().collect(engine="streaming")
        return {name: self.names[name] for name in self.names.keys() & {*models["model"]}}

    @property
    def merged_names_text(self) -> str:
        """The replaced model names as text, such as `"GPT-4o", "openai/gpt-4o" as "gpt-4o"`."""
        names_by_new_name: dict[str, list[str]] = {}
        for name, new_name in sorted(self.used_names.items() if self.names else ()):
            names_by_new_name.setdefault(new_name, []).append(f'"{name}"')
        return "; ".join(
            f'{", ".join(names)} as "{new_name}"' for new_name, names in names_by_new_name.items()
        )

    @property
    def view_options(self) -> dict[str, str]:
        """The view options that differ from their default, by name."""
        options = {"joined_names": self.merged_names_text, "failures": self.failures}
        return {name: text for name, text in options.items() if text not in ("", EXCLUDE)}

    def with_view(self, **options: Any) -> Self:
        """Return the lake with other view options; `options` are attributes of `LakeView`.

        The copy is cached, because reports request the same one repeatedly.
        """
        view = replace(self.view, **options)
        if view.key == self.view.key:
            return self
        if view.key not in self._cached_results:
            self._cached_results[view.key] = self._copy_with(view=view)
        return cast(Self, self._cached_results[view.key])

    def _copy_with(self, **changed_attributes: object) -> Self:
        """Return a copy with some attributes changed, and without cached values of view options."""
        copy = object.__new__(type(self))
        copy.__dict__ = {
            name: value
            for name, value in {**self.__dict__, **changed_attributes}.items()
            if not isinstance(getattr(type(self), name, None), view_property)
        }
        return copy

    def for_single_system(self, system: str | None = None) -> Self:
        """Return a copy restricted to a system, by default to the system with the most games.

        Results of different systems are not comparable, so games of several systems are never
        counted together. Raises UsageError if the lake has no game of the system.
        """
        if system is not None:
            return self.for_system(system)
        if self.system is not None or not self.systems:
            return self
        return self.for_system(next(iter(self.systems)))

    def split_by_system(self) -> list[Self]:
        """Return a copy of the lake for each system that ran its games, largest first.

        If the lake has no games or is already restricted to a system, it is returned unchanged.
        """
        if self.system is not None or not self.systems:
            return [self]
        return [self.for_system(system) for system in self.systems]

    def table_files(self, table: str) -> list[str]:
        """Return the sorted paths or URLs of the table's Parquet files in this state.

        If the lake is restricted to one system, only files that may have its rows are returned.
        """
        return sorted(str(self.table_folder(table) / name) for name in self.file_sizes_bytes(table))

    def file_sizes_bytes(self, table: str) -> dict[str, int]:
        """Return the size in bytes of each of the table's files in this state, by file name.

        If the lake is restricted to one system, only files that may have its rows are returned.
        """
        return self._entries_of_files_with_system(
            table, self._log_values_by_file(table, "size_bytes")
        )

    def row_counts_by_file(self, table: str) -> dict[str, int]:
        """Return the number of rows in each of the table's files, by file name.

        If the lake is restricted to one system, only rows of that system are counted.
        """
        folder = self.table_folder(table)
        logged_counts = self._entries_of_files_with_system(
            table, self._log_values_by_file(table, "num_records")
        )
        n_rows = fill_missing_row_counts(folder, logged_counts)
        mixed_files = [name for name in n_rows if self._may_have_excluded_rows(table, name)]
        scans = (scan_files(table, [str(folder / name)]) for name in mixed_files)
        counts = [self._filter_rows(table, rows).select(pl.len()) for rows in scans]
        collected = (rows.item() for rows in pl.collect_all(counts, engine="streaming"))
        return n_rows | dict(zip(mixed_files, collected, strict=True))

    def row_filter(self, table: str) -> RowFilter | None:
        """Return how the rows that belong to the view are selected; None if all rows do.

        Tables of documents lack columns of games, because most of their rows are written before
        the game is read.
        """
        files = self.file_sizes_bytes(table)
        if not any(self._may_have_excluded_rows(table, file_name) for file_name in files):
            return None
        conditions = self.view.game_conditions
        is_on_games = not conditions.keys() <= {*table_schema(table)}
        return RowFilter(" AND ".join(conditions.values()), is_on_games)

    def _may_have_excluded_rows(self, table: str, file_name: str) -> bool:
        """Return whether a file may have rows that do not belong to the view."""
        conditions = self.view.game_conditions
        if not conditions or "game_id" not in table_schema(table):
            return False
        if conditions.keys() != {"system"}:
            return True
        if not _has_system_column(table):
            return len(self.systems) > 1
        file_systems = self._string_ranges_by_file(table, "system")[file_name]
        return file_systems != (self.system, self.system)

    def _entries_of_files_with_system(
        self, table: str, values_by_file: dict[str, T]
    ) -> dict[str, T]:
        """Return the entries of `values_by_file` whose files may have rows of the lake's system."""
        system = self.system
        if system is None or not _has_system_column(table):
            return values_by_file
        ranges = self._string_ranges_by_file(table, "system")
        return {
            name: value
            for name, value in values_by_file.items()
            if _is_in_range_or_unknown(ranges[name], system)
        }

    def _string_ranges_by_file(self, table: str, column: str) -> _RangesByFile:
        """Return the minimum and maximum of a string column for each file, from the table's log."""
        key = table, column
        if key not in self._cached_string_ranges:
            lows, highs = (
                self._log_values_by_file(table, f"{end}.{column}") for end in ("min", "max")
            )
            self._cached_string_ranges[key] = {
                name: (low, highs[name]) for name, low in lows.items()
            }
        return self._cached_string_ranges[key]

    @view_property
    def game_types(self) -> tuple[str, ...]:
        """The game types of the lake's games, in the order in which they are defined."""
        types = self.table("games").select(pl.col("game_type").unique())
        played = set(types.collect(engine="streaming")["game_type"])
        return (
            *(name for name in games.game_type_names() if name in played),
            *sorted(played - {*games.game_type_names()}),
        )

    def may_have_game_type(self, table: str, game_type: str) -> bool:
        """Return whether the table may have rows of the game type, without reading its files."""
        ranges = self._string_ranges_by_file(table, "game_type").values()
        return any(_is_in_range_or_unknown(file_range, game_type) for file_range in ranges)

    def _log_values_by_file(self, table: str, column: str) -> dict[str, Any]:
        """Return a value of the table's log by file name; an empty dict for a missing table."""
        if table in TABLES and table != COMMITS_TABLE and table not in self.states:
            return {}
        return self._open_table(table).log_values_by_file(column)

    def table(self, table: str) -> pl.LazyFrame:
        """Return a table as a polars LazyFrame, with the lake's view options applied.

        Model names are replaced, and results of failed games are losses, if the lake says so.

        >>> votes = lake.table("votes").filter("is_tested")
        >>> votes.select("model", "is_correct").collect().height
        96
        """
        if table == "results" and self.failures == LOSS:
            return self.failed_results().select(*table_schema(table))
        return self._table_with_merged_names(table)

    def failed_results(self) -> pl.LazyFrame:
        """Return the table `results` with failed games as losses, and with a column `is_failed`.

        >>> lake.failed_results().filter("is_failed").collect().height
        0
        """
        context = pl.SQLContext(
            {name: self._table_with_merged_names(name) for name in _FAILED_RESULTS_TABLES}
        )
        return context.execute(
            failed_games_as_losses_select("SELECT * FROM {}".format), eager=False
        )

    def _table_with_merged_names(self, table: str) -> pl.LazyFrame:
        return replace_model_names_and_merge_results(
            table, self.stored(table), self.names, lambda: self.stored("players")
        )

    def stored(self, table: str) -> pl.LazyFrame:
        """Return a table as it is stored, with the model names and results from the logs.

        >>> lake.stored("votes").collect().height
        192
        """
        files = self.table_files(table)
        rows = scan_files(table, files) if files else empty_table(table).lazy()
        return self._filter_rows(table, rows)

    def _filter_rows(self, table: str, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows of a table that belong to the view."""
        row_filter = self.row_filter(table)
        if row_filter is None:
            return rows
        if row_filter.is_on_games:
            game_ids = pl.concat([self.table("games").select("game_id"), _NO_GAME.lazy()])
            return rows.join(game_ids, on="game_id", how="semi", nulls_equal=True)
        return rows.filter(pl.sql_expr(row_filter.condition))


def _is_ending_still_defined(
    game_type: str, outcome: str, side: str, win_credit: float | None, is_win: bool | None
) -> bool:
    """Return whether the game type's definition gives the side this credit for this outcome."""
    ending = games.game_definition(game_type).find_ending(outcome)
    if ending is None:
        return False
    return ending.credit_of_side(side) in (None, win_credit) and ending.is_win_of_side(side) in (
        None,
        is_win,
    )


def _has_system_column(table: str) -> bool:
    return "system" in table_schema(table)


def _is_in_range_or_unknown(value_range: tuple[str | None, str | None], value: str) -> bool:
    """Return whether a value is in a range (minimum, maximum); True if the range is unknown."""
    low, high = value_range
    return low is None or high is None or low <= value <= high
