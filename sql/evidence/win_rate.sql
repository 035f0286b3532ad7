-- row: one result, compared with how its game ended
SELECT attempts.*, endings.ending AS compared_with
FROM attempts
LEFT JOIN shared.endings
    ON endings.game_id = attempts.game_id
