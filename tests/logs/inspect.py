"""Two samples of Inspect, as they are cut out of a log: a game in the store, and in the metadata.

Blue, the chameleon, is voted out by red and green in the second: 3 of 4 of their votes are for it.
"""

import json

from inspect_logs import ROLES, chameleon, sample

_EVAL = {
    "task": "chameleon",
    "model": "mockllm/model",
    "model_roles": {role: {"model": model} for role, model in ROLES.items()},
}
# A number that JSON lacks is a text in them.
_SAMPLES = (
    sample(0, chameleon(0), scores={"odd": {"value": "NaN"}}, metadata={}),
    sample(1, scores={}, metadata={"magic": chameleon(1)}),
)
LOGS = [json.dumps({"eval": _EVAL, "sample": one}).encode() for one in _SAMPLES]
ANSWERS = {
    ("win_rate", "mockllm/model-red", "chameleon"): 0.5,
    ("judgement", "mockllm/model-red", "chameleon"): 1.0,
    ("judgement", "mockllm/model", "chameleon"): 0.5,
    ("win_rate", "mockllm/model-blue", "chameleon"): 0.5,
}
