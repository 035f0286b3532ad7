"""A lake's results and games in the forms that other people's tools read.

A kind of export is a module of its name, with underscores for hyphens. Its function `write` makes a
new file or folder; its parameters are the options that the kind has. What it writes depends on the
lake's state and these options alone: the same again is the same bytes.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import get_args

from msgspec.structs import replace

from pipeline.errors import UsageError, choose
from pipeline.exports.exported import Exported
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE
from pipeline.metrics.known import of_lake
from pipeline.metrics.request import several
from pipeline.vocabulary import LOSS, PAPER, Edition, ExportKind

KINDS: tuple[ExportKind, ...] = get_args(ExportKind)
OF_ONE_SYSTEM: tuple[ExportKind, ...] = ("every-eval-ever", "battles")


@of_lake
def export(
    lake: StoredLake,
    kind: ExportKind,
    destination: str | Path,
    *,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
    without_samples: bool = False,
    organization: str | None = None,
    redact: str | Sequence[str] | None = None,
    redact_names: bool = False,
    title: str | None = None,
    license: str | None = None,
    date: str | None = None,
) -> Exported:
    """Writes the lake in a form that another tool reads, to a new file or folder.

    `kind` is one of these:

    - `every-eval-ever`: each metric's values, and what they count unless `without_samples`.
    - `inspect-scout`: a transcript for each tested seat, as Parquet.
    - `battles`: pairs of models with opposed results, as .parquet or .csv.
    - `dataset`: the event tables as Parquet, with a data card. Columns of `redact`, such as
      `messages.content`, are left out; with `redact_names`, models have pseudonyms.

    The first and the third are of one system. `date` is the one that files have, in ISO form, by
    default that of the last ingest. An option that the kind does not have raises UsageError, and so
    do a destination that is there already and an unknown kind. Raises PipelineError for what cannot
    be written. The file or folder appears when it is complete.

    >>> from tempfile import mkdtemp
    >>> lake.export("battles", f"{mkdtemp()}/battles.parquet").n_rows
    96
    """
    if kind not in KINDS:
        raise UsageError(f"no export `{kind}`: {choose([kind], KINDS)}")
    options = {
        "edition": edition,
        "confidence": confidence,
        "without_samples": without_samples,
        "organization": organization,
        "redact": several(redact),
        "redact_names": redact_names,
        "title": title,
        "license": license,
        "date": date,
    }
    defaults = signature(export).parameters
    given = {
        name: value
        for name, value in options.items()
        if value not in (None, defaults[name].default)
    }
    write: Callable[..., Exported] = import_module(f"{__name__}.{kind.replace('-', '_')}").write
    if strangers := given.keys() - signature(write).parameters.keys():
        raise UsageError(f"the export {kind} has no option {', '.join(sorted(strangers))}")
    lake = lake.of_one_system() if kind in OF_ONE_SYSTEM else lake
    if kind != "every-eval-ever" and lake.failures == LOSS:
        raise UsageError(f"the export {kind} has games as logs have them: none can be a loss")
    exported = write(lake, Path(destination), **given)
    is_empty = not sum(lake.counts("games").values())
    return replace(exported, notes=("the lake has no games",)) if is_empty else exported
