-- finds: a negotiation whose agreed proposal belongs to another player according to the votes
-- severity: error
-- by: game
-- If several seats have the most votes, the choice of the earliest voter decides, so it is one of them.
WITH votes_by_candidate AS (
    SELECT game_id, candidate_seat, count(*) AS n
    FROM proposal_votes
    WHERE is_final_round AND candidate_seat IS NOT NULL
    GROUP BY game_id, candidate_seat
),
top_candidates AS (
    SELECT game_id, list(candidate_seat) AS seats
    FROM (SELECT *, max(n) OVER (PARTITION BY game_id) AS most FROM votes_by_candidate) AS votes_by_candidate
    WHERE n = most
    GROUP BY game_id
)
SELECT results.game_id, results.seat, results.agreed, results.proposed_agreement, top_candidates.seats
FROM results
LEFT JOIN top_candidates USING (game_id)
WHERE results.game_type = 'cost_sharing'
    AND CASE
        WHEN NOT coalesce(results.agreed, FALSE) OR top_candidates.seats IS NULL
            THEN results.proposed_agreement IS NOT NULL
        WHEN NOT list_contains(top_candidates.seats, results.seat) THEN results.proposed_agreement
        WHEN len(top_candidates.seats) = 1 THEN NOT results.proposed_agreement
        ELSE results.proposed_agreement IS NULL
    END
