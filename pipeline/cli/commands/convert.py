"""`magic convert`: logs of any format into interchange JSON."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from click import get_current_context
from click.exceptions import Exit, MissingParameter

from pipeline.cells import counted
from pipeline.cli import options, terminal
from pipeline.cli.exits import FAILED, QUARANTINED
from pipeline.cli.options import argument, flag, option

if TYPE_CHECKING:
    from pipeline.conversion import Converted

GAME, FAULTY = "game", "faulty part"
REFUSED, IGNORED = "refused document", "ignored document"
# One of the refused documents.
UNNAMED = "log"


def convert(
    *,
    source: options.Texts = argument("SOURCE", options.SOURCES),
    out: Path | None = option("FILE", "A file for the lines; default: stdout.", "-o", "--out"),
    model: options.PlayedByOption = None,
    max_document: options.MaxDocumentOption = options.LARGEST_DOCUMENT,
    strict: options.StrictOption = False,
    example: bool = flag(
        "--example", "Print a small game in interchange JSON, to write one's own logs like it."
    ),
) -> None:
    """Convert logs to interchange JSON, one game a line.

    The lines say all that was read of the logs, and `magic ingest` makes the same rows of them.
    What cannot be converted is named on stderr. It is an error if the sources have no game at all.

    \b
    Examples:
      magic convert --example > game.json
      magic convert results/ -o games.jsonl
      magic convert chat-logs/ --model gpt-3.5-turbo > chats.jsonl
    """
    if example:
        from pipeline.formats.interchange import EXAMPLE

        terminal.out(EXAMPLE)
        return
    if not source:
        raise MissingParameter(
            ctx=get_current_context(), param_hint="'SOURCE...'", param_type="argument"
        )
    from pipeline.conversion import convert as converted
    from pipeline.replacing import replacing

    documents = converted(source, model, max_document)
    if out is None:
        counts, first = _write(documents, _shown)
    else:
        with replacing(out) as draft, draft.open("wb") as file:
            counts, first = _write(documents, file.write)
    wrote = f"wrote {out}: " if out else ""
    numbers = ", ".join(counted(n, kind) for kind, n in counts.items() if kind != UNNAMED)
    terminal.note(wrote + (numbers or "no documents"))
    if not counts[GAME]:
        terminal.complain(f"no game was converted: {_why_none(counts, first)}")
        raise Exit(FAILED)
    if strict and (counts[REFUSED] or counts[FAULTY]):
        raise Exit(QUARANTINED)


def _shown(line: bytes) -> None:
    """Writes a line to stdout as it is; to a terminal as JSON that it cannot obey."""
    from pipeline.written import safe_json

    is_seen = terminal.is_out_terminal()
    terminal.out_bytes(safe_json(line.decode()).encode() if is_seen else line)


def _why_none(counts: Counter[str], ignored: "Converted | None") -> str:
    """Why there is no game, and the next step; `ignored` is a document that no format reads."""
    from pipeline.cli.counts import WRITE_INTERCHANGE

    reasons = []
    if counts[UNNAMED]:
        logs = counted(counts[UNNAMED], UNNAMED)
        reasons.append(f"{logs} without the name of the model that played: give --model NAME")
    elif counts[REFUSED]:
        reasons.append("see the lines above")
    if ignored is not None:
        reasons.append(f"{ignored.ignored}, for example {ignored.location}")
        reasons += [WRITE_INTERCHANGE] * ignored.may_be_log
    return "; ".join(reasons) or "there are no documents"


def _write(
    documents: "Iterable[Converted]", write: Callable[[bytes], object]
) -> tuple[Counter[str], "Converted | None"]:
    """Writes the lines and names the faults; gives the numbers of each kind of document.

    And one that was ignored, with the reason: the first that may be a log, else the first.
    """
    counts: Counter[str] = Counter()
    ignored: Converted | None = None
    for document in documents:
        if document.line is not None:
            write(document.line + b"\n")
            counts[GAME] += 1
            counts[FAULTY] += len(document.faults)
        elif document.ignored is not None:
            counts[IGNORED] += 1
            if ignored is None or (document.may_be_log and not ignored.may_be_log):
                ignored = document
        else:
            counts[REFUSED] += 1
            counts[UNNAMED] += document.is_unnamed
        for fault in document.faults:
            terminal.note(f"{document.location}: {fault.json_path}: {fault.rule}: {fault.message}")
    return +counts, ignored
