-- order: 20
-- title: players who are no language model, which no metric counts
-- metric: win_rate
-- row: one player of one game
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    CAST(NULL AS INTEGER) AS round,
    CAST(NULL AS INTEGER) AS message_index,
    CASE WHEN is_bot THEN 'a bot' ELSE 'a language model' END AS logged,
    CASE WHEN is_bot THEN 'not tested' END AS says,
    is_bot AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM players
