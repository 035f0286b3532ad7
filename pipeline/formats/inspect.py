"""Format of Inspect logs whose samples contain a game in interchange JSON.

A document is one sample with the log header's information about models; `archives.inspect_log`
splits a log into such documents. A player who was called as a role has the usage of that role. Any
other player has the usage of the model, if no other player has this model. See docs/inspect.md.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct
from msgspec.structs import astuple, replace

from pipeline.archives.inspect_log import EvalHeader, iter_samples_of_json_log
from pipeline.archives.splitting import Splitter
from pipeline.formats.interchange import VERSION_KEY
from pipeline.formats.interchange.document import End, parse_document
from pipeline.formats.interchange.reading import build_game, derive_results
from pipeline.formats.record_builder import parse_amount_or_add_fault, parse_usage_or_add_faults
from pipeline.formats.sniffer import DocumentSniffer, decode, parse_object, parse_truncated_object
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError, Usage

T = TypeVar("T")

NAME = "inspect"
NAMES_MODELS = True

_LOG_KEYS = {"version", "status", "plan", "stats", "results"}
_MIN_LOG_KEYS = 2
_GAME_KEY = "magic"
_MAX_REASON_LENGTH = 200
ANSWERED_BY_REQUESTED = "every call is answered by the model that was requested"


_USAGE_KEYS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cost": "total_cost",
}


class LoggedUsage(Struct, gc=False):
    """The tokens and cost of model calls, as Inspect logs them."""

    input_tokens: Any = None
    input_tokens_cache_read: Any = None
    input_tokens_cache_write: Any = None
    output_tokens: Any = None
    total_tokens: Any = None
    total_cost: Any = None


class LoggedEvent(Struct, gc=False):
    """An event of a sample; `working_time` is the time in seconds of a successful call."""

    event: Any = None
    role: Any = None
    model: Any = None
    working_time: Any = None
    output: Raw = Raw(b"null")


class ModelOutput(Struct, gc=False):
    """The usage in the output of a model call."""

    usage: LoggedUsage | None = None


class ModelFallback(Struct):
    """Calls that were answered by another model than the requested one.

    Attributes:
        model: The requested model.
        fallback_model: The model that answered.
        count: The number of calls.
    """

    model: str
    fallback_model: str
    count: int


_USAGE = msgspec.json.Decoder(dict[str, LoggedUsage] | None)
_OUTPUT = msgspec.json.Decoder(ModelOutput | None)
_FALLBACKS = msgspec.json.Decoder(list[ModelFallback] | None)
_EVENTS = msgspec.json.Decoder(list[LoggedEvent] | None)


class SampleLimit(Struct):
    """The limit that stopped a sample, such as `time`."""

    type: str


class SampleError(Struct):
    """The error that stopped a sample."""

    message: str


class Invalidation(Struct):
    """The mark that a user sets after the run on a sample that must not be counted."""

    reason: str | None = None


class Sample(Struct):
    """The fields of a sample other than its game.

    `limit` or `error` is set if the sample stopped early; `invalidation` if it must not be counted.
    """

    started_at: Annotated[datetime, Meta(tz=True)] | None = None
    invalidation: Invalidation | None = None
    limit: SampleLimit | None = None
    error: SampleError | None = None
    uuid: str | None = None
    model_fallbacks: Raw = Raw(b"null")
    role_usage: Raw = Raw(b"{}")
    model_usage: Raw = Raw(b"{}")
    events: Raw = Raw(b"[]")

    @property
    def ended_by(self) -> str | None:
        """The reason why the sample stopped early or is invalid; None if it is complete."""
        if self.invalidation is not None:
            reason = self.invalidation.reason
            return f"invalidated: {reason[:_MAX_REASON_LENGTH]}" if reason else "invalidated"
        if self.limit is not None:
            return f"{self.limit.type} limit"
        return None if self.error is None else f"error: {self.error.message[:_MAX_REASON_LENGTH]}"


def splitter(path: str, head: bytes) -> Splitter | None:
    """Return the function that splits an Inspect log into its samples; None for any other file.

    Args:
        path: The path of the file.
        head: The first bytes of the file. An Inspect log has the keys of its header there.
    """
    if head.find(b'"eval"', 0, 1 << 8) < 0:
        return None
    first_keys = parse_truncated_object(head).keys()
    return (
        iter_samples_of_json_log
        if "eval" in first_keys and len(first_keys & _LOG_KEYS) >= _MIN_LOG_KEYS
        else None
    )


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document is an Inspect sample that contains a game.

    Args:
        sniffer: The document.
    """
    return (
        sniffer.first == "{"
        and "sample" in sniffer.keys
        and _find_game_json_in_sample(sniffer) is not None
    )


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Read the game in an Inspect sample.

    Models, start time, end reason and usage are those of the sample or log if the game lacks them.

    Args:
        sniffer: The document.
        model: Not used, because the logs name their models.

    Raises:
        InvalidDocumentError: If the game is invalid; the error names the path in the sample.
    """
    json_path, data = _find_game_json_in_sample(sniffer) or ("$", b"")
    document = parse_document(data, json_path)
    sample = decode(Sample, sniffer.top.get("sample", b"{}"), "$.sample")
    header = decode(EvalHeader, sniffer.top.get("eval", b"{}"), "$.eval")
    # Only the log states the models of roles, the start and the limit. A player without a model has
    # the model of the role with the player's name, or else the model of the eval, as Inspect's
    # `get_model(role=...)` does. A role that is bound to several models names none of them.
    for seat in document.seats:
        if seat.model is None and seat.is_bot is False:
            bound_model = header.model_of_role(seat.player)
            seat.model = None if bound_model in ("", "none/none") else bound_model
    document.started_at = document.started_at or sample.started_at
    end = document.end or End()
    if not document.is_finished and end.ended_by is None:
        document.end = replace(end, ended_by=sample.ended_by)
    try:
        game = build_game(document)
    except InvalidDocumentError as error:
        raise InvalidDocumentError(
            *(_prefix_fault_path(fault, json_path) for fault in error.faults)
        ) from error
    game.format = NAME
    game.faults = [_prefix_fault_path(fault, json_path) for fault in game.faults]
    game.usage = _usage_of_each_seat(game, header, sample)
    game.log_id = sample.uuid
    fallbacks_path = "$.sample.model_fallbacks"
    # These errors come first, because an ingest keeps only the first errors of a document, and the
    # view `fallback_models` reads them.
    game.faults[:0] = [
        RecordError(
            fallbacks_path,
            ANSWERED_BY_REQUESTED,
            f"{fallback.fallback_model} answered {fallback.count} calls of {fallback.model}",
        )
        for fallback in _decode_or_add_fault(
            _FALLBACKS, sample.model_fallbacks, fallbacks_path, game.faults
        )
        or ()
    ]
    tested_models = {n: seat.model for n, seat in enumerate(game.seats, start=1) if seat.is_tested}
    if sample.invalidation is not None:  # the game counts as unfinished, and nobody failed
        game.is_finished, game.outcome, game.ended_by = False, None, sample.ended_by
        game.failures = {}
        game.results = derive_results(game, [None] * len(game.seats))
    # If several models are tested, it is unknown which failed. If an operator stopped it, none did.
    elif (
        not game.is_finished
        and sample.ended_by is not None
        and len({*tested_models.values()}) == 1
        and (sample.limit is None or sample.limit.type != "operator")
    ):
        game.failures = {**dict.fromkeys(tested_models, sample.ended_by), **game.failures}
    return game


def describes(sniffer: DocumentSniffer) -> str | None:
    """Describe a document that is an Inspect log or sample without a game; None for any other.

    Args:
        sniffer: The document.
    """
    eval_spec = parse_object(bytes(sniffer.top.get("eval", b"")))
    if "task" not in eval_spec or not (
        sniffer.has_keys({"eval", "sample"}, 2) or sniffer.has_keys(_LOG_KEYS, _MIN_LOG_KEYS)
    ):
        return None
    task = (
        bytes(eval_spec["task"])[1 : _MAX_REASON_LENGTH - 1].rstrip(b'"').decode(errors="replace")
    )
    is_whole = "samples" in sniffer.keys  # the splitter did not recognize it
    reason = "its header not before its samples" if is_whole else "samples without a game document"
    return f"an Inspect log of task {task}, {reason}: see docs/inspect.md"


def _find_game_json_in_sample(sniffer: DocumentSniffer) -> tuple[str, bytes] | None:
    """Return the JSON path and the JSON text of the game in a sample; None if it has no game.

    A list of games and a game in a string are also returned, so that they are reported as invalid.
    """
    sample = parse_object(bytes(sniffer.top.get("sample", b"")))
    # A task can leave its game in two places; the first place with a game counts.
    for place in ("store", "metadata"):
        entries = parse_object(bytes(sample.get(place, b"")))
        data = bytes(entries.get(_GAME_KEY, b""))
        if VERSION_KEY in parse_object(data) or (
            data[:1] in (b"[", b'"') and VERSION_KEY.encode() in data
        ):
            return f"$.sample.{place}.{_GAME_KEY}", data
    return None


def _prefix_fault_path(fault: RecordError, path_of_game: str) -> RecordError:
    return replace(fault, json_path=path_of_game + fault.json_path.removeprefix("$"))


def _usage_of_each_seat(game: GameRecord, header: EvalHeader, sample: Sample) -> list[Usage]:
    """Return the tokens, seconds and cost of each seat, from the game or else from the log.

    A value is None if neither has it for this seat alone. The usage of a role that has no seat,
    such as a grader, belongs to no seat.
    """
    seats, faults = game.seats, game.faults
    events = _decode_or_add_fault(_EVENTS, sample.events, "$.sample.events", faults)
    calls = [call for call in events or () if call.event == "model"]
    usage_by_role, usage_by_model = (
        {
            name: _parse_usage_including_cached_tokens(
                usage, f"$.sample.{key}_usage.{name}", faults
            )
            for name, usage in (
                _decode_or_add_fault(
                    _USAGE, getattr(sample, f"{key}_usage"), f"$.sample.{key}_usage", faults
                )
                or {}
            ).items()
        }
        for key in ("role", "model")
    )
    n_seats = Counter(seat.model for seat in seats)
    players = {seat.player for seat in seats}
    # The calls of a role name its models; the header's binding is used only without calls.
    models_by_other_role = {
        role: {call.model for call in calls if call.role == role} or {header.model_of_role(role)}
        for role in usage_by_role.keys() - players
    }
    usage_by_seat = []
    for seat in seats:
        if seat.player in usage_by_role:
            seat_usage, seat_calls = (
                usage_by_role[seat.player],
                [call for call in calls if call.role == seat.player],
            )
        elif seat.model in usage_by_model and n_seats[seat.model] == 1:
            model_calls = [call for call in calls if call.model == seat.model]
            # The usage of a role with several models may partly be of this model.
            other_usages = [
                usage_by_role[role] if names == {seat.model} else Usage()
                for role, names in models_by_other_role.items()
                if names & {seat.model, None}
            ]
            if not usage_by_role:  # an older log, which has no usage by role
                other_calls = [call for call in model_calls if call.role not in {None, *players}]
                other_usages = [
                    Usage()
                    for call in other_calls
                    if _has_call_no_more_input_tokens(call, usage_by_model[seat.model])
                ]
            seat_usage = _subtract_usages(usage_by_model[seat.model], other_usages)
            seat_calls = [call for call in model_calls if call.role in (None, seat.player)]
        else:
            usage_by_seat.append(Usage())
            continue
        times = [call.working_time for call in seat_calls]
        seconds = [
            parse_amount_or_add_fault(time, "$.sample.events", faults)
            for time in times
            if time is not None
        ]
        is_timed = bool(seconds) and None not in seconds
        usage_by_seat.append(replace(seat_usage, seconds=sum(seconds) if is_timed else None))
    stated_usage = game.usage or [Usage()] * len(usage_by_seat)
    pairs = zip(map(astuple, stated_usage), map(astuple, usage_by_seat), strict=True)
    return [
        Usage(*(logged if stated is None else stated for stated, logged in zip(*pair, strict=True)))
        for pair in pairs
    ]


def _has_call_no_more_input_tokens(call: LoggedEvent, total_usage: Usage) -> bool:
    """Return whether a call has no more input tokens than a total usage."""
    output = _decode_or_add_fault(_OUTPUT, call.output, "$.sample.events", [])
    call_usage = (
        _parse_usage_including_cached_tokens(output.usage, "$.sample.events", [])
        if output and output.usage
        else Usage()
    )
    return (call_usage.input_tokens or 0) <= (total_usage.input_tokens or 0)


def _subtract_usages(total_usage: Usage, subtracted_usages: Sequence[Usage]) -> Usage:
    """Return a usage minus other usages by field; None if an amount is missing or negative."""
    amounts = [
        None if None in (total, *parts) or sum(parts) > total else total - sum(parts)
        for total, *parts in zip(
            astuple(total_usage), *map(astuple, subtracted_usages), strict=True
        )
    ]
    return Usage(*amounts)


def _parse_usage_including_cached_tokens(
    logged_usage: LoggedUsage, json_path: str, faults: list[RecordError]
) -> Usage:
    """Parse the usage of a role or model so that its input tokens include the cached tokens.

    Some versions of Inspect include cached tokens in `input_tokens`, and some do not. The total
    number of tokens decides.
    """
    parsed_usage = parse_usage_or_add_faults(logged_usage, _USAGE_KEYS, json_path, faults)
    cached_tokens = [
        parse_amount_or_add_fault(
            getattr(logged_usage, key), f"{json_path}.{key}", faults, is_whole=True
        )
        for key in ("input_tokens_cache_read", "input_tokens_cache_write")
    ]
    if parsed_usage.input_tokens is None:
        return parsed_usage
    max_input_tokens = parsed_usage.input_tokens + sum(filter(None, cached_tokens))
    total = parse_amount_or_add_fault(
        logged_usage.total_tokens, f"{json_path}.total_tokens", faults, is_whole=True
    )
    input_tokens_by_total = (
        max_input_tokens
        if None in (total, parsed_usage.output_tokens)
        else total - parsed_usage.output_tokens
    )
    is_possible = parsed_usage.input_tokens <= input_tokens_by_total <= max_input_tokens
    return replace(
        parsed_usage, input_tokens=input_tokens_by_total if is_possible else max_input_tokens
    )


def _decode_or_add_fault(
    decoder: msgspec.json.Decoder[T], data: Raw, json_path: str, faults: list[RecordError]
) -> T | None:
    try:
        return decode(decoder, data, json_path)
    except InvalidDocumentError as error:
        faults.append(error.fault)
        return None
