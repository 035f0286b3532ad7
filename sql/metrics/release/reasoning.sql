-- metric: reasoning
-- title: Reasoning
-- place: 3
-- edition: release
-- row: one analysis of the roles by a tested player, of either kind
-- combine: sum
-- term: analyses | 1 | chameleon, undercover
-- range: 0..1
-- source: metrics_release.py: as published, unfinished games and outages included
SELECT
    role_analyses.*,
    'analyses' AS term,
    kind AS what,
    CAST(is_correct AS DOUBLE) AS hit,
    TRUE AS is_counted
FROM role_analyses
CROSS JOIN release_parameters
WHERE is_tested
    AND game_index < num_of_game
