-- row: one finished Prisoner's Dilemma or Public Good, in which the most points win
-- column: best | the seats that nobody has more points than
-- column: others | the seats with less
-- column: is_whole | whether the points of all seats are known
WITH scores AS (
    SELECT
        game_id,
        seat,
        final_score,
        -- Sums of decimals have rounding errors.
        max(final_score) OVER (PARTITION BY game_id) - final_score < 1e-6 AS is_best
    FROM players
    WHERE is_finished
        AND game_type IN ('prisoners_dilemma', 'public_good')
)
SELECT
    game_id,
    list(seat) FILTER (WHERE is_best) AS best,
    list(seat) FILTER (WHERE NOT is_best) AS others,
    count(*) = count(final_score) AS is_whole
FROM scores
GROUP BY game_id
HAVING count(final_score) > 0
