"""What commands that change a lake say and do at their end: the counts, and its catalogue."""

from typing import TYPE_CHECKING

from pipeline.cells import as_json
from pipeline.cli import terminal

if TYPE_CHECKING:
    from pipeline.ingest import IngestSummary

_REASONS = 3
WRITE_INTERCHANGE = (
    "if those ignored are logs of games, let a script write them as interchange JSON, and read "
    "that: `magic convert --example` prints a game, docs/interchange.md describes it"
)
"""What to do with documents that no format reads."""


def show_report(report: "IngestSummary", form: str) -> None:
    """Writes the counts: one object in JSON, else a row each; a table is without zeros.

    If they cannot be written, the error says whether the ingest is committed.
    """
    import polars as pl

    from pipeline.cli.output import show
    from pipeline.present.table import Table
    from pipeline.written import safe_json

    is_committed = report.ingest_id is not None
    done = f"ingest {report.ingest_id} is committed" if is_committed else "all sources were read"
    with terminal.reporting(done):
        if form == "json":
            # By the names that the columns of `ingests` have.
            record = {
                "ingest_id": report.ingest_id,
                "n_documents": report.n_seen,
                **{f"n_{status}": n for status, n in report.statuses.items()},
                "n_superseded": report.n_superseded,
                "n_faulty_parts": report.n_faulty_parts,
                "n_in_other_form": report.n_in_other_form,
                "n_read_votes": report.n_read_votes,
                "n_undecided_votes": report.n_undecided_votes,
                "n_bytes": report.n_bytes,
                "new_games": dict(report.games.iter_rows()),
                "ignored": report.ignored.to_dicts(),
            }
            terminal.out_bytes(f"{safe_json(as_json(record))}\n".encode())
            return
        counts = [
            ("documents", "seen", report.n_seen),
            *(("documents", status, n) for status, n in report.statuses.items()),
            *(("new games", game_type, n) for game_type, n in report.games.iter_rows()),
            ("repeated games", None, report.n_in_other_form),
            ("superseded games", None, report.n_superseded),
            ("faulty parts", None, report.n_faulty_parts),
        ]
        columns = {"counted": pl.String, "kind": pl.String, "n": pl.Int64}
        rows = pl.DataFrame(counts, columns, orient="row")
        show(Table("", rows, brief=lambda rows: rows.filter(rows["n"] > 0)), form)


def note_upgrade(before: str | None) -> None:
    """Says that the lake had this contract version, and who can no longer read it."""
    from pipeline.events.contracts import VERSION

    if before not in (None, str(VERSION)):
        terminal.note(
            f"the lake had contract version {before} and has {VERSION} now: versions of magic "
            f"that read only lakes up to {before} cannot open it any more, so update magic "
            "wherever this lake is read"
        )


def why_ignored(report: "IngestSummary") -> list[str]:
    """The most frequent reasons why documents were ignored, each with its number and an example."""
    first = report.ignored.head(_REASONS)
    reasons = [
        f"{n:,} ignored: {reason}, for example {example}"
        for reason, n, example in first.iter_rows()
    ]
    if n_others := report.statuses["ignored"] - first["n_documents"].sum():
        reasons.append(f"{n_others:,} ignored for other reasons")
    return reasons


# --- the lake's catalogue, renewed after each command that changes the lake --------------------


def renew_catalog(lake: str) -> None:
    """Renews `magic.duckdb` if `magic catalog` was run once.

    Not without being asked: many users need none, and it takes a second.
    """
    from pipeline.lake.tables import CATALOG
    from pipeline.stores import location

    if CATALOG not in location(lake).names():
        return
    # Imported here: a command that fails before does not wait for it.
    from pipeline.catalog import renewed_after_ingest

    if note := renewed_after_ingest(lake):
        terminal.note(note)
