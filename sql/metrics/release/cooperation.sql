-- metric: cooperation
-- title: Cooperation
-- order: 6
-- edition: release
-- row: one negotiation of a tested player
-- value: agreements / negotiations
-- range: 0..1
-- source: metrics_release.py: agreements over all games found, unfinished ones included
WITH attempts AS (
    SELECT
        results.*,
        'agreements' AS term,
        CASE WHEN agreed THEN 'agreed' ELSE 'not agreed' END AS what,
        CAST(coalesce(agreed, FALSE) AS DOUBLE) AS hit,
        TRUE AS is_counted
    FROM results
    CROSS JOIN shared.release_parameters
    WHERE is_tested
        AND game_index < num_of_game
        AND game_type = 'cost_sharing'
)
SELECT
    system,
    model,
    coalesce(game_type, 'all') AS game_type,
    sum(hit) / count(*) AS value,
    sum(hit) AS hits,
    count(*) AS counted,
    count(DISTINCT game_id) AS n_games
FROM attempts
WHERE is_counted
GROUP BY GROUPING SETS ((system, model, game_type), (system, model))
