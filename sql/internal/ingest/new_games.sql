-- One row for each decoded document whose own game the lake does not have.
SELECT
    source_order,
    game_id,
    sha256,
    game_index,
    assigned_model
FROM seen
ANTI JOIN lake_games USING (game_id)
WHERE found = 'game'
