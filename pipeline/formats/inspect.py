"""Logs of Inspect in whose samples a task left the game that was played, in interchange JSON.

A document is one sample with what the log's header says of the models: `archives.inspect_log` cuts
a log into these. See docs/inspect.md.
"""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import astuple, replace

from pipeline.archives.inspect_log import Eval, samples
from pipeline.archives.splitting import Splitter
from pipeline.formats.broken import decode
from pipeline.formats.inspect_usage import Logged, used
from pipeline.formats.interchange import KEY
from pipeline.formats.interchange.document import DECODER, Document, End
from pipeline.formats.interchange.reading import game_of
from pipeline.formats.look import Look, begun, object_of
from pipeline.game import BrokenDocument, Fault, GameRecord, Usage

NAME = "inspect"
NAMES_MODELS = True

_KEYS = {"eval", "sample"}
_LOG_KEYS = {"version", "status", "plan", "stats", "results"}
_FEWEST = 2
# Where a task can leave its game: the first counts that has one.
_PLACES = ("store", "metadata")
_GAME = "magic"
_NEAR_BYTES = 1 << 8
_NO_MODEL = "none/none"
_LONGEST = 200
_BY_HAND = "operator"


class Limit(Struct):
    type: str


class Error(Struct):
    message: str


class Sample(Logged):
    """What a sample says besides its game; a limit or an error is why it did not run its course."""

    started_at: Annotated[datetime, Meta(tz=True)] | None = None
    limit: Limit | None = None
    error: Error | None = None

    @property
    def ended_by(self) -> str | None:
        """The limit that stopped it, else the error; null for neither."""
        if self.limit is not None:
            return f"{self.limit.type} limit"
        return None if self.error is None else f"error: {self.error.message[:_LONGEST]}"

    @property
    def is_stopped_by_hand(self) -> bool:
        """Whether somebody stopped it who watched it: no player failed."""
        return self.limit is not None and self.limit.type == _BY_HAND


_SAMPLE = msgspec.json.Decoder(Sample)
_EVAL = msgspec.json.Decoder(Eval)


def splitter(path: str, head: bytes) -> Splitter | None:
    """The samples of a log that is one JSON object, in the order of keys that Inspect writes."""
    if head.find(b'"eval"', 0, _NEAR_BYTES) < 0:
        return None
    first = begun(head).keys()
    return samples if "eval" in first and len(first & _LOG_KEYS) >= _FEWEST else None


def claims(look: Look) -> bool:
    return look.first == "{" and "sample" in look.keys and _game(look) is not None


def read(look: Look, model: str | None) -> GameRecord:
    """The game that a sample has; raises BrokenDocument, with the place in the sample."""
    at, data = _game(look) or ("$", b"")
    document = decode(DECODER, data, at)
    sample = decode(_SAMPLE, look.top.get("sample", b"{}"), "$.sample")
    _complete(document, decode(_EVAL, look.top.get("eval", b"{}"), "$.eval"), sample)
    try:
        game = game_of(document)
    except BrokenDocument as error:
        raise BrokenDocument(_placed(error.fault, at)) from error
    game.format = NAME
    game.faults = [_placed(fault, at) for fault in game.faults]
    game.usage = _usage(game, sample)
    game.failures = {**_failures(game, sample), **game.failures}
    return game


def describes(look: Look) -> str | None:
    """What a log of Inspect is, or a sample of it, that has no game; null for anything else."""
    spec = object_of(bytes(look.top.get("eval", b"")))
    if "task" not in spec or not (look.has(_KEYS, 2) or look.has(_LOG_KEYS, _FEWEST)):
        return None
    task = bytes(spec["task"])[1 : _LONGEST - 1].rstrip(b'"').decode(errors="replace")
    is_whole = "samples" in look.keys  # a splitter would have cut it
    why = "its header not before its samples" if is_whole else "samples without a game document"
    return f"an Inspect log of task {task}, {why}: see docs/inspect.md"


def _game(look: Look) -> tuple[str, bytes] | None:
    """Where a sample has a game, and its document; None for one that has none."""
    sample = object_of(bytes(look.top.get("sample", b"")))
    for place in _PLACES:
        held = object_of(bytes(sample.get(place, b"")))
        data = bytes(held.get(_GAME, b""))
        if KEY in object_of(data):
            return f"$.sample.{place}.{_GAME}", data
    return None


def _complete(document: Document, header: Eval, sample: Sample) -> None:
    """Adds what only the log says: models by the roles that players had, the start, and a limit.

    A player without a model had that of the role of its name, or else that of the eval: so does
    Inspect's `get_model(role=...)`.
    """
    by_role = {name: role.model for name, role in (header.model_roles or {}).items()}
    for seat in document.seats:
        if seat.model is None and seat.is_bot is False:
            model = by_role.get(seat.player) or header.model
            seat.model = None if model in ("", _NO_MODEL) else model
    document.started_at = document.started_at or sample.started_at
    end = document.end or End()
    if not document.is_finished and end.ended_by is None:
        document.end = replace(end, ended_by=sample.ended_by)


def _usage(game: GameRecord, sample: Sample) -> list[Usage]:
    """What each seat used: as the document says it, and else as the log does."""
    logged = used(sample, game.seats, game.faults)
    stated = game.usage or [Usage()] * len(logged)
    pairs = zip(map(astuple, stated), map(astuple, logged), strict=True)
    return [
        Usage(*(log if own is None else own for own, log in zip(*pair, strict=True)))
        for pair in pairs
    ]


def _failures(game: GameRecord, sample: Sample) -> dict[int, str]:
    """How the only model under test failed, by its seats: of several nobody knows which did."""
    tested = {n: seat.model for n, seat in enumerate(game.seats, start=1) if seat.is_tested}
    is_known = len({*tested.values()}) == 1 and not sample.is_stopped_by_hand
    if game.is_finished or sample.ended_by is None or not is_known:
        return {}
    return dict.fromkeys(tested, sample.ended_by)


def _placed(fault: Fault, at: str) -> Fault:
    """A fault of the document as one of the sample that has it."""
    return replace(fault, json_path=at + fault.json_path.removeprefix("$"))
