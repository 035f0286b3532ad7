-- row: one analysis; one of the true roles is compared with the players that votes seek
SELECT
    attempts.*,
    CASE WHEN kind = 'gold' THEN of_sought_players.sought_players END AS compared_with
FROM attempts
LEFT JOIN shared.sought_players AS of_sought_players
    ON of_sought_players.game_id = attempts.game_id
