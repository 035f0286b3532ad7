-- row: one game with players that a vote is right to name
-- column: sought_players | these players in the order of their seats, each with its role
SELECT
    players.game_id,
    string_agg(
        coalesce(players.player, 'seat ' || players.seat)
        || ' (' || replace(players.role, '_', ' ') || ')',
        ', ' ORDER BY players.seat
    ) AS sought_players
FROM players
JOIN roles
    ON roles.game_type = players.game_type
    AND roles.role = players.role
WHERE roles.is_sought
GROUP BY players.game_id
