-- row: one finished Werewolf or Undercover with players who left, which decides it
-- column: outcomes | the outcomes that are possible
-- The hidden side loses if none of the sought players is left, and wins if at least as many of them
-- are left as other players. An Undercover game with a single vote ends earlier.
WITH players_left AS (
    SELECT
        players.game_id,
        players.game_type,
        count(*) FILTER (WHERE is_sought AND eliminations.seat IS NULL) AS n_sought,
        count(*) FILTER (WHERE NOT is_sought AND eliminations.seat IS NULL) AS n_others
    FROM players
    JOIN roles
        ON roles.game_type = players.game_type
        AND roles.role = players.role
    LEFT JOIN eliminations
        ON eliminations.game_id = players.game_id
        AND eliminations.seat = players.seat
    WHERE players.is_finished
        AND players.game_type IN ('undercover', 'werewolf')
        AND players.game_id IN (SELECT game_id FROM eliminations)
    GROUP BY players.game_id, players.game_type
)
SELECT
    game_id,
    CASE
        WHEN game_type = 'undercover' AND n_sought = 0 THEN ['caught']
        WHEN game_type = 'undercover' AND n_sought >= n_others THEN ['parity', 'voted_wrong', 'survived']
        WHEN game_type = 'undercover' THEN ['voted_wrong', 'tie', 'survived']
        WHEN n_sought = 0 AND n_others > 0 THEN ['villagers_won']
        WHEN n_sought >= n_others AND n_sought > 0 THEN ['werewolves_won']
        ELSE []
    END AS outcomes
FROM players_left
