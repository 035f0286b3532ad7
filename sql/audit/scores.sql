-- order: 4
-- title: final scores that do not follow from the decisions
-- metric: win_rate
-- row: one seat, tested or not, of a finished Prisoner's Dilemma or Public Good
WITH paid AS (
    SELECT game_id, seat, sum(payoff) AS points, count(*) FILTER (WHERE payoff IS NULL) AS n_missing
    FROM decisions
    GROUP BY game_id, seat
),
rounds AS (
    SELECT game_id, round, max(round_total) AS pool, count(*) - count(round_total) AS n_missing
    FROM contributions
    GROUP BY game_id, round
),
pools AS (
    SELECT
        rounds.game_id,
        -- In PGM games the last round is paid, and not in the pool.
        sum(CASE
            WHEN games.format_version = 'pgm' AND rounds.round = games.n_rounds THEN 0
            ELSE pool
        END) AS pool,
        sum(n_missing) AS n_missing
    FROM rounds
    JOIN games
        ON games.game_id = rounds.game_id
    GROUP BY rounds.game_id
),
own AS (
    SELECT game_id, seat, sum(amount) AS amount
    FROM contributions
    GROUP BY game_id, seat
),
logged_rows AS (
    SELECT
        players.*,
        CASE
            WHEN paid.n_missing = 0 THEN paid.points
            WHEN pools.n_missing = 0
                THEN 100 - own.amount + pools.pool * games.multiplier / games.n_players
        END AS points
    FROM players
    JOIN games
        ON games.game_id = players.game_id
    LEFT JOIN paid
        ON paid.game_id = players.game_id
        AND paid.seat = players.seat
    LEFT JOIN pools
        ON pools.game_id = players.game_id
    LEFT JOIN own
        ON own.game_id = players.game_id
        AND own.seat = players.seat
    WHERE players.is_finished
        AND players.system = 'magic'
        AND players.game_type IN ('prisoners_dilemma', 'public_good')
),
whole AS (
    SELECT game_id, max(points) AS most_points, count(points) = count(*) AS is_whole
    FROM logged_rows
    GROUP BY game_id
),
ranked AS (
    SELECT
        logged_rows.*,
        whole.most_points,
        whole.is_whole
    FROM logged_rows
    JOIN whole
        ON whole.game_id = logged_rows.game_id
)
SELECT
    ranked.game_id,
    ranked.player,
    ranked.seat,
    ranked.model,
    ranked.role,
    CAST(NULL AS INTEGER) AS round,
    results.message_index,
    CAST(final_score AS VARCHAR) AS logged,
    CAST(points AS VARCHAR) AS says,
    -- Sums of decimals are a little off.
    abs(points - final_score) > 1e-6 AS is_found,
    -- Where the points of one seat are unknown, so is who has the most.
    CASE WHEN is_whole THEN results.win_credit END AS hit_logged,
    CASE
        WHEN is_whole AND results.win_credit IS NOT NULL
            THEN CAST(points > most_points - 1e-6 AS DOUBLE)
    END AS hit_read
FROM ranked
LEFT JOIN results
    ON results.is_tested
    AND results.game_id = ranked.game_id
    AND results.seat = ranked.seat
-- What a round with a decision missing paid, nobody can tell.
WHERE points IS NOT NULL
    AND final_score IS NOT NULL
