-- The decoded documents with a game that the lake does not have.
SELECT
    source_order,
    game_id,
    sha256,
    game_index,
    assigned_model
FROM scanned_documents
ANTI JOIN lake_games USING (game_id)
WHERE status_alone = 'game'
