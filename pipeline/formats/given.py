"""The models of players in a log that names none, by what whoever ingests it gives.

That is the name of a model, which all players are, or a JSON object of players and their models.
"""

from collections.abc import Collection

import msgspec

from pipeline.formats.broken import broken

_BY_PLAYER = msgspec.json.Decoder(dict[str, str])


def models_of(players: Collection[str], given: str | None) -> dict[str, str | None]:
    """Each player's model, in their order. Raises BrokenDocument where only some are given one."""
    by_player = _by_player(given)
    if by_player is None:
        return dict.fromkeys(players, given)
    if without := [player for player in players if player not in by_player]:
        rule = "the log or --models-from names each player's model"
        raise broken("$", rule, f"nothing names that of {', '.join(without)[:200]}")
    return {player: by_player[player] for player in players}


def _by_player(given: str | None) -> dict[str, str] | None:
    """The models by player, None where all are the same."""
    if given is None or not given.startswith("{"):
        return None
    try:
        return _BY_PLAYER.decode(given)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
