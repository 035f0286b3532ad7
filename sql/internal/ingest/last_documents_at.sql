-- The last document with a game that the lake recorded at each of ${locations}. An archive can contain
-- several members with the same name. Then the location has several rows, and `is_for_comparison` marks the
-- one with which the current document is compared.
SELECT
    source || '/' || path AS location,
    game_id,
    sha256,
    game_index,
    assigned_model,
    row_number() OVER (
        PARTITION BY source || '/' || path ORDER BY ingest_id DESC, sha256 DESC
    ) = 1 AS is_for_comparison
FROM documents
WHERE game_id IS NOT NULL
    AND source || '/' || path IN (SELECT location FROM ${locations})
QUALIFY rank() OVER (PARTITION BY source || '/' || path ORDER BY ingest_id DESC) = 1
