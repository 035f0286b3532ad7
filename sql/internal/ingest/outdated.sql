-- What leaves the quarantine, the rows about the whole of a version of a document or those about parts of
-- its game: its game is taken out; or all of it was
-- refused and their location was seen without it; or they are an archive, a file of lines or a folder
-- that could not be read, and could be now: of such only what is in it is seen.
WITH refused AS (
    SELECT before.location, before.sha256
    FROM before
    ANTI JOIN own_faults AS own
        ON before.location = own.location
        AND before.sha256 IS NOT DISTINCT FROM own.sha256
        AND own.game_id IS NULL
    WHERE before.game_id IS NULL
),
unread AS (
    FROM refused WHERE sha256 IS NULL
),
-- Of all documents, so only where there is something to look for.
opened AS (
    SELECT DISTINCT regexp_extract(location, '(?s).*[/#]') AS location
    FROM resolved
    WHERE EXISTS (FROM unread)
)
SELECT before.location, before.sha256, unnest([TRUE, FALSE]) AS is_whole
FROM before
SEMI JOIN superseded USING (game_id)
UNION
SELECT refused.location, refused.sha256, TRUE AS is_whole
FROM refused
SEMI JOIN resolved USING (location)
UNION
SELECT unread.location, unread.sha256, TRUE AS is_whole
FROM unread
SEMI JOIN opened
    ON starts_with(opened.location, rtrim(unread.location, '/') || '/')
    OR opened.location = unread.location || '#'
