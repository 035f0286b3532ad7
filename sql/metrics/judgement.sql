-- metric: judgement
-- title: Judgement
-- place: 2
-- edition: paper
-- row: one vote cast by a tested player of the civilian side
-- combine: sum
-- term: votes | 1 | chameleon, undercover
-- range: 0..1
-- source: arXiv 2311.08562, S_J = n_cv / n_v
SELECT
    *,
    'votes' AS term,
    coalesce(target, 'nobody') AS what,
    CAST(is_correct AS DOUBLE) AS hit,
    parse_status <> 'outage' AS is_counted
FROM votes
WHERE is_tested
    AND is_finished
    AND side = 'civilian'
