-- finds: a player whose rank does not follow from the final scores
-- severity: error
-- by: game
SELECT game_id, seat, final_score, score_rank, derived
FROM (
    SELECT
        *,
        CASE WHEN final_score IS NOT NULL THEN
            rank() OVER (PARTITION BY game_id ORDER BY final_score DESC NULLS LAST)
        END AS derived
    FROM players
) AS ranked
WHERE score_rank IS DISTINCT FROM derived
