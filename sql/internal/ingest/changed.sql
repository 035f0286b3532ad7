-- The locations whose content differs from what the lake last saw there, or that hold a copy of a game
-- which has moved.
WITH last_documents AS (
    SELECT *, source || '/' || path AS location
    FROM documents
    WHERE source || '/' || path IN (SELECT location FROM seen)
    QUALIFY rank() OVER (PARTITION BY source || '/' || path ORDER BY ingest_id DESC) = 1
),
statements AS (
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
        is_now
    FROM (
        SELECT *, FALSE AS is_now FROM last_documents
        UNION ALL BY NAME
        SELECT *, TRUE AS is_now FROM resolved
    )
),
changed_statements AS (
    SELECT * EXCLUDE (is_now) FROM statements GROUP BY ALL HAVING min(is_now) = max(is_now)
),
game_locations AS (
    SELECT game_id, source || '/' || path AS location FROM moved
    UNION ALL
    SELECT game_id, source || '/' || path FROM lake_games ANTI JOIN moved USING (game_id)
)
SELECT location FROM changed_statements
UNION
SELECT location FROM resolved WHERE game_id IS NOT NULL AND status <> 'unchanged'
UNION
SELECT location
FROM last_documents
SEMI JOIN game_locations USING (game_id, location)
WHERE status = 'duplicate'
