-- The lake's games that a location seen held and no location holds any more. One without an index is none any
-- more when the same bytes come with an index; one taken out to be read again is replaced.
WITH here AS (
    SELECT game_id, location FROM resolved WHERE game_id IS NOT NULL
),
elsewhere AS (
    SELECT game_id FROM held ANTI JOIN here USING (location)
),
held_here AS (
    SELECT game_id FROM held SEMI JOIN here USING (location)
),
chosen AS (
    SELECT game_id, sha256, game_index, assigned_model FROM resolved WHERE is_chosen
)
SELECT game_id
FROM held_here
ANTI JOIN here USING (game_id)
ANTI JOIN elsewhere USING (game_id)
UNION
SELECT lake_games.game_id
FROM lake_games
INNER JOIN chosen
    ON lake_games.game_index IS NULL
    AND chosen.game_index IS NOT NULL
    AND lake_games.sha256 = chosen.sha256
    AND lake_games.assigned_model IS NOT DISTINCT FROM chosen.assigned_model
UNION
SELECT game_id FROM chosen WHERE game_id IN (FROM again)
