-- metric: cooperation
-- title: Cooperation
-- order: 6
-- edition: paper
-- row: one finished negotiation of a tested player
-- value: agreements / negotiations
-- range: 0..1
-- source: arXiv 2311.08562, S_collab = n_wcs / n_cs
WITH attempts AS (
    SELECT
        *,
        'agreements' AS term,
        CASE WHEN agreed THEN 'agreed' WHEN NOT agreed THEN 'not agreed' END AS what,
        CAST(agreed AS DOUBLE) AS hit,
        parse_status <> 'outage' AND agreed IS NOT NULL AS is_counted
    FROM results
    WHERE is_tested
        AND is_finished
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
