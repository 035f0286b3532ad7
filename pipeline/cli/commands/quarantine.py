"""`magic quarantine`: what was refused, and why."""

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.cells import counted
from pipeline.cli import options, terminal
from pipeline.cli.command import Asked
from pipeline.cli.options import flag, option
from pipeline.cli.renewal import renewing_catalog
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.ingest.models import ModelsOf


def quarantine(
    asked: Asked,
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    raw: bool = flag("--raw", "Show every column, with the raw document."),
    export: Path | None = option(
        "DIR", "Write the documents to a new folder.", check=options.local_folder
    ),
    retry: bool = flag("--retry", "Try to ingest them again, with the options that follow."),
    model: options.PlayedByOption = None,
    models_from: options.ModelsFromOption = None,
    max_document: options.MaxDocumentOption = options.LARGEST_DOCUMENT,
    form: options.FormOption = "table",
) -> None:
    """List what an ingest could not use, and why.

    A row is a whole document, or one part of a game whose other parts are in the tables.
    `json_path` says which part; `$` means the whole document.

    --export writes the bytes of each document, as far as the lake has them, and `manifest.json`.
    --retry reads a document from the lake; if the lake has only its beginning, from its source.

    \b
    Examples:
      magic quarantine
      magic quarantine --raw --format json > refused.json
      magic quarantine --export refused/
      magic quarantine --retry --model gpt-3.5-turbo
    """
    if sum([raw, export is not None, retry]) > 1:
        raise UsageError("use only one of --raw, --export and --retry")
    for name, value in (("--model", model), ("--models-from", models_from)):
        if value is not None and not retry:
            raise UsageError(f"{name} works only with --retry")
    if export is not None:
        _export(asked, lake, export)
    elif retry:
        from pipeline.ingest.models import given

        _retry(lake, given(model, models_from), max_document, form)
    else:
        asked.show("reports.documents.quarantine")


def _export(asked: Asked, lake: str, folder: Path) -> None:
    from pipeline.ingest.export import MANIFEST, export

    manifest = export(lake, folder)
    with terminal.reporting(f"the documents are in {folder}"):
        hidden = ("n_written", "source", "sha256", "game_id", "rules")
        asked.show_rows("manifest", manifest, hidden=hidden)
    n_cut, n_unread = manifest["is_cut"].sum(), manifest["file"].null_count()
    terminal.note(
        f"{counted(manifest.height, 'document')}, {n_cut:,} cut and {n_unread:,} never read: "
        f"{folder / MANIFEST} says where each comes from"
    )


def _retry(lake: str, model: "str | ModelsOf | None", max_document: int, form: str) -> None:
    from pipeline.cli.counts import show_report
    from pipeline.ingest.retry import retry

    retried = retry(lake, model=model, max_document=max_document)
    if retried.report is None:
        terminal.note("nothing new can be read")
    else:
        with renewing_catalog(lake):
            show_report(retried.report, form)
    if retried.n_left:
        terminal.note(f"documents still in quarantine: {retried.n_left:,}")
    if retried.gone:
        terminal.note(
            f"documents of which the lake has only a part, and whose source is gone: "
            f"{len(retried.gone):,}, for example {retried.gone[0]}"
        )
