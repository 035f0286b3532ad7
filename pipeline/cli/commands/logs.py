"""The commands that read or write logs: ingest, convert, validate and simulate."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from click import get_current_context
from click.exceptions import Exit, MissingParameter

from pipeline.cli import options, terminal
from pipeline.cli.command import (
    UNKNOWN_FORMAT_NOTE,
    CommandContext,
    ignored_reason_notes,
    print_ingest_counts,
    print_upgrade_note,
    rebuild_catalog_if_present,
)
from pipeline.cli.exit_codes import CHECK_FAILED, FAILED, QUARANTINED
from pipeline.cli.options import (
    DEFAULT_LAKE,
    MAX_DOCUMENT_BYTES,
    MODEL_OPTION,
    Form,
    TextList,
    format_option,
    size_option,
)
from pipeline.errors import SourceError, UsageError
from pipeline.parameters import argument_spec, flag_spec, option_spec
from pipeline.text_format import format_count

if TYPE_CHECKING:
    from pipeline.conversion import ConvertedDocument
    from pipeline.ingest.decode import IngestSummary

# `magic ingest`: logs into a lake.

_MAX_NAMES_LENGTH = 300
"""A note contains at most this number of characters of similar model names."""


def ingest(
    *,
    source: list[str],
    lake: str = DEFAULT_LAKE,
    model: str | None = MODEL_OPTION,
    models_from: str | None = None,
    jobs: int | None = option_spec("N", "Use at most N processes; default: one per core.", min=1),
    engine: Literal["local", "spark"] = option_spec(
        "ENGINE", "Where the work runs: local or spark.", default="local"
    ),
    master: str | None = None,
    memory: int = size_option(
        "Approximate memory for all processes together; default: 2GiB.", default=2 << 30
    ),
    max_document: int = MAX_DOCUMENT_BYTES,
    max_expanded: int | None = size_option(
        "Stop reading a compressed file or archive that expands to more; "
        "default: 200 times its size, at least 1GiB."
    ),
    reread: bool = flag_spec(
        "--reread",
        "Read large archives again even if they are unchanged, and games with a quarantined part.",
    ),
    strict: bool = False,
    allow_empty: bool = flag_spec(
        "--allow-empty",
        "Do not fail if no file of the sources is a game. A folder without files is an error.",
    ),
    dry_run: bool = flag_spec("--dry-run", "Read and check everything, write nothing."),
    watch: float | None = option_spec(
        "SECONDS",
        "Go on until Ctrl-C: read again whenever files changed and then stood still for so long.",
        min=1,
    ),
    form: Form = format_option(json="one object"),
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
    if master is not None and engine != "spark":
        raise UsageError("--master works only with --engine spark")

    def ingest_once() -> "IngestSummary":
        from pipeline.archives import count_files_and_bytes
        from pipeline.ingest import ingest as ingest_into
        from pipeline.ingest.decode import combine_model_and_models_file

        if engine == "spark":
            from pipeline.spark import spark_cluster

        has_model_option = bool(model or models_from)
        try:
            with terminal.show_document_progress(
                lambda: count_files_and_bytes(source)
            ) as on_progress:
                summary = ingest_into(
                    source,
                    lake,
                    model=combine_model_and_models_file(model, models_from),
                    dry_run=dry_run,
                    jobs=jobs,
                    memory=memory,
                    max_document=max_document,
                    max_expanded=max_expanded,
                    team=spark_cluster(master) if engine == "spark" else None,
                    reread=reread,
                    on_progress=on_progress,
                )
            try:
                _print_ingest_summary(
                    summary, lake, form, has_model_option=has_model_option, dry_run=dry_run
                )
            finally:  # Even if the summary cannot be printed, the ingest is committed.
                if not dry_run:
                    rebuild_catalog_if_present(lake)
        except KeyboardInterrupt:
            message = "the lake is intact; run the same command again"
            raise KeyboardInterrupt(message) from None
        return summary

    if watch is not None:
        _watch_sources(source, watch, ingest_once)
        return
    summary = ingest_once()
    n_quarantined = summary.statuses["quarantined"]
    if not summary.n_of_games and not allow_empty:
        from pipeline.formats import can_be_log_of_unsupported_program

        reasons = ignored_reason_notes(summary)
        reasons += [f"{n_quarantined:,} quarantined"] * bool(n_quarantined)
        terminal.print_error(
            f"no game was found in {format_count(summary.n_seen, 'document')}: "
            f"{'; '.join(reasons)}; use --allow-empty to accept this"
        )
        if any(map(can_be_log_of_unsupported_program, summary.ignored["reason"])):
            terminal.print_note(UNKNOWN_FORMAT_NOTE)
        raise Exit(FAILED)
    if strict and (n_quarantined or summary.n_faulty_parts):
        raise Exit(QUARANTINED)


def _watch_sources(
    sources: list[str], settle_seconds: float, ingest_once: "Callable[[], IngestSummary]"
) -> None:
    """Ingest the sources each time after they changed, until Ctrl-C is pressed in between."""
    from pipeline.ingest import wait_for_settled_files

    def print_missing_source(message: str) -> None:
        terminal.print_error(f"{message}; waiting for it")

    changes = wait_for_settled_files(sources, settle_seconds, on_missing=print_missing_source)
    has_failed = None
    for n_ingests in count():
        try:
            if n_ingests:
                terminal.print_note("waiting for logs that are new or changed; Ctrl-C ends it")
            changes.send(has_failed)
        except KeyboardInterrupt:
            return
        try:
            has_failed = None
            ingest_once()
        except SourceError as error:  # Another process writes a source, so it is read again.
            has_failed = True
            terminal.print_error(str(error))


def _print_ingest_summary(
    report: "IngestSummary", lake: str, form: str, *, has_model_option: bool, dry_run: bool
) -> None:
    print_ingest_counts(report, form)
    # If no document is a game, the error contains these notes.
    for note in ignored_reason_notes(report) if report.n_of_games else ():
        terminal.print_note(note)
    print_upgrade_note(report.upgraded_from)
    for remaining_file in report.left:
        terminal.print_note(
            f"the ingest is done, but {remaining_file}; `magic maintain` deletes it later"
        )
    counts = {"document": report.statuses["quarantined"], "part": report.n_faulty_parts}
    if quarantined := [format_count(n, noun) for noun, n in counts.items() if n]:
        reason = "run `magic quarantine` to see why"
        if report.ingest_id is None:
            error = report.faults.row(0, named=True)
            reason = f"for example {error['path']} at {error['json_path']}: {error['message']}"
        terminal.print_note(f"{' and '.join(quarantined)} quarantined: {reason}")
    if not has_model_option and report.n_known_by_content:
        terminal.print_note(
            f"{format_count(report.n_known_by_content, 'document')} without a model's name: "
            "their games are already in the lake, with the --model of an earlier ingest"
        )
    if report.n_undecided_votes:
        terminal.print_note(
            f"{report.n_undecided_votes:,} of {format_count(report.n_read_votes, 'vote')} could "
            "not be read from text and are not counted: state each vote's `target` in the log"
            + "; `magic evidence judgement --unclear` lists them"
            * (not dry_run)
        )
    if report.n_unnumbered:
        terminal.print_note(
            f"{format_count(report.n_unnumbered, 'duplicate')}: interchange JSON that is equal "
            "to other documents in every byte counts as one game; if they are games of their own, "
            "state another `game_index` in each"
        )
    if dry_run:
        terminal.print_note("dry run: nothing was written")
    elif report.games.height:
        _print_similar_name_and_replay_notes(lake)


def _print_similar_name_and_replay_notes(lake: str) -> None:
    from pipeline.formats import available_formats
    from pipeline.lake import open_lake
    from pipeline.metrics.completeness import replayed_and_repeated_games_notes_by_system
    from pipeline.reports.games import describe_similar_model_names

    opened_lake = open_lake(lake)
    for format_ in available_formats():
        if format_.NAME in opened_lake.systems and (note := getattr(format_, "MODELS_NOTE", None)):
            terminal.print_note(note)
    if groups := describe_similar_model_names(opened_lake):
        more = ", …" if len(groups) > 1 or len(groups[0]) > _MAX_NAMES_LENGTH else ""
        terminal.print_note(
            f"{format_count(len(groups), 'group')} of model names that look alike, or stand for "
            f"none: {groups[0][:_MAX_NAMES_LENGTH]}{more}; each is counted by itself: "
            "run `magic models`"
        )
    for note in replayed_and_repeated_games_notes_by_system(opened_lake):
        terminal.print_note(
            f"{note}; to tell two runs apart, ingest each into a lake of its own (--lake), and "
            "compare the lakes by `magic diff`; `magic audit repeated_games` lists repeats"
        )


GAME, FAULTY_PART = "game", "faulty part"
REFUSED, IGNORED, DUPLICATE = "refused document", "ignored document", "duplicate"
_NO_VALIDATION_ERROR = (None, None, None)
UNNAMED_LOG = "log"
"""A refused document that does not name the model that played."""


def convert(
    *,
    source: TextList = None,
    out: Path | None = option_spec("FILE", "A file for the lines; default: stdout.", "-o", "--out"),
    model: str | None = MODEL_OPTION,
    max_document: int = MAX_DOCUMENT_BYTES,
    strict: bool = False,
    example: bool = flag_spec(
        "--example", "Print a small game in interchange JSON, to write one's own logs like it."
    ),
) -> None:
    """Convert logs to interchange JSON, one game a line.

    The lines say all that was read of the logs, and `magic ingest` makes the same rows of them.
    A copy that `magic ingest` would count as a duplicate is left out.
    What cannot be converted is named on stderr. It is an error if the sources have no game at all.

    \b
    Examples:
      magic convert --example > game.json
      magic convert results/ -o games.jsonl
      magic convert chat-logs/ --model gpt-3.5-turbo > chats.jsonl
    """
    from pipeline.atomic_files import atomic_write

    if example:
        from pipeline.formats.interchange import EXAMPLE

        if source:
            raise UsageError("--example reads no logs: leave out it or SOURCE")
        if out is None:
            terminal.write_result(EXAMPLE)
            return
        with atomic_write(out) as draft:
            draft.write_bytes(EXAMPLE.encode())
        terminal.print_note(f"wrote {out}: 1 game")
        return
    if not source:
        raise MissingParameter(
            ctx=get_current_context(), param_hint="'SOURCE...'", param_type="argument"
        )
    from pipeline.conversion import iter_converted_documents

    documents = iter_converted_documents(source, model, max_document)
    if out is None:
        counts, ignored = _write_lines_and_count_documents(documents, _write_line_to_stdout)
    else:
        with atomic_write(out) as draft, draft.open("wb") as file:
            counts, ignored = _write_lines_and_count_documents(documents, file.write)
    note_prefix = f"wrote {out}: " if out else ""
    n_duplicates = counts.pop(DUPLICATE, 0)
    note = ", ".join(format_count(n, kind) for kind, n in counts.items() if kind != UNNAMED_LOG)
    note += f", {format_count(n_duplicates, DUPLICATE)} left out" * bool(n_duplicates)
    terminal.print_note(note_prefix + (note or "no documents"))
    if not counts[GAME]:
        terminal.print_error(f"no game was converted: {_no_game_converted_reason(counts, ignored)}")
        raise Exit(FAILED)
    if strict and (counts[REFUSED] or counts[FAULTY_PART]):
        raise Exit(QUARANTINED)


def _write_line_to_stdout(line: bytes) -> None:
    """Write a line of JSON to stdout; on a terminal, control characters are escaped."""
    from pipeline.serialization import escape_terminal_json

    if terminal.is_stdout_terminal():
        line = escape_terminal_json(line.decode()).encode()
    terminal.write_result_bytes(line)


def _no_game_converted_reason(counts: Counter[str], ignored: "ConvertedDocument | None") -> str:
    """Return why no game was converted, and what to do about it.

    Args:
        counts: The number of documents of each kind.
        ignored: An example of an ignored document; None if there is none.
    """
    reasons = []
    if counts[UNNAMED_LOG]:
        logs = format_count(counts[UNNAMED_LOG], UNNAMED_LOG)
        reasons.append(f"{logs} without the name of the model that played: give --model NAME")
    elif counts[REFUSED]:
        reasons.append("see the lines above")
    if ignored is not None:
        reasons.append(f"{ignored.ignored}, for example {ignored.location}")
        reasons += [UNKNOWN_FORMAT_NOTE] * ignored.may_be_unsupported_log
    return "; ".join(reasons) or "there are no documents"


def _write_lines_and_count_documents(
    documents: "Iterable[ConvertedDocument]", write_bytes: Callable[[bytes], object]
) -> tuple[Counter[str], "ConvertedDocument | None"]:
    """Write the converted games, one a line, and print validation errors.

    Returns:
        The number of documents of each kind, and an example of an ignored document: the first one
        that may be a log, otherwise the first one.
    """
    counts: Counter[str] = Counter()
    ignored: ConvertedDocument | None = None
    for document in documents:
        if document.line is not None:
            write_bytes(document.line + b"\n")
            counts[GAME] += 1
            counts[FAULTY_PART] += len(document.faults)
        elif document.is_duplicate:
            counts[DUPLICATE] += 1
        elif document.ignored is not None:
            counts[IGNORED] += 1
            if ignored is None or (
                document.may_be_unsupported_log and not ignored.may_be_unsupported_log
            ):
                ignored = document
        else:
            counts[REFUSED] += 1
            counts[UNNAMED_LOG] += document.is_model_unknown
        for error in document.faults:
            terminal.print_note(
                f"{document.location}: {error.json_path}: {error.rule}: {error.message}"
            )
    return +counts, ignored


def validate(
    *,
    file: list[str] = argument_spec(
        "FILE",
        "Files of interchange JSON (one game, or one a line), Inspect logs, folders or archives; "
        "and .toml files that declare a game.",
        default=...,
    ),
    max_document: int = MAX_DOCUMENT_BYTES,
    form: Form = "table",
) -> None:
    """Check documents of interchange JSON, each by itself, and games declared as data.

    There is a row for each valid document, and for each rule that another one breaks: the place in
    the document, the rule, and what is there instead. A document with wrong keys, types or names
    has a row for the first of them alone. The exit code is 4 if one is not valid.
    `magic schema --interchange` prints the JSON Schema.

    \b
    Examples:
      magic validate games.jsonl
      magic validate games.jsonl --format json
    """
    import polars as pl
    from msgspec.structs import astuple

    from pipeline.cli.output import print_table
    from pipeline.conversion import iter_validated_documents, iter_validated_game_files

    definition_files = [path for path in file if path.endswith(".toml")]
    log_files = [path for path in file if path not in definition_files]
    checked = [
        *iter_validated_game_files(definition_files),
        *(iter_validated_documents(log_files, max_document) if log_files else ()),
    ]
    documents = [document for document in checked if not document.ignored]
    ignored = [document for document in checked if document.ignored]
    rows = [
        (document.location, not document.faults, *error)
        for document in documents
        for error in (map(astuple, document.faults) if document.faults else [_NO_VALIDATION_ERROR])
    ]
    columns = {"document": pl.String, "is_valid": pl.Boolean}
    columns |= dict.fromkeys(("json_path", "rule", "message"), pl.String)
    print_table(pl.DataFrame(rows, columns, orient="row"), form)
    n_valid = sum(not document.faults for document in documents)
    verb = "is" if len(documents) == 1 else "are"
    terminal.print_note(f"{n_valid:,} of {format_count(len(documents), 'document')} {verb} valid")
    for document in documents:
        for note in document.notes:
            terminal.print_note(f"{document.location}: {note}")
    if ignored:
        terminal.print_note(
            f"{format_count(len(ignored), 'other file')} ignored: {ignored[0].ignored}, "
            f"for example {ignored[0].location}"
        )
    if n_valid < len(documents) or not documents:
        raise Exit(CHECK_FAILED if documents else FAILED)


def simulate(
    context: CommandContext,
    *,
    out: Path = option_spec(
        "DIR", "A new or empty folder.", check=options.check_local_folder, default=...
    ),
    models: int = option_spec("N", "Number of models, each with its own skill.", min=1, default=4),
    games: int = option_spec("M", "Games of each model in each competition.", min=1, default=20),
    seed: int = option_spec("S", "The same seed gives the same bytes.", default=0),
    archive: str | None = option_spec(
        "KIND", "Write one archive, for example tar.zst, instead of a folder of logs."
    ),
    jobs: int | None = option_spec("N", "Number of processes; default: one per core.", min=1),
    form: Form = "table",
) -> None:
    """Write logs of simulated games between models of known skill.

    The logs have the benchmark's format, sizes and quirks.

    \b
    Examples:
      magic simulate --models 4 --games 20 --seed 1 --out simulated/
      magic simulate --models 8 --games 100 --seed 1 --out big/ --archive tar.zst
    """
    import polars as pl

    from pipeline.simulate import simulate as write
    from pipeline.simulate.point_games import COMPETITIONS

    try:
        with terminal.show_game_progress(models * games * len(COMPETITIONS)) as on_game:
            summary = write(
                out,
                models=models,
                games=games,
                seed=seed,
                archive=archive,
                jobs=jobs,
                on_game=on_game,
            )
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"{out} is incomplete; delete it and run the command again"
        ) from None
    record = summary._asdict() | {"results": str(summary.results), "truth": str(summary.truth)}
    rows = pl.DataFrame([record | {"models": list(summary.models)}])
    with terminal.mention_completed_work_in_output_error(f"the logs are in {summary.results}"):
        context.print_rows("simulate", rows, as_records=True)
    terminal.print_note(f"run `magic ingest {summary.results}` to read them")
