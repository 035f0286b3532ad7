"""The metrics in SQL: the views that `sql/` holds, filled in for a grouping.

A file of `sql/metrics/` gives a metric's rows and declares its terms in its header; the files above
it count the rows, sum the terms and combine them, the same for every metric.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec import Struct

from pipeline import sqlfiles
from pipeline.metrics.request import (
    ALL,
    DEFAULT_GAMES,
    EDITIONS,
    PAPER,
    POOL,
    RELEASE,
    Request,
)
from pipeline.sqlfiles import filled, identifier, literal

ONE_RATIO = ("pooled", "pooled over all")
UNKNOWN = "cannot be told in {} games"
# Each a view of its own name; those that others are made of come first.
READINGS = ("stated_views", "read_role_analyses", "read_role_identifications")


class SqlMetric(Struct, frozen=True):
    """A metric as its file's header declares it; a term is (name, weight, game types, count)."""

    name: str
    edition: str
    combine: str
    terms: tuple[tuple[str, str, tuple[str, ...], str], ...]
    unknown: str

    @property
    def game_types(self) -> set[str]:
        return {game_type for _, _, game_types, _ in self.terms for game_type in game_types}

    @property
    def has_one_term_a_type(self) -> bool:
        """Whether a game's rows are all for the same term, since a game is of one type."""
        types = [game_type for _, _, game_types, _ in self.terms for game_type in game_types]
        return len(set(types)) == len(types)

    @property
    def view(self) -> str:
        """The name of the view of values; those of rows and terms begin with it."""
        return self.name + _suffix(self.edition)


def _suffix(edition: str) -> str:
    return "" if edition == PAPER else f"_{edition}"


def view_of_all(edition: str) -> str:
    """The name of the view of all metrics' values."""
    return f"metrics{_suffix(edition)}"


def file_of(name: str, edition: str) -> str:
    """The SQL file of a metric in an edition, which need not have one of its own."""
    own = f"metrics/{edition}"
    return f"{own}/{name}" if name in sqlfiles.names(own) else f"metrics/{name}"


def sql_metric(name: str, edition: str) -> SqlMetric:
    """The metric that the file of this name declares."""
    header = sqlfiles.header(file_of(name, edition))
    return SqlMetric(
        name=name,
        edition=edition,
        combine=header["combine"][0],
        terms=tuple(_term(line) for line in header["term"]),
        unknown=header.get("unknown", [UNKNOWN])[0],
    )


def _term(line: str) -> tuple[str, str, tuple[str, ...], str]:
    name, weight, game_types, *count = (part.strip() for part in line.split("|"))
    return name, weight, tuple(game_types.split(", ")), count[0] if count else "NULL"


def views(names: Iterable[str], num_of_game: int = DEFAULT_GAMES) -> dict[str, str]:
    """The SELECT of every view of the metrics, in an order in which they can be made."""
    found = {"release_parameters": f"SELECT {num_of_game} AS num_of_game"}
    found["sliced_games"] = sqlfiles.text("sliced_games")
    found |= {name: sqlfiles.text(f"readings/{name}") for name in READINGS}
    for edition in EDITIONS:
        for name in names:
            metric = sql_metric(name, edition)
            default = Request(edition=edition)
            found[f"{metric.view}_rows"] = sqlfiles.text(file_of(name, edition))
            found[f"{metric.view}_evidence"] = filled("evidence", rows=f"{metric.view}_rows")
            found[f"{metric.view}_by_term"] = by_term(metric, default)
            found[metric.view] = values(metric, default)
        found[view_of_all(edition)] = "\nUNION ALL\n".join(
            f"SELECT * FROM {sql_metric(name, edition).view}" for name in names
        )
    found |= {f"audit_{kind}": sqlfiles.text(f"audit/{kind}") for kind in sqlfiles.names("audit")}
    return found


class Counted(NamedTuple):
    """SELECTs of what a metric counts by the finest groups; the rest is about their few rows."""

    counts: str
    games: str
    sides: str


def counted(metric: SqlMetric, request: Request, *, with_games: bool = True) -> Counted:
    """The SELECTs that count the metric's rows, its games, and the sides that its groups are of.

    To tell games apart is most of the work, so it is left out unless asked for, and done in the
    first pass over the rows where a group's games are those of its one term.
    """
    fine = _fine(request)
    rows = _rows(metric, request, "parse_status")
    by_term = metric.has_one_term_a_type
    games = filled("games", fine=fine, rows=rows)
    return Counted(
        counts=filled(
            "counts", fine=fine, rows=rows, with_games=str(with_games and by_term).upper()
        ),
        games=games if with_games and not by_term else f"{games} LIMIT 0",
        sides=sides(request),
    )


def sides(request: Request) -> str:
    """The SELECT of the groups that tested sides are of, with their unfinished games."""
    if not request.is_of_results:
        return "SELECT NULL AS n_unfinished"
    telling = ("game_id", "game_index", "is_finished", "is_tested")
    return filled(
        "sides",
        fine=_fine(request),
        results=with_game("results", telling, request),
        is_in_scope="game_index < num_of_game" if request.edition == RELEASE else "TRUE",
        is_wanted=wanted(request),
    )


def _fine(request: Request) -> str:
    return ", ".join(map(identifier, request.fine))


def _rows(metric: SqlMetric, request: Request, *needed: str) -> str:
    """The metric's rows that are asked for, to count them by what is needed beside."""
    counting = ("game_id", "term", "hit", "is_counted", *needed)
    source = with_game(f"{metric.view}_rows", counting, request)
    return f"(SELECT * FROM {source} WHERE {wanted(request)}) AS counted"


def with_game(rows: str, needed: Iterable[str], request: Request) -> str:
    """The rows with the columns of their game that are asked for, and of their own the needed."""
    if not request.of_game:
        return rows
    asked = (*needed, "model", "game_type", *request.columns)
    own = [name for name in dict.fromkeys(asked) if name not in request.of_game]
    columns = [f"counted.{identifier(name)}" for name in own]
    columns += [f"games.{identifier(name)}" for name in request.of_game]
    return f"({filled('with_game', rows=rows, columns=', '.join(columns))}) AS {identifier(rows)}"


def by_setting(metric: SqlMetric, request: Request) -> str:
    """The SELECT of the metric's sums by setting, as `statistics.by_setting` gives them."""
    fine = _fine(request)

    def of_group(left: str, right: str) -> dict[str, str]:
        pairs = [
            f"{left}.{c} IS NOT DISTINCT FROM {right}.{c}" for c in map(identifier, request.fine)
        ]
        columns = ", ".join(f"{left}.{identifier(column)}" for column in request.fine)
        return {"fine": fine, "columns": columns, "is_same_group": " AND ".join(pairs)}

    # A game of two sides may feed two terms, which are then one before its products are made.
    is_one_term = metric.combine in ONE_RATIO
    return filled(
        "by_setting",
        fine=fine,
        term=literal(POOL) if is_one_term else "term",
        rows=_rows(metric, request, "competition", "setting_id"),
        strata=filled("strata", **of_group("counted_rows", "games")),
        pairs=filled("pairs", **of_group("by_game", "others")),
        sums=filled("sums"),
    )


def by_setting_of_one_side(metric: SqlMetric, request: Request, *, is_of_results: bool) -> str:
    """The same and what is unread, where each game is of one tested side.

    Of `results` a game has one row then, so that there is nothing to add up.
    """
    fine = _fine(request)
    return filled(
        "by_setting_of_one_side",
        fine=fine,
        rows=_rows(metric, request, "competition", "setting_id", "parse_status"),
        games="SELECT * FROM told" if is_of_results else filled("by_game", fine=fine),
        sums=filled("sums"),
    )


def values(
    metric: SqlMetric,
    request: Request,
    found: Counted | None = None,
    terms: str | None = None,
) -> str:
    """The SELECT of the metric's values by the request's grouping.

    What it counts and its terms are made in it, or read from where they were found before.
    """
    found = found or counted(metric, request)
    return filled(
        "value",
        **found._asdict(),
        metric=metric.name,
        edition=metric.edition,
        combine=metric.combine,
        unknown=literal(metric.unknown),
        by_term=terms or _by_term(metric, request),
        groups=_groups(metric, request),
        fine=_fine(request),
        select=_select(request),
        columns=_columns(request, "groups"),
        columns_of_by_term=_columns(request, "by_term"),
        sets=_sets(request),
        group_by=", ".join(map(identifier, request.by)),
        hint=request.hint(metric.game_types),
        is_pooled="TRUE" if metric.combine in ONE_RATIO else "FALSE",
        join_combined=_join(request, "combined"),
        join_sizes=_join(request, "sizes"),
    )


def by_term(metric: SqlMetric, request: Request, found: Counted | None = None) -> str:
    """The SELECT of the metric's terms by the request's grouping, a row for each."""
    found = found or counted(metric, request)
    return (
        f"WITH counts AS ({found.counts}), sides AS ({found.sides})\n"
        f"SELECT * FROM ({_by_term(metric, request)}) AS by_term"
    )


def _by_term(metric: SqlMetric, request: Request) -> str:
    return filled(
        "by_term",
        groups=_groups(metric, request),
        terms=_terms(metric),
        select=_select(request),
        columns=_columns(request, "groups"),
        sets=_sets(request, "term"),
        join_sums=_join(request, "sums"),
    )


def _groups(metric: SqlMetric, request: Request) -> str:
    if not request.is_of_results:
        return filled(
            "groups_of_rows",
            select=_select(request),
            of_type=_type_of_group(metric, request),
            sets=_sets(request),
        )
    mine = f"game_type IN ({_literals(metric.game_types)})"
    return filled(
        "groups",
        select=_select(request),
        of_type=_type_of_group(metric, request),
        sets=_sets(request),
        is_mine=mine,
        is_wanted="TRUE" if request.has_every_group else mine,
        is_shown=_shown(metric, request),
    )


def _type_of_group(metric: SqlMetric, request: Request) -> str:
    """The game type that a group's terms are those of, `all` where it may have several."""
    if request.is_rolled_up:
        return f"CASE WHEN grouping(game_type) = 1 THEN '{ALL}' ELSE min(game_type) END"
    return "min(game_type)" if request.tells_type(metric.game_types) else f"'{ALL}'"


def _shown(metric: SqlMetric, request: Request) -> str:
    """Which groups of the grouping sets are shown."""
    if not request.is_rolled_up:
        return "count(*) > 0"
    own = metric.game_types if request.edition != RELEASE or len(metric.game_types) == 1 else set()
    shown = own | {ALL}
    if request.game_types is not None:
        shown &= set(request.game_types)
    # By its alias: Spark knows no grouping() here.
    return f"count(*) > 0 AND of_type IN ({_literals(shown)})"


def wanted(request: Request) -> str:
    """The condition that a row is of the models and game types asked for."""
    wanted = []
    if request.models is not None:
        wanted.append(f"model IN ({_literals(request.models)})")
    if request.game_types is not None and not request.is_rolled_up:
        wanted.append(f"game_type IN ({_literals(request.game_types)})")
    if request.where is not None:
        wanted.append(f"({request.where.sql})")
    return " AND ".join(wanted) or "TRUE"


def _literals(values: Iterable[str]) -> str:
    return ", ".join(map(literal, sorted(values))) or "NULL"


def _terms(metric: SqlMetric) -> str:
    """The declared terms, a row for each game type that they exist in, and one for all of them."""
    rows = [
        f"SELECT {literal(name)} AS term, {place} AS place, CAST({weight} AS DOUBLE) AS weight, "
        f"CAST({count} AS BIGINT) AS fixed_count, {literal(game_type)} AS of_type "
        "FROM release_parameters"
        for place, (name, weight, game_types, count) in enumerate(metric.terms)
        for game_type in (*game_types, ALL)
    ]
    return "\nUNION ALL\n".join(rows)


def _each(request: Request, write: Callable[[str], str], end: str) -> str:
    return "".join(f"{write(column)}{end}" for column in request.by)


def _select(request: Request) -> str:
    def write(column: str) -> str:
        if column != "game_type":
            return identifier(column)
        return f"CASE WHEN grouping(game_type) = 1 THEN '{ALL}' ELSE game_type END AS game_type"

    return _each(request, write, ", ")


def _columns(request: Request, table: str) -> str:
    return _each(request, lambda column: f"{table}.{identifier(column)}", ", ")


def _join(request: Request, right: str) -> str:
    pairs = [
        f"groups.{identifier(c)} IS NOT DISTINCT FROM {right}.{identifier(c)}" for c in request.by
    ]
    return " AND ".join(pairs) or "TRUE"


def _sets(request: Request, *also: str) -> str:
    fine = [*map(identifier, request.by), *also]
    sets = [fine]
    if request.is_rolled_up:
        sets.append([column for column in fine if column != identifier("game_type")])
    return ", ".join(f"({', '.join(columns)})" for columns in sets)
