-- finds: a finished game without an outcome, or an unfinished game with an outcome or a winner
-- severity: error
-- by: game
SELECT game_id, is_finished, outcome, is_win, win_credit
FROM games
-- A game without a tested player has no result.
LEFT JOIN (SELECT game_id, is_win, win_credit, TRUE AS has_result FROM results) AS results
    USING (game_id)
WHERE is_finished <> (outcome IS NOT NULL)
    OR (NOT is_finished AND (is_win IS NOT NULL OR win_credit IS NOT NULL))
    OR (is_finished AND has_result AND (is_win IS NULL OR win_credit IS NULL))
