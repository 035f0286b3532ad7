-- metric: rationality
-- title: Rationality
-- order: 8
-- edition: audited
-- row: one choice in the Prisoner's Dilemma, or one contribution to the Public Good, of a tested player
-- value: betrayals / decisions + least contributions / contributions
-- range: 0..2
-- source: docs/audit.md: as in the edition paper, but where MAgIC's engine read a text that holds
--   thoughts, it counts what the engine would read in the answer alone
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
        CAST(NULL AS DOUBLE) AS least_amount,
        'betrayals' AS term,
        choice_read AS what,
        CAST(choice_read = 'defect' AS DOUBLE) AS hit,
        parse_status <> 'outage' AND choice_read IS NOT NULL AS is_counted
    FROM shared.read_decisions
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
        amount_read AS amount,
        least_amount,
        'least_contributions' AS term,
        CASE WHEN is_least_read THEN 'least' WHEN NOT is_least_read THEN 'not least' END AS what,
        CAST(is_least_read AS DOUBLE) AS hit,
        parse_status <> 'outage' AND is_least_read IS NOT NULL AS is_counted
    FROM shared.read_contributions
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
