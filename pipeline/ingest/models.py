"""Who played, where a log does not say: one model for all documents, or others by their paths.

What is given to a document is one text, a model's name or players' models in JSON, since it is part
of what identifies its game.
"""

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct

from pipeline.archives.names import file_of
from pipeline.errors import SourceError, UsageError

ModelsOf = Mapping[str, str | Mapping[str, str]]

_EVERY_PATH = "*"
_ENCODER = msgspec.json.Encoder(order="sorted")


class Models(Struct, frozen=True):
    """What documents are given by the pattern of their path; the first that matches decides."""

    given: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, model: str | ModelsOf | None) -> Self:
        """Those of a model for all, or by pattern. Raises UsageError where one has no name."""
        by_pattern = {_EVERY_PATH: model} if isinstance(model, str) else model or {}
        return cls(tuple((pattern, _text(by_pattern[pattern])) for pattern in by_pattern))

    def at(self, path: str) -> str | None:
        """What the document at a path is given, None for nothing."""
        file = file_of(path)
        return next((text for pattern, text in self.given if fnmatchcase(file, pattern)), None)

    @property
    def text(self) -> str | None:
        """All of it as one text; a name where all are given the same, None for nothing."""
        if [pattern for pattern, _ in self.given] == [_EVERY_PATH]:
            return self.given[0][1]
        return msgspec.json.encode(dict(self.given)).decode() if self.given else None


def given(model: str | None, file: str | Path | None) -> str | ModelsOf | None:
    """What logs are given; the model is for those that no pattern of the file is for."""
    if file is None:
        return model
    by_pattern = read_models(file)
    return by_pattern if model is None else {**by_pattern, "*": by_pattern.get("*", model)}


def read_models(file: str | Path) -> ModelsOf:
    """The models by pattern in a TOML or JSON file.

    Raises UsageError for what is none, and SourceError for a file that cannot be read.
    """
    try:
        # Some editors begin a file with a byte order mark.
        data = Path(file).read_bytes().decode("utf-8-sig")
        if Path(file).suffix == ".toml":
            return msgspec.convert(tomllib.loads(data), dict[str, str | dict[str, str]])
        return msgspec.json.decode(data, type=dict[str, str | dict[str, str]])
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror}") from error
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        hint = "it has to map patterns of paths to a model, or to players with a model each"
        raise UsageError(f"{file}: {hint} ({error})") from error


def _text(model: str | Mapping[str, str]) -> str:
    names = [model] if isinstance(model, str) else list(model.values())
    if not names or not all(name.strip() for name in names):
        raise UsageError("the model's name is empty; leave it out if the logs say who played")
    return model if isinstance(model, str) else _ENCODER.encode(dict(model)).decode()
