"""The mean, over the competitions with a counted result, of credit over results.

Paper, m: as chameleon 1/2 and 0, 1/2 of 2 = 1/4; as non-chameleon 1 of 1; chameleon (1/4 + 1) / 2 =
5/8. As undercover a tie, 2/3 of 1, the outage not counted; as civilian a tie, 1/3 of 1; undercover
(2/3 + 1/3) / 2 = 1/2. Cost Sharing won, lost and won, game 9 unfinished: 2/3. Public Good won: 1.
No Prisoner's Dilemma, so over all the mean of six: (1/4 + 1 + 2/3 + 1/3 + 2/3 + 1) / 6 = 47/72.
Zoë, at m's table in game 7, won; lost game 12, won game 13; its chameleon game has a flag that is
unknown, so it is unfinished: (1 + 0 + 1) / 3 = 2/3.

Release, N = 21: seven scores, the first four over 20 games, the rest over games found below 21,
unfinished ones included. m: 1/2 of 20, 1 of 20, 5/3 of 20, 1/3 of 20, 1 of 3, and no Prisoner's
Dilemma: no value. Zoë: 0 of 20 four times, 1 of 1, 0 of 1, 1 of 1, a seventh of each: 2/7.
"""

from event_tables import answers, table

RESULTS = """
game | game_type         | model           | role          | win_credit | parse_status | is_finished
1    | chameleon         | m               | chameleon     | 1/2        |              |
2    | chameleon         | m               | chameleon     | 0          |              |
3    | chameleon         | m               | non_chameleon | 1          |              |
4    | undercover        | m               | undercover    | 2/3        |              |
5    | undercover        | m               | undercover    | 1          | outage       |
6    | undercover        | m               | civilian      | 1/3        |              |
7    | cost_sharing      | m               |               | 1          |              |
7    | cost_sharing      | Zoë's "7B" chat |               | 1          |              |
8    | cost_sharing      | m               |               | 0          |              |
9    | cost_sharing      | m               |               | -          |              | no
10   | public_good       | m               |               | 1          |              |
11   | chameleon         | Zoë's "7B" chat | chameleon     | -          |              | no
12   | prisoners_dilemma | Zoë's "7B" chat |               | 0          |              |
13   | public_good       | Zoë's "7B" chat |               | 1          |              |
21   | cost_sharing      | m               |               | 1          |              |
"""
ANSWERS = """
edition | model           | game_type         | value | hits | counted | n_games | n_unfinished | n_unreadable | terms | reason
paper   | Zoë's "7B" chat | chameleon         | -     | -    | -       | 0       | 1            | 0            | chameleon_as_chameleon: - × 0 of 0, chameleon_as_non_chameleon: - × 0 of 0 | nothing to count: chameleon_as_chameleon, chameleon_as_non_chameleon
paper   | Zoë's "7B" chat | cost_sharing      | 1     | 1    | 1       | 1       | 0            | 0            | cost_sharing: 1 × 1 of 1 |
paper   | Zoë's "7B" chat | prisoners_dilemma | 0     | 0    | 1       | 1       | 0            | 0            | prisoners_dilemma: 1 × 0 of 1 |
paper   | Zoë's "7B" chat | public_good       | 1     | 1    | 1       | 1       | 0            | 0            | public_good: 1 × 1 of 1 |
paper   | Zoë's "7B" chat | all               | 2/3   | -    | -       | 3       | 1            | 0            | chameleon_as_chameleon: - × 0 of 0, chameleon_as_non_chameleon: - × 0 of 0, undercover_as_undercover: - × 0 of 0, undercover_as_civilian: - × 0 of 0, cost_sharing: 1/3 × 1 of 1, prisoners_dilemma: 1/3 × 0 of 1, public_good: 1/3 × 1 of 1 |
paper   | m               | chameleon         | 5/8   | -    | -       | 3       | 0            | 0            | chameleon_as_chameleon: 1/2 × 1/2 of 2, chameleon_as_non_chameleon: 1/2 × 1 of 1 |
paper   | m               | cost_sharing      | 2/3   | 2    | 3       | 3       | 1            | 0            | cost_sharing: 1 × 2 of 3 |
paper   | m               | public_good       | 1     | 1    | 1       | 1       | 0            | 0            | public_good: 1 × 1 of 1 |
paper   | m               | undercover        | 1/2   | -    | -       | 2       | 0            | 1            | undercover_as_undercover: 1/2 × 2/3 of 1, undercover_as_civilian: 1/2 × 1/3 of 1 |
paper   | m               | all               | 47/72 | -    | -       | 9       | 1            | 1            | chameleon_as_chameleon: 1/6 × 1/2 of 2, chameleon_as_non_chameleon: 1/6 × 1 of 1, undercover_as_undercover: 1/6 × 2/3 of 1, undercover_as_civilian: 1/6 × 1/3 of 1, cost_sharing: 1/6 × 2 of 3, prisoners_dilemma: - × 0 of 0, public_good: 1/6 × 1 of 1 |
release | Zoë's "7B" chat | all               | 2/7   | -    | -       | 4       | 1            | 0            | chameleon_as_chameleon: 1/7 × 0 of 20, chameleon_as_non_chameleon: 1/7 × 0 of 20, undercover_as_undercover: 1/7 × 0 of 20, undercover_as_civilian: 1/7 × 0 of 20, cost_sharing: 1/7 × 1 of 1, prisoners_dilemma: 1/7 × 0 of 1, public_good: 1/7 × 1 of 1 |
release | m               | all               | -     | -    | -       | 10      | 1            | 1            | chameleon_as_chameleon: 1/7 × 1/2 of 20, chameleon_as_non_chameleon: 1/7 × 1 of 20, undercover_as_undercover: 1/7 × 5/3 of 20, undercover_as_civilian: 1/7 × 1/3 of 20, cost_sharing: 1/7 × 1 of 3, prisoners_dilemma: 1/7 × 0 of 0, public_good: 1/7 × 1 of 1 | nothing to count: prisoners_dilemma
"""  # noqa: E501
TABLES = {"results": table("results", RESULTS)}
EXPECTED = answers("win_rate", ANSWERS)
