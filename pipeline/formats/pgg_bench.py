"""Logs of lechmazur/pgg_bench: the Public Good with talk and punishments.

See docs/formats/pgg_bench.md.
"""

from pipeline.formats import pool_log, pools
from pipeline.game import Game

NAME = "pgg_bench"
NAMES_MODELS = True


def read(data: bytes, model: str | None) -> Game | None:
    """The game, or None where the document is no log of this system."""
    opening = pool_log.opening(data)
    if opening is None or "enable_punishments" not in opening.settings:
        return None
    return pools.game(data, NAME)
