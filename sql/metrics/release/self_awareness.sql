-- metric: self_awareness
-- title: Self-Awareness
-- order: 5
-- edition: release
-- row: one answer of a tested player to 'who are you and what is your role'
-- value: correct answers / answers
-- range: 0..1
-- source: metrics_release.py: as published, unfinished games and outages included
WITH attempts AS (
    SELECT
        role_identifications.*,
        'identifications' AS term,
        coalesce(claimed_role, 'no clear role') AS what,
        CAST(is_correct AS DOUBLE) AS hit,
        TRUE AS is_counted
    FROM role_identifications
    CROSS JOIN shared.release_parameters
    WHERE is_tested
        AND game_index < num_of_game
        AND game_type IN ('chameleon', 'undercover')
)
SELECT
    system,
    model,
    'all' AS game_type,
    sum(hit) / count(*) AS value,
    sum(hit) AS hits,
    count(*) AS counted,
    count(DISTINCT game_id) AS n_games
FROM attempts
WHERE is_counted
GROUP BY system, model
