-- finds: a game whose players do not have the seats 1, 2, 3 and so on, each once
-- severity: error
-- by: game
SELECT game_id, n_players, count(seat) AS n_rows, min(seat) AS first, max(seat) AS last
FROM games
LEFT JOIN players USING (game_id)
GROUP BY game_id, n_players
HAVING count(seat) <> n_players
    OR count(DISTINCT seat) <> n_players
    OR (n_players > 0 AND (min(seat) <> 1 OR max(seat) <> n_players))
