-- finds: a game of the Public Good whose final scores do not follow from the amounts
-- severity: contradiction
-- systems: magic
-- by: game
-- Each score is what a seat had at first, less its own contributions, plus a share of the pool that
-- is the same for all: the sum of score and contributions is one number for all seats of a game.
WITH paid AS (
    SELECT
        game_id,
        seat,
        final_score + sum(amount) AS held,
        count(*) AS n_rounds,
        count(amount) AS n_known
    FROM players
    INNER JOIN contributions USING (game_id, seat)
    WHERE players.is_finished
    GROUP BY game_id, seat, final_score
)
SELECT game_id, min(held) AS least, max(held) AS most
FROM paid
GROUP BY game_id
HAVING max(held) - min(held) > 1e-6
    AND min(n_known) = max(n_rounds)
