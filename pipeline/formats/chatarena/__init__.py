"""Logs of ChatArena: the message rows of one game, with nothing around them.

See docs/formats/chatarena.md. Roles, words and outcome are in what the moderator says; its
sentences also say which game it is.
"""

from collections.abc import Callable
from typing import NamedTuple

from pipeline.formats.broken import broken
from pipeline.formats.chatarena import forms, hidden_roles, points
from pipeline.formats.chatarena.talk import SHOWN, Talk, lacking
from pipeline.formats.look import Look
from pipeline.formats.players import unshown
from pipeline.formats.rows import MODERATOR
from pipeline.game import GameRecord

NAME = "chatarena"
NAMES_MODELS = False

splitter = forms.splitter
claims = forms.claims


class Game(NamedTuple):
    """A game: its title, whether a sentence of the moderator's is of it, and what reads it."""

    title: str
    claims: Callable[[str], bool]
    read: Callable[[Talk, str | None, str], GameRecord]


def _is_cost_sharing(sentence: str) -> bool:
    return sentence.startswith("Now everyone propose the cost distribution")


def _cost_sharing(talk: Talk, model: str | None, title: str) -> GameRecord:
    """Raises BrokenDocument: rows lack what was registered."""
    what = "the shares and votes that the game registered are not among the messages"
    raise lacking(title, what)


# In the order of the game types.
GAMES = (
    Game("Chameleon", hidden_roles.is_chameleon, hidden_roles.chameleon),
    Game("Undercover", hidden_roles.is_undercover, hidden_roles.undercover),
    Game("Cost Sharing", _is_cost_sharing, _cost_sharing),
    Game("Prisoner's Dilemma", points.is_dilemma, points.dilemma),
    Game("Public Good", points.is_public_good, points.public_good),
)


def read(look: Look, model: str | None) -> GameRecord:
    """The game; raises BrokenDocument for one that breaks a rule, or that is none of these."""
    rows, faults = forms.rows(look)
    talk = Talk(rows)
    for game in GAMES:
        if any(map(game.claims, talk.sentences)):
            built = game.read(talk, model, game.title)
            seats = [seat.player for seat in built.seats]
            built.faults += faults + unshown(talk.history.visible_to, seats, "$")
            return built
    known = ", ".join(game.title for game in GAMES)
    rule = (
        f"the moderator's words are those of a known game ({known}): let a script write logs of "
        "another one as interchange JSON (docs/interchange.md)"
    )
    for place, row in enumerate(rows):
        if row.agent_name == MODERATOR:
            raise broken(f"$[{place}]", rule, f"the first are {row.content[:SHOWN]!r}")
    raise broken("$", rule, "the moderator says nothing")
