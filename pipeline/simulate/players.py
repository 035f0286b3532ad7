"""Who plays: simulated models of known, different skill, and the fixed opponents.

A skill is a set of probabilities, and every game is played so that each of them is exactly the
long-run share of the thing that it names. `truth.json` holds them, so that an estimate made from
the logs can be laid beside what it estimates.
"""

from typing import NamedTuple

from pipeline.simulate.dice import Dice

NAMES = (
    "atlas", "birch", "cedar", "delta", "ember", "fjord", "garnet", "hazel", "indigo", "juniper",
    "kestrel", "larch", "meadow", "nimbus", "onyx", "pepper", "quartz", "rowan", "sorrel", "tundra",
)  # fmt: skip

SEATS = (1, 2, 3)
PLAYERS = ("Player 1", "Player 2", "Player 3")
SEATED = tuple(zip(SEATS, PLAYERS, strict=True))


class Skill(NamedTuple):
    """Probabilities, each higher for a better (Prisoner's Dilemma: more selfish) player."""

    judgement: float
    """A vote cast on the civilian side names the hidden player."""
    self_awareness: float
    """An answer about oneself gives the own name and the own role."""
    reasoning_gold: float
    """An analysis of the others' roles is right."""
    reasoning_inter: float
    """An analysis of what the others think is right."""
    concealment: float
    """While it hides, an opponent's vote does not name it."""
    guessing: float
    """Caught as the chameleon, it guesses the secret word."""
    secrecy: float
    """The chameleon caught by it guesses wrong."""
    cooperation: float
    """A negotiation that is not cut off ends in an agreement."""
    coordination: float
    """An agreed proposal is its own."""
    defection: float
    """A Prisoner's Dilemma decision is registered as defect."""
    free_riding: float
    """A contribution is the least of its round, ties included."""


WEAKEST = Skill(0.30, 0.70, 0.30, 0.30, 0.20, 0.20, 0.25, 0.35, 0.15, 0.15, 0.25)
STRONGEST = Skill(0.92, 0.98, 0.80, 0.75, 0.85, 0.85, 0.90, 0.95, 0.75, 0.90, 0.90)

OPPONENT = Skill(0.55, 0.95, 0.55, 0.50, 0.50, 0.50, 0.50, 0.70, 0.33, 0.50, 0.40)


class Model(NamedTuple):
    """One simulated model."""

    name: str
    skill: Skill
    is_pgm: bool


def roster(seed: int, n_models: int) -> tuple[Model, ...]:
    """The models of a run, from the weakest to the strongest; the second of three is a PGM model.

    Each probability is drawn from the model's own slice of the range, so that no model is equal to
    or better than a later one in anything.
    """
    dice = Dice(seed, "roster", n_models)
    models = []
    for rank in range(n_models):
        skill = Skill(
            *(
                round(low + (high - low) * (rank + 0.1 + 0.8 * dice.random()) / n_models, 6)
                for low, high in zip(WEAKEST, STRONGEST, strict=True)
            )
        )
        is_pgm = rank % 3 == 1
        models.append(Model(_name(rank) + "-pgm" * is_pgm, skill, is_pgm))
    return tuple(models)


def _name(rank: int) -> str:
    turn, place = divmod(rank, len(NAMES))
    number = f"-{turn + 1}" if turn else ""
    return f"sim-{NAMES[place]}{number}"


def others(seat: int) -> tuple[int, int]:
    """The two other seats, in seat order."""
    return _OTHERS[seat - 1]


_OTHERS = ((2, 3), (1, 3), (1, 2))
