-- order: 1
-- title: votes whose text names another player than the log
-- metric: judgement
-- row: one accusation of a tested player
-- needs: votes
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
    votes.hit AS hit_logged,
    CASE
        WHEN votes.hit IS NULL OR votes.stated_target IS NULL THEN votes.hit
        ELSE CAST(accused.side = 'hidden' AS DOUBLE)
    END AS hit_read
FROM shared.judged_votes AS votes
LEFT JOIN players AS accused
    ON accused.game_id = votes.game_id
    AND accused.player = votes.stated_target
