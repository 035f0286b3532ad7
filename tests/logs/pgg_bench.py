"""One round of three players who begin with 10, share twice the pool, talk and punish.

4, 4 and 10 are put in, and of 36 each gets 12: 18, 18 and 12. The third pays 2 to take 6 from the
first: 12, 18 and 10. Then the first pays 0.5 to take 1.5 from the second: 11.5 and 16.5.
"""

from poollogs import PUNISHING, event, final, init, lines, punish, put, say

FILE = "{}.jsonl"
LOGS = [
    lines(
        [
            init(1, **PUNISHING),
            say(2, 1, "Let us all put in all that we have."),
            say(1, 1, "I agree with P2."),
            *(put(seat, 1, amount) for seat, amount in ((3, 10), (1, 4), (2, 4))),
            event("fund_distribution", round=1, total_contribution=18.0, share_per_player=12),
            punish(3, 1, 1, 2.0),
            punish(1, 2, 1, 0.5),
            event("round_end", round=1, balances={}, carry_over_fund=0),
            final(11.5, 16.5, 10),
        ]
    )
]
ANSWERS = {
    ("win_rate", "model-a", "public_good"): 0.0,
    ("win_rate", "model-b", "public_good"): 1.0,
    ("win_rate", "model-c", "public_good"): 0.0,
    ("rationality", "model-a", "public_good"): 1.0,
    ("rationality", "model-b", "public_good"): 1.0,
    ("rationality", "model-c", "public_good"): 0.0,
}
