-- order: 16
-- title: contributions of more than the player had
-- metric: rationality
-- row: one contribution of a player who puts in more in all than it had at first, where that is known
-- needs: contributions
WITH endowed AS (
    SELECT
        puts.game_id,
        puts.seat,
        any_value(games.system = 'magic') AS is_once,
        any_value(multiplier) / any_value(n_players) AS factor,
        any_value(CASE
            WHEN games.system = 'magic' THEN 100
            ELSE TRY_CAST(setting ->> '$.endowment' AS DOUBLE)
        END) AS endowment
    FROM contributions AS puts
    JOIN games
        ON games.game_id = puts.game_id
    GROUP BY puts.game_id, puts.seat
    HAVING sum(amount) > endowment
),
balances AS (
    SELECT
        puts.*,
        -- Players get the endowment either once or again in each round.
        CASE WHEN is_once THEN endowment ELSE endowment * puts.round END
            + coalesce(sum(round_total * factor - amount) OVER its_past, 0) AS balance
    FROM contributions AS puts
    JOIN endowed
        ON endowed.game_id = puts.game_id
        AND endowed.seat = puts.seat
    WINDOW its_past AS (
        PARTITION BY puts.game_id, puts.seat
        ORDER BY puts.round
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    CAST(amount AS VARCHAR) AS logged,
    CAST(round(balance, 4) AS VARCHAR) AS says,
    amount > greatest(balance, 0) + 1e-6 AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM balances
WHERE amount IS NOT NULL
