-- row: one game, with what its rows can be told apart by (pipeline/metrics/slices.py)
SELECT
    games.*,
    opponents.opponent
FROM games
LEFT JOIN (SELECT game_id, min(opponent) AS opponent FROM results GROUP BY game_id) AS opponents
    ON opponents.game_id = games.game_id
