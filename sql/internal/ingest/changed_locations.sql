-- The locations whose document differs from the one that the lake recorded there last, or whose document is a
-- copy of a game that has been relocated.
WITH last_documents AS (
    SELECT *, source || '/' || path AS location
    FROM documents
    WHERE source || '/' || path IN (SELECT location FROM scanned_documents)
    QUALIFY rank() OVER (PARTITION BY source || '/' || path ORDER BY ingest_id DESC) = 1
),
previous_and_current_rows AS (
    SELECT
        location,
        n_bytes,
        sha256,
        format,
        game_id,
        game_index,
        assigned_model,
        CASE WHEN game_id IS NULL THEN status END AS status,
        CASE WHEN game_id IS NULL THEN reason END AS reason,
        is_current
    FROM (
        SELECT *, FALSE AS is_current FROM last_documents
        UNION ALL BY NAME
        SELECT *, TRUE AS is_current FROM documents_with_status
    )
),
changed_rows AS (
    SELECT * EXCLUDE (is_current)
    FROM previous_and_current_rows
    GROUP BY ALL
    HAVING min(is_current) = max(is_current)
),
game_locations AS (
    SELECT game_id, source || '/' || path AS location FROM relocated_games
    UNION ALL
    SELECT game_id, source || '/' || path FROM lake_games ANTI JOIN relocated_games USING (game_id)
)
SELECT location FROM changed_rows
UNION
SELECT location FROM documents_with_status WHERE game_id IS NOT NULL AND status <> 'unchanged'
UNION
SELECT location
FROM last_documents
SEMI JOIN game_locations USING (game_id, location)
WHERE status = 'duplicate'
