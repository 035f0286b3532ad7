"""Werewolf Arena: a game that the villagers win, and one that the werewolves win in the night."""

from copy import deepcopy
from typing import Any

from rawlogs import encode


def _player(name: str, role: str, model: str) -> dict[str, Any]:
    observations = ["Round 0: Moderator Announcement: The Werewolves removed nobody."]
    return {"name": name, "role": role, "model": model, "observations": observations}


def _log(
    players: list[dict[str, Any]], rounds: list[dict[str, Any]], winner: str
) -> dict[str, Any]:
    by_role: dict[str, list[dict[str, Any]]] = {}
    for player in players:
        by_role.setdefault(player["role"], []).append(player)
    return {
        "session_id": "10",
        "seer": by_role["Seer"][0],
        "doctor": by_role["Doctor"][0],
        "villagers": by_role["Villager"],
        "werewolves": by_role["Werewolf"],
        "players": {player["name"]: player for player in players},
        "rounds": rounds,
        "error_message": "",
        "winner": winner,
    }


def _round(eliminated: str, **more: Any) -> dict[str, Any]:
    nothing = {"protected": None, "unmasked": None, "exiled": None}
    empty: dict[str, Any] = {"players": [], "debate": [], "votes": [], "bids": [], "success": True}
    return {**empty, "eliminated": eliminated, **nothing, **more}


_PLAYERS = [
    _player("Ada", "Villager", "alpha"),
    _player("Björn", "Werewolf", "beta"),
    _player("Cy", "Seer", "alpha"),
    _player("Dee", "Doctor", "gamma"),
    _player("Eve", "Villager", "gamma"),
    _player("Flo", "Villager", "gamma"),
]
# In the first night the doctor saves Cy, and the first of two tallies decides nothing.
VILLAGERS_WIN = _log(
    _PLAYERS,
    [
        _round(
            "Cy",
            protected="Cy",
            unmasked="Björn",
            debate=[["Cy", 'Björn is "it".'], ["Björn", "Cy lies."]],
            votes=[
                {"Ada": "Cy", "Björn": "Cy", "Cy": "Björn", "Dee": "Cy", "Eve": "Cy", "Flo": "Cy"},
                {
                    "Ada": "Björn",
                    "Björn": "Cy",
                    "Cy": "Björn",
                    "Dee": "Cy",
                    "Eve": "Cy",
                    "Flo": "Eve",
                },
            ],
            bids=[{"Ada": 1}],
        ),
        _round(
            "Eve",
            protected="Cy",
            unmasked="Ada",
            exiled="Björn",
            debate=[["Dee", "I trust Cy."]],
            votes=[{"Ada": "Björn", "Björn": "Cy", "Cy": "Björn", "Dee": "Björn", "Flo": "Ada"}],
        ),
    ],
    "Villagers",
)
WEREWOLVES_WIN = _log(
    _PLAYERS,
    [
        _round(
            "Dee",
            protected="Flo",
            unmasked="Dee",
            exiled="Cy",
            debate=[["Ada", "Cy is loud."]],
            votes=[{"Ada": "Cy", "Björn": "Cy", "Cy": "Ada", "Eve": "Cy", "Flo": "Björn"}],
        ),
        _round("Ada", exiled="Eve", votes=[{"Björn": "Eve", "Eve": "Björn", "Flo": "Eve"}]),
    ],
    "Werewolves",
)
NIGHT = deepcopy(WEREWOLVES_WIN)
NIGHT["rounds"][1] |= {"exiled": None, "votes": [{"Björn": "Eve", "Eve": "Björn", "Flo": "Ada"}]}
NIGHT["rounds"].append(_round("Eve"))
LOGS = [encode(VILLAGERS_WIN), encode(WEREWOLVES_WIN), encode(NIGHT)]
# alpha is right in 4 of 4 votes of the first game, in none of 2 of the others.
ANSWERS = {
    ("judgement", "alpha", "werewolf"): 4 / 8,
    # Dee 1 of 2, Eve 0 of 1, Flo 0 of 2; then twice Eve 1 of 2, Flo 1 of 2.
    ("judgement", "gamma", "werewolf"): 5 / 13,
    ("deception", "beta", "werewolf"): 2 / 3,
    ("win_rate", "beta", "werewolf"): 2 / 3,
    # Two roles of alpha, and two of gamma, win or lose together.
    ("win_rate", "alpha", "werewolf"): 1 / 3,
    ("win_rate", "gamma", "werewolf"): 1 / 3,
}
