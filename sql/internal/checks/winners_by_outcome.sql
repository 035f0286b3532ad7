-- finds: in a game with hidden roles or a negotiation, a win or its credit that does not follow from the outcome
-- severity: contradiction
-- systems: magic, chatarena
-- by: game
WITH endings (game_type, outcome, side, is_win, win_credit) AS (
    VALUES
        ('chameleon', 'guessed_wrong', 'hidden', FALSE, 0.0::DOUBLE),
        ('chameleon', 'guessed_wrong', 'civilian', TRUE, 1.0),
        ('chameleon', 'guessed_right', 'hidden', TRUE, 0.5),
        ('chameleon', 'guessed_right', 'civilian', FALSE, 0.5),
        ('chameleon', 'voted_wrong', 'hidden', TRUE, 1.0),
        ('chameleon', 'voted_wrong', 'civilian', FALSE, 0.0),
        ('chameleon', 'tie', 'hidden', TRUE, 0.5),
        ('chameleon', 'tie', 'civilian', FALSE, 0.5),
        ('undercover', 'caught', 'hidden', FALSE, 0.0),
        ('undercover', 'caught', 'civilian', TRUE, 1.0),
        ('undercover', 'voted_wrong', 'hidden', TRUE, 1.0),
        ('undercover', 'voted_wrong', 'civilian', FALSE, 0.0),
        ('undercover', 'tie', 'hidden', TRUE, 2 / 3),
        ('undercover', 'tie', 'civilian', FALSE, 1 / 3),
        ('cost_sharing', 'agreed', 'none', TRUE, 1.0),
        ('cost_sharing', 'not_agreed', 'none', FALSE, 0.0)
)
SELECT
    game_id,
    results.side,
    games.outcome,
    results.is_win,
    results.win_credit,
    results.agreed,
    endings.is_win AS derived
FROM games
INNER JOIN results USING (game_id)
LEFT JOIN endings
    ON games.game_type = endings.game_type
    AND games.outcome = endings.outcome
    AND results.side = endings.side
WHERE games.game_type IN ('chameleon', 'undercover', 'cost_sharing')
    AND games.outcome IS NOT NULL
    AND (
        results.is_win IS DISTINCT FROM endings.is_win
        OR coalesce(abs(results.win_credit - endings.win_credit) > 1e-9, TRUE)
        OR (games.game_type = 'cost_sharing' AND results.agreed IS DISTINCT FROM endings.is_win)
    )
