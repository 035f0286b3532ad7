"""`magic convert`: logs of any format into interchange JSON."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Exit

from pipeline.cells import counted
from pipeline.cli import options, terminal
from pipeline.cli.exits import FAILED, QUARANTINED
from pipeline.cli.options import option

if TYPE_CHECKING:
    from pipeline.conversion import Converted

GAME, FAULTY = "game", "faulty part"
REFUSED, IGNORED = "refused document", "ignored document"


def convert(
    *,
    source: options.SourcesArgument,
    out: Path | None = option("FILE", "A file for the lines; default: stdout.", "-o", "--out"),
    model: options.PlayedByOption = None,
    max_document: options.MaxDocumentOption = options.LARGEST_DOCUMENT,
    strict: options.StrictOption = False,
) -> None:
    """Convert logs to interchange JSON, one game a line.

    The lines say all that was read of the logs, and `magic ingest` makes the same rows of them.
    What cannot be converted is named on stderr. It is an error if the sources have no game at all.

    \b
    Examples:
      magic convert results/ -o games.jsonl
      magic convert chat-logs/ --model gpt-3.5-turbo > chats.jsonl
    """
    from pipeline.conversion import convert as converted
    from pipeline.replacing import replacing

    documents = converted(source, model, max_document)
    if out is None:
        counts = _write(documents, _shown)
    else:
        with replacing(out) as draft, draft.open("wb") as file:
            counts = _write(documents, file.write)
    wrote = f"wrote {out}: " if out else ""
    numbers = ", ".join(counted(n, kind) for kind, n in counts.items())
    terminal.note(wrote + (numbers or "no documents"))
    if not counts[GAME]:
        terminal.complain("no game was converted: check the sources, or give --model NAME")
        raise Exit(FAILED)
    if strict and (counts[REFUSED] or counts[FAULTY]):
        raise Exit(QUARANTINED)


def _shown(line: bytes) -> None:
    """Writes a line to stdout as it is; to a terminal as JSON that it cannot obey."""
    from pipeline.written import safe_json

    is_seen = terminal.is_out_terminal()
    terminal.out_bytes(safe_json(line.decode()).encode() if is_seen else line)


def _write(documents: "Iterable[Converted]", write: Callable[[bytes], object]) -> Counter[str]:
    """Writes the lines and names the faults; gives the numbers of each kind of document."""
    counts: Counter[str] = Counter()
    for document in documents:
        if document.line is not None:
            write(document.line + b"\n")
            counts[GAME] += 1
            counts[FAULTY] += len(document.faults)
        else:
            counts[REFUSED if document.is_log else IGNORED] += 1
        for fault in document.faults:
            terminal.note(f"{document.location}: {fault.json_path}: {fault.rule}: {fault.message}")
    return +counts
