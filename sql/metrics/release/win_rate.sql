-- metric: win_rate
-- title: Win Rate
-- order: 1
-- edition: release
-- row: the result of one game for one tested side
-- value: the mean over the seven competitions of: win credit / games
-- range: 0..1.03
-- source: metrics_release.py: the first four of seven scores are over 20 games however many there are
WITH attempts AS (
    SELECT
        results.*,
        competition AS term,
        CASE
            WHEN win_credit = 1 THEN 'won'
            WHEN win_credit = 0 THEN 'lost'
            WHEN win_credit > 0 THEN 'shared'
        END AS what,
        -- The published script reads one run, with one file per number. For several runs, its fixed 20
        -- games have no meaning.
        CASE
            WHEN game_type NOT IN ('chameleon', 'undercover')
                OR min(game_id) OVER (PARTITION BY system, model, competition, game_index)
                    = max(game_id) OVER (PARTITION BY system, model, competition, game_index)
                THEN coalesce(win_credit, CAST(0 AS DOUBLE))
        END AS hit,
        TRUE AS is_counted
    FROM results
    CROSS JOIN shared.release_parameters
    WHERE is_tested
        AND game_index < num_of_game
        AND competition IN (
            'chameleon_as_chameleon',
            'chameleon_as_non_chameleon',
            'undercover_as_undercover',
            'undercover_as_civilian',
            'cost_sharing',
            'prisoners_dilemma',
            'public_good'
        )
),
counted AS (
    SELECT
        attempts.*,
        CASE
            WHEN game_type IN ('chameleon', 'undercover') THEN least(num_of_game, 20)
            ELSE count(*) OVER (PARTITION BY system, model, competition)
        END AS n_expected
    FROM attempts
    CROSS JOIN shared.release_parameters
)
SELECT
    system,
    model,
    'all' AS game_type,
    CASE
        WHEN count(hit) < count(*) THEN NULL
        -- The published script stops with an error without a game of one of the other three. Rounding
        -- removes the error of the sums, so that equal models tie.
        WHEN count(DISTINCT CASE
            WHEN game_type NOT IN ('chameleon', 'undercover') THEN competition
        END) = 3 THEN round(sum(hit / n_expected) / 7, 12)
    END AS value,
    CAST(NULL AS DOUBLE) AS hits,
    CAST(NULL AS BIGINT) AS counted,
    count(DISTINCT game_id) AS n_games
FROM counted
GROUP BY system, model
