-- finds: a game whose document is missing from documents
-- severity: error
-- by: game
SELECT game_id, source, path
FROM games
WHERE NOT EXISTS (
    FROM documents
    WHERE documents.game_id = games.game_id
        AND documents.source = games.source
        AND documents.path = games.path
)
