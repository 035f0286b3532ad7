-- row: one seat of a finished Public Good in which all contributions are known
-- column: points | what it has in the end by its contributions, and by what all others got
-- All get the same from the pool: score and contributions add up to one number for all seats of a
-- game. Where the log says what players have at first, that number follows as well.
WITH own AS (
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
transferred AS (
    SELECT game_id, target_seat AS seat, amount FROM transfers
    UNION ALL
    SELECT game_id, seat, -cost FROM transfers
),
net AS (
    SELECT game_id, seat, sum(amount) AS amount
    FROM transferred
    GROUP BY game_id, seat
),
spent AS (
    SELECT
        own.game_id,
        own.seat,
        own.n,
        own.n_missing,
        final_score,
        own.amount - coalesce(net.amount, 0) AS spent,
        -- In PGM games the last round is paid, and not in the pool.
        multiplier / n_players
            * (own.amount - CASE WHEN format_version = 'pgm' THEN last_amount ELSE 0 END) AS given,
        CASE
            WHEN games.system = 'magic' THEN 100
            ELSE TRY_CAST(setting ->> '$.endowment' AS DOUBLE)
        END AS endowment,
        games.system = 'magic' AS is_exact
    FROM own
    JOIN games
        ON games.game_id = own.game_id
    JOIN players
        ON players.game_id = own.game_id
        AND players.seat = own.seat
    LEFT JOIN net
        ON net.game_id = own.game_id
        AND net.seat = own.seat
),
held AS (
    SELECT
        *,
        endowment + sum(given) OVER its_game AS once,
        endowment * n + sum(given) OVER its_game AS each_round,
        median(final_score + spent) OVER its_game AS usual,
        min(n) OVER its_game = max(n) OVER its_game AND sum(n_missing) OVER its_game = 0 AS is_whole
    FROM spent
    WINDOW its_game AS (PARTITION BY game_id)
)
SELECT
    game_id,
    seat,
    CASE
        WHEN is_exact THEN once
        -- Each has it once, or again in each round; and some systems round each share.
        WHEN abs(usual - once) > n AND abs(usual - each_round) > n THEN each_round
        ELSE usual
    END - spent AS points
FROM held
WHERE is_whole
