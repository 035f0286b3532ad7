-- finds: a negotiation whose agreed proposal belongs to another player according to the votes
-- severity: error
-- by: game
-- Where several seats have the most votes, the earliest voter's choice decides, so one of them it is.
WITH counted AS (
    SELECT game_id, candidate_seat, count(*) AS n
    FROM proposal_votes
    WHERE is_final_round AND candidate_seat IS NOT NULL
    GROUP BY game_id, candidate_seat
),
authors AS (
    SELECT game_id, list(candidate_seat) AS seats
    FROM (SELECT *, max(n) OVER (PARTITION BY game_id) AS most FROM counted) AS counted
    WHERE n = most
    GROUP BY game_id
)
SELECT results.game_id, results.seat, results.agreed, results.proposed_agreement, authors.seats
FROM results
LEFT JOIN authors USING (game_id)
WHERE results.game_type = 'cost_sharing'
    AND CASE
        WHEN NOT coalesce(results.agreed, FALSE) OR authors.seats IS NULL
            THEN results.proposed_agreement IS NOT NULL
        WHEN NOT list_contains(authors.seats, results.seat) THEN results.proposed_agreement
        WHEN len(authors.seats) = 1 THEN NOT results.proposed_agreement
        ELSE results.proposed_agreement IS NULL
    END
