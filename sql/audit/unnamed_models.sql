-- order: 19
-- title: tested players whose model the log does not name
-- metric: win_rate
-- row: one tested player of one game
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    CAST(NULL AS INTEGER) AS round,
    CAST(NULL AS INTEGER) AS message_index,
    model AS logged,
    CASE WHEN model IS NULL THEN 'counted with all models without a name' END AS says,
    model IS NULL AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM players
WHERE is_tested
