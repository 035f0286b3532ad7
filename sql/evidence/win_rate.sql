-- row: one result, compared with how its game ended
SELECT attempts.*, of_endings.ending AS compared_with
FROM attempts
LEFT JOIN shared.endings AS of_endings
    ON of_endings.game_id = attempts.game_id
