-- row: one negotiation, compared with the votes that ended it
SELECT attempts.*, of_final_votes.final_votes AS compared_with
FROM attempts
LEFT JOIN shared.final_votes AS of_final_votes
    ON of_final_votes.game_id = attempts.game_id
