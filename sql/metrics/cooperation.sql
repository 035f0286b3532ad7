-- metric: cooperation
-- title: Cooperation
-- place: 6
-- edition: paper
-- row: one finished negotiation of a tested player
-- combine: sum
-- term: agreements | 1 | cost_sharing
-- range: 0..1
-- source: arXiv 2311.08562, S_collab = n_wcs / n_cs
SELECT
    *,
    'agreements' AS term,
    CASE WHEN agreed THEN 'agreed' ELSE 'not agreed' END AS what,
    CAST(agreed AS DOUBLE) AS hit,
    parse_status <> 'outage' AND agreed IS NOT NULL AS is_counted
FROM results
WHERE is_tested
    AND is_finished
    AND game_type = 'cost_sharing'
