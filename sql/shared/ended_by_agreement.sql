-- row: one finished Cost Sharing whose last votes say whether all agreed
-- column: outcomes | the outcomes that are possible
-- All players agree if their votes name proposals with the same shares. Whether equal shares in a
-- different notation agree depends on the system.
WITH last_shares AS (
    SELECT
        votes.game_id,
        count(candidate_seat) AS n_votes,
        min(candidate_seat) AS first_candidate,
        max(candidate_seat) AS last_candidate,
        count(share) = count(*) AND max(share) - min(share) > 1e-4 AS is_other,
        max(share) - min(share) <= 1e-4 AND max(share_text) IS NOT DISTINCT FROM min(share_text)
            AS is_same
    FROM proposal_votes AS votes
    LEFT JOIN proposals
        ON proposals.game_id = votes.game_id
        AND proposals.round = votes.round
        AND proposals.seat = votes.candidate_seat
    WHERE votes.is_final_round
        AND votes.is_finished
    GROUP BY votes.game_id, proposals.party
),
voted_shares AS (
    SELECT
        game_id,
        max(n_votes) AS n_votes,
        bool_or(is_other) AS is_other,
        min(first_candidate) = max(last_candidate)
            OR (bool_and(is_same) AND min(n_votes) = max(n_votes)) AS is_same
    FROM last_shares
    GROUP BY game_id
)
SELECT
    voted_shares.game_id,
    CASE WHEN is_other THEN ['not_agreed'] ELSE ['agreed'] END AS outcomes
FROM voted_shares
JOIN games
    ON games.game_id = voted_shares.game_id
WHERE is_other
    OR (is_same AND n_votes = n_players)
