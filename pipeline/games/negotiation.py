"""Negotiation: two players divide items of secret worth, and signal as they offer."""

from pipeline.games.kind import Ending, of_players

KIND = of_players("negotiation", Ending("agreed"), Ending("not_agreed"), phases=("talk",))
