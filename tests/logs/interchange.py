"""Two games in interchange JSON: a Public Good with words, and a Werewolf with silent votes.

Ann puts in least in round 1, both in round 2: 2 of 2 for her model, 1 of 2 for that of Bo.
In the werewolf game the villagers (model-a twice, model-b) cast three votes, two of them for Wu.

Tests change events by their position, so add new events in a game of their own.
"""

import json

PUBLIC_GOOD = {
    "magic_interchange": 1,
    "system": "example",
    "game_type": "public_good",
    "setting": {"multiplier": 1.5, "rounds": 2},
    "is_finished": True,
    "end": {"outcome": "completed"},
    "seats": [
        {"player": "Ann", "model": "model-a", "score": 28, "is_win": True},
        {"player": "Bo", "model": "model-b", "score": 20, "is_win": False},
    ],
    "events": [
        {"text": "Two rounds. Go!"},
        {
            "actor": "Ann",
            "round": 1,
            "text": "I contribute 2",
            "acts": [{"act": "contributions", "amount": 2}],
        },
        {"actor": "Bo", "round": 1, "acts": [{"act": "contributions", "amount": 6}]},
        {"actor": "Ann", "round": 2, "acts": [{"act": "contributions", "amount": 4}]},
        {
            "actor": "Bo",
            "visible_to": ["Bo"],
            "round": 2,
            "text": "All in: 4",
            "acts": [
                {"act": "contributions", "amount": 4},
                {"act": "transfers", "target": "Ann", "kind": "reward", "amount": 3, "cost": 1},
            ],
        },
    ],
}
WEREWOLF = {
    "magic_interchange": 1,
    "system": "example",
    "game_type": "werewolf",
    "is_finished": True,
    "end": {"outcome": "villagers_won", "outcome_code": 1},
    "started_at": "2024-05-01T12:00:00Z",
    "seats": [
        {"player": "Wu", "model": "model-b", "role": "werewolf"},
        {"player": "Eve", "model": "model-a", "role": "seer"},
        {"player": "Ida", "model": "model-a", "role": "villager"},
        {"player": "Bot", "role": "villager", "is_bot": True},
        {"player": "Jo", "model": "model-b", "role": "villager"},
    ],
    "events": [
        {
            "actor": "Eve",
            "round": 0,
            "acts": [{"act": "abilities", "kind": "divine", "target": "Wu"}],
        },
        {"actor": "Eve", "round": 1, "phase": "talk", "text": "Wu is a werewolf."},
        {"actor": "Wu", "round": 1, "acts": [{"act": "votes", "target": "Eve"}]},
        {"actor": "Eve", "round": 1, "acts": [{"act": "votes", "target": "Wu"}]},
        {"actor": "Ida", "round": 1, "acts": [{"act": "votes", "target": "Wu"}]},
        {"actor": "Jo", "round": 1, "acts": [{"act": "votes", "target": None}]},
        {
            "text": "Wu was executed.",
            "acts": [{"act": "eliminations", "player": "Wu", "round": 1, "cause": "execution"}],
        },
    ],
}  # fmt: skip
LOGS = [json.dumps(game).encode() for game in (PUBLIC_GOOD, WEREWOLF)]
ANSWERS = {
    ("win_rate", "model-a", "public_good"): 1.0,
    ("win_rate", "model-b", "public_good"): 0.0,
    ("rationality", "model-a", "public_good"): 1.0,
    ("rationality", "model-b", "public_good"): 0.5,
    ("judgement", "model-a", "werewolf"): 1.0,
    ("judgement", "model-b", "werewolf"): 0.0,
}
