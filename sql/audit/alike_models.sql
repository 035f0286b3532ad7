-- order: 14
-- title: models whose names look alike, or stand for no model
-- metric: win_rate
-- row: one tested player of one game
SELECT
    players.game_id,
    players.player,
    players.seat,
    players.model,
    players.role,
    CAST(NULL AS INTEGER) AS round,
    CAST(NULL AS INTEGER) AS message_index,
    alike_names.spelling AS logged,
    alike_names.looks_like AS says,
    alike_names.model IS NOT NULL AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM players
LEFT JOIN shared.alike_names AS alike_names ON players.model = alike_names.model
WHERE players.is_tested
