"""The pages of long lists, a page at a time: games, the rows behind a value, what is missing."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

import polars as pl
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.cells import spelt
from pipeline.column import schema
from pipeline.errors import UsageError
from pipeline.games import competitions, roles
from pipeline.metrics import evidence as evidence_rows
from pipeline.metrics.evidence import evidence_parts
from pipeline.metrics.known import names
from pipeline.metrics.paging import page_of
from pipeline.metrics.request import check_of_roles
from pipeline.metrics.win_rate import RESULTS
from pipeline.pages.content import (
    AFTER,
    EDITION,
    GAME_TYPE,
    METRIC,
    SAME_EDITION,
    Content,
    Faults,
    Field,
    Page,
    address,
    given,
    head,
    listing,
    sort_of,
    sorting,
)
from pipeline.reports import documents as document_rows, games as game_rows, missing as missing_rows
from pipeline.reports.evidence_sum import COLUMNS as SUM_COLUMNS, sum_of

# --- games --------------------------------------------------------------------------------------

_OF_GAMES = (
    *("model", "other", "game_type", "role", "result", "outcome"),
    *("competition", "setting_id", "path"),
)


def games(lake: AnsweringLake, asked: Any) -> Content:
    """A page of the games that meet all conditions."""

    def found(**conditions: Any) -> pl.DataFrame:
        return _games(lake, asked, **conditions)

    return listing(asked, game_rows.COLUMNS, found, _OF_GAMES, title="Games")


def all_games(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All games that meet the conditions, whatever the page."""
    return [_games(lake, asked, **given(asked, *_OF_GAMES), **sort_of(asked))]


def _games(lake: AnsweringLake, asked: Any, other: str = "", **conditions: Any) -> pl.DataFrame:
    """The games that meet the conditions; those with an `other` model are between the two."""
    if other and not asked.model:
        raise UsageError("name the model that it played with")
    between = (asked.model, other) if other else None
    return _of_system(lake, asked).games(**conditions, between=between)


def _of_system(lake: AnsweringLake, asked: Any) -> AnsweringLake:
    return lake.of_system(asked.system) if asked.system else lake


# --- documents ----------------------------------------------------------------------------------

RAW_SHOWN = 600
_OF_DOCUMENTS = ("status", "source", "reason", "path")


def documents(lake: AnsweringLake, asked: Any) -> Content:
    """The counts, or a page of the documents that meet all conditions, sorted by place.

    The counts are shown where nothing is asked for. `refused` are the rows of the quarantine that
    are about the documents shown, with the beginning of the `raw` bytes as text.
    """
    if not _is_narrowed(asked):
        parts = {"is_counted": True, "refused": pl.DataFrame()}
        return Content(title="Documents", rows=lake.document_counts(), parts=parts)
    columns = document_rows.COLUMNS
    shown = listing(asked, columns, lake.documents, _OF_DOCUMENTS, title="Documents")
    return replace(shown, parts={"is_counted": False, "refused": _refused(lake, shown.rows)})


def all_documents(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All documents that meet the conditions, whatever the page; without any, the counts."""
    if not _is_narrowed(asked):
        return [lake.document_counts()]
    return [lake.documents(**given(asked, *_OF_DOCUMENTS), **sort_of(asked))]


def _is_narrowed(asked: Any) -> bool:
    return any(getattr(asked, name) for name in (*_OF_DOCUMENTS, "sort", "after"))


def _refused(lake: AnsweringLake, documents: pl.DataFrame) -> pl.DataFrame:
    """What is refused of these documents, in order."""
    location, order = pl.concat_str("source", pl.lit("/"), "path"), document_rows.ORDER_OF_FAULTS
    places = documents.select(location)["source"].implode()
    raw = pl.col("raw").bin.head(RAW_SHOWN)  # of each refused document there are up to 64 KiB
    refused = lake.table("quarantine").filter(location.is_in(places))
    rows = refused.select(*order, raw=raw, location=location).sort(order, nulls_last=True).collect()
    texts = [None if one is None else spelt(one) for one in rows["raw"]]
    return rows.with_columns(pl.Series("raw", texts, pl.String))


# --- missing games ------------------------------------------------------------------------------

MISSING_KEY = ("model", "competition", "game_index", "setting_id")
FIXED = tuple(name for name in missing_rows.SETTING if name != "setting")
"""What was fixed in a setting, as columns; `setting` is the same as JSON."""


def missing(lake: AnsweringLake, asked: Any) -> Content:
    """A page of what is missing, sorted by model, competition and game.

    `competitions` has the games that the models asked for lack in each; `fixed` are the columns of
    what is fixed in a setting.
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
            check_of_roles(lake, "competition", [competition])
            rows = rows.filter(competition=competition)
        return page_of(
            rows.lazy(),
            missing_rows.COLUMNS,
            MISSING_KEY,
            offset=offset,
            limit=limit,
            sort=sort,
            descending=descending,
        ).collect()

    wanted, title = ("model", "competition"), "Missing games"
    shown = listing(asked, missing_rows.COLUMNS, found, wanted, title=title)
    parts = {"competitions": counts, "fixed": FIXED}
    return replace(shown, parts=parts, choices={"competition": tuple(counts)})


def all_missing(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All that is missing, whatever the page."""
    return [lake.missing(**given(asked, "model", "competition"))]


# --- the rows behind a value --------------------------------------------------------------------

ROWS: dict[str, dict[str, Any]] = {
    "hits": {"hit": True},
    "misses": {"hit": False},
    "unclear": {"unclear": True},
}
_OF_EVIDENCE = ("model", "game_type", "where")


def evidence(lake: AnsweringLake, asked: Any) -> Content:
    """A page of the rows that the metric counted: who did what, and the message it was read from.

    `head` is the metric's, and `sum` are the rows of `evidence_sum`, on the first page alone.
    """
    in_edition = names(asked.edition)
    metric_head = head(
        asked.metric if asked.metric in in_edition else in_edition[0],
        asked.edition,
        lake.game_types,
    )
    first = {"metric": {"metric": asked.metric, "edition": asked.edition}}
    last = {"hit": ROWS.get(asked.hit, {})}
    columns = evidence_rows.COLUMNS
    title = f"Evidence of {metric_head.title}"
    shown = listing(
        asked, columns, lake.evidence_page, _OF_EVIDENCE, title=title, first=first, last=last
    )
    faults, total = Faults(shown.faults), pl.DataFrame(schema=schema(SUM_COLUMNS))
    if not asked.after and not faults:
        with faults.of("where" if asked.where else "metric"):
            total = _sum(lake, asked)
    return replace(shown, parts={"head": metric_head, "sum": total}, faults=faults)


def all_evidence(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All rows that are asked for, whatever the page."""
    return evidence_parts(lake, asked.metric, **_slice(asked), **ROWS.get(asked.hit, {}))


def _slice(asked: Any) -> dict[str, Any]:
    return {"edition": asked.edition, **given(asked, *_OF_EVIDENCE)}


def _sum(lake: AnsweringLake, asked: Any) -> pl.DataFrame:
    """The rows of `evidence_sum`; those of one model from the values of all."""
    wanted = _slice(asked)
    if asked.model:
        of_all = _values(lake, asked.metric, **wanted | {"model": None})
        for row in of_all.filter(model=asked.model).iter_rows(named=True):
            return sum_of(row, asked.edition)
    return lake.evidence_sum(asked.metric, **wanted)


@lru_cache(maxsize=16)
def _values(lake: AnsweringLake, metric: str, **wanted: Any) -> pl.DataFrame:
    """The values of all models, kept for a reader who goes from model to model."""
    return lake.metrics(metric=metric, by=["model"], **wanted)


PAGES = {
    "games": Page(
        address(
            *sorting(),
            AFTER,
            Field("model", "Model", hint="any", size=16),
            Field("other", "And model", hint="any", size=16),
            GAME_TYPE,
            Field("role", "Role", values=lambda *_: roles(), nothing="any"),
            Field("result", "Result", values=lambda *_: RESULTS, nothing="any"),
            Field("outcome", "Outcome", values=lambda *_: game_rows.OUTCOMES, nothing="any"),
            Field("competition", "Competition", values=lambda *_: competitions(), nothing="any"),
            Field("setting_id", "Setting begins with", hint="id", size=12),
            Field("system"),
            Field("path", "File contains", hint="path"),
            SAME_EDITION,
            report="games",
        ),
        games,
        lane="quick",
        whole=all_games,
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
        whole=all_documents,
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
        whole=all_missing,
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
                values=lambda *_: ROWS,
                nothing="hits and misses",
            ),
            Field("where", "Where", hint="role = 'civilian'", size=24),
            EDITION,
            AFTER,
            is_of_system=True,
        ),
        evidence,
        whole=all_evidence,
    ),
}
