"""A log of each of MAgIC's games, plain and PGM."""

from rawlogs import GAMES, encode

LOGS = [encode(build(model=model)) for build in GAMES.values() for model in ("m", "m-pgm")]
