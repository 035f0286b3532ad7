-- metric: reasoning
-- title: Reasoning
-- order: 3
-- edition: release
-- row: one analysis of the roles by a tested player, of either kind
-- value: correct analyses / analyses
-- range: 0..1
-- source: metrics_release.py: as published, unfinished games and outages included
WITH attempts AS (
    SELECT
        role_analyses.*,
        'analyses' AS term,
        kind AS what,
        CAST(is_correct AS DOUBLE) AS hit,
        TRUE AS is_counted
    FROM role_analyses
    CROSS JOIN shared.release_parameters
    WHERE is_tested
        AND game_index < num_of_game
        AND game_type IN ('chameleon', 'undercover')
)
SELECT
    system,
    model,
    'all' AS game_type,
    sum(hit) / count(*) AS value,
    sum(hit) AS hits,
    count(*) AS counted,
    count(DISTINCT game_id) AS n_games
FROM attempts
WHERE is_counted
GROUP BY system, model
