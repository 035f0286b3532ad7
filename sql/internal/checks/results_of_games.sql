-- finds: a tested side without exactly one result, or a result of a side that is not tested
-- severity: error
-- by: game
WITH tested_sides AS (
    SELECT
        game_id,
        model,
        role,
        CASE WHEN side = 'none' OR count(*) = 1 THEN min(seat) END AS seat
    FROM players
    WHERE is_tested
    GROUP BY game_id, model, role, side, CASE WHEN side = 'none' THEN seat END
)
SELECT
    coalesce(tested_sides.game_id, results.game_id) AS game_id,
    coalesce(tested_sides.model, results.model) AS model,
    coalesce(tested_sides.role, results.role) AS role,
    coalesce(tested_sides.seat, results.seat) AS seat,
    tested_sides.game_id IS NOT NULL AS is_tested,
    count(results.game_id) AS n_results
FROM tested_sides
FULL JOIN results
    ON tested_sides.game_id = results.game_id
    AND tested_sides.model IS NOT DISTINCT FROM results.model
    AND tested_sides.role = results.role
    AND tested_sides.seat IS NOT DISTINCT FROM results.seat
GROUP BY ALL
HAVING NOT (tested_sides.game_id IS NOT NULL) OR count(results.game_id) <> 1
