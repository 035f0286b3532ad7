"""Coin Game: players collect coins on a board, and each is secretly told which it should want."""

from pipeline.games.kind import Ending, of_players

KIND = of_players("coin_game", Ending("completed"))
