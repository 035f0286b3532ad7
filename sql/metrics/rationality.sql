-- metric: rationality
-- title: Rationality
-- order: 8
-- edition: paper
-- row: one choice in the Prisoner's Dilemma, or one contribution to the Public Good, of a tested player
-- value: betrayals / decisions + least contributions / contributions
-- range: 0..2
-- source: arXiv 2311.08562, S_R = n_b / (n_pd T_pd) + n_li / (n_pg T_pg)
WITH attempts AS (
    SELECT
        game_id,
        game_type,
        system,
        setting_id,
        game_index,
        is_finished,
        player,
        model,
        role,
        side,
        is_tested,
        competition,
        seat,
        round,
        message_index,
        parse_status,
        text,
        CAST(NULL AS DOUBLE) AS amount,
        'betrayals' AS term,
        choice AS what,
        CAST(choice = 'defect' AS DOUBLE) AS hit,
        parse_status <> 'outage' AS is_counted
    FROM decisions
    WHERE is_tested
        AND is_finished
        AND game_type = 'prisoners_dilemma'
    UNION ALL
    SELECT
        game_id,
        game_type,
        system,
        setting_id,
        game_index,
        is_finished,
        player,
        model,
        role,
        side,
        is_tested,
        competition,
        seat,
        round,
        message_index,
        parse_status,
        text,
        amount,
        'least_contributions' AS term,
        CASE WHEN is_least THEN 'least' WHEN NOT is_least THEN 'not least' END AS what,
        CAST(is_least AS DOUBLE) AS hit,
        -- A round with a missing contribution has no lowest amount.
        parse_status <> 'outage' AND is_least IS NOT NULL AS is_counted
    FROM contributions
    WHERE is_tested
        AND is_finished
        AND game_type = 'public_good'
),
counted AS (
    SELECT
        *,
        system IN (SELECT system FROM shared.played WHERE game_type = 'prisoners_dilemma')
            AND system IN (SELECT system FROM shared.played WHERE game_type = 'public_good')
            AS has_both_games
    FROM attempts
    WHERE is_counted
)
SELECT
    system,
    model,
    coalesce(game_type, 'all') AS game_type,
    CASE
        WHEN game_type IS NOT NULL OR NOT bool_or(has_both_games) THEN avg(hit)
        ELSE avg(hit) FILTER (WHERE term = 'betrayals')
            + avg(hit) FILTER (WHERE term = 'least_contributions')
    END AS value,
    CASE WHEN game_type IS NOT NULL OR NOT bool_or(has_both_games) THEN sum(hit) END AS hits,
    CASE WHEN game_type IS NOT NULL OR NOT bool_or(has_both_games) THEN count(*) END AS counted,
    count(DISTINCT game_id) AS n_games
FROM counted
GROUP BY GROUPING SETS ((system, model, game_type), (system, model))
