-- finds: a game with hidden roles whose votes point to another seat than the one voted out
-- severity: contradiction
-- systems: magic, chatarena
-- by: game
-- Games in which a vote names nobody are left out: what the engine made of that is not in the log.
WITH counted AS (
    SELECT game_id, target_seat, count(*) AS n
    FROM votes
    GROUP BY game_id, target_seat
),
accused AS (
    SELECT
        game_id,
        arg_max(target_seat, n) AS seat,
        count(*) FILTER (WHERE n = most) > 1 AS is_tie,
        sum(n) AS n_votes
    FROM (SELECT *, max(n) OVER (PARTITION BY game_id) AS most FROM counted) AS counted
    GROUP BY game_id
    HAVING count(*) FILTER (WHERE target_seat IS NULL) = 0
)
SELECT
    game_id,
    games.outcome,
    CASE WHEN is_tie THEN NULL ELSE players.player END AS voted_out,
    CASE WHEN is_tie THEN NULL ELSE players.side END AS side
FROM games
INNER JOIN accused USING (game_id)
LEFT JOIN players USING (game_id, seat)
WHERE games.outcome IS NOT NULL
    AND n_votes = n_players
    AND CASE
        WHEN is_tie THEN games.outcome <> 'tie'
        WHEN players.side = 'hidden'
            THEN games.outcome NOT IN ('caught', 'guessed_wrong', 'guessed_right')
        ELSE games.outcome <> 'voted_wrong'
    END
