-- The games that stay although the location where each was found holds another now, and where they are: in
-- a document seen, the first of several, else where the lake saw it last.
WITH here AS (
    SELECT location, game_id, source, path, source_order FROM resolved WHERE game_id IS NOT NULL
),
left_behind AS (
    SELECT held.location, held.game_id
    FROM held
    SEMI JOIN here ON held.location = here.location
    ANTI JOIN here AS same ON held.location = same.location AND held.game_id = same.game_id
    ANTI JOIN superseded ON held.game_id = superseded.game_id
),
places AS (
    SELECT game_id, source, path, source_order
    FROM here
    WHERE game_id IN (SELECT game_id FROM left_behind)
    UNION ALL
    SELECT elsewhere.game_id, documents.source, documents.path, NULL AS source_order
    FROM (FROM held ANTI JOIN here USING (location)) AS elsewhere
    INNER JOIN documents ON elsewhere.location = documents.source || '/' || documents.path
    WHERE elsewhere.game_id IN (SELECT game_id FROM left_behind)
)
SELECT
    places.game_id,
    first(places.source ORDER BY source_order NULLS LAST, places.source, places.path) AS source,
    first(places.path ORDER BY source_order NULLS LAST, places.source, places.path) AS path
FROM places
INNER JOIN left_behind ON places.game_id = left_behind.game_id
INNER JOIN lake_games
    ON left_behind.game_id = lake_games.game_id
    AND left_behind.location = lake_games.source || '/' || lake_games.path
GROUP BY places.game_id
