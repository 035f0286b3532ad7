"""`magic ingest`: logs into a lake."""

from contextlib import nullcontext
from itertools import count
from typing import TYPE_CHECKING, Literal

from click.exceptions import Exit

from pipeline.cells import counted
from pipeline.cli import progress, terminal
from pipeline.cli.changes import (
    WRITE_INTERCHANGE,
    note_upgrade,
    renewing_catalog,
    show_report,
    why_ignored,
    why_no_game,
)
from pipeline.cli.exits import FAILED, QUARANTINED
from pipeline.cli.options import DEFAULT_LAKE, LARGEST_DOCUMENT, PLAYED_BY, Form, form_option, size
from pipeline.declared import flag, option
from pipeline.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.ingest import IngestSummary
    from pipeline.ingest.pool import Team

_LONGEST = 300  # of a note, the names of models


def ingest(
    *,
    source: list[str],
    lake: str = DEFAULT_LAKE,
    model: str | None = PLAYED_BY,
    models_from: str | None = None,
    jobs: int | None = option("N", "Use at most N processes; default: one per core.", min=1),
    engine: Literal["local", "spark"] = option(
        "ENGINE", "Where the work runs: local or spark.", default="local"
    ),
    master: str | None = None,
    memory: int = size(
        "Approximate memory for all processes together; default: 2GiB.", default=2 << 30
    ),
    max_document: int = LARGEST_DOCUMENT,
    max_expanded: int | None = size(
        "Stop reading a compressed file or archive that expands to more; "
        "default: 200 times its size, at least 1GiB."
    ),
    reread: bool = flag(
        "--reread",
        "Read large archives again even if they are unchanged, and games with a quarantined part.",
    ),
    strict: bool = False,
    allow_empty: bool = flag(
        "--allow-empty",
        "Do not fail if no file of the sources is a game. A folder without files is an error.",
    ),
    dry_run: bool = flag("--dry-run", "Read and check everything, write nothing."),
    watch: float | None = option(
        "SECONDS",
        "Go on until Ctrl-C: read again whenever files changed and then stood still for so long.",
        min=1,
    ),
    form: Form = form_option(json="one object"),
) -> None:
    """Read logs into a lake.

    The lake changes only at the end of the run, in one step. What cannot be used is quarantined,
    and everything else is ingested. Games that the lake already has are skipped, and a changed
    file replaces its old game. So you can run the same command again at any time. It is an error
    if the sources have no game at all, unless `--watch` waits for some.

    \b
    Examples:
      magic ingest results/ --lake lake/
      magic ingest "runs/*.tar.zst" more.zip --strict
      magic ingest chat-logs/ --model gpt-3.5-turbo --dry-run
      magic ingest chat-logs/ --models-from models.toml
      magic ingest more.zip --jobs 8 --memory 8GiB
      magic ingest s3://in/ --lake s3://out/ --engine spark --master spark://HOST
    """
    if watch is not None and (strict or dry_run):
        raise UsageError("--watch goes on: leave out --strict and --dry-run")

    def read() -> "IngestSummary":
        from pipeline.archives import measure
        from pipeline.ingest import ingest as ingest_into
        from pipeline.ingest.models import given

        with progress.of_documents(lambda: measure(source)) as on_progress:
            return ingest_into(
                source,
                lake,
                model=given(model, models_from),
                dry_run=dry_run,
                jobs=jobs,
                memory=memory,
                max_document=max_document,
                max_expanded=max_expanded,
                team=_team(engine, master),
                reread=reread,
                on_progress=on_progress,
            )

    def shown() -> "IngestSummary":
        is_given = bool(model or models_from)
        try:
            report = read()
            with nullcontext() if dry_run else renewing_catalog(lake):
                _show_summary(report, lake, form, is_given=is_given, dry_run=dry_run)
        except KeyboardInterrupt as error:
            told = error.args or ("the lake is intact; run the same command again",)
            raise KeyboardInterrupt(*told) from None
        return report

    if watch is not None:
        _watch(source, watch, shown)
        return
    report = shown()
    if not report.n_of_games and not allow_empty:
        from pipeline.formats import may_be_log

        terminal.complain(f"{why_no_game(report)}; use --allow-empty to accept this")
        if any(map(may_be_log, report.ignored["reason"])):
            terminal.note(WRITE_INTERCHANGE)
        raise Exit(FAILED)
    if strict and (report.statuses["quarantined"] or report.n_faulty_parts):
        raise Exit(QUARANTINED)


def _watch(sources: list[str], seconds: float, read: "Callable[[], IngestSummary]") -> None:
    """Reads the sources whenever they changed, until Ctrl-C comes while nothing is read."""
    from pipeline.ingest.watch import settled

    def complain(text: str) -> None:
        terminal.complain(f"{text}; waiting for it")

    changes = settled(sources, seconds, on_missing=complain)
    is_failed = None
    for n_readings in count():
        try:
            if n_readings:
                terminal.note("waiting for logs that are new or changed; Ctrl-C ends it")
            changes.send(is_failed)
        except KeyboardInterrupt:
            return
        try:
            is_failed = None
            read()
        except SourceError as error:  # somebody writes there: it is read again
            is_failed = True
            terminal.complain(str(error))


def _show_summary(
    report: "IngestSummary", lake: str, form: str, *, is_given: bool, dry_run: bool
) -> None:
    show_report(report, form)
    # Where no document is a game, the error says so.
    for reason in why_ignored(report) if report.n_of_games else ():
        terminal.note(reason)
    note_upgrade(report.upgraded_from)
    for left in report.left:
        terminal.note(f"the ingest is done, but {left}; `magic maintain` deletes it later")
    numbers = {"document": report.statuses["quarantined"], "part": report.n_faulty_parts}
    if refused := [counted(n, noun) for noun, n in numbers.items() if n]:
        why = "run `magic quarantine` to see why"
        if report.ingest_id is None:
            first = report.faults.row(0, named=True)
            why = f"for example {first['path']} at {first['json_path']}: {first['message']}"
        terminal.note(f"{' and '.join(refused)} quarantined: {why}")
    if not is_given and report.n_known_by_content:
        terminal.note(
            f"{counted(report.n_known_by_content, 'document')} without a model's name: their games "
            "are already in the lake, with the --model of an earlier ingest"
        )
    if report.n_undecided_votes:
        terminal.note(
            f"{report.n_undecided_votes:,} of {counted(report.n_read_votes, 'vote')} could not be "
            "read from text and are not counted: state each vote's `target` in the log"
            + "; `magic evidence judgement --unclear` lists those that Judgement looks at"
            * (not dry_run)
        )
    if report.n_unnumbered:
        terminal.note(
            f"{counted(report.n_unnumbered, 'duplicate')}: interchange JSON that is equal to other "
            "documents in every byte counts as one game; if they are games of their own, "
            "state another `game_index` in each"
        )
    if dry_run:
        terminal.note("dry run: nothing was written")
    elif report.games.height:
        _note_counted(lake)


def _note_counted(lake: str) -> None:
    """Says what of the lake is counted as it stands, and may not be meant so: names and replays."""
    from pipeline.formats import formats
    from pipeline.lake import open_lake
    from pipeline.metrics.completeness import lake_notes
    from pipeline.reports.models import alike

    opened = open_lake(lake)
    for format_ in formats():
        if format_.NAME in opened.systems and (note := getattr(format_, "MODELS_NOTE", None)):
            terminal.note(note)
    if groups := alike(opened):
        more = ", …" if len(groups) > 1 or len(groups[0]) > _LONGEST else ""
        terminal.note(
            f"{counted(len(groups), 'group')} of model names that look alike, or stand for none: "
            f"{groups[0][:_LONGEST]}{more}; each is counted by itself: "
            "run `magic models`"
        )
    for note in lake_notes(opened):
        terminal.note(
            f"{note}; to tell two runs apart, ingest each into a lake of its own (--lake), and "
            "compare the lakes by `magic diff`; `magic audit repeated_games` lists repeats"
        )


def _team(engine: str, master: str | None) -> "Team | None":
    if engine == "spark":
        from pipeline.spark import cluster

        return cluster(master)
    if master is not None:
        raise UsageError("--master works only with --engine spark")
    return None
