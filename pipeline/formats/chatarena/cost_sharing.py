"""Cost Sharing, as MAgIC plays it in ChatArena: its rows lack what was registered."""

from pipeline.formats.chatarena.talk import Talk, lacking
from pipeline.game import GameRecord

TITLE = "Cost Sharing"

_START = "Now everyone propose the cost distribution"


def claims(sentence: str) -> bool:
    return sentence.startswith(_START)


def game(talk: Talk, model: str | None) -> GameRecord:
    """Raises BrokenDocument."""
    raise lacking(TITLE, "the shares and votes that the game registered are not among the messages")
