-- metric: coordination
-- title: Coordination
-- place: 7
-- edition: paper
-- row: one negotiation of a tested player that ended in agreement
-- combine: sum
-- term: own_proposals | 1 | cost_sharing
-- range: 0..1
-- source: arXiv 2311.08562, S_coord = n_pcs / n_wcs
SELECT
    *,
    'own_proposals' AS term,
    CASE WHEN proposed_agreement THEN 'own proposal' ELSE 'other proposal' END AS what,
    CAST(proposed_agreement AS DOUBLE) AS hit,
    parse_status <> 'outage' AND proposed_agreement IS NOT NULL AS is_counted
FROM results
WHERE is_tested
    AND is_finished
    AND game_type = 'cost_sharing'
    AND agreed
