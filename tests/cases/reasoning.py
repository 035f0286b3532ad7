"""Right analyses of the roles over all analyses, of both kinds, whatever the side.

Paper, m, chameleon: game 1 as non-chameleon right, wrong and right, an outage not counted; game 2
as chameleon wrong: 2 of 4. Undercover: game 4 wrong, where m also has a seat not tested, game 21
right; game 3 is unfinished: 1 of 2. Over all 3 of 6. Zoë's one, at the table of game 4, is right.
solo has no analysis at all.

Release, N = 21: game 21 is not below it; outage and unfinished game count. m: game 1 3 of 4, game 2
0 of 1, game 3 2 of 2, game 4 0 of 1: 5 of 8.
"""

from event_tables import answers, table

RESULTS = """
game | game_type         | model           | role          | is_finished
1    | chameleon         | m               | non_chameleon |
2    | chameleon         | m               | chameleon     |
3    | undercover        | m               | civilian      | no
4    | undercover        | m               | civilian      |
4    | undercover        | Zoë's "7B" chat | undercover    |
6    | prisoners_dilemma | solo            |               |
21   | undercover        | m               | undercover    |
"""
ROLE_ANALYSES = """
game | game_type  | model           | role          | seat | round | kind  | is_correct | parse_status | is_tested | is_finished
1    | chameleon  | m               | non_chameleon | 1    | 1     | gold  | yes        |              |           |
1    | chameleon  | m               | non_chameleon | 1    | 1     | inter | no         |              |           |
1    | chameleon  | m               | non_chameleon | 1    | 2     | gold  | yes        |              |           |
1    | chameleon  | m               | non_chameleon | 1    | 2     | inter | yes        | outage       |           |
2    | chameleon  | m               | chameleon     | 2    | 1     | gold  | no         |              |           |
3    | undercover | m               | civilian      | 1    | 1     | gold  | yes        |              |           | no
3    | undercover | m               | civilian      | 1    | 1     | inter | yes        |              |           | no
4    | undercover | Zoë's "7B" chat | undercover    | 1    | 1     | gold  | yes        |              |           |
4    | undercover | m               | civilian      | 2    | 1     | gold  | no         |              |           |
4    | undercover | m               | civilian      | 3    | 1     | gold  | yes        |              | no        |
21   | undercover | m               | undercover    | 1    | 1     | gold  | yes        |              |           |
"""  # noqa: E501
ANSWERS = """
edition | model           | game_type  | value | hits | counted | n_games | n_unfinished | n_unreadable | terms | reason
paper   | Zoë's "7B" chat | undercover | 1     | 1    | 1       | 1       | 0            | 0            | analyses: 1 × 1 of 1 |
paper   | Zoë's "7B" chat | all        | 1     | 1    | 1       | 1       | 0            | 0            | analyses: 1 × 1 of 1 |
paper   | m               | chameleon  | 1/2   | 2    | 4       | 2       | 0            | 1            | analyses: 1 × 2 of 4 |
paper   | m               | undercover | 1/2   | 1    | 2       | 2       | 1            | 0            | analyses: 1 × 1 of 2 |
paper   | m               | all        | 1/2   | 3    | 6       | 4       | 1            | 1            | analyses: 1 × 3 of 6 |
paper   | solo            | all        | -     | 0    | 0       | 0       | 0            | 0            | analyses: 1 × 0 of 0 | nothing to count: analyses
release | Zoë's "7B" chat | all        | 1     | 1    | 1       | 1       | 0            | 0            | analyses: 1 × 1 of 1 |
release | m               | all        | 5/8   | 5    | 8       | 4       | 1            | 1            | analyses: 1 × 5 of 8 |
release | solo            | all        | -     | 0    | 0       | 0       | 0            | 0            | analyses: 1 × 0 of 0 | nothing to count: analyses
"""  # noqa: E501
TABLES = {
    "results": table("results", RESULTS),
    "role_analyses": table("role_analyses", ROLE_ANALYSES),
}
EXPECTED = answers("reasoning", ANSWERS)
