-- metric: judgement
-- title: Judgement
-- order: 2
-- edition: release
-- row: one vote cast by a tested player of the civilian side
-- value: correct votes / votes
-- range: 0..1
-- source: metrics_release.py: one ratio, which fails where either competition has no vote
WITH attempts AS (
    SELECT
        votes.*,
        competition AS term,
        CASE WHEN is_correct IS NOT NULL THEN coalesce(target, 'nobody') END AS what,
        CAST(is_correct AS DOUBLE) AS hit,
        is_correct IS NOT NULL AS is_counted
    FROM votes
    CROSS JOIN shared.release_parameters
    WHERE is_tested
        AND game_index < num_of_game
        AND side = 'civilian'
        AND game_type IN ('chameleon', 'undercover')
)
SELECT
    system,
    model,
    'all' AS game_type,
    CASE WHEN count(DISTINCT competition) = 2 THEN sum(hit) / count(*) END AS value,
    sum(hit) AS hits,
    count(*) AS counted,
    count(DISTINCT game_id) AS n_games
FROM attempts
WHERE is_counted
GROUP BY system, model
