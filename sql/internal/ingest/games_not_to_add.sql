-- The games that each worker decoded, but of which the lake gets no rows from this worker.
SELECT DISTINCT documents.worker, documents.scanned_game_id AS game_id
FROM documents_with_status AS documents
ANTI JOIN (
    SELECT worker, game_id FROM documents_with_status WHERE is_game_added
) AS added_games
    ON documents.worker = added_games.worker AND documents.scanned_game_id = added_games.game_id
WHERE documents.status_alone = 'game' AND NOT documents.is_game_added
