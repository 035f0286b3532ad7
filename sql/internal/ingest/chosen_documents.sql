-- The documents from which new games are read: the first of the documents that hold the same game.
SELECT min(source_order) AS source_order
FROM new_games
WHERE game_index IS NOT NULL OR game_id IN (SELECT game_id FROM unindexed WHERE is_new)
-- An id has as many digits as this type, which takes a third of the memory.
GROUP BY CAST(game_id AS UUID)
