"""Pages of long lists, lookups and games: games, evidence, documents, SQL, search, transcripts.

`LIST_PAGES`, `LOOKUP_PAGES` and `GAME_PAGES` list them for `pipeline.pages.templating`. Long lists
are read one page at a time.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Literal

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline.column import polars_schema
from pipeline.errors import PipelineError, UsageError
from pipeline.events.contracts import TABLES
from pipeline.games import game_definitions, role_names, win_rate_competition_names
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics import evidence as evidence_rows
from pipeline.metrics.completeness import unknown_or_changed_game_notes
from pipeline.metrics.evidence import (
    EVIDENCE_SUM_COLUMNS,
    evidence_parts,
    sort_rows_and_select_page,
    split_value_into_term_rows,
)
from pipeline.metrics.registry import metric_names, metric_titles
from pipeline.metrics.request import check_competitions_or_roles_exist
from pipeline.metrics.win_rate import RESULT_NAMES
from pipeline.pages.content import (
    AFTER_FIELD,
    EDITION_FIELD,
    GAME_TYPE_FIELD,
    HIDDEN_EDITION_FIELD,
    METRIC_FIELD,
    ROWS_PER_PAGE,
    SYSTEM_FIELD,
    Field,
    FormErrors,
    Page,
    PageContent,
    concat_first_parts,
    create_parameters_class,
    describe_metric,
    filter_arguments,
    long_list_content,
    sort_arguments,
    sort_fields,
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

_GAME_FILTERS = (
    *("model", "other", "game_type", "role", "result", "outcome"),
    *("competition", "setting_id", "path"),
)


def games_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return one page of the list of games that satisfy the filters of the form."""
    return long_list_content(
        parameters,
        game_rows.GAMES_COLUMNS,
        partial(_filter_games, lake, parameters),
        _GAME_FILTERS,
        title="Games",
    )


def _filter_games(
    lake: LakeWithMethods, parameters: Any, other: str = "", **filters: Any
) -> pl.DataFrame:
    """Return the games that satisfy the filters; `other` is a second model that played in them."""
    if other and not parameters.model:
        raise UsageError("name the model that it played with")
    between = (parameters.model, other) if other else None
    system_lake = lake.for_system(parameters.system) if parameters.system else lake
    return system_lake.games(**filters, between=between)


# --- documents ----------------------------------------------------------------------------------

MAX_RAW_BYTES = 600
_DOCUMENT_FILTERS = ("status", "source", "reason", "path")


def documents_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the number of documents by source and status, or with a filter a list of documents.

    `refused` contains the rows of the quarantine for the listed documents, with the first bytes of
    `raw` as text.
    """
    if not _has_filter_or_sort(parameters):
        parts = {"is_counted": True, "refused": pl.DataFrame()}
        return PageContent(title="Documents", rows=lake.document_counts(), parts=parts)
    content = long_list_content(
        parameters,
        document_rows.DOCUMENT_COLUMNS,
        lake.documents,
        _DOCUMENT_FILTERS,
        title="Documents",
    )
    return replace(
        content, parts={"is_counted": False, "refused": _quarantine_rows(lake, content.rows)}
    )


def _has_filter_or_sort(parameters: Any) -> bool:
    return any(getattr(parameters, name) for name in (*_DOCUMENT_FILTERS, "sort", "after"))


def _quarantine_rows(lake: LakeWithMethods, documents: pl.DataFrame) -> pl.DataFrame:
    """Return the sorted rows of the table `quarantine` for these documents."""
    location, order = pl.concat_str("source", pl.lit("/"), "path"), document_rows.QUARANTINE_ORDER
    locations = documents.select(location)["source"].implode()
    # The table has up to 64 KiB of each document.
    first_bytes = pl.col("raw").bin.head(MAX_RAW_BYTES)
    rows = (
        lake.table("quarantine")
        .filter(location.is_in(locations))
        .select(*order, raw=first_bytes, location=location)
        .sort(order, nulls_last=True)
        .collect()
    )
    texts = [None if raw is None else decode_bytes_visibly(raw) for raw in rows["raw"]]
    return rows.with_columns(pl.Series("raw", texts, pl.String))


# --- missing games ------------------------------------------------------------------------------

FIXED_COLUMNS = tuple(name for name in game_rows.SETTING_COLUMNS if name != "setting")
"""The columns with the fixed conditions of a setting; `setting` has them as JSON."""


def missing_games_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return one page of the settings of which a model has finished too few games.

    `competitions` contains the number of missing games in each competition, and `fixed` the columns
    with the fixed conditions of a setting.
    """
    n_missing_by_competition: dict[str, int] = {}

    def read_rows(
        offset: int,
        limit: int,
        sort: str | None = None,
        descending: bool = False,
        competition: str | None = None,
        **filters: Any,
    ) -> pl.DataFrame:
        rows = lake.missing(**filters)
        competitions = rows.group_by("competition", maintain_order=True)
        n_missing_by_competition.update(competitions.agg(pl.col("n_missing").sum()).iter_rows())
        if competition:
            check_competitions_or_roles_exist(lake, "competition", [competition])
            rows = rows.filter(competition=competition)
        return sort_rows_and_select_page(
            rows.lazy(),
            game_rows.MISSING_COLUMNS,
            ("model", "competition", "game_index", "setting_id"),
            offset=offset,
            limit=limit,
            sort=sort,
            descending=descending,
        ).collect()

    content = long_list_content(
        parameters,
        game_rows.MISSING_COLUMNS,
        read_rows,
        ("model", "competition"),
        title="Missing games",
    )
    return replace(
        content,
        parts={"competitions": n_missing_by_competition, "fixed": FIXED_COLUMNS},
        choices={"competition": tuple(n_missing_by_competition)},
    )


# --- the rows behind a value --------------------------------------------------------------------

HIT_FILTERS: dict[str, dict[str, Any]] = {
    "hits": {"hit": True},
    "misses": {"hit": False},
    "unclear": {"unclear": True},
}
_EVIDENCE_FILTERS = ("model", "game_type", "where")


def evidence_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return one page of the rows that a metric counts, with the messages that they come from.

    `head` describes the metric. `sum` contains the result of `evidence_sum` on the first page, and
    no rows on further pages.
    """
    metrics = metric_names(parameters.edition)
    description = describe_metric(
        parameters.metric if parameters.metric in metrics else metrics[0],
        parameters.edition,
        lake.game_types,
    )
    content = long_list_content(
        parameters,
        evidence_rows.EVIDENCE_COLUMNS,
        lake.evidence_page,
        _EVIDENCE_FILTERS,
        title=f"Evidence of {description.title}",
        first_arguments={"metric": {"metric": parameters.metric, "edition": parameters.edition}},
        last_arguments={"hit": HIT_FILTERS.get(parameters.hit, {})},
    )
    errors, sums = (
        FormErrors(content.faults),
        pl.DataFrame(schema=polars_schema(EVIDENCE_SUM_COLUMNS)),
    )
    if not parameters.after and not errors:
        with errors.catch_usage_error("where" if parameters.where else "metric"):
            sums = _evidence_sums(lake, parameters)
    return replace(content, parts={"head": description, "sum": sums}, faults=errors)


def _evidence_filters(parameters: Any) -> dict[str, Any]:
    return {"edition": parameters.edition, **filter_arguments(parameters, *_EVIDENCE_FILTERS)}


def _evidence_sums(lake: LakeWithMethods, parameters: Any) -> pl.DataFrame:
    """Return the rows of `evidence_sum`; for one model they come from a cache of all models."""
    filters = _evidence_filters(parameters)
    if parameters.model:
        values = _metric_values_of_all_models(lake, parameters.metric, **filters | {"model": None})
        for row in values.filter(model=parameters.model).iter_rows(named=True):
            return split_value_into_term_rows(row, parameters.edition)
    return lake.evidence_sum(parameters.metric, **filters)


@lru_cache(maxsize=16)
def _metric_values_of_all_models(
    lake: LakeWithMethods, metric: str, **filters: Any
) -> pl.DataFrame:
    return lake.metrics(metric=metric, by=["model"], **filters)


LIST_PAGES = {
    "games": Page(
        create_parameters_class(
            *sort_fields(),
            AFTER_FIELD,
            Field("model", "Model", hint="any", size=16),
            Field("other", "And model", hint="any", size=16),
            GAME_TYPE_FIELD,
            Field("role", "Role", values=lambda *_: role_names(), nothing="any"),
            Field("result", "Result", values=lambda *_: RESULT_NAMES, nothing="any"),
            Field("outcome", "Outcome", values=lambda *_: game_rows.OUTCOME_CHOICES, nothing="any"),
            Field(
                "competition",
                "Competition",
                values=lambda *_: win_rate_competition_names(),
                nothing="any",
            ),
            Field("setting_id", "Setting begins with", hint="id", size=12),
            SYSTEM_FIELD,
            Field("path", "File contains", hint="path"),
            HIDDEN_EDITION_FIELD,
            report="games",
        ),
        games_content,
        thread_pool="quick",
        read_all_rows=lambda lake, parameters: [
            _filter_games(
                lake,
                parameters,
                **filter_arguments(parameters, *_GAME_FILTERS),
                **sort_arguments(parameters),
            )
        ],
    ),
    "documents": Page(
        create_parameters_class(
            *sort_fields(),
            AFTER_FIELD,
            Field("status", "Status", values=lambda *_: document_rows.STATUSES, nothing="any"),
            Field("source"),
            Field("reason"),
            Field("path", "File contains", hint="path"),
        ),
        documents_content,
        thread_pool="quick",
        read_all_rows=lambda lake, parameters: [
            lake.documents(
                **filter_arguments(parameters, *_DOCUMENT_FILTERS), **sort_arguments(parameters)
            )
            if _has_filter_or_sort(parameters)
            else lake.document_counts()
        ],
    ),
    "missing": Page(
        create_parameters_class(
            *sort_fields(),
            AFTER_FIELD,
            Field("model", "Model", hint="all"),
            Field("competition", "Competition", nothing="all"),
            is_of_system=True,
        ),
        missing_games_content,
        read_all_rows=lambda lake, parameters: [
            lake.missing(**filter_arguments(parameters, "model", "competition"))
        ],
    ),
    "evidence": Page(
        create_parameters_class(
            METRIC_FIELD,
            Field("model", "Model", hint="all", size=14),
            GAME_TYPE_FIELD,
            Field(
                "hit",
                "Rows",
                Literal["", "hits", "misses", "unclear"],
                values=lambda *_: HIT_FILTERS,
                nothing="hits and misses",
            ),
            Field("where", "Filter", hint="role = 'civilian'", size=24),
            EDITION_FIELD,
            AFTER_FIELD,
            is_of_system=True,
        ),
        evidence_content,
        read_all_rows=lambda lake, parameters: evidence_parts(
            lake,
            parameters.metric,
            **_evidence_filters(parameters),
            **HIT_FILTERS.get(parameters.hit, {}),
        ),
    ),
}

# Pages to look things up: tables, SQL queries, messages, missing games, contradictions.

# --- tables -------------------------------------------------------------------------------------

N_SAMPLE_ROWS = 20


def tables_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the sizes of all tables; if a table or view is selected, also its columns.

    `rows` contains one row per table, or the first rows of the selected table. For a view it
    contains the columns, because rows of a view could take long to compute.
    """
    name, sizes = parameters.table, lake.tables()
    if not name:
        parts = {"sizes": sizes, "columns": None, "meaning": None, "is_view": False}
        return PageContent(title="Tables", rows=sizes, parts=parts)
    views, columns = find_views([name]), lake.schema(name)
    return PageContent(
        title=f"{'View' if views else 'Table'} {name}",
        rows=columns.select("column", "type", "description")
        if views
        else lake.table(name).head(N_SAMPLE_ROWS).collect(),
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
MAX_SQL_ROWS = 1000
"""The number of rows that the page displays; `.csv` and `.json` contain all rows."""


def sql_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Run an SQL query in a separate process, and return the page with its result.

    Without a query, the result is empty. `place` marks the position of an error in the query,
    `columns` contains the columns of all tables, and `schemas` the views. `is_plotted` says whether
    the page has a plot of the columns `x` and `y`.
    """
    errors, rows, place, notes = FormErrors(), pl.DataFrame(), "", []
    has_query = bool(parameters.query.strip())
    try:
        if has_query:
            with QueryProcesses(timeout=SQL_SECONDS, memory=SQL_MEMORY) as sandbox:
                rows = sandbox.run_query(lake, parameters.query)
    except PipelineError as error:
        errors["query"] = getattr(error, "message", str(error))
        place = getattr(error, "place", "")
    is_plotted = bool(parameters.x and parameters.y and not errors)
    try:
        if is_plotted:
            plot_columns(rows, parameters.x, parameters.y)
    except UsageError as error:  # The columns can be left over from an earlier query.
        is_plotted, notes = False, [f"no plot: {error}"]
    return PageContent(
        title="SQL",
        rows=rows,
        parts={
            "columns": lake.schema(),
            "schemas": tuple(list_sql_schemas()),
            "place": place,
            "has_run": has_query and not errors,
            "is_plotted": is_plotted,
            "shown": MAX_SQL_ROWS,
            "timeout": SQL_SECONDS,
        },
        notes=notes,
        faults=errors,
    )


# --- search -------------------------------------------------------------------------------------

SEARCH_SECONDS = 10.0
MAX_CSV_MESSAGES = 100_000
"""The largest number of messages in a CSV file."""


def search_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the page of messages that contain all search words; without words, it is empty."""
    errors, result = (
        FormErrors(),
        SearchResult(pl.DataFrame(schema=polars_schema(COLUMNS)), 0, 0, "", None),
    )
    if parameters.words or parameters.secret:
        with errors.catch_usage_error("words"):
            result = _search_messages(lake, parameters, ROWS_PER_PAGE, parameters.after or None)
    return PageContent(
        title="Search",
        rows=result.rows,
        after=result.key,
        parts={
            "n_searched": result.n_searched,
            "n_messages": result.n_messages,
            "stopped": result.stopped or None,
            "timeout": SEARCH_SECONDS,
        },
        faults=errors,
    )


def find_all_messages(lake: LakeWithMethods, parameters: Any) -> Iterable[pl.DataFrame]:
    """Return all messages that contain the search words, as a list of one data frame.

    Raises:
        UsageError: If the search stops at the time limit or after `MAX_CSV_MESSAGES` messages.
    """
    if not (parameters.words or parameters.secret):
        return [search_content(lake, parameters).rows]
    result = _search_messages(lake, parameters, MAX_CSV_MESSAGES, None)
    if result.stopped != "end":
        raise UsageError(
            f"the search stopped after {result.n_searched:,} of {result.n_messages:,} messages: "
            "ask for less, or use `magic search --format csv`"
        )
    return [result.rows]


def _search_messages(
    lake: LakeWithMethods, parameters: Any, limit: int, after: str | None
) -> SearchResult:
    return lake.search(
        parameters.words,
        **filter_arguments(parameters, "model", "game_type"),
        secret=parameters.secret,
        aloud=parameters.aloud,
        tested=parameters.tested,
        limit=limit,
        timeout=SEARCH_SECONDS,
        after=after,
    )


# --- gaps and contradictions --------------------------------------------------------------------


def completeness_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the found and missing games of each model and competition, and bounds of values."""
    return PageContent(
        title="Completeness",
        rows=lake.completeness(expected=parameters.expected),
        parts={
            "readability": lake.readability(
                edition=parameters.edition, expected=parameters.expected
            )
        },
    )


def audit_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the number of contradictions in logs by kind, and the first of a selected kind."""
    filters, findings = filter_arguments(parameters, "model"), None
    if parameters.kind:
        findings = concat_first_parts(
            iter_findings(lake, parameters.kind, **filters), ROWS_PER_PAGE
        )
    return PageContent(
        title="Audit",
        rows=lake.audit(**filters),
        parts={
            "findings": None if findings is None else findings.head(ROWS_PER_PAGE),
            "finding": FINDING_TITLES[parameters.kind] if parameters.kind else None,
            "is_cut": findings is not None and findings.height > ROWS_PER_PAGE,
        },
    )


LOOKUP_PAGES = {
    "tables": Page(create_parameters_class(Field("table")), tables_content, thread_pool="quick"),
    "sql": Page(
        create_parameters_class(Field("query"), Field("x"), Field("y")),
        sql_content,
        thread_pool="free",
    ),
    "search": Page(
        create_parameters_class(
            Field("words", "Words", hint="all of these words", size=30),
            Field("model", "Speaker’s model", hint="any", size=16),
            GAME_TYPE_FIELD,
            Field("secret", "says the secret word", bool, False),
            Field("aloud", "said to other players", bool, False),
            Field("tested", "tested players only", bool, False),
            Field("roles", kind=bool, default=True),
            HIDDEN_EDITION_FIELD,
            AFTER_FIELD,
        ),
        search_content,
        thread_pool="search",
        read_all_rows=find_all_messages,
    ),
    "completeness": Page(
        create_parameters_class(
            Field("expected", "Games expected", int | None, None, hint="as others played", size=14),
            EDITION_FIELD,
            is_of_system=True,
            report="completeness",
        ),
        completeness_content,
    ),
    "audit": Page(
        create_parameters_class(Field("kind"), Field("model")),
        audit_content,
        read_all_rows=lambda lake, parameters: iter_findings(
            lake, parameters.kind, **filter_arguments(parameters, "model")
        ),
        frame="findings",
    ),
}

# The page of one game, or of two games side by side.
#
# If roles are hidden, the page still displays the messages. It omits everything else that depends
# on roles: columns, rows of events, and the rows that metrics count, because a metric of roles
# counts only players of one side.


class DisplayedGame(Struct, frozen=True):
    """A game as a page displays it.

    `counted` contains the element ids of the items that a metric counts, and `private` the element
    ids of private messages that may reveal a hidden role.
    """

    game: Mapping[str, Any]
    players: tuple[Mapping[str, Any], ...]
    parts: tuple[TranscriptItem, ...]
    counted: tuple[str, ...]
    private: tuple[str, ...]


def game_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the page with the transcript of a game, optionally with a second game beside it.

    `rows` contains the messages of the first game, and `games` one or two games.
    `are_roles_hidden` says whether the page hides roles, and with them everything that metrics
    count.
    """
    if not parameters.game:
        raise UsageError("this page needs a game: choose one on the page of games")
    transcripts, displayed_games, are_roles_hidden = [], [], False
    for game_id in filter(None, (parameters.game, parameters.beside)):
        transcript = lake.game(game_id, edition=parameters.edition)
        hides_roles = has_hidden_roles(transcript.game) and not parameters.roles
        transcripts.append(hide_roles(transcript) if hides_roles else transcript)
        displayed_games.append(
            _displayed_game(transcripts[-1], parameters.metric, hides_roles=hides_roles)
        )
        are_roles_hidden |= hides_roles
    counted = pl.concat([transcript.counted for transcript in transcripts])
    return PageContent(
        title=" beside ".join(
            f"{game_title(transcript.game).capitalize()} "
            f"{str(transcript.game['game_id'])[:ID_PREFIX_LENGTH]}"
            for transcript in transcripts
        ),
        rows=transcripts[0].tables["messages"],
        parts={
            "games": tuple(displayed_games),
            "counted": counted,
            "metrics": {
                name: metric_titles()[name]
                for name in counted["metric"].unique(maintain_order=True)
            },
            "are_roles_hidden": are_roles_hidden,
        },
        unknown=unknown_or_changed_game_notes(
            lake, {str(transcript.game["game_type"]) for transcript in transcripts}
        ),
    )


def _displayed_game(transcript: Transcript, metric: str, *, hides_roles: bool) -> DisplayedGame:
    counted = transcript.counted.filter(metric=metric) if metric else transcript.counted
    items = transcript_items(transcript.tables, counted, transcript.sources)
    return DisplayedGame(
        game=transcript.game,
        players=tuple(player_table(transcript.tables).to_dicts()),
        parts=tuple(items),
        counted=tuple(item.place for item in items if item.is_counted),
        # A private message, other than a vote for a player, is often about a role.
        private=tuple(
            item.place
            for item in items
            if hides_roles and item.message is not None
            if item.recipients != VISIBLE_TO_ALL and item.message["phase"] != Phase.VOTE
        ),
    )


# --- hidden roles -------------------------------------------------------------------------------

_PLAYER_COLUMNS = ("role", "side", "competition")
# A path contains the role that its model was tested in, and an outcome can reveal who was hidden.
_GAME_COLUMNS = (
    *("path", "source", "outcome", "outcome_code", "word", "other_word", "hidden_player"),
    *("tested_player", "setting", "ended_by"),
)
# The tables whose rows all players see, each with its columns that reveal roles. A cause of
# elimination reveals a side, because werewolves attack only players of other sides.
_ROLE_COLUMNS_BY_TABLE: Mapping[str, tuple[str, ...]] = {
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


def has_hidden_roles(game: Mapping[str, object]) -> bool:
    """Return whether the players of a game have hidden roles; True for an unknown game type."""
    definition = game_definitions().get(str(game["game_type"]))
    return definition is None or definition.has_sides


def hide_roles(transcript: Transcript) -> Transcript:
    """Return the transcript without everything that reveals a role, except the texts of messages.

    The recipients of the moderator's private notes are removed, and so are the speakers of phases
    in which only some roles speak.
    """
    tables = {
        name: _fill_columns_with_null(
            rows if name in _ROLE_COLUMNS_BY_TABLE else rows.clear(),
            *_PLAYER_COLUMNS,
            *_ROLE_COLUMNS_BY_TABLE.get(name, ()),
        )
        for name, rows in transcript.tables.items()
    }
    tables["messages"] = _hide_roles_of_messages(
        tables["messages"], str(transcript.game["game_type"])
    )
    return replace(transcript, tables=tables, counted=transcript.counted.clear())


def _hide_roles_of_messages(messages: pl.DataFrame, game_type: str) -> pl.DataFrame:
    definition = game_definitions().get(game_type)
    is_secret = pl.col("phase").is_in(definition.secret_phases if definition else [])
    no_recipients = pl.when(_IS_NOTE | is_secret).then(pl.lit([], pl.List(pl.String)))
    return messages.with_columns(
        no_recipients.otherwise("visible_to").alias("visible_to"),
        *(pl.when(~is_secret).then(name).alias(name) for name in _SPEAKER_COLUMNS),
    )


def _fill_columns_with_null(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return rows.with_columns(
        pl.lit(None, rows.schema[name]).alias(name) for name in columns if name in rows.columns
    )


GAME_PAGES = {
    "game": Page(
        create_parameters_class(
            Field("game"),
            Field("beside"),
            Field("metric"),
            HIDDEN_EDITION_FIELD,
            Field("roles", kind=bool, default=True),
        ),
        game_content,
        thread_pool="quick",
    )
}
