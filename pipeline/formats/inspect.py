"""Logs of Inspect in whose samples a task left the game that was played, in interchange JSON.

A document is one sample with what the log's header says of the models: `archives.inspect_log` cuts
a log into these. A player who is called as a role used what the role did. Another used what its
model did, if nobody else in the game has it. See docs/inspect.md.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import astuple, replace

from pipeline.archives.inspect_log import EvalHeader, iter_samples
from pipeline.archives.splitting import Splitter
from pipeline.formats.interchange import VERSION_KEY
from pipeline.formats.interchange.document import End, document_of
from pipeline.formats.interchange.reading import derived_results, game_of
from pipeline.formats.record_builder import amount, usage
from pipeline.formats.sniffer import DocumentSniffer, begun, decode, object_of
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError, Usage

T = TypeVar("T")

NAME = "inspect"
NAMES_MODELS = True

_LOG_KEYS = {"version", "status", "plan", "stats", "results"}
_FEWEST = 2
_GAME = "magic"
_LONGEST = 200
ANSWERED_BY_REQUESTED = "every call is answered by the model that was requested"


_USED = {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "cost": "total_cost"}


class Used(Struct, gc=False):
    input_tokens: Any = None
    input_tokens_cache_read: Any = None
    input_tokens_cache_write: Any = None
    output_tokens: Any = None
    total_tokens: Any = None
    total_cost: Any = None


class Call(Struct, gc=False):
    """An event of a sample; `working_time` are the seconds of a call that went well."""

    event: Any = None
    role: Any = None
    model: Any = None
    working_time: Any = None
    output: Raw = Raw(b"null")


class Output(Struct, gc=False):
    usage: Used | None = None


class Fallback(Struct):
    """A model that answered `count` calls in place of the requested one."""

    model: str
    fallback_model: str
    count: int


_USAGE = msgspec.json.Decoder(dict[str, Used] | None)
_OUTPUT = msgspec.json.Decoder(Output | None)
_FALLBACKS = msgspec.json.Decoder(list[Fallback] | None)
_EVENTS = msgspec.json.Decoder(list[Call] | None)


class Limit(Struct):
    type: str


class Error(Struct):
    message: str


class Invalidation(Struct):
    reason: str | None = None


class Sample(Struct):
    """What a sample says besides its game; a limit or an error is why it did not run its course.

    Who read the log can have said of a sample that it does not count.
    """

    started_at: Annotated[datetime, Meta(tz=True)] | None = None
    invalidation: Invalidation | None = None
    limit: Limit | None = None
    error: Error | None = None
    uuid: str | None = None
    model_fallbacks: Raw = Raw(b"null")
    role_usage: Raw = Raw(b"{}")
    model_usage: Raw = Raw(b"{}")
    events: Raw = Raw(b"[]")

    @property
    def ended_by(self) -> str | None:
        """Why it does not count, else the limit that stopped it, else the error; null for none."""
        if self.invalidation is not None:
            reason = self.invalidation.reason
            return f"invalidated: {reason[:_LONGEST]}" if reason else "invalidated"
        if self.limit is not None:
            return f"{self.limit.type} limit"
        return None if self.error is None else f"error: {self.error.message[:_LONGEST]}"


def splitter(path: str, head: bytes) -> Splitter | None:
    """The samples of a log that is one JSON object, in the order of keys that Inspect writes."""
    if head.find(b'"eval"', 0, 1 << 8) < 0:
        return None
    first = begun(head).keys()
    return iter_samples if "eval" in first and len(first & _LOG_KEYS) >= _FEWEST else None


def claims(look: DocumentSniffer) -> bool:
    return look.first == "{" and "sample" in look.keys and _game(look) is not None


def read(look: DocumentSniffer, model: str | None) -> GameRecord:
    """The game that a sample has; raises BrokenDocument, with the place in the sample."""
    at, data = _game(look) or ("$", b"")
    document = document_of(data, at)
    sample = decode(Sample, look.top.get("sample", b"{}"), "$.sample")
    header = decode(EvalHeader, look.top.get("eval", b"{}"), "$.eval")
    # What only the log says: models by the roles that players had, the start, and a limit. A player
    # without a model had that of the role of its name, or else that of the eval: so does Inspect's
    # `get_model(role=...)`. A role that is bound to several models names none.
    for seat in document.seats:
        if seat.model is None and seat.is_bot is False:
            bound = header.model_of(seat.player)
            seat.model = None if bound in ("", "none/none") else bound
    document.started_at = document.started_at or sample.started_at
    end = document.end or End()
    if not document.is_finished and end.ended_by is None:
        document.end = replace(end, ended_by=sample.ended_by)
    try:
        game = game_of(document)
    except InvalidDocumentError as error:
        raise InvalidDocumentError(*(_placed(fault, at) for fault in error.faults)) from error
    game.format = NAME
    game.faults = [_placed(fault, at) for fault in game.faults]
    game.usage = _usage(game, header, sample)
    game.log_id = sample.uuid
    at_fallbacks = "$.sample.model_fallbacks"
    # They are the first, because an ingest keeps only the first faults of a document. The view
    # `fallback_models` reads them.
    game.faults[:0] = [
        RecordError(
            at_fallbacks,
            ANSWERED_BY_REQUESTED,
            f"{fallback.fallback_model} answered {fallback.count} calls of {fallback.model}",
        )
        for fallback in _decoded(_FALLBACKS, sample.model_fallbacks, at_fallbacks, game.faults)
        or ()
    ]
    tested = {n: seat.model for n, seat in enumerate(game.seats, start=1) if seat.is_tested}
    if sample.invalidation is not None:  # it did not end, whatever it says, and nobody failed
        game.is_finished, game.outcome, game.ended_by = False, None, sample.ended_by
        game.failures = {}
        game.results = derived_results(game, [None] * len(game.seats))
    # Of several models under test nobody knows which failed. By hand whoever watched stopped it.
    elif (
        not game.is_finished
        and sample.ended_by is not None
        and len({*tested.values()}) == 1
        and (sample.limit is None or sample.limit.type != "operator")
    ):
        game.failures = {**dict.fromkeys(tested, sample.ended_by), **game.failures}
    return game


def describes(look: DocumentSniffer) -> str | None:
    """What a log of Inspect is, or a sample of it, that has no game; null for anything else."""
    spec = object_of(bytes(look.top.get("eval", b"")))
    if "task" not in spec or not (look.has({"eval", "sample"}, 2) or look.has(_LOG_KEYS, _FEWEST)):
        return None
    task = bytes(spec["task"])[1 : _LONGEST - 1].rstrip(b'"').decode(errors="replace")
    is_whole = "samples" in look.keys  # a splitter would have cut it
    why = "its header not before its samples" if is_whole else "samples without a game document"
    return f"an Inspect log of task {task}, {why}: see docs/inspect.md"


def _game(look: DocumentSniffer) -> tuple[str, bytes] | None:
    """Where a sample has a game, and its document; None for one that has none.

    It can be of another type than it should be: several in a list, or JSON as a text.
    """
    sample = object_of(bytes(look.top.get("sample", b"")))
    # Where a task can leave its game: the first counts that has one.
    for place in ("store", "metadata"):
        held = object_of(bytes(sample.get(place, b"")))
        data = bytes(held.get(_GAME, b""))
        if VERSION_KEY in object_of(data) or (
            data[:1] in (b"[", b'"') and VERSION_KEY.encode() in data
        ):
            return f"$.sample.{place}.{_GAME}", data
    return None


def _placed(fault: RecordError, at: str) -> RecordError:
    """A fault of the document as one of the sample that has it."""
    return replace(fault, json_path=at + fault.json_path.removeprefix("$"))


def _usage(game: GameRecord, header: EvalHeader, sample: Sample) -> list[Usage]:
    """Return what each seat used: as the document says it, and else as the log does.

    It is null where the log does not say it of the seat alone. What a role without a seat, such as
    a grader, used of a model is no seat's.
    """
    seats, faults = game.seats, game.faults
    events = _decoded(_EVENTS, sample.events, "$.sample.events", faults)
    calls = [call for call in events or () if call.event == "model"]
    roles, models = (
        {
            name: _of(used, f"$.sample.{key}_usage.{name}", faults)
            for name, used in (
                _decoded(_USAGE, getattr(sample, f"{key}_usage"), f"$.sample.{key}_usage", faults)
                or {}
            ).items()
        }
        for key in ("role", "model")
    )
    n_seats = Counter(seat.model for seat in seats)
    players = {seat.player for seat in seats}
    # What a role was called with is more than what the header binds it to, which can be nothing.
    others = {
        role: {call.model for call in calls if call.role == role} or {header.model_of(role)}
        for role in roles.keys() - players
    }
    of_seats = []
    for seat in seats:
        if seat.player in roles:
            found, own = roles[seat.player], [call for call in calls if call.role == seat.player]
        elif seat.model in models and n_seats[seat.model] == 1:
            of_model = [call for call in calls if call.model == seat.model]
            # What a role with several models used may have been of this one.
            beside = [
                roles[role] if names == {seat.model} else Usage()
                for role, names in others.items()
                if names & {seat.model, None}
            ]
            if not roles:  # an older log, which says only what was called
                called = [call for call in of_model if call.role not in {None, *players}]
                beside = [Usage() for call in called if _is_within(call, models[seat.model])]
            found = _without(models[seat.model], beside)
            own = [call for call in of_model if call.role in (None, seat.player)]
        else:
            of_seats.append(Usage())
            continue
        times = [call.working_time for call in own]
        seconds = [amount(time, "$.sample.events", faults) for time in times if time is not None]
        is_timed = bool(seconds) and None not in seconds
        of_seats.append(replace(found, seconds=sum(seconds) if is_timed else None))
    stated = game.usage or [Usage()] * len(of_seats)
    pairs = zip(map(astuple, stated), map(astuple, of_seats), strict=True)
    return [
        Usage(*(log if own is None else own for own, log in zip(*pair, strict=True)))
        for pair in pairs
    ]


def _is_within(call: Call, used: Usage) -> bool:
    """Return whether a model's usage can contain that of the call: it is not larger."""
    output = _decoded(_OUTPUT, call.output, "$.sample.events", [])
    of_call = _of(output.usage, "$.sample.events", []) if output and output.usage else Usage()
    return (of_call.input_tokens or 0) <= (used.input_tokens or 0)


def _without(used: Usage, others: Sequence[Usage]) -> Usage:
    """Return what is left of a model's usage without that of others; null where that is unknown."""
    amounts = [
        None if None in (whole, *parts) or sum(parts) > whole else whole - sum(parts)
        for whole, *parts in zip(astuple(used), *map(astuple, others), strict=True)
    ]
    return Usage(*amounts)


def _of(logged: Used, at: str, faults: list[RecordError]) -> Usage:
    """Return what a role or a model used, with the tokens of caches.

    Some versions of Inspect count the tokens of caches among `input_tokens`, others apart from
    them: the total says which.
    """
    found = usage(logged, _USED, at, faults)
    cached = [
        amount(getattr(logged, key), f"{at}.{key}", faults, is_whole=True)
        for key in ("input_tokens_cache_read", "input_tokens_cache_write")
    ]
    if found.input_tokens is None:
        return found
    most = found.input_tokens + sum(filter(None, cached))
    total = amount(logged.total_tokens, f"{at}.total_tokens", faults, is_whole=True)
    by_total = most if None in (total, found.output_tokens) else total - found.output_tokens
    is_possible = found.input_tokens <= by_total <= most
    return replace(found, input_tokens=by_total if is_possible else most)


def _decoded(
    decoder: msgspec.json.Decoder[T], data: Raw, at: str, faults: list[RecordError]
) -> T | None:
    """What a part of the sample holds; None, and a fault, for another thing."""
    try:
        return decode(decoder, data, at)
    except InvalidDocumentError as error:
        faults.append(error.fault)
        return None
