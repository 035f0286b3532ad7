"""Logs of ChatArena: the message rows of one game, with nothing around them.

See docs/formats/chatarena.md. Roles, words and outcome are in what the moderator says. One module a
game, with the name of its game type; each has `claims`, which knows its games by the moderator's
sentences, and `game`. There is no list of them.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from pipeline.formats.broken import broken
from pipeline.formats.chatarena import forms
from pipeline.formats.chatarena.talk import SHOWN, Talk
from pipeline.formats.look import Look
from pipeline.formats.players import unshown
from pipeline.formats.rows import MODERATOR
from pipeline.game import GameRecord
from pipeline.games import names

NAME = "chatarena"
NAMES_MODELS = False

GAMES: tuple[ModuleType, ...] = tuple(
    import_module(f"{__name__}.{game_type}")
    for game_type in names()
    if find_spec(f"{__name__}.{game_type}")
)

splitter = forms.splitter
claims = forms.claims


def read(look: Look, model: str | None) -> GameRecord:
    """The game; raises BrokenDocument for one that breaks a rule, or that no module here knows."""
    rows, faults = forms.rows(look)
    talk = Talk(rows)
    for module in GAMES:
        if any(map(module.claims, talk.sentences)):
            game: GameRecord = module.game(talk, model)
            seats = [seat.player for seat in game.seats]
            game.faults += faults + unshown(talk.history.visible_to, seats, "$")
            return game
    known = ", ".join(module.TITLE for module in GAMES)
    rule = f"the moderator's words are those of a known game ({known})"
    for place, row in enumerate(rows):
        if row.agent_name == MODERATOR:
            raise broken(f"$[{place}]", rule, f"the first are {row.content[:SHOWN]!r}")
    raise broken("$", rule, "the moderator says nothing")
