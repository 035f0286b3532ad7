-- metric: coordination
-- title: Coordination
-- order: 7
-- edition: paper
-- row: one negotiation of a tested player that ended in agreement
-- value: agreements on the player's own proposal / agreements
-- range: 0..1
-- source: arXiv 2311.08562, S_coord = n_pcs / n_wcs
WITH attempts AS (
    SELECT
        *,
        'own_proposals' AS term,
        CASE
            WHEN proposed_agreement THEN 'own proposal'
            WHEN NOT proposed_agreement THEN 'other proposal'
        END AS what,
        CAST(proposed_agreement AS DOUBLE) AS hit,
        parse_status <> 'outage' AND proposed_agreement IS NOT NULL AS is_counted
    FROM results
    WHERE is_tested
        AND is_finished
        AND game_type = 'cost_sharing'
        AND agreed
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
