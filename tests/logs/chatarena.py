"""A ChatArena transcript. It names no model."""

from rawlogs import MODEL as NAME
from rawlogs import chatarena, encode

MODEL = NAME
LOGS = [encode(chatarena())]
