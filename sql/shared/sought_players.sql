-- row: one game with players that a vote is right to name
-- column: sought_players | these players in the order of their seats, each with its role
SELECT game_id, string_agg(named, ', ' ORDER BY seat) AS sought_players
FROM (
    SELECT
        players.game_id,
        players.seat,
        coalesce(players.player, 'seat ' || players.seat)
            || ' (' || replace(players.role, '_', ' ') || ')' AS named
    FROM players
    JOIN roles
        ON roles.game_type = players.game_type
        AND roles.role = players.role
    WHERE roles.is_sought
) AS sought
GROUP BY game_id
