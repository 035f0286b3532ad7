"""Negotiations that ended in agreement over all.

Paper, m: agreed, failed, agreed at Zoë's table, agreed in game 21: 3 of 4. Game 3 is unfinished,
game 4 an outage, and of game 7, though finished, nobody can tell. Zoë: 1 of 1. solo never
negotiated.

Release, N = 21: all found below 21, what is no agreement has failed. m: games 1 and 5 of six.
"""

from event_tables import answers, table

RESULTS = """
game | game_type    | model           | seat | agreed | parse_status | is_finished
1    | cost_sharing | m               | 1    | yes    |              |
2    | cost_sharing | m               | 3    | no     |              |
3    | cost_sharing | m               | 1    | -      |              | no
4    | cost_sharing | m               | 1    | no     | outage       |
5    | cost_sharing | m               | 1    | yes    |              |
5    | cost_sharing | Zoë's "7B" chat | 2    | yes    |              |
6    | public_good  | solo            | 1    | -      |              |
7    | cost_sharing | m               | 1    | -      |              |
21   | cost_sharing | m               | 1    | yes    |              |
"""
ANSWERS = """
edition | model           | game_type    | value | hits | counted | n_games | n_unfinished | n_unreadable | terms | reason
paper   | Zoë's "7B" chat | cost_sharing | 1     | 1    | 1       | 1       | 0            | 0            | agreements: 1 × 1 of 1 |
paper   | Zoë's "7B" chat | all          | 1     | 1    | 1       | 1       | 0            | 0            | agreements: 1 × 1 of 1 |
paper   | m               | cost_sharing | 3/4   | 3    | 4       | 4       | 1            | 1            | agreements: 1 × 3 of 4 |
paper   | m               | all          | 3/4   | 3    | 4       | 4       | 1            | 1            | agreements: 1 × 3 of 4 |
paper   | solo            | all          | -     | 0    | 0       | 0       | 0            | 0            | agreements: 1 × 0 of 0 | nothing to count: agreements
release | Zoë's "7B" chat | cost_sharing | 1     | 1    | 1       | 1       | 0            | 0            | agreements: 1 × 1 of 1 |
release | Zoë's "7B" chat | all          | 1     | 1    | 1       | 1       | 0            | 0            | agreements: 1 × 1 of 1 |
release | m               | cost_sharing | 1/3   | 2    | 6       | 6       | 1            | 1            | agreements: 1 × 2 of 6 |
release | m               | all          | 1/3   | 2    | 6       | 6       | 1            | 1            | agreements: 1 × 2 of 6 |
release | solo            | all          | -     | 0    | 0       | 0       | 0            | 0            | agreements: 1 × 0 of 0 | nothing to count: agreements
"""  # noqa: E501
TABLES = {"results": table("results", RESULTS)}
EXPECTED = answers("cooperation", ANSWERS)
