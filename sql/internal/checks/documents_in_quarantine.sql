-- finds: a document that was last refused, but is missing from quarantine
-- severity: error
-- by: location
WITH last_documents AS (
    SELECT
        source || '/' || path AS location,
        max(ingest_id) AS ingest_id,
        arg_max(status, ingest_id) AS status,
        arg_max(sha256 IS NULL, ingest_id) AS is_unread
    FROM documents
    GROUP BY source || '/' || path
),
missing_documents AS (
    SELECT location, ingest_id, is_unread
    FROM last_documents
    WHERE status = 'quarantined'
        AND NOT EXISTS (
            FROM quarantine
            WHERE quarantine.source || '/' || quarantine.path = last_documents.location
                AND quarantine.game_id IS NULL
        )
)
-- An archive that could not be opened and could be opened later has no later row itself; the documents
-- inside it have.
SELECT location, ingest_id
FROM missing_documents
WHERE NOT is_unread OR NOT EXISTS (
    FROM last_documents AS inside
    WHERE inside.ingest_id > missing_documents.ingest_id
        AND (
            starts_with(inside.location, rtrim(missing_documents.location, '/') || '/')
            OR starts_with(inside.location, missing_documents.location || '#')
        )
)
