-- finds: a document whose game is missing from games
-- severity: error
-- by: location
-- The last game seen at a place is what the place holds. The same bytes may be there under another
-- number: a game without one gives way to one with.
WITH held AS (
    SELECT
        source || '/' || path AS location,
        arg_max(struct_pack(game_id, sha256, assigned_model, game_index), ingest_id) AS last
    FROM documents
    WHERE game_id IS NOT NULL
    GROUP BY source || '/' || path
)
SELECT held.location, held.last.game_id AS game_id
FROM held
WHERE NOT EXISTS (
    FROM games
    WHERE games.sha256 = held.last.sha256
        AND games.assigned_model IS NOT DISTINCT FROM held.last.assigned_model
        AND (held.last.game_index IS NULL OR games.game_index = held.last.game_index)
)
