"""Pages of long lists, lookups and games: games, evidence, documents, SQL, search, transcripts.

`PAGES`, `LOOKUPS` and `OF_GAME` list them for `pipeline.pages.templating`. Long lists are read
one page at a time.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline.column import polars_schema
from pipeline.errors import PipelineError, UsageError
from pipeline.events.contracts import TABLES
from pipeline.games import game_definitions, role_names, win_rate_competitions
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics import evidence as evidence_rows
from pipeline.metrics.completeness import unknown_game_notes
from pipeline.metrics.evidence import (
    EVIDENCE_SUM_COLUMNS,
    evidence_parts,
    sorted_page,
    value_sum_rows,
)
from pipeline.metrics.registry import metric_names, metric_titles
from pipeline.metrics.request import check_role_columns
from pipeline.metrics.win_rate import RESULT_NAMES
from pipeline.pages.content import (
    AFTER,
    EDITION,
    GAME_TYPE,
    METRIC,
    ROWS_PER_PAGE,
    SAME_EDITION,
    Content,
    Faults,
    Field,
    Page,
    address,
    first_rows,
    given,
    head,
    listing,
    sort_of,
    sorting,
)
from pipeline.plots import plot_columns
from pipeline.query_processes import QueryProcesses
from pipeline.render.table import ID_PREFIX_LENGTH
from pipeline.reports import documents as document_rows, games as game_rows
from pipeline.reports.audit import FINDING_TITLES, iter_findings
from pipeline.reports.documents import SEARCH_COLUMNS as COLUMNS, SearchResult
from pipeline.reports.sql_views import describe_row, find_views, list_sql_schemas
from pipeline.reports.transcript import Transcript
from pipeline.reports.transcript_items import (
    VISIBLE_TO_ALL,
    TranscriptItem,
    game_title,
    player_table,
    transcript_items,
)
from pipeline.text_format import decode_bytes_visibly
from pipeline.vocabulary import Phase

# --- games --------------------------------------------------------------------------------------

_OF_GAMES = (
    *("model", "other", "game_type", "role", "result", "outcome"),
    *("competition", "setting_id", "path"),
)


def games(lake: LakeWithMethods, asked: Any) -> Content:
    """Return one page of the list of games that satisfy all filters."""

    def found(**conditions: Any) -> pl.DataFrame:
        return _games(lake, asked, **conditions)

    return listing(asked, game_rows.GAMES_COLUMNS, found, _OF_GAMES, title="Games")


def _games(lake: LakeWithMethods, asked: Any, other: str = "", **conditions: Any) -> pl.DataFrame:
    """Return the games that satisfy the conditions; with `other`, only games of both models."""
    if other and not asked.model:
        raise UsageError("name the model that it played with")
    between = (asked.model, other) if other else None
    seen = lake.for_system(asked.system) if asked.system else lake
    return seen.games(**conditions, between=between)


# --- documents ----------------------------------------------------------------------------------

RAW_SHOWN = 600
_OF_DOCUMENTS = ("status", "source", "reason", "path")


def documents(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page of documents: counts without a filter, otherwise a page of the filtered list.

    `refused` contains the rows of the quarantine for the listed documents, with the first bytes of
    `raw` as text.
    """
    if not _is_narrowed(asked):
        parts = {"is_counted": True, "refused": pl.DataFrame()}
        return Content(title="Documents", rows=lake.document_counts(), parts=parts)
    shown = listing(
        asked, document_rows.DOCUMENT_COLUMNS, lake.documents, _OF_DOCUMENTS, title="Documents"
    )
    return replace(
        shown, parts={"is_counted": False, "refused": _quarantine_rows(lake, shown.rows)}
    )


def _is_narrowed(asked: Any) -> bool:
    return any(getattr(asked, name) for name in (*_OF_DOCUMENTS, "sort", "after"))


def _quarantine_rows(lake: LakeWithMethods, documents: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the quarantine for these documents, in order."""
    location, order = pl.concat_str("source", pl.lit("/"), "path"), document_rows.QUARANTINE_ORDER
    places = documents.select(location)["source"].implode()
    raw = pl.col("raw").bin.head(RAW_SHOWN)  # of each refused document there are up to 64 KiB
    refused = lake.table("quarantine").filter(location.is_in(places))
    rows = refused.select(*order, raw=raw, location=location).sort(order, nulls_last=True).collect()
    texts = [None if raw is None else decode_bytes_visibly(raw) for raw in rows["raw"]]
    return rows.with_columns(pl.Series("raw", texts, pl.String))


# --- missing games ------------------------------------------------------------------------------

FIXED = tuple(name for name in game_rows.SETTING_COLUMNS if name != "setting")
"""What was fixed in a setting, as columns; `setting` is the same as JSON."""


def missing(lake: LakeWithMethods, asked: Any) -> Content:
    """Return one page of the missing games, sorted by model, competition and game.

    `competitions` contains the number of missing games of the models in each competition, and
    `fixed` the columns of the fixed conditions of a setting.
    """
    counts: dict[str, int] = {}

    def found(
        offset: int,
        limit: int,
        sort: str | None = None,
        descending: bool = False,
        competition: str | None = None,
        **wanted: Any,
    ) -> pl.DataFrame:
        rows = lake.missing(**wanted)
        by_competition = rows.group_by("competition", maintain_order=True)
        counts.update(by_competition.agg(pl.col("n_missing").sum()).iter_rows())
        if competition:
            check_role_columns(lake, "competition", [competition])
            rows = rows.filter(competition=competition)
        return sorted_page(
            rows.lazy(),
            game_rows.MISSING_COLUMNS,
            ("model", "competition", "game_index", "setting_id"),
            offset=offset,
            limit=limit,
            sort=sort,
            descending=descending,
        ).collect()

    shown = listing(
        asked,
        game_rows.MISSING_COLUMNS,
        found,
        ("model", "competition"),
        title="Missing games",
    )
    return replace(
        shown,
        parts={"competitions": counts, "fixed": FIXED},
        choices={"competition": tuple(counts)},
    )


# --- the rows behind a value --------------------------------------------------------------------

HIT_FILTERS: dict[str, dict[str, Any]] = {
    "hits": {"hit": True},
    "misses": {"hit": False},
    "unclear": {"unclear": True},
}
_OF_EVIDENCE = ("model", "game_type", "where")


def evidence(lake: LakeWithMethods, asked: Any) -> Content:
    """Return one page of the rows that a metric counts, with their source messages.

    `head` describes the metric. `sum` contains the result of `evidence_sum`; only the first page
    has it.
    """
    in_edition = metric_names(asked.edition)
    metric_head = head(
        asked.metric if asked.metric in in_edition else in_edition[0],
        asked.edition,
        lake.game_types,
    )
    shown = listing(
        asked,
        evidence_rows.EVIDENCE_COLUMNS,
        lake.evidence_page,
        _OF_EVIDENCE,
        title=f"Evidence of {metric_head.title}",
        first={"metric": {"metric": asked.metric, "edition": asked.edition}},
        last={"hit": HIT_FILTERS.get(asked.hit, {})},
    )
    faults, total = Faults(shown.faults), pl.DataFrame(schema=polars_schema(EVIDENCE_SUM_COLUMNS))
    if not asked.after and not faults:
        with faults.record("where" if asked.where else "metric"):
            total = _evidence_sums(lake, asked)
    return replace(shown, parts={"head": metric_head, "sum": total}, faults=faults)


def _evidence_filters(asked: Any) -> dict[str, Any]:
    return {"edition": asked.edition, **given(asked, *_OF_EVIDENCE)}


def _evidence_sums(lake: LakeWithMethods, asked: Any) -> pl.DataFrame:
    """Return the rows of `evidence_sum`; one model's rows are selected from those of all models."""
    wanted = _evidence_filters(asked)
    if asked.model:
        of_all = _values_of_all_models(lake, asked.metric, **wanted | {"model": None})
        for row in of_all.filter(model=asked.model).iter_rows(named=True):
            return value_sum_rows(row, asked.edition)
    return lake.evidence_sum(asked.metric, **wanted)


@lru_cache(maxsize=16)
def _values_of_all_models(lake: LakeWithMethods, metric: str, **wanted: Any) -> pl.DataFrame:
    """Return the metric's values of all models, cached for readers who open several models."""
    return lake.metrics(metric=metric, by=["model"], **wanted)


PAGES = {
    "games": Page(
        address(
            *sorting(),
            AFTER,
            Field("model", "Model", hint="any", size=16),
            Field("other", "And model", hint="any", size=16),
            GAME_TYPE,
            Field("role", "Role", values=lambda *_: role_names(), nothing="any"),
            Field("result", "Result", values=lambda *_: RESULT_NAMES, nothing="any"),
            Field("outcome", "Outcome", values=lambda *_: game_rows.OUTCOME_CHOICES, nothing="any"),
            Field(
                "competition",
                "Competition",
                values=lambda *_: win_rate_competitions(),
                nothing="any",
            ),
            Field("setting_id", "Setting begins with", hint="id", size=12),
            Field("system"),
            Field("path", "File contains", hint="path"),
            SAME_EDITION,
            report="games",
        ),
        games,
        lane="quick",
        whole=lambda lake, asked: [
            _games(lake, asked, **given(asked, *_OF_GAMES), **sort_of(asked))
        ],
    ),
    "documents": Page(
        address(
            *sorting(),
            AFTER,
            Field("status", "Status", values=lambda *_: document_rows.STATUSES, nothing="any"),
            Field("source"),
            Field("reason"),
            Field("path", "File contains", hint="path"),
        ),
        documents,
        lane="quick",
        whole=lambda lake, asked: [
            lake.documents(**given(asked, *_OF_DOCUMENTS), **sort_of(asked))
            if _is_narrowed(asked)
            else lake.document_counts()
        ],
    ),
    "missing": Page(
        address(
            *sorting(),
            AFTER,
            Field("model", "Model", hint="all"),
            Field("competition", "Competition", nothing="all"),
            is_of_system=True,
        ),
        missing,
        whole=lambda lake, asked: [lake.missing(**given(asked, "model", "competition"))],
    ),
    "evidence": Page(
        address(
            METRIC,
            Field("model", "Model", hint="all", size=14),
            GAME_TYPE,
            Field(
                "hit",
                "Rows",
                Literal["", "hits", "misses", "unclear"],
                values=lambda *_: HIT_FILTERS,
                nothing="hits and misses",
            ),
            Field("where", "Filter", hint="role = 'civilian'", size=24),
            EDITION,
            AFTER,
            is_of_system=True,
        ),
        evidence,
        whole=lambda lake, asked: evidence_parts(
            lake, asked.metric, **_evidence_filters(asked), **HIT_FILTERS.get(asked.hit, {})
        ),
    ),
}

# The pages of what a lake has: tables, SQL over them, words in messages, gaps in its games.

# --- tables -------------------------------------------------------------------------------------

SAMPLE = 20


def tables(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page of tables with their sizes, and the details of one table or view.

    `rows` contains one row per table, or a sample of the selected table. A view has no sample
    because a sample could take long; `rows` then contains its `columns`.
    """
    name, sizes = asked.table, lake.tables()
    if not name:
        parts = {"sizes": sizes, "columns": None, "meaning": None, "is_view": False}
        return Content(title="Tables", rows=sizes, parts=parts)
    views, columns = find_views([name]), lake.schema(name)
    return Content(
        title=f"{'View' if views else 'Table'} {name}",
        rows=columns.select("column", "type", "description")
        if views
        else lake.table(name).head(SAMPLE).collect(),
        parts={
            "sizes": sizes,
            "columns": columns,
            "meaning": describe_row(name, views).rstrip("."),
            "is_view": name not in TABLES,
        },
    )


# --- SQL ----------------------------------------------------------------------------------------

SQL_SECONDS = 20.0
SQL_MEMORY = 2**30
SHOWN = 1000
"""A page shows so many rows; `.csv` and `.json` have all."""


def sql(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page with the result of an SQL query, which runs in a separate process.

    Without a query, the result is empty. The plot displays two columns of the result. `place` is
    the position of an error in the query, `columns` lists the columns of tables, and `schemas`
    the views.
    """
    faults, rows, place, notes = Faults(), pl.DataFrame(), "", []
    has_query = bool(asked.query.strip())
    try:
        if has_query:
            with QueryProcesses(timeout=SQL_SECONDS, memory=SQL_MEMORY) as sandbox:
                rows = sandbox.run_query(lake, asked.query)
    except PipelineError as error:
        faults["query"] = getattr(error, "message", str(error))
        place = getattr(error, "place", "")
    is_plotted = bool(asked.x and asked.y and not faults)
    try:
        if is_plotted:
            plot_columns(rows, asked.x, asked.y)
    except UsageError as error:  # the columns may be those of the query before
        is_plotted, notes = False, [f"no plot: {error}"]
    return Content(
        title="SQL",
        rows=rows,
        parts={
            "columns": lake.schema(),
            "schemas": tuple(list_sql_schemas()),
            "place": place,
            "has_run": has_query and not faults,
            "is_plotted": is_plotted,
            "shown": SHOWN,
            "timeout": SQL_SECONDS,
        },
        notes=notes,
        faults=faults,
    )


# --- search -------------------------------------------------------------------------------------

SEARCH_SECONDS = 10.0
MOST_FOUND = 100_000
"""A CSV has at most so many messages."""


def search(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page of messages that contain all search words; without words, it is empty."""
    faults, hits = (
        Faults(),
        SearchResult(pl.DataFrame(schema=polars_schema(COLUMNS)), 0, 0, "", None),
    )
    if asked.words or asked.secret:
        with faults.record("words"):
            hits = _search_hits(lake, asked, ROWS_PER_PAGE, asked.after or None)
    return Content(
        title="Search",
        rows=hits.rows,
        after=hits.key,
        parts={
            "n_searched": hits.n_searched,
            "n_messages": hits.n_messages,
            "stopped": hits.stopped or None,
            "timeout": SEARCH_SECONDS,
        },
        faults=faults,
    )


def all_found(lake: LakeWithMethods, asked: Any) -> Iterable[pl.DataFrame]:
    """Return all messages that contain the search words.

    Raises:
        UsageError: If the search takes too long.
    """
    if not (asked.words or asked.secret):
        return [search(lake, asked).rows]
    hits = _search_hits(lake, asked, MOST_FOUND, None)
    if hits.stopped != "end":
        raise UsageError(
            f"the search stopped after {hits.n_searched:,} of {hits.n_messages:,} messages: ask "
            "for less, or use `magic search --format csv`"
        )
    return [hits.rows]


def _search_hits(lake: LakeWithMethods, asked: Any, limit: int, after: str | None) -> SearchResult:
    flags = {name: getattr(asked, name) for name in ("secret", "aloud", "tested")}
    more = given(asked, "model", "game_type") | flags
    return lake.search(asked.words, **more, limit=limit, timeout=SEARCH_SECONDS, after=after)


# --- gaps and contradictions --------------------------------------------------------------------


def completeness(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page with the games of each model and competition, and with bounds of values."""
    return Content(
        title="Completeness",
        rows=lake.completeness(expected=asked.expected),
        parts={"readability": lake.readability(edition=asked.edition, expected=asked.expected)},
    )


def audit(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page of contradictions in logs: counts, and the first of the selected kind."""
    chosen, findings = given(asked, "model"), None
    if asked.kind:
        findings = first_rows(iter_findings(lake, asked.kind, **chosen), ROWS_PER_PAGE)
    return Content(
        title="Audit",
        rows=lake.audit(**chosen),
        parts={
            "findings": None if findings is None else findings.head(ROWS_PER_PAGE),
            "finding": FINDING_TITLES[asked.kind] if asked.kind else None,
            "is_cut": findings is not None and findings.height > ROWS_PER_PAGE,
        },
    )


LOOKUPS = {
    "tables": Page(address(Field("table")), tables, lane="quick"),
    "sql": Page(address(Field("query"), Field("x"), Field("y")), sql, lane="free"),
    "search": Page(
        address(
            Field("words", "Words", hint="all of these words", size=30),
            Field("model", "Speaker’s model", hint="any", size=16),
            GAME_TYPE,
            Field("secret", "says the secret word", bool, False),
            Field("aloud", "said to other players", bool, False),
            Field("tested", "tested players only", bool, False),
            Field("roles", kind=bool, default=True),
            SAME_EDITION,
            AFTER,
        ),
        search,
        lane="search",
        whole=all_found,
    ),
    "completeness": Page(
        address(
            Field("expected", "Games expected", int | None, None, hint="as others played", size=14),
            EDITION,
            is_of_system=True,
            report="completeness",
        ),
        completeness,
    ),
    "audit": Page(
        address(Field("kind"), Field("model")),
        audit,
        whole=lambda lake, asked: iter_findings(lake, asked.kind, **given(asked, "model")),
        frame="findings",
    ),
}

# The page of one whole game, or of two side by side.
#
# As long as roles are hidden, messages stay, since they are the game. Whatever else depends on who
# has which role goes: columns, rows of events, and what metrics counted, since a metric of roles
# counts only those of one side.


class OneGame(Struct, frozen=True):
    """A game as a page displays it.

    `counted` contains the indices of the items that a metric counts, and `private` the indices of
    hidden messages that may reveal a role.
    """

    game: Mapping[str, Any]
    players: tuple[Mapping[str, Any], ...]
    parts: tuple[TranscriptItem, ...]
    counted: tuple[str, ...]
    private: tuple[str, ...]


def content(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page of a game, optionally with a second game beside it.

    `rows` contains the messages of the first game, and `games` one or two games.
    `are_roles_hidden` says that the game has roles that the page hides, together with everything
    that metrics count in it.
    """
    if not asked.game:
        raise UsageError("this page needs a game: choose one on the page of games")
    ids = [asked.game, *([asked.beside] if asked.beside else [])]
    whole = [lake.game(game_id, edition=asked.edition) for game_id in ids]
    hides = [has_roles(transcript.game) and not asked.roles for transcript in whole]
    transcripts = [
        without_roles(transcript) if h else transcript
        for transcript, h in zip(whole, hides, strict=True)
    ]
    shown = tuple(
        _one_game(transcript, asked, hides_roles=h)
        for transcript, h in zip(transcripts, hides, strict=True)
    )
    counted = pl.concat([transcript.counted for transcript in transcripts])
    marked = counted["metric"].unique(maintain_order=True)
    return Content(
        title=" beside ".join(
            f"{game_title(transcript.game).capitalize()} "
            f"{str(transcript.game['game_id'])[:ID_PREFIX_LENGTH]}"
            for transcript in transcripts
        ),
        rows=transcripts[0].tables["messages"],
        parts={
            "games": shown,
            "counted": counted,
            "metrics": {name: metric_titles()[name] for name in marked},
            "are_roles_hidden": any(hides),
        },
        unknown=unknown_game_notes(
            lake, {str(transcript.game["game_type"]) for transcript in transcripts}
        ),
    )


def _one_game(transcript: Transcript, asked: Any, *, hides_roles: bool) -> OneGame:
    is_wanted = pl.lit(value=True) if not asked.metric else pl.col("metric") == asked.metric
    shown = transcript_items(
        transcript.tables, transcript.counted.filter(is_wanted), transcript.sources
    )
    return OneGame(
        game=transcript.game,
        players=tuple(player_table(transcript.tables).to_dicts()),
        parts=tuple(shown),
        counted=tuple(part.place for part in shown if part.is_counted),
        # A private message, other than a vote for a player, is often about a role.
        private=tuple(
            part.place
            for part in shown
            if hides_roles and part.message is not None
            if part.recipients != VISIBLE_TO_ALL and part.message["phase"] != Phase.VOTE
        ),
    )


# --- hidden roles -------------------------------------------------------------------------------

_PLAYER_COLUMNS = ("role", "side", "competition")
# A path has the role that its model was tested in, and an outcome says who of the voted was hidden.
_GAME_COLUMNS = (
    *("path", "source", "outcome", "outcome_code", "word", "other_word", "hidden_player"),
    *("tested_player", "setting", "ended_by"),
)
# What all players see of a game, and in it the columns that only one who knows the roles can fill.
# A cause is that of a side: werewolves attack only others.
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "games": _GAME_COLUMNS,
    "players": (),
    "messages": (),
    "votes": ("is_correct",),
    "eliminations": ("cause",),
    "team_proposals": (),
    "team_votes": (),
}
_SPEAKER_COLUMNS = ("player", "seat", "model", "is_tested")
_IS_NOTE = pl.col("seat").is_null() & ~pl.col("visible_to").list.contains(pl.lit(VISIBLE_TO_ALL))


def has_roles(game: Mapping[str, object]) -> bool:
    """Return whether the players of the game have hidden roles."""
    kind = game_definitions().get(str(game["game_type"]))
    # Of a game whose package is gone nobody knows it.
    return kind is None or kind.has_sides


def without_roles(transcript: Transcript) -> Transcript:
    """Return the transcript without everything that reveals a role, except texts of messages.

    The recipients of private notes of the moderator are also removed, and so are the speakers of
    phases in which only some roles speak.
    """
    tables = {
        name: _drop_columns(
            rows if name in _SHOWN else rows.clear(), *_PLAYER_COLUMNS, *_SHOWN.get(name, ())
        )
        for name, rows in transcript.tables.items()
    }
    tables["messages"] = _messages(tables["messages"], str(transcript.game["game_type"]))
    return replace(transcript, tables=tables, counted=transcript.counted.clear())


def _messages(messages: pl.DataFrame, game_type: str) -> pl.DataFrame:
    known = game_definitions().get(game_type)
    is_secret = pl.col("phase").is_in(known.secret_phases if known else [])
    nobody = pl.when(_IS_NOTE | is_secret).then(pl.lit([], pl.List(pl.String)))
    return messages.with_columns(
        nobody.otherwise("visible_to").alias("visible_to"),
        *(pl.when(~is_secret).then(name).alias(name) for name in _SPEAKER_COLUMNS),
    )


def _drop_columns(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    known = [name for name in columns if name in rows.columns]
    return rows.with_columns(pl.lit(None, rows.schema[name]).alias(name) for name in known)


OF_GAME = {
    "game": Page(
        address(
            Field("game"),
            Field("beside"),
            Field("metric"),
            SAME_EDITION,
            Field("roles", kind=bool, default=True),
        ),
        content,
        lane="quick",
    )
}
