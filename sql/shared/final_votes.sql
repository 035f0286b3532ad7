-- row: one game with votes for proposals
-- column: final_votes | whom the votes of the last round named, in the order of the seats
SELECT
    game_id,
    'final votes: ' || string_agg(coalesce(candidate, 'nobody'), ', ' ORDER BY seat) AS final_votes
FROM proposal_votes
WHERE is_final_round
GROUP BY game_id
