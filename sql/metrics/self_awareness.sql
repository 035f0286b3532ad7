-- metric: self_awareness
-- title: Self-Awareness
-- place: 5
-- edition: paper
-- row: one answer of a tested player to who it is and what its role is
-- combine: sum
-- term: identifications | 1 | chameleon, undercover
-- range: 0..1
-- source: arXiv 2311.08562, S_self = n_cr / n_rt
SELECT
    *,
    'identifications' AS term,
    role AS what,
    CAST(is_correct AS DOUBLE) AS hit,
    parse_status <> 'outage' AS is_counted
FROM role_identifications
WHERE is_tested
    AND is_finished
