-- Of each of ${places} the last document of the lake with a game in it. An archive can have two under
-- one name, of which it does not matter which is taken, but that it is always the same.
SELECT
    source || '/' || path AS location,
    game_id,
    sha256,
    game_index,
    assigned_model
FROM documents
WHERE game_id IS NOT NULL
    AND source || '/' || path IN (SELECT location FROM ${places})
QUALIFY row_number() OVER (
    PARTITION BY source || '/' || path ORDER BY ingest_id DESC, sha256 DESC
) = 1
