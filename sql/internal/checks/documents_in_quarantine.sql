-- finds: a document that was last refused, but is missing from quarantine
-- severity: error
-- by: location
WITH last AS (
    SELECT
        source || '/' || path AS location,
        max(ingest_id) AS ingest_id,
        arg_max(status, ingest_id) AS status,
        arg_max(sha256 IS NULL, ingest_id) AS is_unread
    FROM documents
    GROUP BY source || '/' || path
),
lacking AS (
    SELECT location, ingest_id, is_unread
    FROM last
    WHERE status = 'quarantined'
        AND NOT EXISTS (
            FROM quarantine
            WHERE quarantine.source || '/' || quarantine.path = last.location
                AND quarantine.game_id IS NULL
        )
)
-- What could not be opened, and could be later, is not seen itself any more: what is in it is.
SELECT location, ingest_id
FROM lacking
WHERE NOT is_unread OR NOT EXISTS (
    FROM last AS inside
    WHERE inside.ingest_id > lacking.ingest_id
        AND (
            starts_with(inside.location, rtrim(lacking.location, '/') || '/')
            OR starts_with(inside.location, lacking.location || '#')
        )
)
