"""Interchange JSON, the format of magic's own, in which a document is one game of any system.

`docs/interchange.md` describes it. `magic convert` writes it, and so can users with logs of a
system for which magic has no format.
"""

from pipeline.archives.splitting import Splitter, list_splitter
from pipeline.formats.interchange.document import parse_document, schema
from pipeline.formats.interchange.reading import FORMAT, build_game
from pipeline.formats.interchange.writing import encode_game
from pipeline.formats.sniffer import DocumentSniffer, parse_truncated_object
from pipeline.game_record import GameRecord

__all__ = [
    "EXAMPLE",
    "NAME",
    "NAMES_MODELS",
    "VERSION_KEY",
    "claims",
    "encode_game",
    "read",
    "schema",
    "splitter",
]

NAME = FORMAT
NAMES_MODELS = True
VERSION_KEY = "magic_interchange"
EXAMPLE = """\
{
  "magic_interchange": 1,
  "system": "my-harness",
  "game_type": "werewolf",
  "setting": {"n_days": 3},
  "is_finished": true,
  "end": {"outcome": "villagers_won"},
  "seats": [
    {"player": "Wu", "model": "model-b", "role": "werewolf"},
    {"player": "Eve", "model": "model-a", "role": "seer"},
    {"player": "Ida", "model": "model-a", "role": "villager"}
  ],
  "events": [
    {"text": "Night falls.", "round": 1},
    {"actor": "Eve", "round": 1, "phase": "talk", "text": "Wu is a werewolf."},
    {"actor": "Ida", "round": 1, "text": "I vote for Wu.",
     "acts": [{"act": "votes", "target": "Wu"}]},
    {"actor": "Wu", "round": 1, "acts": [{"act": "votes", "target": "Eve"}]},
    {"text": "Wu is out.",
     "acts": [{"act": "eliminations", "player": "Wu", "round": 1, "cause": "vote"}]}
  ]
}
"""
"""The document of a small game, as a user's script can write it."""


def splitter(path: str, head: bytes) -> Splitter | None:
    """Return the function that splits a JSON list of interchange documents; None for other files.

    Files that are no list are split as any other JSON.
    """
    text = head.lstrip()
    is_list = (
        text[:1] == b"["
        and VERSION_KEY.encode() in text
        and VERSION_KEY in parse_truncated_object(text[1:])
    )
    return list_splitter() if is_list else None


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document is an interchange document, by its key `magic_interchange`."""
    return sniffer.first == "{" and VERSION_KEY in sniffer.keys


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Read the game in an interchange document; `model` is not used, as the document names models.

    Raises InvalidDocumentError if the document is invalid.
    """
    return build_game(parse_document(sniffer.data))
