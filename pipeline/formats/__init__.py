"""Log formats, one module each: what one document says, as a typed `GameRecord`.

A format is any module or package in here, or in `systems`, that has `NAME`, `NAMES_MODELS`,
`claims` and `read`, or each of its `FORMATS` that has them; there is no list of them to keep. Where
a file of its logs is not one game, it has `splitter` too; where its program also logs what is not
read, `describes` says of such a document what it is. A package outside adds one by an entry point
of the group `magic_pipeline.formats` that leads to a module, or an object, with the same. `SHAPE`
spares one in here whose logs have few keys a second pass over them (see `Look`); every format then
trusts these keys, so no package outside has it.
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
from pipeline.formats.record_builder import side_results, untested
from pipeline.formats.sniffer import (
    UNDECODABLE,
    DocumentSniffer,
    Shapes,
    check_kind,
    check_winners,
    decode,
    invalid_document_error,
)
from pipeline.game_record import GameRecord, InvalidDocumentError
from pipeline.plugins import FORMATS, OWN_PACKAGE, PluginError, check_unique_names, load_plugins

_NEEDED = ("NAME", "NAMES_MODELS", "claims", "read")
_WELL_FORMED = msgspec.json.Decoder()
_N_KEYS = 3
_AS_LINES = "write each on a line, as .jsonl"
_WORD = re.compile("(?=_*[A-Za-z])[A-Za-z_]{1,30}")
NOT_READ = "not read: "
"""What the reason begins with for a log of a known program that has no game that is read."""
_OTHER_KEYS = "not a log: JSON with other keys"
_NO_KEYS = "not a log: JSON without keys"
NO_MODEL = "the log or --model names the model that played"
ERROR_REASON = "its format reads it without an unexpected error"


class Format(Protocol):
    """What a format module offers. `NAMES_MODELS`: whether its logs say who played.

    `claims` says whether a document is a log of this format, by its keys or what it begins with;
    `read` gives the game in one that it claims, and raises BrokenDocument where that breaks a rule.
    """

    NAME: str
    NAMES_MODELS: bool

    def claims(self, look: DocumentSniffer) -> bool: ...

    def read(self, look: DocumentSniffer, model: str | None) -> GameRecord: ...


@cache
def available_formats() -> tuple[Format, ...]:
    """Every format there is, in the order of their names.

    Raises PluginError for a package that adds what is none, or one of a name that is taken.
    """
    own = [(format_.NAME, OWN_PACKAGE, format_) for format_ in _own()]
    added = [(format_.NAME, package, format_) for package, format_ in _of_plugins()]
    known = check_unique_names("the format", [*own, *added])
    return tuple(format_ for *_, format_ in sorted(known, key=itemgetter(0)))


def package_of(name: str) -> str | None:
    """The package that adds the format of this name, None for one of ours."""
    return next((package for package, format_ in _of_plugins() if name == format_.NAME), None)


@cache
def _own() -> tuple[Any, ...]:
    names = [
        f"{package.__name__}.{found.name}"
        for package in (sys.modules[__name__], systems)
        for found in pkgutil.iter_modules(package.__path__)
    ]
    of_modules = [
        getattr(module, "FORMATS", (module,)) for module in map(importlib.import_module, names)
    ]
    return tuple(one for one in chain.from_iterable(of_modules) if hasattr(one, "read"))


@cache
def _of_plugins() -> tuple[tuple[str, Format], ...]:
    for plugin in load_plugins(FORMATS):
        if missing := [name for name in _NEEDED if not hasattr(plugin.value, name)]:
            raise PluginError(f"{plugin}: a format has {', '.join(_NEEDED)}; it lacks {missing[0]}")
        name: object = cast(Format, plugin.value).NAME
        if not (isinstance(name, str) and name):
            raise PluginError(f"{plugin}: the `NAME` of a format is a text, not {name!r}")
    return tuple((plugin.package, cast(Format, plugin.value)) for plugin in load_plugins(FORMATS))


def find_splitter(path: str, head: bytes) -> Splitter | None:
    """How a file of this path that begins so is cut into documents; None where no format says it.

    Raises UnfitError where two formats do.
    """
    head = head.removeprefix(BYTE_ORDER_MARK)
    asked = [(name, choose(path, head)) for name, choose in _splitters()]
    chosen = {name: cut for name, cut in asked if cut is not None}
    if len(chosen) > 1:
        raise RejectedInputError(_claimed_twice(list(chosen)))
    return next(iter(chosen.values()), None)


def _chosen(format_: Any, path: str, head: bytes) -> Splitter | None:
    """What a format of another package chooses; raises UnfitError where it fails."""
    with _unfit(format_.NAME):
        cut = format_.splitter(path, head)
        if not (cut is None or callable(cut)):
            raise TypeError(f"`splitter` gives a {type(cut).__name__}, not a function")
    # The whole file is known by what its splitter is.
    return cut if cut in (None, read_whole_file) else partial(_parts, format_.NAME, cut)


def _parts(name: str, cut: Splitter, *arguments: Any) -> Iterator[DocumentPart]:
    """What a splitter of another package cuts, whose failures are that package's."""
    with _unfit(name):
        yield from cut(*arguments)


@contextmanager
def _unfit(name: str) -> Iterator[None]:
    """Raises UnfitError for what fails within, which names the package of this format."""
    try:
        yield
    except (RejectedInputError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise RejectedInputError(describe_format_error(error, name)) from error


@cache
def _splitters() -> tuple[tuple[str, Callable[[str, bytes], Splitter | None]], ...]:
    return tuple(
        (format_.NAME, choose if package_of(format_.NAME) is None else partial(_chosen, format_))
        for format_ in available_formats()
        if (choose := getattr(format_, "splitter", None)) is not None
    )


@cache
def shapes() -> Shapes:
    """What knows the keys of whole documents: the `SHAPE` of each format of ours that has one."""
    return tuple(format_.SHAPE for format_ in _own() if hasattr(format_, "SHAPE"))


def read_game(data: bytes, model: str | None = None, path: str = "") -> GameRecord | None:
    """The game in a document, or None where no format claims it.

    `model` names who played where the format cannot. Raises `BrokenDocument` for a document that
    does not decode, or that is a log and breaks a rule.
    """
    look = DocumentSniffer(path, data.removeprefix(BYTE_ORDER_MARK), shapes())
    found = _claimed(look, model)
    if found is None:
        is_text = containing_file_type(path).kind == "text"  # of a file that need not be JSON
        if not is_text or is_lfs_pointer(data) or starts_like_json(data[: 1 << 12]):
            decode(_WELL_FORMED, look.data)
        if name := _name_of_first(look):
            rule = f"each log is a document of its own: {_AS_LINES}"
            raise invalid_document_error("$", rule, f"a JSON list of logs of {name}")
        return None
    format_, game = found
    check_kind(game)
    if not game.results:
        game.results = side_results(game)
        check_winners(game)
    game.faults += untested(game)
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
    """What a document is that no format claims, in words that many documents share."""
    look = DocumentSniffer(path, data.removeprefix(BYTE_ORDER_MARK))
    describing = [format_ for format_ in _own() if hasattr(format_, "describes")]
    named = next(filter(None, (format_.describes(look) for format_ in describing)), None)
    named = named or _describe_wrapped(look)
    return f"{NOT_READ}{named}" if named else _why_no_log(look)


def _claimed(look: DocumentSniffer, model: str | None) -> tuple[Format, GameRecord] | None:
    """The one format that claims a document, and the game that it reads; None where none does.

    Raises BrokenDocument where several do, or where one of another package fails, or ends the
    process.
    """
    claimants, asked = [], ""
    try:
        for format_ in available_formats():
            asked = format_.NAME
            if format_.claims(look):
                claimants.append(format_)
        if not claimants:
            return None
        asked = claimants[0].NAME
        if len(claimants) > 1:
            names = [format_.NAME for format_ in claimants]
            raise invalid_document_error(
                "$", "one format alone claims a document", _claimed_twice(names)
            )
        game = claimants[0].read(look, model)
        if not isinstance(game, GameRecord):
            raise TypeError(f"`read` gives a {type(game).__name__}, not a GameRecord")
    except (InvalidDocumentError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        if package_of(asked) is None:
            raise
        raise invalid_document_error(
            "$", ERROR_REASON, describe_format_error(error, asked)
        ) from error
    return claimants[0], game


def describe_format_error(error: BaseException, name: str) -> str:
    """An error in few words, and whom to tell of it: who wrote the format of this name."""
    package = package_of(name)
    whose = (
        "this is a bug in magic, please report it"
        if package is None
        else f"this is a bug in the format {name} of the package {package}: report it there"
    )
    first, *_ = str(error).strip().splitlines() or [""]  # some libraries give advice to our code
    return f"{type(error).__name__}: {first}"[:500] + f"; {whose}"


def _claimed_twice(names: list[str]) -> str:
    packages = {name: package_of(name) for name in names}
    claimed = [f"{name} of the package {of}" if of else name for name, of in packages.items()]
    without = "; without one of their packages the document is read"
    can_be_left_out = len({*packages.values()}) > 1
    return (
        f"the formats {' and '.join(claimed)} claim it: this is a bug, please report it"
        f"{without if can_be_left_out else ''}"
    )


def _describe_wrapped(look: DocumentSniffer) -> str | None:
    """Return what stands in a JSON object that has logs at one of its keys; None if it has none."""
    for key, value in islice(look.top.items(), 100):
        inner = DocumentSniffer(look.path, bytes(value))
        if name := _name_of_first(inner) or _claimant(inner):
            at = f"key `{key}`" if _WORD.fullmatch(key) else "a key"
            return f"logs of {name} at {at} of an object: {_AS_LINES}"
    return None


def _name_of_first(look: DocumentSniffer) -> str | None:
    """Return the format of the first entry of a JSON list; None where none of ours claims it."""
    return _claimant(DocumentSniffer(look.path, next(look.listed(), b"")))


def _claimant(look: DocumentSniffer) -> str | None:
    names = (format_.NAME for format_ in _own() if look.data and format_.claims(look))
    return next(names, None)


def _why_no_log(look: DocumentSniffer) -> str:
    """What the document is; keys are named where they are words, not numbers or texts of a log."""
    if look.first not in ("{", "["):
        try:
            _WELL_FORMED.decode(look.data)
        except UNDECODABLE:
            return unclaimed_text_reason(look.data)
    if not look.keys:
        return _NO_KEYS
    first = [key for key, _ in zip(look.keys, range(_N_KEYS), strict=False)]
    if not all(map(_WORD.fullmatch, first)):
        return _OTHER_KEYS
    more = ", …" if len(look.keys) > _N_KEYS else ""
    return f"{_OTHER_KEYS} ({', '.join(first)}{more})"


def may_be_log(reason: str) -> bool:
    """Whether what is ignored for this reason can be a log of a program that no format knows."""
    return reason.startswith((_OTHER_KEYS, REASON_UNKNOWN_TEXT, NOT_READ))
