"""What was refused ingested again, as far as this version can read more of it.

A document is taken from the lake where that has all of its bytes, else from its source.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import polars as pl
from msgspec import Struct, field

from pipeline.archives import MAX_DOCUMENT, Document
from pipeline.game import Fault
from pipeline.ingest import IngestSummary, ingest
from pipeline.ingest.cut import Cut
from pipeline.ingest.decode import QUARANTINED, decode, look
from pipeline.ingest.ids import GameIds
from pipeline.ingest.models import Models, ModelsOf
from pipeline.ingest.refused import Key, Refused, refused
from pipeline.lake import StoredLake, open_lake

_BATCH_DOCUMENTS = 256
_BATCH_BYTES = 8 * 2**20

# A document, and what was refused of it: null where the lake never saw it.
Pair = tuple[Document, Refused | None]


class Retried(Struct):
    """What came of it. `report` is null where nothing could be read that could not before.

    `n_left` are documents that are refused as before; `gone` those whose source is needed and gone.
    """

    report: IngestSummary | None
    n_left: int
    gone: list[str]


def retry(
    lake: str | Path, *, model: str | ModelsOf | None = None, max_document: int = MAX_DOCUMENT
) -> Retried:
    """Ingests what is in quarantine again where there is more to be had of it than before.

    A game with a refused part is taken out and put in again, with what it has now. `model`
    is as in `ingest`. Raises as `ingest` does.
    """
    opened = open_lake(lake)
    plan = _plan(opened, Cut(opened, max_document), model)
    n_left = plan.n_refused - len(plan.chosen) - len(plan.gone) - plan.n_opened
    if not plan.chosen and not plan.has_new:
        return Retried(None, n_left, plan.gone)
    report = ingest(
        (),
        lake,
        model=model,
        max_document=max_document,
        documents=_chosen(opened, plan),
        again=pl.Series(sorted(plan.again), dtype=pl.String),
    )
    return Retried(report, n_left, plan.gone)


class _Plan(Struct):
    """What is to be ingested again, by its keys; `again` are the games that it takes out.

    `has_new` tells that there is something which the lake never saw, and `n_opened` how many
    archives can be read to their end that could not.
    """

    cut: Cut
    n_refused: int = 0
    chosen: set[Key] = field(default_factory=set)
    again: set[str] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)
    has_new: bool = False
    n_opened: int = 0


def _plan(lake: StoredLake, cut: Cut, model: str | ModelsOf | None) -> _Plan:
    plan = _Plan(cut)
    for refusal in _read_otherwise(chain(_whole(lake, plan), cut.documents()), model):
        if refusal is None:
            plan.has_new = True
        else:
            plan.chosen.add(refusal.key)
            plan.again.update(() if refusal.game_id is None else (refusal.game_id,))
    plan.gone, plan.n_opened = cut.gone(), cut.n_opened()
    return plan


def _whole(lake: StoredLake, plan: _Plan) -> Iterator[Pair]:
    """The documents that the lake has all of; the others go to the plan's `cut`."""
    for refusal in refused(lake):
        plan.n_refused += 1
        if refusal.is_whole:
            yield _document(refusal), refusal
        else:
            plan.cut.add(refusal)


def _chosen(lake: StoredLake, plan: _Plan) -> Iterator[Document]:
    for refusal in refused(lake):
        if refusal.is_whole and refusal.key in plan.chosen:
            yield _document(refusal)
    for document, cut in plan.cut.documents():
        if cut is None or cut.key in plan.chosen:
            yield document


def _document(refusal: Refused) -> Document:
    source, path, _ = refusal.key
    return Document(source, path, refusal.raw)


def _read_otherwise(
    pairs: Iterable[Pair], model: str | ModelsOf | None
) -> Iterator[Refused | None]:
    """What was refused of each document that is read otherwise than it was; null of a new one."""
    for batch in _batches(pairs):
        seen = [look(document, source_order) for source_order, (document, _) in enumerate(batch)]
        # As an ingest does it, so that it finds the same.
        decoded = decode([document for document, _ in batch], seen, Models.of(model), GameIds())
        faults: dict[Key, set[Fault]] = {}
        for row in decoded.faults:
            fault = Fault(row.json_path, row.rule, row.message)
            faults.setdefault((row.source, row.path, row.sha256), set()).add(fault)
        for (_, refusal), now in zip(batch, seen, strict=True):
            found = faults.get((now.source, now.path, now.sha256), set())
            if refusal is None or _is_otherwise(
                refusal, found, is_refused=now.found == QUARANTINED
            ):
                yield refusal


def _is_otherwise(refusal: Refused, found: set[Fault], *, is_refused: bool) -> bool:
    """Whether these are other faults; a game with a refused part is never given up."""
    if is_refused and refusal.game_id is not None:
        return False
    return found != set(refusal.faults)


def _batches(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    held: list[Pair] = []
    n_bytes = 0
    for pair in pairs:
        held.append(pair)
        n_bytes += len(pair[0].data or b"")
        if len(held) == _BATCH_DOCUMENTS or n_bytes >= _BATCH_BYTES:
            yield held
            held, n_bytes = [], 0
    if held:
        yield held
