"""The Prisoner's Dilemma: in each round, a player cooperates or defects."""

from pipeline.games.kind import Ending, of_players

KIND = of_players("prisoners_dilemma", Ending("completed"), most_points_win=True)
