-- The document that a new game is read from: the first of those that hold it.
SELECT min(place) AS place, game_id
FROM new_games
WHERE game_index IS NOT NULL OR game_id IN (SELECT game_id FROM unindexed WHERE is_new)
GROUP BY game_id
