-- finds: a vote for the proposal of a seat that the game does not have, or that has another name
-- severity: error
-- by: game
SELECT votes.game_id, votes.seat, votes.round, votes.candidate_seat, votes.candidate, players.player
FROM proposal_votes AS votes
LEFT JOIN players
    ON votes.game_id = players.game_id
    AND votes.candidate_seat = players.seat
WHERE votes.candidate_seat IS NOT NULL
    AND votes.candidate IS DISTINCT FROM players.player
