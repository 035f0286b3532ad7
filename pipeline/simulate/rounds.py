"""What games of rounds share: decisions sent to the moderator, and what a PGM player foresees."""

from collections.abc import Sequence

from pipeline.simulate.dice import Dice
from pipeline.simulate.log import MODERATOR, Document, Transcript
from pipeline.simulate.players import PLAYERS, Model, others
from pipeline.simulate.sentences import ROUND_ASIDES, asides

NEXT = (
    "You can look around others' decisions and think your decision for next round. "
    "Now let us move to next round"
)

OPENING = ("In my opinion:",)

NO_NAME_RATE = 0.006
"""Games whose log lacks `test_player_name` at the top, as older ones do."""


def head(dice: Dice, tested: int, model: Model, topic: str, **rules: object) -> Document:
    """The first keys of a log: who is tested, and on what."""
    name = PLAYERS[tested - 1]
    document: Document = {} if dice.chance(NO_NAME_RATE) else {"test_player_name": name}
    document["game_setting"] = {
        "random": False,
        "topic": topic,
        "test_player_name": name,
        "test_player": {"model": model.name},
        "non-test_player": {"model": "gpt-4"},
        **rules,
    }
    return document


def decide(log: Transcript, decisions: list[str]) -> None:
    """The three decisions of a round, seen by the moderator only."""
    for player, text in zip(PLAYERS, decisions, strict=True):
        log.say(player, text, MODERATOR)


def forecast(
    dice: Dice, log: Transcript, tested: int, moves: Sequence[str], opening: tuple[str, ...] = ()
) -> None:
    """A PGM player's private view of what the others will do, and think, in the round to come."""
    me = PLAYERS[tested - 1]
    one, other = (PLAYERS[seat - 1] for seat in others(tested))
    lines = [*opening, f"As {me},"]
    lines += [f"I think {player} {dice.pick(moves)}" for player in (one, other)]
    lines.append("As for other players,")
    for player, third in ((one, other), (other, one)):
        lines.append(f"I think {player} thinks:")
        lines += [f"{who} {dice.pick(moves)}" for who in (me, third)]
    if more := asides(dice, 0.3, ROUND_ASIDES):
        lines.append(more)
    log.say(me, "\n".join(lines), me)
