-- metric: rationality
-- title: Rationality
-- order: 8
-- edition: audited
-- row: one choice in the Prisoner's Dilemma, or one contribution to the Public Good, of a tested player
-- value: betrayals / decisions + least contributions / contributions
-- range: 0..2
-- source: docs/audit.md: as in the edition paper, but where MAgIC's engine read a text that holds
--   thoughts, it counts what the engine would read in the answer alone
WITH answers AS (
    SELECT game_id, message_index, answer
    FROM shared.answers
    WHERE has_thoughts
        AND phase IN ('decision', 'contribution')
),
choices AS (
    SELECT
        decisions.*,
        CASE
            WHEN answers.answer IS NULL OR decisions.system NOT IN ('magic', 'chatarena') THEN choice
            WHEN contains(lower(answers.answer), 'cooperate') THEN 'cooperate'
            WHEN regexp_matches(answers.answer, '\S') THEN 'defect'
        END AS choice_read
    FROM decisions
    LEFT JOIN answers
        ON answers.game_id = decisions.game_id
        AND answers.message_index = decisions.message_index
),
amounts AS (
    SELECT
        contributions.*,
        games.n_players,
        answers.answer IS NOT NULL AND contributions.system IN ('magic', 'chatarena') AS is_read,
        CASE
            WHEN answers.answer IS NULL OR contributions.system NOT IN ('magic', 'chatarena')
                THEN amount
            WHEN games.format_version = 'pgm'
                THEN CAST(
                    nullif(regexp_extract(answers.answer, 'I contribute ([0-9]+)', 1), '') AS DOUBLE
                )
            ELSE CAST(nullif(regexp_extract(answers.answer, '\b([0-9]+)\b', 1), '') AS DOUBLE)
        END AS amount_read
    FROM contributions
    JOIN games
        ON games.game_id = contributions.game_id
    LEFT JOIN answers
        ON answers.game_id = contributions.game_id
        AND answers.message_index = contributions.message_index
),
rounds AS (
    SELECT
        game_id,
        round,
        bool_or(is_read) AS is_read,
        min(amount_read) AS least_amount,
        count(amount_read) = max(n_players) AS is_whole
    FROM amounts
    GROUP BY game_id, round
),
pools AS (
    SELECT
        amounts.*,
        rounds.least_amount,
        CASE
            WHEN NOT rounds.is_read THEN is_least
            -- A round with a contribution missing has no least.
            WHEN rounds.is_whole THEN amount_read = rounds.least_amount
        END AS is_least_read
    FROM amounts
    JOIN rounds
        ON rounds.game_id = amounts.game_id
        AND rounds.round = amounts.round
),
attempts AS (
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
    FROM choices
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
    FROM pools
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
