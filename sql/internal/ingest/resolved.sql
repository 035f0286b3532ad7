-- Every document seen: its game, whether that is read from it, and what became of it. `own_id` is the
-- id of the game that the document itself holds, `is_lost` says that its known game is gone.
WITH placed AS (
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
    placed.* REPLACE (coalesce(placed.format, lake_games.format) AS format),
    placed.found = 'known'
        AND lake_games.game_id IS NULL
        AND (placed.game_index IS NOT NULL OR placed.game_id IS NULL) AS is_lost,
    CASE
        WHEN placed.game_id IS NULL THEN placed.found
        WHEN held.game_id = placed.game_id THEN 'unchanged'
        WHEN NOT placed.is_chosen THEN 'duplicate'
        WHEN held.game_id IS NOT NULL THEN 'replacing'
        ELSE 'ingested'
    END AS status
FROM placed
LEFT JOIN held
    ON placed.game_id IS NOT NULL AND held.is_picked AND placed.location = held.location
LEFT JOIN lake_games ON placed.found = 'known' AND placed.game_id = lake_games.game_id
