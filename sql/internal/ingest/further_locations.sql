-- Other locations that may hold a game which a location held before and does not seem to hold any more.
WITH replaced_bytes AS (
    SELECT last_here.sha256
    FROM last_here
    INNER JOIN seen ON last_here.location = seen.location
    WHERE seen.found IN ('game', 'known') AND seen.game_id <> last_here.game_id
),
locations_with_same_bytes AS (
    SELECT DISTINCT source || '/' || path AS location
    FROM documents
    WHERE sha256 IN (FROM replaced_bytes)
)
FROM locations_with_same_bytes
ANTI JOIN seen USING (location)
