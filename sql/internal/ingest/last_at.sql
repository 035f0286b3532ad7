-- The last documents with a game that the lake has for each of ${locations}. An archive can contain several
-- members of one name: the location holds the games of all, and `is_picked` marks the one for comparison.
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
