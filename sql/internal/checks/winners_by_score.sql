-- finds: a winner of a points game without the highest score, or a loser with it
-- severity: contradiction
-- systems: magic
-- by: game
SELECT results.game_id, results.seat, players.final_score, players.score_rank, results.is_win
FROM results
INNER JOIN players USING (game_id, seat)
WHERE results.game_type IN ('prisoners_dilemma', 'public_good')
    AND players.score_rank IS NOT NULL
    AND (
        results.is_win <> (players.score_rank = 1)
        OR results.win_credit <> results.is_win::INTEGER
    )
