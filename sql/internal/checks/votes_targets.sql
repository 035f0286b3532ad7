-- finds: a vote for a seat that the game does not have, or with a judgement that does not follow from that seat's role
-- severity: error
-- by: game
SELECT
    votes.game_id,
    votes.seat,
    votes.target_seat,
    votes.target,
    accused.player AS accused,
    accused.role,
    votes.is_correct,
    votes.is_valid
FROM votes
LEFT JOIN players AS accused
    ON votes.game_id = accused.game_id
    AND votes.target_seat = accused.seat
LEFT JOIN roles
    ON accused.game_type = roles.game_type
    AND accused.role = roles.role
LEFT JOIN eliminations
    ON votes.game_id = eliminations.game_id
    AND votes.target_seat = eliminations.seat
    AND eliminations.round + CAST(NOT eliminations.is_before_vote AS INTEGER) <= votes.round
WHERE (votes.target_seat IS NOT NULL AND votes.target IS DISTINCT FROM accused.player)
    -- `is_correct` and `is_valid` are null if the target of the vote is unknown.
    OR coalesce(votes.is_correct <> coalesce(roles.is_sought, FALSE), votes.target IS NOT NULL)
    OR coalesce(
        votes.is_valid
            <> (coalesce(accused.seat <> votes.seat, FALSE) AND eliminations.seat IS NULL),
        votes.target IS NOT NULL
    )
