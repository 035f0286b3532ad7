-- metric: cooperation
-- title: Cooperation
-- place: 6
-- edition: release
-- row: one negotiation of a tested player
-- combine: sum
-- term: agreements | 1 | cost_sharing
-- range: 0..1
-- source: metrics_release.py: agreements over all games found, those cut off included
SELECT
    results.*,
    'agreements' AS term,
    CASE WHEN agreed THEN 'agreed' ELSE 'not agreed' END AS what,
    CAST(coalesce(agreed, FALSE) AS DOUBLE) AS hit,
    TRUE AS is_counted
FROM results
CROSS JOIN release_parameters
WHERE is_tested
    AND game_index < num_of_game
    AND game_type = 'cost_sharing'
