"""A lake opened at one state of all its tables.

Every committed ingest leaves a row in `ingests` with the version of each table that it completes.
A reader takes the last such row and reads every table at that version, so it sees an ingest in all
tables or in none, whatever is committed meanwhile.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar, cast, overload

import polars as pl
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import DeltaError

from pipeline import games
from pipeline.errors import (
    DAMAGE_HINT,
    DENIED_HINT,
    DeniedError,
    LakeError,
    UsageError,
    choose,
    is_denied,
)
from pipeline.events.contracts import (
    OLDEST_VERSION,
    TABLES,
    VERSION,
    polars_schema,
    row_meaning,
)
from pipeline.events.roles import role_rows
from pipeline.lake.contents import EMPTY, Contents, contents_of, empty_commits
from pipeline.lake.damage import damage
from pipeline.lake.names import CATALOG, WRITING
from pipeline.lake.writing import check_clock
from pipeline.stores import Location, location

VERSION_KEY = "magic.contractVersion"
COMMITS = "ingests"
ROLES = "roles"
LOCK = ".lock"
LOCK_SECONDS = 600
# In a URL, which deltalake makes of a path, and DuckDB of a file that it writes, these have another
# meaning: the files would be in another folder.
_NOT_IN_PATHS = "%?\\"
_DRAWN = re.compile(r"\x1b\[[0-9;]*m")
# What follows the text of an error raised in Rust: where that was.
_RAISED_AT = re.compile(r"\s+0: <unknown>")


T = TypeVar("T")
# By file, the least and the most of a column, null where the log does not say.
_Ranges: TypeAlias = dict[str, tuple[str | None, str | None]]


class TableState(NamedTuple):
    """A table at one state of a lake: its version, and what it consists of."""

    version: int
    contents: Contents


def table_states(versions: Iterable[Mapping[str, Any]]) -> dict[str, TableState]:
    """The state of each table, as a row of `ingests` has them in its column `versions`."""
    return {
        entry["table"]: TableState(
            entry["version"],
            Contents(entry["n_files"], entry["n_rows"], entry["files_sha256"]),
        )
        for entry in versions
    }


class StoredLake:
    """One state of a lake: the last, or that after the ingest `as_of`.

    Open it anew to see what was committed since. A copy, also one that is pickled for another
    process, is of the same state. `system` is the one whose games are seen, None for all.
    """

    def __init__(
        self,
        path: str | Path | Location,
        as_of: int | None = None,
        version: int | None = None,
        system: str | None = None,
    ) -> None:
        """`version` is that of the table of commits, the newest if none is given."""
        self.path = location(path)
        self.system = system
        self._as_of = as_of
        self._version = version
        self._opened: dict[str, OpenTable] = {}
        self._known_ranges: dict[tuple[str, str], _Ranges] = {}
        self._narrowed: dict[str, StoredLake] = {}

    def __repr__(self) -> str:
        of_system = f", {self.system} alone" if self.system else ""
        return f"<Lake {self.path} after ingest {self.ingest_id}{of_system}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # The tables that are open cannot be copied; those of these versions can be opened again.
        version = self.delta(COMMITS).version()
        return type(self), (str(self.path), self._as_of, version, self.system)

    @cached_property
    def state(self) -> tuple[object, ...]:
        """What no other state has, even of another lake that was made later at the same path."""
        own = self.delta(COMMITS)
        return str(self.path), self._as_of, own.version(), own.metadata().id, self.system

    def is_newest(self) -> bool:
        """Whether nothing was committed since, and no other lake was made at the path."""
        own, newest = self.delta(COMMITS), _opened(self.folder(COMMITS))
        return (own.version(), own.metadata().id) == (newest.version(), newest.metadata().id)

    @cached_property
    def last_ingest(self) -> dict[str, object] | None:
        """The last row of `ingests` up to this state, None where nothing was ingested yet."""
        try:
            ingests = self.table(COMMITS)
            if self._as_of is not None:
                ingests = ingests.filter(pl.col("ingest_id") <= self._as_of)
            rows = ingests.sort("ingest_id").tail(1).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            raise self.damage([COMMITS]) or LakeError(
                f"{self.path}: the lake is damaged, the table `{COMMITS}` cannot be read: "
                f"{one_line(error)}"
            ) from None
        return rows.row(0, named=True) if rows.height else None

    @property
    def ingest_id(self) -> int:
        """The number of the last ingest, 0 before the first."""
        last = self.last_ingest
        return int(str(last["ingest_id"])) if last else 0

    @cached_property
    def states(self) -> dict[str, TableState]:
        """Every table but `ingests` at this state."""
        last = self.last_ingest
        if last is None:
            return {table: TableState(0, EMPTY) for table in TABLES if table != COMMITS}
        versions = last["versions"]
        assert isinstance(versions, list)
        return table_states(versions)

    @cached_property
    def contract_version(self) -> str | None:
        """The version of the contracts by which the lake was made."""
        return self.delta(COMMITS).metadata().configuration.get(VERSION_KEY)

    @property
    def own_tables(self) -> tuple[str, ...]:
        """The tables that the lake has: one of an older version lacks some."""
        return tuple(table for table in TABLES if table == COMMITS or table in self.states)

    @property
    def unknown_tables(self) -> tuple[str, ...]:
        """The lake's tables that are of a package which is not installed."""
        return tuple(table for table in self.states if table not in TABLES)

    def file_schema(self, table: str) -> dict[str, pl.DataType]:
        """The columns of the table's files: of an older lake, those that it has of the contract."""
        columns = dict(polars_schema(table))
        is_of_kind = any(table in kind.tables for kind in games.kinds().values())
        is_newest = self.contract_version == str(VERSION) and not is_of_kind
        if is_newest or table not in self.own_tables:
            return columns
        known = {field.name for field in self.delta(table).schema().fields}
        return {name: dtype for name, dtype in columns.items() if name in known}

    def delta(self, table: str) -> DeltaTable:
        """The Delta table at this state's version; raises UsageError for a name unknown.

        Raises LakeError where the table's log names other files than the ingest left.
        """
        return self._open(table).delta

    def _open(self, table: str) -> "OpenTable":
        if table not in TABLES:
            raise UsageError(self._no_table(table))
        if table not in self._opened:
            if table == COMMITS:
                self._opened[table] = opened_journal(self.folder(table), self._version)
            else:
                self._opened[table] = opened_at(self.folder(table), self.states[table])
        return self._opened[table]

    def _no_table(self, name: str) -> str:
        """What is said of a name that is no table."""
        return f"no table `{name}`: {choose([name], TABLES)}"

    def latest_version(self, table: str) -> int:
        """The table's newest version, which an ingest that was killed may have left behind."""
        return _opened(self.folder(table)).version()

    def folder(self, table: str) -> Location:
        """Where the table's files are."""
        return self.path / table

    @cached_property
    def systems(self) -> dict[str, int]:
        """The systems that ran the lake's games, and how many each did; the largest first.

        They are those of the whole lake, also where it is seen as that of one system.
        """
        n_rows = _known_rows(self.folder("games"), self._logged("games", "num_records"))
        n_games: dict[str, int] = {}
        mixed = []
        for name, (low, high) in self._ranges("games", "system").items():
            if low is not None and low == high:
                n_games[low] = n_games.get(low, 0) + n_rows[name]
            else:
                mixed.append(str(self.folder("games") / name))
        if mixed:
            counted = scan("games", mixed).group_by("system").len().collect(engine="streaming")
            for system, n in counted.iter_rows():
                n_games[system] = n_games.get(system, 0) + n
        return dict(sorted(n_games.items(), key=lambda one: (-one[1], one[0])))

    def of_system(self, system: str) -> Self:
        """The lake with the games of one system alone, in every table that has games.

        Raises UsageError for a system that ran none of its games.
        """
        if system == self.system:
            return self
        if system not in self.systems:
            known = choose([system], self.systems) if self.systems else "the lake has no games"
            raise UsageError(f"no game of the system `{system}`: {known}")
        if system not in self._narrowed:
            copy = object.__new__(type(self))
            copy.__dict__ = {**self.__dict__, "system": system, "_narrowed": {}}
            for name in ("state", "game_types"):
                copy.__dict__.pop(name, None)
            self._narrowed[system] = copy
        return cast(Self, self._narrowed[system])

    def of_one_system(self, system: str | None = None) -> Self:
        """The lake of this system, else of its own, or else of the one with the most games.

        What models do in one harness says nothing of another, so nothing is counted over several.
        Raises UsageError for a system that ran none of its games.
        """
        if system is not None:
            return self.of_system(system)
        if self.system is not None or not self.systems:
            return self
        return self.of_system(next(iter(self.systems)))

    def by_system(self) -> list[Self]:
        """The lakes of each of its systems, the largest first; a lake without games is one."""
        if self.system is not None or not self.systems:
            return [self]
        return [self.of_system(system) for system in self.systems]

    def files(self, table: str) -> list[str]:
        """The Parquet files that make up the table, absolute paths or URLs.

        In a lake of one system, those that may have rows of it.
        """
        return sorted(str(self.folder(table) / name) for name in self.sizes(table))

    def sizes(self, table: str) -> dict[str, int]:
        """The bytes of each of these files, by its name in the table's folder."""
        return self._of_files(table, self._logged(table, "size_bytes"))

    def counts(self, table: str) -> dict[str, int]:
        """The rows of each of these files: as its log says, or if it does not, its own footer."""
        logged = self._of_files(table, self._logged(table, "num_records"))
        return _known_rows(self.folder(table), logged)

    def is_mixed(self, table: str) -> bool:
        """Whether these files have, or may have, rows of other systems than the lake's own."""
        if self.system is None or not _has_system(table):
            return False
        ranges = self._of_files(table, self._ranges(table, "system"))
        return any(ends != (self.system, self.system) for ends in ranges.values())

    def _of_files(self, table: str, by_file: dict[str, T]) -> dict[str, T]:
        """What there is by file, of those files that may have rows of the lake's system."""
        system = self.system
        if system is None or not _has_system(table):
            return by_file
        ranges = self._ranges(table, "system")
        return {name: one for name, one in by_file.items() if _may_have(ranges[name], system)}

    def _ranges(self, table: str, column: str) -> _Ranges:
        """The least and the most of a column of texts in each file, as the table's log says."""
        key = table, column
        if key not in self._known_ranges:
            lows, highs = (self._logged(table, f"{end}.{column}") for end in ("min", "max"))
            self._known_ranges[key] = {name: (low, highs[name]) for name, low in lows.items()}
        return self._known_ranges[key]

    @cached_property
    def game_types(self) -> tuple[str, ...]:
        """The game types that are seen in this lake, in the order of all."""
        types = self.table("games").select(pl.col("game_type").unique())
        played = set(types.collect(engine="streaming")["game_type"])
        return (
            *(name for name in games.names() if name in played),
            *sorted(played - {*games.names()}),
        )

    def may_have_type(self, table: str, game_type: str) -> bool:
        """Whether a file of the table can have rows of the game type, as its log says."""
        return any(_may_have(ends, game_type) for ends in self._ranges(table, "game_type").values())

    def _logged(self, table: str, column: str) -> dict[str, Any]:
        """What the table's log says of each file; a table that the lake lacks has none."""
        if table in TABLES and table != COMMITS and table not in self.states:
            return {}
        return self._open(table).logged(column)

    def damage(self, tables: Iterable[str] = tuple(TABLES)) -> LakeError | None:
        """The error that names this state's damaged files, None if none is found at once."""
        # The table of commits is not to be read to find that it is damaged.
        there = [table for table in tables if table == COMMITS or table in self.states]
        found = damage(self, there)
        return type(found)(f"{self.path}: {found}") if found else None

    def table(self, table: str) -> pl.LazyFrame:
        """The table as a lazy polars frame, with the columns and types of its contract."""
        if table == ROLES and ROLES not in self.own_tables:
            return role_rows().lazy()  # an older lake has no other games
        files = self.files(table)
        rows = scan(table, files) if files else pl.LazyFrame(schema=polars_schema(table))
        return rows.filter(system=self.system) if self.is_mixed(table) else rows


def _has_system(table: str) -> bool:
    return "system" in polars_schema(table)


def _may_have(ends: tuple[str | None, str | None], value: str) -> bool:
    """Whether a column has the value, as far as its least and most tell."""
    low, high = ends
    return low is None or high is None or low <= value <= high


def scan(table: str, files: Sequence[str]) -> pl.LazyFrame:
    """The rows of some files of a table, with the columns and types of its contract."""
    # The first release of polars 2 takes no other mapping.
    return pl.scan_parquet(
        list(files), schema=dict(polars_schema(table)), glob=False, missing_columns="insert"
    )


def _known_rows(folder: Location, logged: Mapping[str, int | None]) -> dict[str, int]:
    """The rows of each file, from its footer where the log does not say."""
    return {
        name: _footer_rows(folder / name) if n_rows is None else n_rows
        for name, n_rows in logged.items()
    }


def _footer_rows(file: Location) -> int:
    """How many rows a file has; raises LakeError where its footer cannot be read."""
    # Imported here, so that whoever reads does not wait for Arrow, which loads numpy.
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    try:
        with file.open() as opened:
            return int(read_metadata(opened).num_rows)
    except (OSError, ArrowException) as error:
        raise LakeError(f"{file}: {one_line(error)}; {DAMAGE_HINT}") from None


class OpenTable:
    """A Delta table at one version, and what its log says of its files there."""

    def __init__(self, delta: DeltaTable) -> None:
        self.delta = delta
        self._files = delta.get_add_actions(flatten=True)

    def logged(self, column: str) -> dict[str, Any]:
        """What the log says of each file, null where it does not say."""
        names = self._files.column("path").to_pylist()
        is_there = column in self._files.column_names
        values = self._files.column(column).to_pylist() if is_there else [None] * len(names)
        return dict(zip(names, values, strict=True))


def opened_at(folder: Location, state: TableState) -> OpenTable:
    """A table at a recorded state; raises LakeError where its log says otherwise."""
    table = OpenTable(_opened(folder, state.version))
    contents = contents_of(table.logged("num_records"))
    if not contents.agrees(state.contents):
        raise LakeError(
            f"{folder}: the lake is damaged: the table's log names {contents} at version "
            f"{state.version}, but the ingest left {state.contents}"
            f"{_emptied(folder, state.version)}; {DAMAGE_HINT}"
        )
    return table


def opened_journal(folder: Location, version: int | None) -> OpenTable:
    """The table `ingests`: each of its versions has a row more, so its log is checked by itself."""
    table = OpenTable(_opened(folder, version))
    n_rows = sum(_known_rows(folder, table.logged("num_records")).values())
    n_ingests = table.delta.version()
    if n_rows != n_ingests:
        raise LakeError(
            f"{folder}: the lake is damaged: the table's log names {n_rows:,} ingests, but there "
            f"were {n_ingests:,}{_emptied(folder, n_ingests)}; {DAMAGE_HINT}"
        )
    return table


def _emptied(folder: Location, version: int) -> str:
    """What to add to an error where commits of the log are empty."""
    names = empty_commits(folder, version)
    if not names:
        return ""
    is_last = names == [f"{version:020d}.json"] and str(folder).endswith(f"/{COMMITS}")
    mend = "; delete it and run the last ingest again" if is_last else ""
    return f" (the commit {names[0]} is empty, perhaps after a power loss{mend})"


def _opened(folder: Location, version: int | None = None) -> DeltaTable:
    try:
        return DeltaTable(str(folder), version=version)
    except (DeltaError, OSError) as error:
        if is_denied(error):
            raise DeniedError(
                f"{folder}: the table may not be read: {one_line(error)}; {DENIED_HINT}"
            ) from None
        raise LakeError(
            f"{folder}: the lake is damaged, the table cannot be opened: {_reason(folder, error)}; "
            f"{DAMAGE_HINT}"
        ) from None


def _reason(folder: Location, error: Exception) -> str:
    """Why a table cannot be opened; the library's text of a missing folder is hard to read."""
    if not folder.exists():
        return "the folder is missing"
    if not (folder / "_delta_log").files():
        return "its log is missing"
    return one_line(error)


def one_line(error: BaseException) -> str:
    """The first line of an error's text, and what is behind it: the library's are drawings."""
    text = _RAISED_AT.split(str(error))[0]
    lines = [_DRAWN.sub("", line).strip(" ↳") for line in text.splitlines()]
    return ": ".join(dict.fromkeys(line for line in lines if line)) or type(error).__name__


def is_lake(path: str | Path | Location) -> bool:
    """Whether a lake is at the path, in any version."""
    try:
        return bool((location(path) / COMMITS / "_delta_log").files())
    except OSError as error:
        if isinstance(error, NotADirectoryError):
            raise LakeError(f"{path}: not a lake: a lake is a folder, and this is a file") from None
        if is_denied(error):
            denied = f"{error.filename or path}: {error.strerror or error}"
            raise DeniedError(f"{denied}; {DENIED_HINT}") from None
        raise LakeError(f"{path}: {error.strerror}" if error.strerror else str(error)) from None


def _folder(path: str | Path | Location) -> Location:
    try:
        folder = location(path)
        str(folder).encode()
    except UnicodeEncodeError:
        raise LakeError(f"{str(path)!a}: a lake's path must be valid UTF-8") from None
    except OSError as error:
        raise LakeError(f"{path}: {error.strerror}" if error.strerror else str(error)) from None
    for sign in _NOT_IN_PATHS if folder.is_local else f"{_NOT_IN_PATHS}#":
        if sign in str(folder):
            raise LakeError(f"{path}: a lake's path must not contain {sign}; choose another path")
    return folder


L = TypeVar("L", bound=StoredLake)


@overload
def open_lake(path: str | Path | Location, as_of: int | None = None) -> StoredLake: ...
@overload
def open_lake(path: str | Path | Location, as_of: int | None, kind: type[L]) -> L: ...
def open_lake(
    path: str | Path | Location, as_of: int | None = None, kind: type[StoredLake] = StoredLake
) -> StoredLake:
    """The lake at the path, at its last committed state, or as it was after the ingest `as_of`.

    `kind` is the class of what is returned. Raises LakeError where there is none, or where
    `maintain` has deleted files of that state.
    """
    folder = _folder(path)
    if not is_lake(folder):
        if not folder.exists():
            raise LakeError(
                f"{path}: no such lake; create it with `magic ingest SOURCE --lake {path}`"
            )
        _refuse_damaged(folder)
        if not _strangers(folder):
            raise LakeError(
                f"{path}: not a lake yet: nothing was ingested here; run `magic ingest SOURCE "
                f"--lake {path}`"
            )
        raise LakeError(
            f"{path}: not a lake: it has no table `{COMMITS}`; choose a folder that `magic "
            "ingest` created"
        )
    lake = kind(folder, as_of)
    readable = [str(version) for version in range(OLDEST_VERSION, VERSION + 1)]
    if lake.contract_version not in readable:
        raise LakeError(
            f"{path}: the lake has contract version {lake.contract_version}, but this version of "
            f"magic reads {' and '.join(readable)}; ingest the logs again into a new folder, or "
            "use the version of magic that wrote the lake"
        )
    if as_of is not None and lake.ingest_id != as_of:
        raise LakeError(
            f"{path}: no ingest {as_of}: `magic sql 'SELECT ingest_id, started_at FROM ingests'` "
            "lists them"
        )
    lake.states  # noqa: B018 (read now: this is the state that the lake is opened at)
    if as_of is not None:
        _refuse_deleted(lake, as_of)
    return lake


def _refuse_deleted(lake: StoredLake, as_of: int) -> None:
    """Raises LakeError for an old state without its files, if the newest one has all of its own.

    Otherwise the lake is damaged, which is for those to tell who read the files.
    """
    there = {table: {file.name for file in lake.folder(table).files()} for table in lake.own_tables}
    newest = StoredLake(lake.path)
    if _has_files(lake, there) or not _has_files(newest, there):
        return
    ingests = newest.table(COMMITS).filter(pl.col("ingest_id") > as_of).collect()
    later = sorted(ingests["ingest_id"])
    # The oldest go first, so that not all have to be looked at.
    left = bisect_left(later, True, key=lambda one: _has_files(StoredLake(lake.path, one), there))
    raise LakeError(
        f"{lake.path}: the state after ingest {as_of} is gone: `magic maintain` deleted its "
        f"files; the oldest state left is the one after ingest {later[left]}"
    )


def _has_files(lake: StoredLake, there: Mapping[str, set[str]]) -> bool:
    """Whether all files of a state are among those that are there."""
    return all(
        set(lake.sizes(table)) <= names for table, names in there.items() if table != COMMITS
    )


def create_lake(path: str | Path | Location) -> StoredLake:
    """A new lake with every table empty; raises LakeError where the folder holds something else."""
    folder = _folder(path)
    check_clock()
    try:
        folder.make()
        if _strangers(folder):
            raise LakeError(
                f"{path}: not a lake and not empty; choose a lake, or an empty or new folder"
            )
        with (folder / LOCK).lock(LOCK_SECONDS):
            _refuse_damaged(folder)
            create_tables(folder, TABLES)
    except (OSError, DeltaError) as error:
        hint = f"; {DENIED_HINT}" if is_denied(error) else ""
        raise LakeError(f"{path}: cannot create a lake here: {one_line(error)}{hint}") from None
    return StoredLake(folder)


def _strangers(folder: Location) -> set[str]:
    """The names in a folder that no lake has."""
    names = {name for name in folder.names() if CATALOG not in name}
    return names - {*TABLES, LOCK, WRITING}


def _refuse_damaged(folder: Location) -> None:
    """Raises LakeError where tables hold rows and the table of commits is gone, which is made last.

    With a new one, all that they hold would count as left behind by an ingest that was killed.
    """
    if is_lake(folder):
        return
    used = [table for table in TABLES if _has_rows(folder / table)]
    if used:
        raise LakeError(
            f"{folder}: the lake is damaged: its table `{COMMITS}` is gone, but {len(used)} "
            "other tables have rows; restore it from a copy, or ingest the logs again into a "
            "new folder"
        )


def _has_rows(folder: Location) -> bool:
    """Whether a table has files of rows, or a log that cannot be read and may name some."""
    if not (folder / "_delta_log").files():
        return False
    try:
        return bool(OpenTable(_opened(folder)).logged("path"))
    except LakeError:
        return True


def create_tables(folder: Location, tables: Iterable[str]) -> None:
    """Makes those of the tables that there are not yet, empty ones."""
    # Imported here, so that whoever reads does not wait for Arrow, which loads numpy.
    from pipeline.lake.schema import arrow_schema

    for table in sorted(tables, key=lambda name: name == COMMITS):  # the table of commits last
        DeltaTable.create(
            str(folder / table),
            schema=arrow_schema(table),
            mode="ignore",
            name=table,
            description=row_meaning(table),
            # The log of old versions stays: the last row of `ingests` may name one of them.
            configuration={
                VERSION_KEY: str(VERSION),
                "delta.enableExpiredLogCleanup": "false",
            },
            raise_if_key_not_exists=False,
            # Where a store's answer is lost, a second try would make a second version.
            commit_properties=CommitProperties(max_commit_retries=0),
        )
