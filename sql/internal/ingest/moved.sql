-- The games that stay in the lake although their location holds another game now, and their new location:
-- the first document that was seen with the game, otherwise the location where the lake saw it last.
WITH seen_games AS (
    SELECT location, game_id, source, path, source_order FROM resolved WHERE game_id IS NOT NULL
),
relocated_games AS (
    SELECT held.location, held.game_id
    FROM held
    SEMI JOIN seen_games ON held.location = seen_games.location
    ANTI JOIN seen_games AS still_held
        ON held.location = still_held.location AND held.game_id = still_held.game_id
    ANTI JOIN superseded ON held.game_id = superseded.game_id
),
new_locations AS (
    SELECT game_id, source, path, source_order
    FROM seen_games
    WHERE game_id IN (SELECT game_id FROM relocated_games)
    UNION ALL
    SELECT held_at_unseen_locations.game_id, documents.source, documents.path, NULL AS source_order
    FROM (FROM held ANTI JOIN seen_games USING (location)) AS held_at_unseen_locations
    INNER JOIN documents ON held_at_unseen_locations.location = documents.source || '/' || documents.path
    WHERE held_at_unseen_locations.game_id IN (SELECT game_id FROM relocated_games)
)
SELECT
    new_locations.game_id,
    first(
        new_locations.source
        ORDER BY source_order NULLS LAST, new_locations.source, new_locations.path
    ) AS source,
    first(
        new_locations.path
        ORDER BY source_order NULLS LAST, new_locations.source, new_locations.path
    ) AS path
FROM new_locations
INNER JOIN relocated_games ON new_locations.game_id = relocated_games.game_id
INNER JOIN lake_games
    ON relocated_games.game_id = lake_games.game_id
    AND relocated_games.location = lake_games.source || '/' || lake_games.path
GROUP BY new_locations.game_id
