-- metric: win_rate
-- title: Win Rate
-- order: 1
-- edition: paper
-- row: the result of one finished game for one tested side
-- value: the mean over competitions of: win credit / results
-- range: 0..1
-- source: arXiv 2311.08562, Win Rate: the mean over competitions of the wins in each
WITH attempts AS (
    SELECT
        *,
        competition AS term,
        CASE
            WHEN win_credit = 1 THEN 'won'
            WHEN win_credit = 0 THEN 'lost'
            WHEN win_credit > 0 THEN 'shared'
        END AS what,
        win_credit AS hit,
        parse_status <> 'outage' AND win_credit IS NOT NULL AS is_counted
    FROM results
    WHERE is_tested
        AND is_finished
),
counted AS (
    SELECT
        *,
        -- The weight of the row in the ratio of its competition.
        hit / count(*) OVER (PARTITION BY system, model, competition) AS share
    FROM attempts
    WHERE is_counted
)
SELECT
    system,
    model,
    coalesce(game_type, 'all') AS game_type,
    -- Rounding removes the error of the sums, so that equal models tie.
    round(sum(share) / count(DISTINCT competition), 12) AS value,
    CASE WHEN count(DISTINCT competition) = 1 THEN sum(hit) END AS hits,
    CASE WHEN count(DISTINCT competition) = 1 THEN count(*) END AS counted,
    count(DISTINCT game_id) AS n_games
FROM counted
GROUP BY GROUPING SETS ((system, model, game_type), (system, model))
