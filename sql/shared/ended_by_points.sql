-- row: one finished Prisoner's Dilemma or Public Good, in which the most points win
-- column: best | the seats that nobody has more points than
-- column: others | the seats with less
-- column: is_whole | whether the points of all seats are known
SELECT
    game_id,
    list(seat) FILTER (WHERE score_rank = 1) AS best,
    list(seat) FILTER (WHERE score_rank > 1) AS others,
    count(*) = count(score_rank) AS is_whole
FROM players
WHERE is_finished
    AND game_type IN ('prisoners_dilemma', 'public_good')
GROUP BY game_id
HAVING count(score_rank) > 0
