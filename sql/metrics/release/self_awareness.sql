-- metric: self_awareness
-- title: Self-Awareness
-- place: 5
-- edition: release
-- row: one answer of a tested player to who it is and what its role is
-- combine: sum
-- term: identifications | 1 | chameleon, undercover
-- range: 0..1
-- source: metrics_release.py: as published, unfinished games and outages included
SELECT
    role_identifications.*,
    'identifications' AS term,
    role AS what,
    CAST(is_correct AS DOUBLE) AS hit,
    TRUE AS is_counted
FROM role_identifications
CROSS JOIN release_parameters
WHERE is_tested
    AND game_index < num_of_game
