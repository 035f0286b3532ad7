-- row: one vote, compared with the players that it was right to name
SELECT attempts.*, of_sought_players.sought_players AS compared_with
FROM attempts
LEFT JOIN shared.sought_players AS of_sought_players
    ON of_sought_players.game_id = attempts.game_id
