-- metric: self_awareness
-- title: Self-Awareness
-- place: 5
-- edition: audited
-- row: one answer of a tested player to who it is and what its role is
-- combine: sum
-- term: identifications | 1 | chameleon, undercover
-- range: 0..1
-- source: docs/audit.md: as published, but each answer as its own text reads
SELECT
    *,
    'identifications' AS term,
    role AS what,
    CAST(is_correct_as_read AS DOUBLE) AS hit,
    parse_status <> 'outage' AND is_correct_as_read IS NOT NULL AS is_counted
FROM role_identifications
WHERE is_tested
    AND is_finished
