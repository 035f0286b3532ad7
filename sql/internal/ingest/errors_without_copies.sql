-- The errors of this ingest, without the bytes and without the errors of copies, because each game has its
-- errors only once.
SELECT errors.*
FROM reported_errors_without_raw AS errors
SEMI JOIN (
    FROM documents_with_status WHERE is_game_added OR status_alone = 'quarantined'
) AS documents
    ON errors.location = documents.location
    AND errors.sha256 IS NOT DISTINCT FROM documents.sha256
