-- The numbers of the unchanged archives that must be read nevertheless, because one of their documents could
-- not be read before, contains a game that the lake does not have, or was quarantined and the lake does not
-- have its error.
WITH documents_in_archives AS (
    FROM documents_in_unchanged_archives
)
SELECT archive_number FROM documents_in_archives WHERE sha256 IS NULL AND status = 'quarantined'
UNION
SELECT archive_number
FROM documents_in_archives
ANTI JOIN lake_games USING (game_id)
WHERE game_id IS NOT NULL
UNION
SELECT archive_number
FROM (FROM documents_in_archives WHERE status = 'quarantined') AS quarantined_documents
ANTI JOIN (FROM quarantine WHERE game_id IS NULL) AS quarantine_rows
    ON quarantined_documents.source = quarantine_rows.source
    AND quarantined_documents.path = quarantine_rows.path
    AND quarantined_documents.sha256 = quarantine_rows.sha256
