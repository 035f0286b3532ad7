-- The rows that an ingest adds to the table `documents`, in the order of the sources: changed documents,
-- and all documents in archives to be recorded, because these rows identify the archive at the next ingest.
WITH duplicated_games AS (
    SELECT game_id FROM resolved WHERE status = 'duplicate'
),
game_locations AS (
    SELECT game_id, source || '/' || path AS location FROM lake_games
    UNION ALL
    SELECT game_id, location FROM resolved WHERE is_chosen
)
SELECT
    CAST(${ingest_id} AS BIGINT) AS ingest_id,
    resolved.source,
    resolved.path,
    resolved.n_bytes,
    resolved.sha256,
    resolved.format,
    resolved.status,
    coalesce(
        CASE WHEN moved.game_id IS NULL THEN 'the same game as ' ELSE 'the game that was in ' END
        || game_locations.location,
        resolved.reason
    ) AS reason,
    resolved.game_id,
    resolved.game_index,
    resolved.assigned_model
FROM resolved
LEFT JOIN (FROM game_locations WHERE game_id IN (FROM duplicated_games)) AS game_locations
    ON resolved.status = 'duplicate' AND resolved.game_id = game_locations.game_id
LEFT JOIN moved ON resolved.game_id = moved.game_id
WHERE resolved.location IN (FROM changed)
    OR resolved.source_order IN (SELECT source_order FROM in_archives_read SEMI JOIN noted USING (number))
ORDER BY resolved.source_order, resolved.location
