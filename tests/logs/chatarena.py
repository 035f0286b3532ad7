"""A log in each of ChatArena's three forms, and of each game that is known in it.

Chameleon: an accusation of the wrong one (1 for the chameleon, 0 for the others), a right guess and
a tie (1/2 and 1/2 each): (2/3 + 1/3) / 2. Of the others' votes 0 of 2 are for the chameleon, 2 of 2
(a third names two, so it is not counted), and 2 of 4: 4 of 8.

Undercover: caught, so (0 + 1) / 2, by 3 of 3 votes.

Prisoner's Dilemma: 0, 5 and 0 points, then 1 each; one of three wins, and 4 of 6 choices betray.

Public Good: 10, 20 and 30, then 5, 5 and 10 are put in. The first player puts in least in all, so
one of three wins; 1 of 3 is the least, then 2 of 3.
"""

from chatarenalogs import dilemma, pool, table, transcript, undercover
from rawlogs import MODEL as NAME, chatarena, encode

MODEL = NAME
_CLEAR = "I vote for Player {}."
_GUESSED = [_CLEAR.format(4), _CLEAR.format(4), "Player 4 or Player 1.", _CLEAR.format(1)]
_TIE = [_CLEAR.format(seat) for seat in (5, 5, 1, 1, 2)]
LOGS = [
    encode(chatarena()),
    table(chatarena(_GUESSED, "right", hidden="Player 4")),
    transcript(chatarena(_TIE, "tie", hidden="Player 5")).strip(),
    encode(undercover()),
    encode(dilemma()),
    encode(pool()),
]
FILE = ["{}.json", "{}.csv", "{}.txt", "{}.json", "{}.json", "{}.json"]
ANSWERS = {
    ("win_rate", NAME, "chameleon"): 1 / 2,
    ("judgement", NAME, "chameleon"): 4 / 8,
    ("win_rate", NAME, "undercover"): 1 / 2,
    ("judgement", NAME, "undercover"): 1.0,
    ("win_rate", NAME, "prisoners_dilemma"): 1 / 3,
    ("rationality", NAME, "prisoners_dilemma"): 4 / 6,
    ("win_rate", NAME, "public_good"): 1 / 3,
    ("rationality", NAME, "public_good"): 3 / 6,
}
