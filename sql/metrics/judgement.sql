-- metric: judgement
-- title: Judgement
-- order: 2
-- edition: paper
-- row: one vote cast by a tested player of the civilian side
-- value: correct votes / votes
-- range: 0..1
-- source: arXiv 2311.08562, S_J = n_cv / n_v
WITH attempts AS (
    SELECT
        *,
        'votes' AS term,
        CASE WHEN is_correct IS NOT NULL THEN coalesce(target, 'nobody') END AS what,
        CAST(is_correct AS DOUBLE) AS hit,
        -- A vote has no result if the log does not register it and its text is not clear.
        parse_status <> 'outage' AND is_correct IS NOT NULL AS is_counted
    FROM votes
    WHERE is_tested
        AND is_finished
        AND side = 'civilian'
        AND game_type IN (SELECT game_type FROM roles WHERE is_sought)
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
