"""Three negotiations of alpha and beta over four items.

In the first they agree in the second round on beta's proposal, in the second on alpha's, which is
the first of two that all accept, and in the third not at all. So both agree in 2 of 3, and of these
2 each has its own proposal in 1.
"""

from bargainlogs import AGENTS, game, round_of
from rawlogs import encode

_MINE = {"alpha_1": [0, 1, 2], "beta_2": [3]}
_YOURS = {"alpha_1": [0], "beta_2": [1, 2, 3]}
_REFUSED = [(_MINE, _YOURS), (1, 1), AGENTS]
LOGS = [
    encode(
        game(
            [*round_of(1, *_REFUSED), *round_of(2, (_MINE, _YOURS), (1, 2), AGENTS)],
            agreed=True,
            final_round=2,
            utilities={"alpha_1": 4.5, "beta_2": 9.0},
        )
    ),
    encode(
        game(
            round_of(1, (_YOURS, _MINE), (2, 2), AGENTS),
            agreed=True,
            final_round=1,
            utilities={"alpha_1": 5.0, "beta_2": 10.0},
        )
    ),
    encode(game([*round_of(1, *_REFUSED), *round_of(2, *_REFUSED)], agreed=False, final_round=2)),
]
ANSWERS = {
    (metric, model, "cost_sharing"): value
    for metric, value in (("win_rate", 2 / 3), ("cooperation", 2 / 3), ("coordination", 1 / 2))
    for model in ("alpha", "beta")
}
