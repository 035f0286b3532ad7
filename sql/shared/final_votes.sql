-- row: one game with votes for proposals
-- column: final_votes | whom the votes of the last round named, in the order of their messages
-- column: is_in_order | whether each has a message: a lake knows no order of the others
-- The first vote decides a tie. Votes without a message are last, in the order of the seats.
SELECT
    game_id,
    'final votes: '
        || string_agg(coalesce(candidate, 'nobody'), ', ' ORDER BY message_index NULLS LAST, seat)
        AS final_votes,
    count(message_index) = count(*) AS is_in_order
FROM proposal_votes
WHERE is_final_round
GROUP BY game_id
