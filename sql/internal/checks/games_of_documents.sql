-- finds: a document whose game is missing from games
-- severity: error
-- by: location
-- A location holds the last game that was seen there. The lake can have the same bytes under another game
-- index, because a game without an index is replaced by one with an index.
WITH last_games AS (
    SELECT
        source || '/' || path AS location,
        arg_max(struct_pack(game_id, sha256, assigned_model, game_index), ingest_id) AS last
    FROM documents
    WHERE game_id IS NOT NULL
    GROUP BY source || '/' || path
)
SELECT last_games.location, last_games.last.game_id AS game_id
FROM last_games
WHERE NOT EXISTS (
    FROM games
    WHERE games.sha256 = last_games.last.sha256
        AND games.assigned_model IS NOT DISTINCT FROM last_games.last.assigned_model
        AND (last_games.last.game_index IS NULL OR games.game_index = last_games.last.game_index)
)
