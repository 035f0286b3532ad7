-- metric: reasoning
-- title: Reasoning
-- order: 3
-- edition: audited
-- row: one analysis of the roles by a tested player, of either kind
-- value: correct analyses / analyses
-- range: 0..1
-- source: docs/audit.md: as in the edition paper, but each analysis counts as its own text reads
WITH attempts AS (
    SELECT
        *,
        'analyses' AS term,
        kind AS what,
        CAST(is_correct_as_read AS DOUBLE) AS hit,
        parse_status <> 'outage' AND is_correct_as_read IS NOT NULL AS is_counted
    FROM role_analyses
    WHERE is_tested
        AND is_finished
        AND game_type IN ('chameleon', 'undercover')
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
