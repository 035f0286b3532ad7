-- order: 5
-- title: final scores that do not follow from the decisions
-- metric: win_rate
-- row: one seat, tested or not, of a finished Prisoner's Dilemma or Public Good
-- severity: contradiction
-- needs: decisions, contributions
WITH derived AS (
    SELECT game_id, seat, points, paid FROM shared.points_by_choices
    UNION ALL
    SELECT game_id, seat, points, NULL AS paid FROM shared.points_by_contributions
),
compared AS (
    SELECT
        players.*,
        points,
        -- Sums of decimals are a little off.
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
    JOIN derived
        ON derived.game_id = players.game_id
        AND derived.seat = players.seat
    WINDOW its_game AS (PARTITION BY players.game_id)
)
SELECT
    compared.game_id,
    compared.player,
    compared.seat,
    compared.model,
    compared.role,
    CAST(NULL AS INTEGER) AS round,
    results.message_index,
    CAST(round(score, 4) AS VARCHAR) AS logged,
    CAST(round(points, 4) AS VARCHAR) AS says,
    abs(points - score) > 1e-6 AS is_found,
    -- Where the points of one seat are unknown, so is who has the most.
    CASE WHEN is_whole THEN results.win_credit END AS hit_logged,
    CASE
        WHEN NOT is_whole OR results.win_credit IS NULL THEN NULL
        WHEN points <= most_points - 1e-6 THEN CAST(0 AS DOUBLE)
        WHEN n_alike = 1 OR compared.system = 'magic' THEN CAST(1 AS DOUBLE)
        -- If several have the most, the log says who won: but in MAgIC all of them.
        ELSE results.win_credit
    END AS hit_read
FROM compared
LEFT JOIN results
    ON results.is_tested
    AND results.game_id = compared.game_id
    AND results.seat = compared.seat
-- What a round with a decision missing paid, nobody can tell.
WHERE points IS NOT NULL
    AND score IS NOT NULL
