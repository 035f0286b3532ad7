-- Other locations that may hold a game that a location seen held, and seems not to hold any more.
WITH replaced AS (
    SELECT last_here.sha256
    FROM last_here
    INNER JOIN seen ON last_here.location = seen.location
    WHERE seen.found IN ('game', 'known') AND seen.game_id <> last_here.game_id
),
of_replaced AS (
    SELECT DISTINCT source || '/' || path AS location
    FROM documents
    WHERE sha256 IN (FROM replaced)
)
FROM of_replaced
ANTI JOIN seen USING (location)
