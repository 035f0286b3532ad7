-- The games that stay in the lake although their location contains another game now, with their new location:
-- the first scanned document with the game, or else a location where the lake recorded it last.
WITH scanned_games AS (
    SELECT location, game_id, source, path, source_order
    FROM documents_with_status
    WHERE game_id IS NOT NULL
),
games_gone_from_location AS (
    SELECT previous_games.location, previous_games.game_id
    FROM previous_games_by_location AS previous_games
    SEMI JOIN scanned_games ON previous_games.location = scanned_games.location
    ANTI JOIN scanned_games AS games_still_there
        ON previous_games.location = games_still_there.location
        AND previous_games.game_id = games_still_there.game_id
    ANTI JOIN superseded_games ON previous_games.game_id = superseded_games.game_id
),
games_at_unscanned_locations AS (
    FROM previous_games_by_location ANTI JOIN scanned_games USING (location)
),
new_locations AS (
    SELECT game_id, source, path, source_order
    FROM scanned_games
    WHERE game_id IN (SELECT game_id FROM games_gone_from_location)
    UNION ALL
    SELECT unscanned_games.game_id, documents.source, documents.path, NULL AS source_order
    FROM games_at_unscanned_locations AS unscanned_games
    INNER JOIN documents ON unscanned_games.location = documents.source || '/' || documents.path
    WHERE unscanned_games.game_id IN (SELECT game_id FROM games_gone_from_location)
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
INNER JOIN games_gone_from_location ON new_locations.game_id = games_gone_from_location.game_id
INNER JOIN lake_games
    ON games_gone_from_location.game_id = lake_games.game_id
    AND games_gone_from_location.location = lake_games.source || '/' || lake_games.path
GROUP BY new_locations.game_id
