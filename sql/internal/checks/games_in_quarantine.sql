-- finds: a quarantined part whose game is missing from games
-- severity: error
-- by: game
SELECT DISTINCT quarantine.game_id, quarantine.source, quarantine.path
FROM quarantine
LEFT JOIN games USING (game_id)
WHERE quarantine.game_id IS NOT NULL AND games.game_id IS NULL
