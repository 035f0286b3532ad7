-- metric: reasoning
-- title: Reasoning
-- place: 3
-- edition: audited
-- row: one analysis of the roles by a tested player, of either kind
-- combine: sum
-- term: analyses | 1 | chameleon, undercover
-- range: 0..1
-- source: docs/audit.md: as published, but each analysis as its own text reads
SELECT
    *,
    'analyses' AS term,
    kind AS what,
    CAST(is_correct_as_read AS DOUBLE) AS hit,
    parse_status <> 'outage' AND is_correct_as_read IS NOT NULL AS is_counted
FROM role_analyses
WHERE is_tested
    AND is_finished
