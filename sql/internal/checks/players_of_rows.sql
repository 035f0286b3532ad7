-- finds: a row of a seat that the game does not have, or that differs from players
-- severity: error
-- by: game
-- tables: of players
SELECT DISTINCT
    row.game_id,
    row.seat,
    players.seat IS NOT NULL AS is_in_players,
    row.player,
    row.model,
    row.role,
    row.side,
    row.is_tested,
    row.competition
FROM ${table} AS row
LEFT JOIN players USING (game_id, seat)
WHERE row.seat IS NOT NULL
    AND (
        players.seat IS NULL
        OR row.player IS DISTINCT FROM players.player
        OR row.model IS DISTINCT FROM players.model
        OR row.role IS DISTINCT FROM players.role
        OR row.side IS DISTINCT FROM players.side
        OR row.is_tested <> players.is_tested
        OR row.competition IS DISTINCT FROM players.competition
    )
