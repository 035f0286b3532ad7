"""The words of the hidden-role games, read from `words.toml` beside this module."""

import tomllib
from importlib.resources import files

Clues = list[str]

_WORDS = tomllib.loads(files(__package__ or "").joinpath("words.toml").read_text(encoding="utf-8"))

TOPICS: dict[str, dict[str, Clues]] = _WORDS["topics"]
VAGUE_CLUES: Clues = _WORDS["vague"]["clues"]
PAIRS: list[dict[str, Clues]] = _WORDS["pairs"]
