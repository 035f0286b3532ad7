-- The quarantine rows of earlier ingests that this ingest removes. `is_about_whole_document` selects the rows
-- about a whole document or those about parts of its game. Rows are removed if the game is removed, if the
-- document at the location is no longer quarantined with these bytes, or if an archive, file of lines or
-- folder could not be read before and can be read now, because then only its documents are scanned.
WITH documents_without_error AS (
    SELECT previous_rows.location, previous_rows.sha256
    FROM previous_quarantine_rows AS previous_rows
    ANTI JOIN errors_without_copies AS errors
        ON previous_rows.location = errors.location
        AND previous_rows.sha256 IS NOT DISTINCT FROM errors.sha256
        AND errors.game_id IS NULL
    WHERE previous_rows.game_id IS NULL
),
unread_containers AS (
    FROM documents_without_error WHERE sha256 IS NULL
),
-- This reads all documents, so it is done only if there is such a container.
opened_containers AS (
    SELECT DISTINCT regexp_extract(location, '(?s).*[/#]') AS location
    FROM documents_with_status
    WHERE EXISTS (FROM unread_containers)
)
SELECT
    previous_rows.location,
    previous_rows.sha256,
    unnest([TRUE, FALSE]) AS is_about_whole_document
FROM previous_quarantine_rows AS previous_rows
SEMI JOIN superseded_games USING (game_id)
UNION
SELECT location, sha256, TRUE AS is_about_whole_document
FROM documents_without_error
SEMI JOIN documents_with_status USING (location)
UNION
SELECT unread_containers.location, unread_containers.sha256, TRUE AS is_about_whole_document
FROM unread_containers
SEMI JOIN opened_containers
    ON starts_with(opened_containers.location, rtrim(unread_containers.location, '/') || '/')
    OR opened_containers.location = unread_containers.location || '#'
