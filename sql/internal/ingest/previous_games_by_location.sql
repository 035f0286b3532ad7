-- The games that each location contained before this ingest, according to the last documents there. A game to
-- read again is not compared with the current document, but the location contains it until its bytes change.
SELECT
    documents.location,
    coalesce(lake_games.game_id, games_of_bytes.game_id) AS game_id,
    documents.is_for_comparison
FROM last_documents_with_game AS documents
LEFT JOIN lake_games
    ON documents.game_index IS NOT NULL AND documents.game_id = lake_games.game_id
LEFT JOIN games_of_unindexed_documents AS games_of_bytes
    ON documents.game_index IS NULL
    AND NOT games_of_bytes.is_new
    AND documents.sha256 = games_of_bytes.sha256
    AND documents.assigned_model IS NOT DISTINCT FROM games_of_bytes.assigned_model
WHERE coalesce(lake_games.game_id, games_of_bytes.game_id) IS NOT NULL
UNION ALL
SELECT location, game_id, FALSE AS is_for_comparison
FROM last_documents_with_game
SEMI JOIN games_to_read_again USING (game_id)
