"""Public Good: in each round, players put points into a pool that is multiplied and shared."""

from pipeline.games.kind import Ending, of_players

KIND = of_players("public_good", Ending("completed"), phases=("talk",), most_points_win=True)
