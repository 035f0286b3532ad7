-- Of each of ${locations} the last documents of the lake with a game in them. An archive can have several
-- under one name: the location holds them all, and `is_picked` is the one that others are compared with.
SELECT
    source || '/' || path AS location,
    game_id,
    sha256,
    game_index,
    assigned_model,
    row_number() OVER (
        PARTITION BY source || '/' || path ORDER BY ingest_id DESC, sha256 DESC
    ) = 1 AS is_picked
FROM documents
WHERE game_id IS NOT NULL
    AND source || '/' || path IN (SELECT location FROM ${locations})
QUALIFY rank() OVER (PARTITION BY source || '/' || path ORDER BY ingest_id DESC) = 1
