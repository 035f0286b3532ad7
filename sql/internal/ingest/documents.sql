-- The rows of the table `documents` that an ingest adds, in the order of the sources: what is not as it was,
-- and all that is in an archive noted, which is known by them when it is seen again.
WITH copied AS (
    SELECT game_id FROM resolved WHERE status = 'duplicate'
),
games_copied AS (
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
        || games_copied.location,
        resolved.reason
    ) AS reason,
    resolved.game_id,
    resolved.game_index,
    resolved.assigned_model
FROM resolved
LEFT JOIN (FROM games_copied WHERE game_id IN (FROM copied)) AS games_copied
    ON resolved.status = 'duplicate' AND resolved.game_id = games_copied.game_id
LEFT JOIN moved ON resolved.game_id = moved.game_id
WHERE resolved.location IN (FROM changed)
    OR resolved.source_order IN (SELECT source_order FROM in_archives_read SEMI JOIN noted USING (number))
ORDER BY resolved.source_order, resolved.location
