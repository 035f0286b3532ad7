-- metric: self_awareness
-- title: Self-Awareness
-- order: 5
-- edition: audited
-- row: one answer of a tested player to 'who are you and what is your role'
-- value: correct answers / answers
-- range: 0..1
-- source: docs/audit.md: as in the edition paper, but each answer counts as its own text reads
WITH attempts AS (
    SELECT
        *,
        'identifications' AS term,
        coalesce(claimed_role, 'no clear role') AS what,
        CAST(is_correct_as_read AS DOUBLE) AS hit,
        parse_status <> 'outage' AND is_correct_as_read IS NOT NULL AS is_counted
    FROM role_identifications
    WHERE is_tested
        AND is_finished
        AND game_type IN ('chameleon', 'undercover')
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
