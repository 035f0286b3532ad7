-- The quarantine rows to be removed, for a whole version of a document or for parts of its game: if the
-- game is removed; if the document is no longer rejected with these bytes at its location; or if an
-- archive, file of lines or folder could not be read and can be read now, in which case only its contents
-- are seen.
WITH rejected_documents AS (
    SELECT before.location, before.sha256
    FROM before
    ANTI JOIN own_faults AS own
        ON before.location = own.location
        AND before.sha256 IS NOT DISTINCT FROM own.sha256
        AND own.game_id IS NULL
    WHERE before.game_id IS NULL
),
unread_containers AS (
    FROM rejected_documents WHERE sha256 IS NULL
),
-- This reads all documents, so it is done only if a container is searched.
opened_containers AS (
    SELECT DISTINCT regexp_extract(location, '(?s).*[/#]') AS location
    FROM resolved
    WHERE EXISTS (FROM unread_containers)
)
SELECT before.location, before.sha256, unnest([TRUE, FALSE]) AS is_whole
FROM before
SEMI JOIN superseded USING (game_id)
UNION
SELECT rejected_documents.location, rejected_documents.sha256, TRUE AS is_whole
FROM rejected_documents
SEMI JOIN resolved USING (location)
UNION
SELECT unread_containers.location, unread_containers.sha256, TRUE AS is_whole
FROM unread_containers
SEMI JOIN opened_containers
    ON starts_with(opened_containers.location, rtrim(unread_containers.location, '/') || '/')
    OR opened_containers.location = unread_containers.location || '#'
