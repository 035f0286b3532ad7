-- The games that each location holds according to its last bytes. A game that has to be read again is not
-- picked for comparison, but the location holds it until it has other bytes.
SELECT
    last_seen.location,
    coalesce(same.game_id, lowest.game_id) AS game_id,
    last_seen.is_picked
FROM last_seen
LEFT JOIN lake_games AS same
    ON last_seen.game_index IS NOT NULL AND last_seen.game_id = same.game_id
LEFT JOIN unindexed AS lowest
    ON last_seen.game_index IS NULL
    AND NOT lowest.is_new
    AND last_seen.sha256 = lowest.sha256
    AND last_seen.assigned_model IS NOT DISTINCT FROM lowest.assigned_model
WHERE coalesce(same.game_id, lowest.game_id) IS NOT NULL
UNION ALL
SELECT location, game_id, FALSE AS is_picked
FROM last_seen
SEMI JOIN again USING (game_id)
