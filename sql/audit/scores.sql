-- order: 5
-- title: final scores that do not follow from the decisions
-- metric: win_rate
-- row: one seat, tested or not, of a finished Prisoner's Dilemma or Public Good
-- severity: contradiction
-- needs: decisions, contributions
WITH derived_points AS (
    SELECT game_id, seat, points, paid FROM shared.points_by_choices
    UNION ALL
    SELECT game_id, seat, points, NULL AS paid FROM shared.points_by_contributions
),
compared_scores AS (
    SELECT
        players.*,
        points,
        -- Sums of decimals have rounding errors.
        CASE
            WHEN abs(points - paid) > 1e-6 AND NOT abs(points - final_score) > 1e-6 THEN paid
            ELSE coalesce(final_score, paid)
        END AS score,
        max(points) OVER its_game AS most_points,
        count(*) OVER (
            PARTITION BY players.game_id
            ORDER BY points RANGE BETWEEN 1e-6 PRECEDING AND 1e-6 FOLLOWING
        ) AS n_alike,
        count(points) OVER its_game = count(*) OVER its_game AS is_whole
    FROM players
    JOIN derived_points
        ON derived_points.game_id = players.game_id
        AND derived_points.seat = players.seat
    WINDOW its_game AS (PARTITION BY players.game_id)
)
SELECT
    compared_scores.game_id,
    compared_scores.player,
    compared_scores.seat,
    compared_scores.model,
    compared_scores.role,
    CAST(NULL AS INTEGER) AS round,
    results.message_index,
    CAST(round(score, 4) AS VARCHAR) AS logged,
    CAST(round(points, 4) AS VARCHAR) AS says,
    abs(points - score) > 1e-6 AS is_found,
    -- If the points of one seat are unknown, it is unknown who has the most.
    CASE WHEN is_whole THEN results.win_credit END AS hit_logged,
    CASE
        WHEN NOT is_whole OR results.win_credit IS NULL THEN NULL
        WHEN points <= most_points - 1e-6 THEN CAST(0 AS DOUBLE)
        WHEN n_alike = 1 OR compared_scores.system = 'magic' THEN CAST(1 AS DOUBLE)
        -- If several players have the most points, the log decides who won, except in MAgIC, where all win.
        ELSE results.win_credit
    END AS hit_read
FROM compared_scores
LEFT JOIN results
    ON results.is_tested
    AND results.game_id = compared_scores.game_id
    AND results.seat = compared_scores.seat
-- The payoff of a round with a missing decision is unknown.
WHERE points IS NOT NULL
    AND score IS NOT NULL
