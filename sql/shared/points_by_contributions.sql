-- row: one seat of a finished Public Good in which all contributions are known
-- column: points | what it has in the end by its contributions, and by what all others got
-- All players get the same from the pool, so the sum of score and contributions is the same for all
-- seats of a game. If the log states the endowment, this sum can be computed from it.
WITH contributions_by_seat AS (
    SELECT
        game_id,
        seat,
        sum(amount) AS amount,
        arg_max(amount, round) AS last_amount,
        count(*) AS n,
        count(*) - count(amount) AS n_missing
    FROM contributions
    WHERE is_finished
    GROUP BY game_id, seat
),
transfer_amounts AS (
    SELECT game_id, target_seat AS seat, amount FROM transfers
    UNION ALL
    SELECT game_id, seat, -cost FROM transfers
),
net_transfers AS (
    SELECT game_id, seat, sum(amount) AS amount
    FROM transfer_amounts
    GROUP BY game_id, seat
),
spending AS (
    SELECT
        contributions_by_seat.game_id,
        contributions_by_seat.seat,
        contributions_by_seat.n,
        contributions_by_seat.n_missing,
        final_score,
        contributions_by_seat.amount - coalesce(net_transfers.amount, 0) AS spending,
        -- In PGM games the last contribution is paid, but it is not in the pool.
        multiplier / n_players
            * (
                contributions_by_seat.amount
                - CASE WHEN format_version = 'pgm' THEN last_amount ELSE 0 END
            ) AS given,
        CASE
            WHEN games.system = 'magic' THEN 100
            ELSE TRY_CAST(setting ->> '$.endowment' AS DOUBLE)
        END AS endowment,
        games.system = 'magic' AS is_exact
    FROM contributions_by_seat
    JOIN games
        ON games.game_id = contributions_by_seat.game_id
    JOIN players
        ON players.game_id = contributions_by_seat.game_id
        AND players.seat = contributions_by_seat.seat
    LEFT JOIN net_transfers
        ON net_transfers.game_id = contributions_by_seat.game_id
        AND net_transfers.seat = contributions_by_seat.seat
),
holdings AS (
    SELECT
        *,
        endowment + sum(given) OVER its_game AS once,
        endowment * n + sum(given) OVER its_game AS each_round,
        median(final_score + spending) OVER its_game AS usual,
        min(n) OVER its_game = max(n) OVER its_game AND sum(n_missing) OVER its_game = 0 AS is_whole
    FROM spending
    WINDOW its_game AS (PARTITION BY game_id)
)
SELECT
    game_id,
    seat,
    CASE
        WHEN is_exact THEN once
        -- Players get the endowment once or again in each round; some systems round each share.
        WHEN abs(usual - once) > n AND abs(usual - each_round) > n THEN each_round
        ELSE usual
    END - spending AS points
FROM holdings
WHERE is_whole
