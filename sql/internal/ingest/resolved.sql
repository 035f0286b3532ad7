-- Every document that was seen: its game, whether the game is read from it, and its status. `own_id` is the
-- id of the game that the document itself holds; `is_lost` says that the lake has lost a game it knew.
WITH documents_with_game AS (
    SELECT
        seen.* RENAME (game_id AS own_id),
        seen.found = 'game' AND copies.source_order IS NULL AS is_chosen,
        CASE
            WHEN seen.found NOT IN ('game', 'known') THEN NULL
            WHEN seen.game_index IS NULL THEN lowest.game_id
            ELSE seen.game_id
        END AS game_id
    FROM seen
    LEFT JOIN copies ON seen.found = 'game' AND seen.source_order = copies.source_order
    LEFT JOIN unindexed AS lowest
        ON seen.game_index IS NULL
        AND seen.sha256 = lowest.sha256
        AND seen.assigned_model IS NOT DISTINCT FROM lowest.assigned_model
)
SELECT
    documents_with_game.* REPLACE (coalesce(documents_with_game.format, lake_games.format) AS format),
    documents_with_game.found = 'known'
        AND lake_games.game_id IS NULL
        AND (documents_with_game.game_index IS NOT NULL OR documents_with_game.game_id IS NULL) AS is_lost,
    CASE
        WHEN documents_with_game.game_id IS NULL THEN documents_with_game.found
        WHEN held.game_id = documents_with_game.game_id THEN 'unchanged'
        WHEN NOT documents_with_game.is_chosen THEN 'duplicate'
        WHEN held.game_id IS NOT NULL THEN 'replacing'
        ELSE 'ingested'
    END AS status
FROM documents_with_game
LEFT JOIN held
    ON documents_with_game.game_id IS NOT NULL
    AND held.is_picked
    AND documents_with_game.location = held.location
LEFT JOIN lake_games
    ON documents_with_game.found = 'known' AND documents_with_game.game_id = lake_games.game_id
