"""Of the negotiations that ended in agreement, those on one's own proposal.

Paper, m: games 1, 9 and 22 of the agreed games 1, 2, 3, 7, 9, 11 and 22: 3 of 7. Game 5 failed,
game 6 is unfinished. Zoë: in game 4 no vote names a player, so it is not counted; game 10: 1 of 1.
solo agreed to nothing.

Release: whether the shares of the first voter's choice are, as strings, those of m's (seat 1) last
proposal. Game 1: they are m's own. Game 2: another's, equal, m's of the round before are not asked.
Game 3: '40.0' is not '40'. Game 7: equal, the share that is null too. Game 9: m has a share more.
Game 11: m proposed nothing. Game 22 is not below N = 21. 3 of 6. Zoë's game 4 has no first choice,
so neither the term nor the whole can be told.
"""

from event_tables import answers, table

RESULTS = """
game | model           | agreed | proposed_agreement | first_choice_seat | is_finished
1    | m               | yes    | yes                | 1                 |
2    | m               | yes    | no                 | 2                 |
3    | m               | yes    | no                 | 3                 |
4    | Zoë's "7B" chat | yes    | -                  | -                 |
5    | m               | no     | -                  | -                 |
5    | solo            | no     | -                  | -                 |
6    | m               | -      | -                  | 1                 | no
7    | m               | yes    | no                 | 2                 |
9    | m               | yes    | yes                | 2                 |
10   | Zoë's "7B" chat | yes    | yes                | 1                 |
11   | m               | yes    | no                 | 2                 |
22   | m               | yes    | yes                | 1                 |
"""
PROPOSALS = """
game | model           | seat | round | position | share_text | is_last
1    | m               | 1    | 1     | 2        | 60         |
1    | m               | 1    | 1     | 1        | 40         |
2    | m               | 1    | 1     | 1        | 50         | no
2    | m               | 1    | 1     | 2        | 50         | no
2    | m               | 1    | 2     | 2        | 60         |
2    | m               | 1    | 2     | 1        | 40         |
2    | gpt-4           | 2    | 2     | 1        | 40         |
2    | gpt-4           | 2    | 2     | 2        | 60         |
3    | m               | 1    | 1     | 1        | 40         |
3    | m               | 1    | 1     | 2        | 60         |
3    | gpt-4           | 3    | 1     | 1        | 40.0       |
3    | gpt-4           | 3    | 1     | 2        | 60         |
7    | m               | 1    | 1     | 1        | 40         |
7    | m               | 1    | 1     | 2        | -          |
7    | gpt-4           | 2    | 1     | 1        | 40         |
7    | gpt-4           | 2    | 1     | 2        | -          |
9    | m               | 1    | 1     | 1        | 40         |
9    | m               | 1    | 1     | 2        | 60         |
9    | gpt-4           | 2    | 1     | 1        | 40         |
10   | Zoë's "7B" chat | 1    | 1     | 1        | 40         |
11   | gpt-4           | 2    | 1     | 1        | 40         |
22   | m               | 1    | 1     | 1        | 40         |
"""
ANSWERS = """
edition | model           | game_type    | value | hits | counted | n_games | n_unfinished | n_unreadable | terms | reason
paper   | Zoë's "7B" chat | cost_sharing | 1     | 1    | 1       | 1       | 0            | 0            | own_proposals: 1 × 1 of 1 |
paper   | Zoë's "7B" chat | all          | 1     | 1    | 1       | 1       | 0            | 0            | own_proposals: 1 × 1 of 1 |
paper   | m               | cost_sharing | 3/7   | 3    | 7       | 7       | 1            | 0            | own_proposals: 1 × 3 of 7 |
paper   | m               | all          | 3/7   | 3    | 7       | 7       | 1            | 0            | own_proposals: 1 × 3 of 7 |
paper   | solo            | cost_sharing | -     | 0    | 0       | 0       | 0            | 0            | own_proposals: 1 × 0 of 0 | nothing to count: own_proposals
paper   | solo            | all          | -     | 0    | 0       | 0       | 0            | 0            | own_proposals: 1 × 0 of 0 | nothing to count: own_proposals
release | Zoë's "7B" chat | cost_sharing | -     | 1    | 2       | 2       | 0            | 0            | own_proposals: 1 × - of 2 | outcome unknown in 1 game
release | Zoë's "7B" chat | all          | -     | 1    | 2       | 2       | 0            | 0            | own_proposals: 1 × - of 2 | outcome unknown in 1 game
release | m               | cost_sharing | 1/2   | 3    | 6       | 6       | 1            | 0            | own_proposals: 1 × 3 of 6 |
release | m               | all          | 1/2   | 3    | 6       | 6       | 1            | 0            | own_proposals: 1 × 3 of 6 |
release | solo            | cost_sharing | -     | 0    | 0       | 0       | 0            | 0            | own_proposals: 1 × 0 of 0 | nothing to count: own_proposals
release | solo            | all          | -     | 0    | 0       | 0       | 0            | 0            | own_proposals: 1 × 0 of 0 | nothing to count: own_proposals
"""  # noqa: E501
TABLES = {
    "results": table("results", RESULTS, game_type="cost_sharing"),
    "proposals": table("proposals", PROPOSALS, game_type="cost_sharing"),
}
EXPECTED = answers("coordination", ANSWERS)
