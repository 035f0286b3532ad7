-- The games in which one metric counts a row, by the finest groups.
SELECT
    ${fine},
    count(DISTINCT game_id) AS n_games
FROM ${rows}
WHERE is_counted
GROUP BY ${fine}
