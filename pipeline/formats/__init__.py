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
    unrecognized_text_reason,
)
from pipeline.archives.splitting import (
    BYTE_ORDER_MARK,
    DocumentPart,
    Splitter,
    read_whole_file,
    starts_like_json,
)
from pipeline.formats import systems
from pipeline.formats.record_builder import faults_if_no_player_is_tested, results_if_game_has_sides
from pipeline.formats.sniffer import (
    UNDECODABLE,
    DocumentSniffer,
    WholeLogDecoders,
    check_against_game_definition,
    check_results_state_winners,
    decode,
    invalid_document_error,
)
from pipeline.game_record import GameRecord, InvalidDocumentError
from pipeline.plugins import (
    FORMATS,
    OWN_PACKAGE,
    PluginError,
    iter_plugins_with_unique_names,
    load_plugins,
)

_REQUIRED_ATTRIBUTES = ("NAME", "NAMES_MODELS", "claims", "read")
_ANY_JSON = msgspec.json.Decoder()
_N_NAMED_KEYS = 3
_WRITE_AS_LINES_HINT = "write each on a line, as .jsonl"
_WORD = re.compile("(?=_*[A-Za-z])[A-Za-z_]{1,30}")
NOT_READ = "not read: "
"""The beginning of the ignored reason for a log of a known program whose games are not read."""
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
        """Return whether the document is a log of this format, by its keys or first bytes."""
        ...

    def read(self, sniffer: DocumentSniffer, model: str | None, /) -> GameRecord:
        """Read the game in a document that `claims` accepts.

        The model is the one that the user named; formats whose logs name their models ignore it.
        Raises InvalidDocumentError if the document is invalid.
        """
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
    formats = iter_plugins_with_unique_names("the format", [*built_in_formats, *added])
    return tuple(format_ for *_, format_ in sorted(formats, key=itemgetter(0)))


def package_of_plugin_format(format_name: str) -> str | None:
    """Return the name of the package whose plugin is this format; None for a built-in format."""
    return next(
        (package for package, plugin in _load_plugin_formats() if format_name == plugin.NAME), None
    )


@cache
def _load_built_in_formats() -> tuple[Any, ...]:
    """Import all modules in this folder and in `systems`, and return their formats."""
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
    """Load each plugin that is a format, and return it with the name of its package.

    Raises PluginError if a plugin lacks an attribute of a format or has no name.
    """
    for plugin in load_plugins(FORMATS):
        if missing := [name for name in _REQUIRED_ATTRIBUTES if not hasattr(plugin.value, name)]:
            raise PluginError(
                f"{plugin}: a format has {', '.join(_REQUIRED_ATTRIBUTES)}; it lacks {missing[0]}"
            )
        name: object = cast(Format, plugin.value).NAME
        if not (isinstance(name, str) and name):
            raise PluginError(
                f"{plugin}: the `NAME` of a format is a string that is not empty, not {name!r}"
            )
    return tuple((plugin.package, cast(Format, plugin.value)) for plugin in load_plugins(FORMATS))


def find_splitter(path: str, head: bytes) -> Splitter | None:
    """Return the function with which a format splits this file into documents, or None.

    Args:
        path: The path of the file.
        head: The first bytes of the file.

    Returns:
        The function of the only format that can split the file; None if no format can.

    Raises:
        RejectedInputError: If several formats claim the file, or if the format of a plugin fails.
    """
    head = head.removeprefix(BYTE_ORDER_MARK)
    splitters = {
        format_name: splitter
        for format_name, find in _splitter_finders_by_format_name().items()
        if (splitter := find(path, head)) is not None
    }
    if len(splitters) > 1:
        raise RejectedInputError(_claimed_by_several_formats_message(list(splitters)))
    return next(iter(splitters.values()), None)


def _find_splitter_of_plugin_format(format_: Any, path: str, head: bytes) -> Splitter | None:
    """Return the splitter of a plugin for a file, or None; its errors reject the file."""
    with _reraise_format_errors_as_rejected_input(format_.NAME):
        splitter = format_.splitter(path, head)
        if not (splitter is None or callable(splitter)):
            raise TypeError(f"`splitter` gives a {type(splitter).__name__}, not a function")
    # Callers recognize a file that is read whole by the identity of `read_whole_file`.
    return (
        splitter
        if splitter in (None, read_whole_file)
        else partial(_iter_document_parts_of_plugin, format_.NAME, splitter)
    )


def _iter_document_parts_of_plugin(
    format_name: str, splitter: Splitter, *arguments: Any
) -> Iterator[DocumentPart]:
    """Yield the documents into which a plugin splits a file; its errors reject the file."""
    with _reraise_format_errors_as_rejected_input(format_name):
        yield from splitter(*arguments)


@contextmanager
def _reraise_format_errors_as_rejected_input(format_name: str) -> Iterator[None]:
    """Re-raise any error as a RejectedInputError that names the format and its package."""
    try:
        yield
    except (RejectedInputError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise RejectedInputError(format_bug_message(error, format_name)) from error


@cache
def _splitter_finders_by_format_name() -> dict[str, Callable[[str, bytes], Splitter | None]]:
    return {
        format_.NAME: find
        if package_of_plugin_format(format_.NAME) is None
        else partial(_find_splitter_of_plugin_format, format_)
        for format_ in available_formats()
        if (find := getattr(format_, "splitter", None)) is not None
    }


@cache
def whole_log_decoders_of_built_in_formats() -> WholeLogDecoders:
    """Return the JSON decoders, the `SHAPE` of formats, that decode a whole log in one pass."""
    return tuple(format_.SHAPE for format_ in _load_built_in_formats() if hasattr(format_, "SHAPE"))


def read_game(data: bytes, model: str | None = None, path: str = "") -> GameRecord | None:
    """Read the game in a document with the format that claims it; None if no format claims it.

    Args:
        data: The bytes of the document.
        model: The model that played, for formats whose logs do not name it.
        path: The path of the document in its source.

    Returns:
        The game with its results and validation errors, or None.

    Raises:
        InvalidDocumentError: If the document cannot be decoded, or is a log that breaks a rule.
    """
    sniffer = DocumentSniffer(
        path, data.removeprefix(BYTE_ORDER_MARK), whole_log_decoders_of_built_in_formats()
    )
    format_and_game = _read_with_only_claiming_format(sniffer, model)
    if format_and_game is None:
        is_text = containing_file_type(path).kind == "text"  # of a file that need not be JSON
        if not is_text or is_lfs_pointer(data) or starts_like_json(data[: 1 << 12]):
            decode(_ANY_JSON, sniffer.data)
        if name := _format_name_of_first_list_entry(sniffer):
            rule = f"each log is a document of its own: {_WRITE_AS_LINES_HINT}"
            raise invalid_document_error("$", rule, f"a JSON list of logs of {name}")
        return None
    format_, game = format_and_game
    check_against_game_definition(game)
    if not game.results:
        game.results = results_if_game_has_sides(game)
        check_results_state_winners(game)
    game.faults += faults_if_no_player_is_tested(game)
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
    """Return the reason why a document that no format claims is ignored.

    The reason has no details of a single document, so that documents can be counted by reason.

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
    description = description or _description_of_object_that_contains_logs(sniffer)
    return f"{NOT_READ}{description}" if description else _reason_document_is_not_a_log(sniffer)


def _read_with_only_claiming_format(
    sniffer: DocumentSniffer, model: str | None
) -> tuple[Format, GameRecord] | None:
    """Return the only format that claims the document, and its game; None if no format claims it.

    Raises InvalidDocumentError if several formats claim the document or if a plugin fails.
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
                "$",
                "one format alone claims a document",
                _claimed_by_several_formats_message(names),
            )
        game = claimants[0].read(sniffer, model)
        if not isinstance(game, GameRecord):
            raise TypeError(f"`read` gives a {type(game).__name__}, not a GameRecord")
    except (InvalidDocumentError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        if package_of_plugin_format(format_name) is None:
            raise
        raise invalid_document_error(
            "$", ERROR_REASON, format_bug_message(error, format_name)
        ) from error
    return claimants[0], game


def format_bug_message(error: BaseException, name: str) -> str:
    """Return the message for an unexpected error of a format, with the place to report the bug.

    Args:
        error: The error that the format raised.
        name: The name of the format.
    """
    package = package_of_plugin_format(name)
    report_hint = (
        "this is a bug in magic, please report it"
        if package is None
        else f"this is a bug in the format {name} of the package {package}: report it there"
    )
    first_line, *_ = str(error).strip().splitlines() or [
        ""
    ]  # some libraries give advice to our code
    return f"{type(error).__name__}: {first_line}"[:500] + f"; {report_hint}"


def _claimed_by_several_formats_message(format_names: list[str]) -> str:
    """Return the error message for a file or document that all these formats claim."""
    packages = {name: package_of_plugin_format(name) for name in format_names}
    claimants = [
        f"{name} of the package {package}" if package else name
        for name, package in packages.items()
    ]
    hint = "; without one of their packages the document is read"
    has_several_packages = len({*packages.values()}) > 1
    return (
        f"the formats {' and '.join(claimants)} claim it: this is a bug, please report it"
        f"{hint if has_several_packages else ''}"
    )


def _description_of_object_that_contains_logs(sniffer: DocumentSniffer) -> str | None:
    """Return a description of a JSON object if one of its values is a log or a list of logs."""
    for key, value in islice(sniffer.top.items(), 100):
        inner = DocumentSniffer(sniffer.path, bytes(value))
        if name := _format_name_of_first_list_entry(inner) or _first_claiming_format_name(inner):
            location = f"key `{key}`" if _WORD.fullmatch(key) else "a key"
            return f"logs of {name} at {location} of an object: {_WRITE_AS_LINES_HINT}"
    return None


def _format_name_of_first_list_entry(sniffer: DocumentSniffer) -> str | None:
    """Return the name of the built-in format that claims a JSON list's first entry, or None."""
    return _first_claiming_format_name(
        DocumentSniffer(sniffer.path, next(sniffer.list_entries(), b""))
    )


def _first_claiming_format_name(sniffer: DocumentSniffer) -> str | None:
    """Return the name of the first built-in format that claims the document, or None."""
    names = (
        format_.NAME
        for format_ in _load_built_in_formats()
        if sniffer.data and format_.claims(sniffer)
    )
    return next(names, None)


def _reason_document_is_not_a_log(sniffer: DocumentSniffer) -> str:
    """Return the reason why a document is not a log, with its first keys if they are words."""
    if sniffer.first not in ("{", "["):
        try:
            _ANY_JSON.decode(sniffer.data)
        except UNDECODABLE:
            return unrecognized_text_reason(sniffer.data)
    if not sniffer.keys:
        return _NO_KEYS
    first_keys = [key for key, _ in zip(sniffer.keys, range(_N_NAMED_KEYS), strict=False)]
    if not all(map(_WORD.fullmatch, first_keys)):
        return _OTHER_KEYS
    ellipsis = ", …" if len(sniffer.keys) > _N_NAMED_KEYS else ""
    return f"{_OTHER_KEYS} ({', '.join(first_keys)}{ellipsis})"


def can_be_log_of_unsupported_program(reason: str) -> bool:
    """Return whether a document with this ignored reason may be a log of an unsupported program."""
    return reason.startswith((_OTHER_KEYS, REASON_UNKNOWN_TEXT, NOT_READ))
