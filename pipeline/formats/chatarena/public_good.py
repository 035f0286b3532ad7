"""Public Good, as MAgIC plays it in ChatArena. The moderator does not say the pool's multiplier.

All get an equal part of the pool, so whoever puts in least in all ends with the most points.
"""

import re

from pipeline.formats.building import contributions
from pipeline.formats.chatarena import point_game
from pipeline.formats.chatarena.talk import Talk, lacking
from pipeline.formats.magic.public_good import registered
from pipeline.game import Fault, GameRecord, JsonValue
from pipeline.vocabulary import GameType, Phase

TITLE = "Public Good"

_BACKGROUND = re.compile(
    r"You have ([0-9]{1,9}) starting points to contribute to the communal pool each round\."
    r"[^\n]{1,200}? points in ([0-9]{1,6}) rounds"
)
_START = re.compile(r"You have [0-9]+ starting points to contribute to the communal pool")


def claims(sentence: str) -> bool:
    return _START.search(sentence) is not None


def game(talk: Talk, model: str | None) -> GameRecord:
    """The game with every contribution as MAgIC registers it; raises BrokenDocument."""
    background = talk.last(_BACKGROUND)
    if background is None:
        what = "it does not say how many rounds are played"
        raise lacking(TITLE, what, next(filter(claims, talk.sentences)))
    start, n_rounds = map(int, background.groups())
    setting: dict[str, JsonValue] = {"starting_points": start, "rounds": n_rounds}
    built = point_game.game(talk, GameType.PUBLIC_GOOD, setting, n_rounds, model)
    texts, course = built.messages.content, built.messages.course
    # MAgIC's PGM games, in which amounts are read otherwise, ask players for private reflections.
    rows = zip(talk.history.player, talk.history.visible_to, strict=True)
    is_pgm = any(readers in (player, (player,)) for player, readers in rows)
    indices = course.said(Phase.CONTRIBUTION)
    amounts = [registered(texts[index], is_pgm) for index in indices]
    built.contributions = contributions(built, amounts)
    if unread := [index for index, amount in zip(indices, amounts, strict=True) if amount is None]:
        rule = "each contribution states an amount"
        built.faults.append(Fault(f"$[{unread[0]}]", rule, f"{len(unread)} do not"))
        point_game.leave_open(built)
    paid = [0.0] * len(built.seats)
    for contribution in built.contributions:
        paid[contribution.seat - 1] -= contribution.amount or 0
    point_game.add_results(built, paid)
    return built
