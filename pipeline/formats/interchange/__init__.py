"""Interchange JSON: one game of any harness as one document, a format of magic's own.

`docs/interchange.md` describes it. `magic convert` writes it, and whoever has logs of a system that
magic does not know can write it, in place of a format.
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
"""A small game, as a script writes it that has logs of its own."""


def splitter(path: str, head: bytes) -> Splitter | None:
    """The games of a JSON list; what is no list is cut as any JSON."""
    text = head.lstrip()
    is_list = (
        text[:1] == b"["
        and VERSION_KEY.encode() in text
        and VERSION_KEY in parse_truncated_object(text[1:])
    )
    return list_splitter() if is_list else None


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document is a JSON object with the interchange version key."""
    return sniffer.first == "{" and VERSION_KEY in sniffer.keys


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Parse an interchange document into a game; the document names its models itself."""
    return build_game(parse_document(sniffer.data))
