-- The locations that hold something else than the lake saw there last, or a game that had been a copy there.
WITH last AS (
    SELECT *, source || '/' || path AS location
    FROM documents
    WHERE source || '/' || path IN (SELECT location FROM seen)
    QUALIFY rank() OVER (PARTITION BY source || '/' || path ORDER BY ingest_id DESC) = 1
),
told AS (
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
        SELECT *, FALSE AS is_now FROM last
        UNION ALL BY NAME
        SELECT *, TRUE AS is_now FROM resolved
    )
),
told_once AS (
    SELECT * EXCLUDE (is_now) FROM told GROUP BY ALL HAVING min(is_now) = max(is_now)
),
places AS (
    SELECT game_id, source || '/' || path AS location FROM moved
    UNION ALL
    SELECT game_id, source || '/' || path FROM lake_games ANTI JOIN moved USING (game_id)
)
SELECT location FROM told_once
UNION
SELECT location FROM resolved WHERE game_id IS NOT NULL AND status <> 'unchanged'
UNION
SELECT location FROM last SEMI JOIN places USING (game_id, location) WHERE status = 'duplicate'
