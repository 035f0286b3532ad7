"""Votes for the hidden player over votes cast, on the civilian side.

Paper, m, chameleon: game 1 right, game 25 right; the outage of game 2 and the unfinished game 3 are
not counted, nor votes as chameleon or of m as a player not tested, nor two that nobody registered
and no text decides: 2 of 2. Undercover: game 4 wrong
and, read with doubt, right; game 6, which has no number, right: 2 of 3. Over all 4 of 5. Zoë's one
vote, at the same table as m's, names nobody: cast and not correct, 0 of 1. A model that the log
does not name is a group of its own: 1 of 1. solo never played a game with votes.

Release, N = 21: game 25 and the game without a number are out, outage and unfinished game are in.
m: chameleon 3 of 3, undercover 1 of 2, pooled 4 of 5. Who lacks either competition has no value.
"""

from event_tables import answers, table

RESULTS = """
game | game_index | game_type    | model           | role          | is_finished
1    |            | chameleon    | m               | non_chameleon |
1    |            | chameleon    | m               | chameleon     |
1    |            | chameleon    | Zoë's "7B" chat | non_chameleon |
2    |            | chameleon    | m               | non_chameleon |
3    |            | chameleon    | m               | non_chameleon | no
4    |            | undercover   | m               | civilian      |
6    | -          | undercover   | m               | civilian      |
7    |            | chameleon    | -               | non_chameleon |
8    |            | cost_sharing | solo            |               |
9    |            | chameleon    | m               | chameleon     |
25   |            | chameleon    | m               | non_chameleon |
"""
VOTES = """
game | game_index | game_type  | model           | role          | seat | is_correct | parse_status | is_tested | is_finished
1    |            | chameleon  | m               | non_chameleon | 1    | yes        |              |           |
1    |            | chameleon  | Zoë's "7B" chat | non_chameleon | 2    | no         | unreadable   |           |
1    |            | chameleon  | m               | chameleon     | 3    | no         |              |           |
1    |            | chameleon  | m               | non_chameleon | 4    | -          | ambiguous    |           |
9    |            | chameleon  | m               | non_chameleon | 2    | -          | unreadable   |           |
2    |            | chameleon  | m               | non_chameleon | 1    | yes        |              | no        |
2    |            | chameleon  | m               | non_chameleon | 2    | yes        | outage       |           |
3    |            | chameleon  | m               | non_chameleon | 1    | yes        |              |           | no
4    |            | undercover | m               | civilian      | 1    | no         |              |           |
4    |            | undercover | m               | civilian      | 2    | yes        | ambiguous    |           |
6    | -          | undercover | m               | civilian      | 1    | yes        |              |           |
7    |            | chameleon  | -               | non_chameleon | 1    | yes        |              |           |
9    |            | chameleon  | m               | chameleon     | 1    | no         | unreadable   |           |
25   |            | chameleon  | m               | non_chameleon | 1    | yes        |              |           |
"""  # noqa: E501
ANSWERS = """
edition | model           | game_type  | value | hits | counted | n_games | n_unfinished | n_unreadable | terms | reason
paper   | Zoë's "7B" chat | chameleon  | 0     | 0    | 1       | 1       | 0            | 1            | votes: 1 × 0 of 1 |
paper   | Zoë's "7B" chat | all        | 0     | 0    | 1       | 1       | 0            | 1            | votes: 1 × 0 of 1 |
paper   | m               | chameleon  | 1     | 2    | 2       | 2       | 1            | 3            | votes: 1 × 2 of 2 |
paper   | m               | undercover | 2/3   | 2    | 3       | 2       | 0            | 1            | votes: 1 × 2 of 3 |
paper   | m               | all        | 4/5   | 4    | 5       | 4       | 1            | 4            | votes: 1 × 4 of 5 |
paper   | solo            | all        | -     | 0    | 0       | 0       | 0            | 0            | votes: 1 × 0 of 0 | nothing to count: votes
paper   | -               | chameleon  | 1     | 1    | 1       | 1       | 0            | 0            | votes: 1 × 1 of 1 |
paper   | -               | all        | 1     | 1    | 1       | 1       | 0            | 0            | votes: 1 × 1 of 1 |
release | Zoë's "7B" chat | all        | -     | 0    | 1       | 1       | 0            | 1            | chameleon_as_non_chameleon: 1 × 0 of 1, undercover_as_civilian: 1 × 0 of 0 | nothing to count: undercover_as_civilian
release | m               | all        | 4/5   | 4    | 5       | 4       | 1            | 4            | chameleon_as_non_chameleon: 1 × 3 of 3, undercover_as_civilian: 1 × 1 of 2 |
release | solo            | all        | -     | 0    | 0       | 0       | 0            | 0            | chameleon_as_non_chameleon: 1 × 0 of 0, undercover_as_civilian: 1 × 0 of 0 | nothing to count: chameleon_as_non_chameleon, undercover_as_civilian
release | -               | all        | -     | 1    | 1       | 1       | 0            | 0            | chameleon_as_non_chameleon: 1 × 1 of 1, undercover_as_civilian: 1 × 0 of 0 | nothing to count: undercover_as_civilian
"""  # noqa: E501
TABLES = {"results": table("results", RESULTS), "votes": table("votes", VOTES)}
EXPECTED = answers("judgement", ANSWERS)
