-- order: 1
-- title: votes whose text names another player than the log
-- metric: judgement
-- row: one accusation of a tested player
SELECT
    votes.game_id,
    votes.player,
    votes.seat,
    votes.model,
    votes.role,
    votes.round,
    votes.message_index,
    votes.target AS logged,
    votes.stated_target AS says,
    votes.stated_target IS NOT NULL AND votes.stated_target IS DISTINCT FROM votes.target
        AS is_found,
    counted.hit AS hit_logged,
    CASE
        WHEN counted.hit IS NULL OR votes.stated_target IS NULL THEN counted.hit
        ELSE CAST(accused.side = 'hidden' AS DOUBLE)
    END AS hit_read
FROM votes
LEFT JOIN players AS accused
    ON accused.game_id = votes.game_id
    AND accused.player = votes.stated_target
LEFT JOIN attempts.judgement AS counted
    ON counted.is_counted
    AND counted.game_id = votes.game_id
    AND counted.seat = votes.seat
    AND counted.round = votes.round
WHERE votes.is_tested
