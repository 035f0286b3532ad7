-- finds: rows of a game that is missing from games, or that differ from games
-- severity: error
-- by: game
-- tables: of games
SELECT DISTINCT
    row.game_id,
    games.game_id IS NOT NULL AS is_in_games,
    row.game_type,
    row.system,
    row.setting_id,
    row.game_index,
    row.is_finished
FROM ${table} AS row
LEFT JOIN games USING (game_id)
WHERE games.game_id IS NULL
    OR row.game_type <> games.game_type
    OR row.system <> games.system
    OR row.setting_id <> games.setting_id
    OR row.game_index IS DISTINCT FROM games.game_index
    OR row.is_finished <> games.is_finished
