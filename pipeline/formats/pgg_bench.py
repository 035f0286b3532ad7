"""Logs of lechmazur/pgg_bench: the Public Good with talk and punishments.

See docs/formats/pgg_bench.md.
"""

from pipeline.formats import pool_log, pools
from pipeline.formats.look import Look
from pipeline.game import GameRecord

NAME = "pgg_bench"
NAMES_MODELS = True


def claims(look: Look) -> bool:
    return pool_log.opens(look, punishes=True)


def read(look: Look, model: str | None) -> GameRecord:
    """The game; raises BrokenDocument for one that breaks a rule."""
    return pools.game(look.data, NAME)
