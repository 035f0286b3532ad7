-- The games that are removed from the lake: games that a scanned location contained and that no location
-- contains any more; games without an index if the same bytes are added with an index; and the earlier
-- versions of games that were read again.
WITH scanned_games AS (
    SELECT game_id, location FROM documents_with_status WHERE game_id IS NOT NULL
),
previous_games_at_unscanned_locations AS (
    SELECT game_id FROM previous_games_by_location ANTI JOIN scanned_games USING (location)
),
previous_games_at_scanned_locations AS (
    SELECT game_id FROM previous_games_by_location SEMI JOIN scanned_games USING (location)
),
added_games AS (
    SELECT game_id, sha256, game_index, assigned_model
    FROM documents_with_status
    WHERE is_game_added
)
SELECT game_id
FROM previous_games_at_scanned_locations
ANTI JOIN scanned_games USING (game_id)
ANTI JOIN previous_games_at_unscanned_locations USING (game_id)
UNION
SELECT lake_games.game_id
FROM lake_games
INNER JOIN added_games
    ON lake_games.game_index IS NULL
    AND added_games.game_index IS NOT NULL
    AND lake_games.sha256 = added_games.sha256
    AND lake_games.assigned_model IS NOT DISTINCT FROM added_games.assigned_model
UNION
SELECT game_id FROM added_games WHERE game_id IN (FROM games_to_read_again)
