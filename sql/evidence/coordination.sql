-- row: one negotiation, compared with the votes that ended it, or with who was agreed on
-- The votes determine the agreed proposal only if their order is known, because it decides a tie.
SELECT
    attempts.*,
    of_final_votes.final_votes || CASE
        WHEN authors.author IS NULL OR of_final_votes.is_in_order THEN ''
        ELSE '; agreed: that of ' || authors.author
    END AS compared_with
FROM attempts
LEFT JOIN shared.final_votes AS of_final_votes
    ON of_final_votes.game_id = attempts.game_id
LEFT JOIN (
    SELECT game_id, min(player) AS author
    FROM results
    WHERE proposed_agreement
    GROUP BY game_id
) AS authors
    ON authors.game_id = attempts.game_id
