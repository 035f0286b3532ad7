"""Betrayals over decisions, plus rounds of giving least over rounds of giving.

Paper, m, Prisoner's Dilemma: game 1 defect, cooperate and, read with doubt, defect, game 31
cooperate; the outage and the unfinished game 2 are not counted: 2 of 4. Public Good: game 3, round
1 a least shared with another, round 2 not the least; round 3 has no least, since the amount could
not be read, round 4 is an outage, and round 5 lacks the third contribution; game 30 the least: 2 of
3, m's opponents of the same name in games 1 and 30 left out. Over all 2/4 + 2/3 = 7/6. Zoë, at m's
table in game 1, cooperates: 0 of 1, and has no Public Good. solo plays a Public Good alone: one
round, its least.

Release, N = 21, one ratio, without games 30 and 31: m's decisions all count, the unfinished game's
too: 4 of 5. Its amounts are what follows 'contribute', else 0: 5 of 5, 5, 9 is least; 3 of 9, 3, 0
is not; 0 of 0, 0, 5 and of 7, 0, 8 are; round 5 is no three: 3 of 4. Together 7 of 9. Zoë 0 of 1.
solo's one contribution is no three either: nothing.
"""

from event_tables import answers, table

RESULTS = """
game | game_type         | model           | seat | is_finished
1    | prisoners_dilemma | m               | 1    |
1    | prisoners_dilemma | Zoë's "7B" chat | 3    |
2    | prisoners_dilemma | m               | 2    | no
3    | public_good       | m               | 2    |
4    | public_good       | solo            | 1    |
30   | public_good       | m               | 2    |
31   | prisoners_dilemma | m               | 2    |
"""
DECISIONS = """
game | model           | seat | round | choice    | parse_status | is_tested | is_finished
1    | m               | 1    | 1     | defect    |              |           |
1    | m               | 2    | 1     | defect    |              | no        |
1    | Zoë's "7B" chat | 3    | 1     | cooperate |              |           |
1    | m               | 1    | 2     | cooperate |              |           |
1    | m               | 1    | 3     | defect    | outage       |           |
1    | m               | 1    | 4     | defect    | ambiguous    |           |
2    | m               | 2    | 1     | defect    |              |           | no
31   | m               | 2    | 1     | cooperate |              |           |
"""
CONTRIBUTIONS = """
game | model | seat | round | text                                      | is_least | parse_status | is_tested
3    | gpt-4 | 1    | 1     | I contribute 5                            | yes      |              | no
3    | m     | 2    | 1     | I contribute 5                            | yes      |              |
3    | gpt-4 | 3    | 1     | I contribute 9                            | no       |              | no
3    | gpt-4 | 1    | 2     | I contribute 9                            | no       |              | no
3    | m     | 2    | 2     | I contribute 3                            | no       |              |
3    | gpt-4 | 3    | 2     | I put in 1                                | yes      |              | no
3    | gpt-4 | 1    | 3     | I contribute 0                            | -        |              | no
3    | m     | 2    | 3     | I contribute nothing                      | -        | unreadable   |
3    | gpt-4 | 3    | 3     | I contribute 5                            | -        |              | no
3    | gpt-4 | 1    | 4     | I contribute 7                            | yes      |              | no
3    | m     | 2    | 4     | <<<<<<END_OF_CONVERSATION>>>>>>4624failed | no       | outage       |
3    | gpt-4 | 3    | 4     | I contribute 8                            | no       |              | no
3    | gpt-4 | 1    | 5     | I contribute 7                            | -        |              | no
3    | m     | 2    | 5     | I contribute 7                            | -        |              |
4    | solo  | 1    | 1     | I contribute 7                            | yes      |              |
30   | m     | 1    | 1     | I contribute 7                            | no       |              | no
30   | m     | 2    | 1     | I contribute 5                            | yes      |              |
30   | gpt-4 | 3    | 1     | I contribute 7                            | no       |              | no
"""  # noqa: E501
ANSWERS = """
edition | model           | game_type         | value | hits | counted | n_games | n_unfinished | n_unreadable | terms | reason
paper   | Zoë's "7B" chat | prisoners_dilemma | 0     | 0    | 1       | 1       | 0            | 0            | betrayals: 1 × 0 of 1 |
paper   | Zoë's "7B" chat | all               | -     | -    | -       | 1       | 0            | 0            | betrayals: 1 × 0 of 1, least_contributions: 1 × 0 of 0 | nothing to count: least_contributions
paper   | m               | prisoners_dilemma | 1/2   | 2    | 4       | 2       | 1            | 2            | betrayals: 1 × 2 of 4 |
paper   | m               | public_good       | 2/3   | 2    | 3       | 2       | 0            | 2            | least_contributions: 1 × 2 of 3 |
paper   | m               | all               | 7/6   | -    | -       | 4       | 1            | 4            | betrayals: 1 × 2 of 4, least_contributions: 1 × 2 of 3 |
paper   | solo            | public_good       | 1     | 1    | 1       | 1       | 0            | 0            | least_contributions: 1 × 1 of 1 |
paper   | solo            | all               | -     | -    | -       | 1       | 0            | 0            | betrayals: 1 × 0 of 0, least_contributions: 1 × 1 of 1 | nothing to count: betrayals
release | Zoë's "7B" chat | all               | 0     | 0    | 1       | 1       | 0            | 0            | betrayals: 1 × 0 of 1, least_contributions: 1 × 0 of 0 |
release | m               | all               | 7/9   | 7    | 9       | 3       | 1            | 4            | betrayals: 1 × 4 of 5, least_contributions: 1 × 3 of 4 |
release | solo            | all               | -     | 0    | 0       | 0       | 0            | 0            | betrayals: 1 × 0 of 0, least_contributions: 1 × 0 of 0 | nothing to count: betrayals, least_contributions
"""  # noqa: E501
TABLES = {
    "results": table("results", RESULTS),
    "decisions": table("decisions", DECISIONS, game_type="prisoners_dilemma"),
    "contributions": table("contributions", CONTRIBUTIONS, game_type="public_good"),
}
EXPECTED = answers("rationality", ANSWERS)
