-- finds: a player whose side or competition is not that of its role in the game
-- severity: error
-- by: game
SELECT players.game_id, seat, game_type, role, players.side, is_tested, players.competition
FROM players
LEFT JOIN roles USING (game_type, role)
WHERE players.side IS DISTINCT FROM roles.side
    OR players.competition IS DISTINCT FROM CASE WHEN is_tested THEN roles.competition END
