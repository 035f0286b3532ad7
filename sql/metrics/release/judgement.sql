-- metric: judgement
-- title: Judgement
-- place: 2
-- edition: release
-- row: one vote cast by a tested player of the civilian side
-- combine: pooled over all
-- term: chameleon_as_non_chameleon | 1 | chameleon
-- term: undercover_as_civilian | 1 | undercover
-- range: 0..1
-- source: metrics_release.py: one ratio, which fails where either competition has no vote
SELECT
    votes.*,
    competition AS term,
    coalesce(target, 'nobody') AS what,
    CAST(is_correct AS DOUBLE) AS hit,
    TRUE AS is_counted
FROM votes
CROSS JOIN release_parameters
WHERE is_tested
    AND game_index < num_of_game
    AND side = 'civilian'
