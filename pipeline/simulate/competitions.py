"""The benchmark's seven competitions: where their logs lie, and how a game of each is played."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from pipeline.simulate import (
    chameleon,
    cost_sharing,
    prisoners_dilemma,
    public_good,
    settings,
    undercover,
)
from pipeline.simulate.dice import Dice
from pipeline.simulate.log import Deal, Document, timestamp
from pipeline.simulate.players import PLAYERS, Model


class Competition(NamedTuple):
    """A game, and for hidden roles the tested side of it."""

    name: str
    game: str
    folder: str
    play: Callable[[Deal], Document]

    def directory(self, model: Model) -> str:
        """The folder of a model's logs."""
        return f"results/{self.game}/{model.name}_{self.folder}_vs_gpt4"

    def log(self, seed: int, model: Model, index: int) -> Document:
        """One game, which depends on these three only."""
        dice = Dice(seed, self.name, model.name, index)
        return self.play(Deal(dice, model, seed, index, timestamp(seed, model, self.name)))


COMPETITIONS = (
    Competition(
        "chameleon_as_chameleon",
        "chameleon",
        "competition_as_chameleon",
        partial(chameleon.play, as_hidden=True),
    ),
    Competition(
        "chameleon_as_non_chameleon",
        "chameleon",
        "competition_as_non_chameleon",
        partial(chameleon.play, as_hidden=False),
    ),
    Competition(
        "undercover_as_undercover",
        "undercover",
        "competition_as_undercover",
        partial(undercover.play, as_hidden=True),
    ),
    Competition(
        "undercover_as_non_undercover",
        "undercover",
        "competition_as_non_undercover",
        partial(undercover.play, as_hidden=False),
    ),
    Competition("airportfee", "airportfee", "competition_airportfee", cost_sharing.play),
    Competition("prisoner", "prisoner", "competition_prisoner", prisoners_dilemma.play),
    Competition("public_good", "public_good", "competition_public_good", public_good.play),
)


def setting_files(seed: int, n_games: int) -> dict[str, dict[str, object]]:
    """Path -> content of files that lie among the logs and are none: settings of some games."""
    files: dict[str, dict[str, object]] = {}
    for index in range(min(n_games, 3)):
        payoffs, pool = settings.payoffs(seed, index), settings.pool(seed, index)
        tested = {"test_player_name": PLAYERS[pool.tested - 1]}
        files[f"results/prisoner/setting/{index}.json"] = {**tested, "topic_values": payoffs.points}
        files[f"results/public_good/setting/{index}.json"] = {
            **tested,
            "game_round": pool.n_rounds,
            "multiplier": pool.multiplier,
        }
    return files
