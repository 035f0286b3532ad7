-- finds: a document that was last refused, but is missing from quarantine
-- severity: error
-- by: location
WITH last AS (
    SELECT
        source || '/' || path AS location,
        max(ingest_id) AS ingest_id,
        arg_max(status, ingest_id) AS status
    FROM documents
    GROUP BY source || '/' || path
)
SELECT location, ingest_id
FROM last
WHERE status = 'quarantined'
    AND NOT EXISTS (
        FROM quarantine
        WHERE quarantine.source || '/' || quarantine.path = last.location
            AND quarantine.game_id IS NULL
    )
