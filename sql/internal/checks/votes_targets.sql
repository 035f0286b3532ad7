-- finds: a vote for a seat that the game does not have, or with a judgement that does not follow from that seat's role
-- severity: error
-- by: game
SELECT
    votes.game_id,
    votes.seat,
    votes.target_seat,
    votes.target,
    accused.player AS accused,
    accused.side,
    votes.is_correct,
    votes.is_valid
FROM votes
LEFT JOIN players AS accused
    ON votes.game_id = accused.game_id
    AND votes.target_seat = accused.seat
WHERE (votes.target_seat IS NOT NULL AND votes.target IS DISTINCT FROM accused.player)
    OR votes.is_correct <> (coalesce(accused.side, '') = 'hidden')
    OR votes.is_valid <> coalesce(accused.seat <> votes.seat, FALSE)
