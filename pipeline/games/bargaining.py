"""Bargaining: two players divide items of secret worth by offers in turn, or get nothing."""

from pipeline.games.kind import Ending, of_players

KIND = of_players("bargaining", Ending("agreed"), Ending("not_agreed"))
