-- row: one game that ended
-- column: ending | its outcome in words, or the points of all players where these decide
SELECT
    games.game_id,
    CASE
        WHEN games.outcome = 'completed' THEN points.final_points
        ELSE replace(games.outcome, '_', ' ')
    END AS ending
FROM games
LEFT JOIN (
    SELECT game_id, string_agg(score, ', ' ORDER BY seat) AS final_points
    FROM (
        SELECT
            game_id,
            seat,
            coalesce(player, 'seat ' || seat) || ' '
                || rtrim(rtrim(CAST(TRY_CAST(final_score AS DECIMAL(38, 4)) AS VARCHAR), '0'), '.')
                AS score
        FROM players
    ) AS scores
    GROUP BY game_id
) AS points
    ON points.game_id = games.game_id
WHERE games.outcome IS NOT NULL
