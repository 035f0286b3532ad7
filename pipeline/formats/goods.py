"""Logs of lechmazur/goods: the Public Good without words. See docs/formats/goods.md."""

from pipeline.formats import pool_log, pools
from pipeline.game import Game

NAME = "goods"
NAMES_MODELS = True


def read(data: bytes, model: str | None) -> Game | None:
    """The game, or None where the document is no log of this system."""
    opening = pool_log.opening(data)
    if opening is None or "enable_punishments" in opening.settings:
        return None
    return pools.game(data, NAME)
