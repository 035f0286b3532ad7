"""Logs of lechmazur/goods: the Public Good without words. See docs/formats/goods.md."""

from pipeline.formats import pool_log, pools
from pipeline.formats.look import Look
from pipeline.game import GameRecord

NAME = "goods"
NAMES_MODELS = True

# For pgg_bench, too: only one format may ask for a file.
splitter = pool_log.splitter


def claims(look: Look) -> bool:
    return pool_log.opens(look, punishes=False)


def read(look: Look, model: str | None) -> GameRecord:
    """The game; raises BrokenDocument for one that breaks a rule."""
    return pools.game(look.data, NAME)
