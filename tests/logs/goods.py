"""Two rounds of three players who begin with 10 and share twice the pool; and a game cut off.

Round 1: 0, 5 and 10 put in; 30 are shared, 10 each: 20, 15 and 10. Round 2: 5, 5 and 10; of 40 each
gets 13: 28, 23 and 13. The least is put in by a, then by a and b: 2 of 2, 1 of 2 and 0 of 2. The
second game has no end, so it counts nowhere.
"""

from poollogs import final, init, lines, put

FILE = "{}.jsonl"
_ROUNDS = [(1, (0, 5, 10)), (2, (5, 5, 10))]
_PUTS = [put(seat, n, amount) for n, amounts in _ROUNDS for seat, amount in enumerate(amounts, 1)]
LOGS = [
    lines([init(2), *_PUTS, final(28, 23, 13)]),
    lines([init(2), *_PUTS[:4]]),
]
ANSWERS = {
    ("win_rate", "model-a", "public_good"): 1.0,
    ("win_rate", "model-b", "public_good"): 0.0,
    ("win_rate", "model-c", "public_good"): 0.0,
    ("rationality", "model-a", "public_good"): 1.0,
    ("rationality", "model-b", "public_good"): 0.5,
    ("rationality", "model-c", "public_good"): 0.0,
}
