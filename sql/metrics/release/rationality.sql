-- metric: rationality
-- title: Rationality
-- order: 8
-- edition: release
-- row: one choice in the Prisoner's Dilemma, or one round of the Public Good, of a tested player
-- value: (betrayals + least contributions) / (decisions + rounds)
-- range: 0..1
-- source: metrics_release.py: one ratio over both games; amounts as its own pattern reads them, rounds
--   as contributions three by three, and the player's own is the one at the position of its seat
WITH amounts AS (
    SELECT
        contributions.*,
        CAST(
            coalesce(nullif(regexp_extract(text, 'contribute ([0-9]+)', 1), ''), '0') AS DOUBLE
        ) AS release_amount,
        row_number() OVER (
            PARTITION BY game_id ORDER BY message_index NULLS LAST, round, seat
        ) - 1 AS position
    FROM contributions
),
threes AS (
    SELECT
        *,
        min(release_amount) OVER (PARTITION BY game_id, floor(position / 3)) AS least_amount,
        count(*) OVER (PARTITION BY game_id, floor(position / 3)) AS n_amounts
    FROM amounts
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
        CAST(NULL AS DOUBLE) AS amount,
        CAST(NULL AS DOUBLE) AS least_amount,
        'betrayals' AS term,
        choice AS what,
        CAST(choice = 'defect' AS DOUBLE) AS hit,
        TRUE AS is_counted
    FROM decisions
    CROSS JOIN shared.release_parameters
    WHERE is_tested
        AND game_index < num_of_game
        AND game_type = 'prisoners_dilemma'
    UNION ALL
    SELECT
        results.game_id,
        results.game_type,
        results.system,
        results.setting_id,
        results.game_index,
        results.is_finished,
        results.player,
        results.model,
        results.role,
        results.side,
        results.is_tested,
        results.competition,
        results.seat,
        threes.round,
        threes.message_index,
        threes.parse_status,
        threes.release_amount AS amount,
        threes.least_amount,
        'least_contributions' AS term,
        CASE WHEN release_amount = least_amount THEN 'least' ELSE 'not least' END AS what,
        CAST(release_amount = least_amount AS DOUBLE) AS hit,
        TRUE AS is_counted
    FROM threes
    JOIN results
        ON results.game_id = threes.game_id AND results.seat = threes.position % 3 + 1
    CROSS JOIN shared.release_parameters
    WHERE results.is_tested
        AND results.game_index < num_of_game
        AND results.game_type = 'public_good'
        AND n_amounts = 3
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
