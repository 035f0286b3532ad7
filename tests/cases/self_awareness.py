"""Right answers to who one is and what one's role is, over all answers.

Paper, m, chameleon: game 1 right, wrong, and right where the answer could not be read for sure, the
outage and m's seat not tested not counted: 2 of 3. Undercover: game 2, played alone, wrong: 0 of 1.
Over all 2 of 4. Zoë has an unfinished game only: nothing to count. A model that the log does not
name: right, 1 of 1.

Release, N = 21: the outage, registered as wrong, and the unfinished game count; game 22 does not.
m: game 1 2 of 4, game 2 0 of 1: 2 of 5. Zoë 1 of 2. The nameless model has no game left.
"""

from event_tables import answers, table

RESULTS = """
game | game_type  | model           | role          | is_finished
1    | chameleon  | m               | non_chameleon |
2    | undercover | m               | civilian      |
3    | chameleon  | Zoë's "7B" chat | chameleon     | no
22   | undercover | -               | undercover    |
"""
ROLE_IDENTIFICATIONS = """
game | game_type  | model           | role          | seat | round | is_correct | parse_status | is_tested | is_finished
1    | chameleon  | m               | non_chameleon | 1    | 1     | yes        |              |           |
1    | chameleon  | m               | non_chameleon | 1    | 2     | no         |              |           |
1    | chameleon  | m               | non_chameleon | 1    | 3     | no         | outage       |           |
1    | chameleon  | m               | non_chameleon | 2    | 1     | yes        | unreadable   |           |
1    | chameleon  | m               | chameleon     | 3    | 1     | yes        |              | no        |
2    | undercover | m               | civilian      | 1    | 1     | no         |              |           |
3    | chameleon  | Zoë's "7B" chat | chameleon     | 1    | 1     | yes        |              |           | no
3    | chameleon  | Zoë's "7B" chat | chameleon     | 1    | 2     | no         |              |           | no
22   | undercover | -               | undercover    | 1    | 1     | yes        |              |           |
"""  # noqa: E501
ANSWERS = """
edition | model           | game_type  | value | hits | counted | n_games | n_unfinished | n_unreadable | terms | reason
paper   | Zoë's "7B" chat | chameleon  | -     | 0    | 0       | 0       | 1            | 0            | identifications: 1 × 0 of 0 | nothing to count: identifications
paper   | Zoë's "7B" chat | all        | -     | 0    | 0       | 0       | 1            | 0            | identifications: 1 × 0 of 0 | nothing to count: identifications
paper   | m               | chameleon  | 2/3   | 2    | 3       | 1       | 0            | 2            | identifications: 1 × 2 of 3 |
paper   | m               | undercover | 0     | 0    | 1       | 1       | 0            | 0            | identifications: 1 × 0 of 1 |
paper   | m               | all        | 1/2   | 2    | 4       | 2       | 0            | 2            | identifications: 1 × 2 of 4 |
paper   | -               | undercover | 1     | 1    | 1       | 1       | 0            | 0            | identifications: 1 × 1 of 1 |
paper   | -               | all        | 1     | 1    | 1       | 1       | 0            | 0            | identifications: 1 × 1 of 1 |
release | Zoë's "7B" chat | all        | 1/2   | 1    | 2       | 1       | 1            | 0            | identifications: 1 × 1 of 2 |
release | m               | all        | 2/5   | 2    | 5       | 2       | 0            | 2            | identifications: 1 × 2 of 5 |
release | -               | all        | -     | 0    | 0       | 0       | 0            | 0            | identifications: 1 × 0 of 0 | nothing to count: identifications
"""  # noqa: E501
TABLES = {
    "results": table("results", RESULTS),
    "role_identifications": table("role_identifications", ROLE_IDENTIFICATIONS),
}
EXPECTED = answers("self_awareness", ANSWERS)
