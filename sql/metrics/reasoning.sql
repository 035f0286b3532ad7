-- metric: reasoning
-- title: Reasoning
-- place: 3
-- edition: paper
-- row: one analysis of the roles by a tested player, of either kind
-- combine: sum
-- term: analyses | 1 | chameleon, undercover
-- range: 0..1
-- source: arXiv 2311.08562, S_R = (n_c_gold + n_c_inter) / (n_gold + n_inter)
SELECT
    *,
    'analyses' AS term,
    kind AS what,
    CAST(is_correct AS DOUBLE) AS hit,
    parse_status <> 'outage' AS is_counted
FROM role_analyses
WHERE is_tested
    AND is_finished
