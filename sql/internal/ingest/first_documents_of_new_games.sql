-- The first document of each new game, from which the game is added to the lake.
SELECT min(source_order) AS source_order
FROM documents_with_new_game
WHERE game_index IS NOT NULL
    OR game_id IN (SELECT game_id FROM games_of_unindexed_documents WHERE is_new)
-- An id has as many digits as this type, which takes a third of the memory.
GROUP BY CAST(game_id AS UUID)
