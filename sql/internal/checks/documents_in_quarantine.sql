-- finds: a document that was last refused, but is missing from quarantine
-- severity: error
-- by: place
WITH last AS (
    SELECT
        source || '/' || path AS place,
        max(ingest_id) AS ingest_id,
        arg_max(status, ingest_id) AS status
    FROM documents
    GROUP BY source || '/' || path
)
SELECT place, ingest_id
FROM last
WHERE status = 'quarantined'
    AND NOT EXISTS (
        FROM quarantine
        WHERE quarantine.source || '/' || quarantine.path = last.place
            AND quarantine.game_id IS NULL
    )
