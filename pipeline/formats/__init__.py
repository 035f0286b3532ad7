"""Log formats: one module for each format turns a document into a typed `GameRecord`.

A format is a module or package in this folder or in `systems` with `NAME`, `NAMES_MODELS`, `claims`
and `read`, or an entry with these of the module's `FORMATS`. The modules are discovered, so there
is no list to keep. A format may also have `splitter`, if a file of its logs contains several games,
and `describes`, if its program also writes logs that are not read. Other packages add formats with
an entry point of the group `magic_pipeline.formats`. A built-in format whose logs have few keys may
have a `SHAPE`, a decoder that saves a second pass over the document (see `DocumentSniffer`).
"""

import importlib
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Protocol, cast

import msgspec

from pipeline.archives.sources import (
    REASON_UNKNOWN_TEXT,
    RejectedInputError,
    containing_file_type,
    is_lfs_pointer,
    unclaimed_text_reason,
)
from pipeline.archives.splitting import (
    BYTE_ORDER_MARK,
    DocumentPart,
    Splitter,
    read_whole_file,
    starts_like_json,
)
from pipeline.formats import systems
from pipeline.formats.record_builder import no_tested_player_faults, side_results
from pipeline.formats.sniffer import (
    UNDECODABLE,
    DocumentSniffer,
    Shapes,
    check_against_game_definition,
    check_winners,
    decode,
    invalid_document_error,
)
from pipeline.game_record import GameRecord, InvalidDocumentError
from pipeline.plugins import FORMATS, OWN_PACKAGE, PluginError, check_unique_names, load_plugins

_REQUIRED_ATTRIBUTES = ("NAME", "NAMES_MODELS", "claims", "read")
_WELL_FORMED = msgspec.json.Decoder()
_N_NAMED_KEYS = 3
_WRITE_AS_LINES_HINT = "write each on a line, as .jsonl"
_WORD = re.compile("(?=_*[A-Za-z])[A-Za-z_]{1,30}")
NOT_READ = "not read: "
"""The beginning of the reason for a log of a known program whose games are not read."""
_OTHER_KEYS = "not a log: JSON with other keys"
_NO_KEYS = "not a log: JSON without keys"
NO_MODEL = "the log or --model names the model that played"
ERROR_REASON = "its format reads it without an unexpected error"


class Format(Protocol):
    """The interface of a log format.

    Attributes:
        NAME: The unique name of the format.
        NAMES_MODELS: Whether the logs of the format name the models that played.
    """

    NAME: str
    NAMES_MODELS: bool

    def claims(self, sniffer: DocumentSniffer, /) -> bool:
        """Return whether the document is a log of this format, by its keys or its first bytes."""
        ...

    def read(self, sniffer: DocumentSniffer, model: str | None, /) -> GameRecord:
        """Return the game in a claimed document; raise InvalidDocumentError if it is invalid."""
        ...


@cache
def available_formats() -> tuple[Format, ...]:
    """Return the built-in formats and the formats of plugins, sorted by name.

    Raises:
        PluginError: If a plugin is not a valid format, or if two formats have the same name.
    """
    built_in_formats = [
        (format_.NAME, OWN_PACKAGE, format_) for format_ in _load_built_in_formats()
    ]
    added = [(format_.NAME, package, format_) for package, format_ in _load_plugin_formats()]
    formats = check_unique_names("the format", [*built_in_formats, *added])
    return tuple(format_ for *_, format_ in sorted(formats, key=itemgetter(0)))


def package_that_adds_format(name: str) -> str | None:
    """Return the package that adds the format with this name; None for a built-in format."""
    return next(
        (package for package, format_ in _load_plugin_formats() if name == format_.NAME), None
    )


@cache
def _load_built_in_formats() -> tuple[Any, ...]:
    """Return the formats of all modules in this folder and in `systems`."""
    module_names = [
        f"{package.__name__}.{module_info.name}"
        for package in (sys.modules[__name__], systems)
        for module_info in pkgutil.iter_modules(package.__path__)
    ]
    formats_by_module = [
        getattr(module, "FORMATS", (module,))
        for module in map(importlib.import_module, module_names)
    ]
    return tuple(
        format_ for format_ in chain.from_iterable(formats_by_module) if hasattr(format_, "read")
    )


@cache
def _load_plugin_formats() -> tuple[tuple[str, Format], ...]:
    """Return the package and format of each plugin; raise PluginError for an invalid format."""
    for plugin in load_plugins(FORMATS):
        if missing := [name for name in _REQUIRED_ATTRIBUTES if not hasattr(plugin.value, name)]:
            raise PluginError(
                f"{plugin}: a format has {', '.join(_REQUIRED_ATTRIBUTES)}; it lacks {missing[0]}"
            )
        name: object = cast(Format, plugin.value).NAME
        if not (isinstance(name, str) and name):
            raise PluginError(f"{plugin}: the `NAME` of a format is a text, not {name!r}")
    return tuple((plugin.package, cast(Format, plugin.value)) for plugin in load_plugins(FORMATS))


def find_splitter(path: str, head: bytes) -> Splitter | None:
    """Return the function that splits a file into documents; None if no format has one.

    Args:
        path: The path of the file.
        head: The first bytes of the file.

    Returns:
        The splitter of the only format that claims the file, or None.

    Raises:
        RejectedInputError: If several formats claim the file, or if the format of a plugin fails.
    """
    head = head.removeprefix(BYTE_ORDER_MARK)
    choices = [(name, choose(path, head)) for name, choose in _splitter_choosers()]
    splitters = {name: splitter for name, splitter in choices if splitter is not None}
    if len(splitters) > 1:
        raise RejectedInputError(_several_claims_message(list(splitters)))
    return next(iter(splitters.values()), None)


def _choose_plugin_splitter(format_: Any, path: str, head: bytes) -> Splitter | None:
    """Return the splitter that a plugin's format chooses for a file, with its errors re-raised."""
    with _reraise_as_rejected_input(format_.NAME):
        splitter = format_.splitter(path, head)
        if not (splitter is None or callable(splitter)):
            raise TypeError(f"`splitter` gives a {type(splitter).__name__}, not a function")
    # Callers recognize a file that is read whole by the identity of `read_whole_file`.
    return (
        splitter
        if splitter in (None, read_whole_file)
        else partial(_iter_plugin_parts, format_.NAME, splitter)
    )


def _iter_plugin_parts(name: str, splitter: Splitter, *arguments: Any) -> Iterator[DocumentPart]:
    """Yield the documents that a plugin's splitter cuts, with its errors re-raised."""
    with _reraise_as_rejected_input(name):
        yield from splitter(*arguments)


@contextmanager
def _reraise_as_rejected_input(name: str) -> Iterator[None]:
    """Re-raise errors as RejectedInputError that names the format and its package."""
    try:
        yield
    except (RejectedInputError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise RejectedInputError(describe_format_error(error, name)) from error


@cache
def _splitter_choosers() -> tuple[tuple[str, Callable[[str, bytes], Splitter | None]], ...]:
    """Return the name and the `splitter` function of each format that has one."""
    return tuple(
        (
            format_.NAME,
            choose
            if package_that_adds_format(format_.NAME) is None
            else partial(_choose_plugin_splitter, format_),
        )
        for format_ in available_formats()
        if (choose := getattr(format_, "splitter", None)) is not None
    )


@cache
def whole_log_decoders() -> Shapes:
    """Return the decoders (`SHAPE`) with which built-in formats decode a whole log at once."""
    return tuple(format_.SHAPE for format_ in _load_built_in_formats() if hasattr(format_, "SHAPE"))


def read_game(data: bytes, model: str | None = None, path: str = "") -> GameRecord | None:
    """Return the game in a document, or None if no format claims the document.

    Args:
        data: The bytes of the document.
        model: The model that played, for formats whose logs do not name it.
        path: The path of the document in its source.

    Returns:
        The game with its results and faults, or None.

    Raises:
        InvalidDocumentError: If the document cannot be decoded, or is a log that breaks a rule.
    """
    sniffer = DocumentSniffer(path, data.removeprefix(BYTE_ORDER_MARK), whole_log_decoders())
    format_and_game = _read_with_claiming_format(sniffer, model)
    if format_and_game is None:
        is_text = containing_file_type(path).kind == "text"  # of a file that need not be JSON
        if not is_text or is_lfs_pointer(data) or starts_like_json(data[: 1 << 12]):
            decode(_WELL_FORMED, sniffer.data)
        if name := _format_of_first_list_entry(sniffer):
            rule = f"each log is a document of its own: {_WRITE_AS_LINES_HINT}"
            raise invalid_document_error("$", rule, f"a JSON list of logs of {name}")
        return None
    format_, game = format_and_game
    check_against_game_definition(game)
    if not game.results:
        game.results = side_results(game)
        check_winners(game)
    game.faults += no_tested_player_faults(game)
    if format_.NAMES_MODELS:
        return game
    if model is None:
        raise invalid_document_error(
            "$",
            NO_MODEL,
            f"a {format_.NAME} log does not name it: use --model NAME; `magic ingest` also takes "
            "--models-from FILE",
        )
    game.assigned_model = model
    return game


def ignored_reason(data: bytes, path: str = "") -> str:
    """Return why a document that no format claims is ignored, in words that many documents share.

    Args:
        data: The bytes of the document.
        path: The path of the document in its source.
    """
    sniffer = DocumentSniffer(path, data.removeprefix(BYTE_ORDER_MARK))
    describing_formats = [
        format_ for format_ in _load_built_in_formats() if hasattr(format_, "describes")
    ]
    description = next(
        filter(None, (format_.describes(sniffer) for format_ in describing_formats)), None
    )
    description = description or _describe_logs_in_object(sniffer)
    return f"{NOT_READ}{description}" if description else _unclaimed_document_reason(sniffer)


def _read_with_claiming_format(
    sniffer: DocumentSniffer, model: str | None
) -> tuple[Format, GameRecord] | None:
    """Return the only format that claims the document and its game; None if none claims it.

    Raises InvalidDocumentError if several formats claim the document or if a plugin's format fails.
    """
    claimants, format_name = [], ""
    try:
        for format_ in available_formats():
            format_name = format_.NAME
            if format_.claims(sniffer):
                claimants.append(format_)
        if not claimants:
            return None
        format_name = claimants[0].NAME
        if len(claimants) > 1:
            names = [format_.NAME for format_ in claimants]
            raise invalid_document_error(
                "$", "one format alone claims a document", _several_claims_message(names)
            )
        game = claimants[0].read(sniffer, model)
        if not isinstance(game, GameRecord):
            raise TypeError(f"`read` gives a {type(game).__name__}, not a GameRecord")
    except (InvalidDocumentError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        if package_that_adds_format(format_name) is None:
            raise
        raise invalid_document_error(
            "$", ERROR_REASON, describe_format_error(error, format_name)
        ) from error
    return claimants[0], game


def describe_format_error(error: BaseException, name: str) -> str:
    """Return an unexpected error of a format in few words, with the place to report it.

    Args:
        error: The error that the format raised.
        name: The name of the format.
    """
    package = package_that_adds_format(name)
    report_hint = (
        "this is a bug in magic, please report it"
        if package is None
        else f"this is a bug in the format {name} of the package {package}: report it there"
    )
    first_line, *_ = str(error).strip().splitlines() or [
        ""
    ]  # some libraries give advice to our code
    return f"{type(error).__name__}: {first_line}"[:500] + f"; {report_hint}"


def _several_claims_message(names: list[str]) -> str:
    """Return the message for a file or document that several formats claim."""
    packages = {name: package_that_adds_format(name) for name in names}
    claimants = [
        f"{name} of the package {package}" if package else name
        for name, package in packages.items()
    ]
    hint = "; without one of their packages the document is read"
    can_be_left_out = len({*packages.values()}) > 1
    return (
        f"the formats {' and '.join(claimants)} claim it: this is a bug, please report it"
        f"{hint if can_be_left_out else ''}"
    )


def _describe_logs_in_object(sniffer: DocumentSniffer) -> str | None:
    """Return a description of a JSON object with logs at one of its keys; None for others."""
    for key, value in islice(sniffer.top.items(), 100):
        inner = DocumentSniffer(sniffer.path, bytes(value))
        if name := _format_of_first_list_entry(inner) or _claiming_format_name(inner):
            location = f"key `{key}`" if _WORD.fullmatch(key) else "a key"
            return f"logs of {name} at {location} of an object: {_WRITE_AS_LINES_HINT}"
    return None


def _format_of_first_list_entry(sniffer: DocumentSniffer) -> str | None:
    """Return the built-in format that claims the first entry of a JSON list, or None."""
    return _claiming_format_name(DocumentSniffer(sniffer.path, next(sniffer.list_entries(), b"")))


def _claiming_format_name(sniffer: DocumentSniffer) -> str | None:
    """Return the name of the first built-in format that claims the document, or None."""
    names = (
        format_.NAME
        for format_ in _load_built_in_formats()
        if sniffer.data and format_.claims(sniffer)
    )
    return next(names, None)


def _unclaimed_document_reason(sniffer: DocumentSniffer) -> str:
    """Return why the document is not a log, with its first keys if these are plain words."""
    if sniffer.first not in ("{", "["):
        try:
            _WELL_FORMED.decode(sniffer.data)
        except UNDECODABLE:
            return unclaimed_text_reason(sniffer.data)
    if not sniffer.keys:
        return _NO_KEYS
    first_keys = [key for key, _ in zip(sniffer.keys, range(_N_NAMED_KEYS), strict=False)]
    if not all(map(_WORD.fullmatch, first_keys)):
        return _OTHER_KEYS
    ellipsis = ", …" if len(sniffer.keys) > _N_NAMED_KEYS else ""
    return f"{_OTHER_KEYS} ({', '.join(first_keys)}{ellipsis})"


def may_be_unsupported_log(reason: str) -> bool:
    """Return whether a document ignored for this reason can be a log of an unsupported program."""
    return reason.startswith((_OTHER_KEYS, REASON_UNKNOWN_TEXT, NOT_READ))
