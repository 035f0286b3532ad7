-- order: 2
-- title: votes for the voter itself, or for a player who had left the game
-- metric: judgement
-- row: one accusation of a tested player that names somebody
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
    CASE
        WHEN votes.target_seat = votes.seat THEN 'the voter itself'
        WHEN NOT votes.is_valid OR votes.message_index > eliminations.message_index
            THEN 'out since round ' || eliminations.round || ' by ' || eliminations.cause
    END AS says,
    says IS NOT NULL AS is_found,
    votes.hit AS hit_logged,
    CASE WHEN says IS NULL THEN votes.hit END AS hit_read
FROM shared.judged_votes AS votes
LEFT JOIN eliminations
    ON eliminations.game_id = votes.game_id
    AND eliminations.seat = votes.target_seat
    AND eliminations.round <= votes.round
WHERE votes.target_seat IS NOT NULL
