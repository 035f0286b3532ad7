-- row: one way in which a game with sides or a negotiation ends
-- column: outcome | the outcome, as in `games`
-- column: hidden | what the hidden side is credited with, from 0 to 1
-- column: others | what all others are credited with
-- column: hidden_wins | whether the hidden side has won
SELECT game_type, outcome, hidden, others, hidden_wins
FROM (
    VALUES
        ('chameleon', 'guessed_wrong', 0e0, 1e0, FALSE),
        ('chameleon', 'guessed_right', 0.5, 0.5, TRUE),
        ('chameleon', 'voted_wrong', 1, 0, TRUE),
        ('chameleon', 'tie', 0.5, 0.5, TRUE),
        ('undercover', 'caught', 0, 1, FALSE),
        ('undercover', 'voted_wrong', 1, 0, TRUE),
        ('undercover', 'tie', 2e0 / 3, 1e0 / 3, TRUE),
        ('undercover', 'parity', 1, 0, TRUE),
        ('undercover', 'survived', 1, 0, TRUE),
        ('cost_sharing', 'agreed', NULL, 1, NULL),
        ('cost_sharing', 'not_agreed', NULL, 0, NULL),
        ('avalon', 'good_won', 0, 1, FALSE),
        ('avalon', 'quests_failed', 1, 0, TRUE),
        ('avalon', 'teams_rejected', 1, 0, TRUE),
        ('avalon', 'merlin_found', 1, 0, TRUE),
        ('avalon', 'evil_won', 1, 0, TRUE),
        ('werewolf', 'werewolves_won', 1, 0, TRUE),
        ('werewolf', 'villagers_won', 0, 1, FALSE),
        ('werewolf', 'draw', 0.5, 0.5, FALSE)
) AS credits (game_type, outcome, hidden, others, hidden_wins)
