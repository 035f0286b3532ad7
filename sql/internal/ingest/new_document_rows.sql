-- The rows that this ingest adds to the table `documents`, in the order of the sources: the changed
-- documents, and all documents in the archives to record, because their rows identify the archive at the
-- next ingest.
WITH duplicated_games AS (
    SELECT game_id FROM documents_with_status WHERE status = 'duplicate'
),
game_locations AS (
    SELECT game_id, source || '/' || path AS location FROM lake_games
    UNION ALL
    SELECT game_id, location FROM documents_with_status WHERE is_game_added
)
SELECT
    CAST(${ingest_id} AS BIGINT) AS ingest_id,
    current_documents.source,
    current_documents.path,
    current_documents.n_bytes,
    current_documents.sha256,
    current_documents.format,
    current_documents.status,
    coalesce(
        CASE WHEN relocated_games.game_id IS NULL THEN 'the same game as ' ELSE 'the game that was in ' END
        || game_locations.location,
        current_documents.reason
    ) AS reason,
    current_documents.game_id,
    current_documents.game_index,
    current_documents.assigned_model
FROM documents_with_status AS current_documents
LEFT JOIN (FROM game_locations WHERE game_id IN (FROM duplicated_games)) AS game_locations
    ON current_documents.status = 'duplicate' AND current_documents.game_id = game_locations.game_id
LEFT JOIN relocated_games ON current_documents.game_id = relocated_games.game_id
WHERE current_documents.location IN (FROM changed_locations)
    OR current_documents.source_order IN (
        SELECT source_order
        FROM documents_in_read_archives
        SEMI JOIN archives_to_record USING (archive_number)
    )
ORDER BY current_documents.source_order, current_documents.location
