-- The games of the lake that a seen location held and that no location holds any more. A game without an
-- index is also superseded if the same bytes come with an index; a game that was read again is replaced.
WITH seen_games AS (
    SELECT game_id, location FROM resolved WHERE game_id IS NOT NULL
),
held_at_unseen_locations AS (
    SELECT game_id FROM held ANTI JOIN seen_games USING (location)
),
held_at_seen_locations AS (
    SELECT game_id FROM held SEMI JOIN seen_games USING (location)
),
games_read AS (
    SELECT game_id, sha256, game_index, assigned_model FROM resolved WHERE is_chosen
)
SELECT game_id
FROM held_at_seen_locations
ANTI JOIN seen_games USING (game_id)
ANTI JOIN held_at_unseen_locations USING (game_id)
UNION
SELECT lake_games.game_id
FROM lake_games
INNER JOIN games_read
    ON lake_games.game_index IS NULL
    AND games_read.game_index IS NOT NULL
    AND lake_games.sha256 = games_read.sha256
    AND lake_games.assigned_model IS NOT DISTINCT FROM games_read.assigned_model
UNION
SELECT game_id FROM games_read WHERE game_id IN (FROM again)
