-- order: 18
-- title: players who say the same few texts again and again
-- metric: win_rate
-- row: one of the five most frequent texts of a model, with the first message that says it
-- needs: messages
-- Found are the texts of a model with at least 100 messages, of which these five are at least 0.8.
WITH said AS (
    SELECT
        messages.system,
        messages.model,
        CASE WHEN others.seat IS NULL THEN FALSE ELSE others.is_bot END AS is_bot,
        -- In place of the text, which can be long: the message has it.
        hash(messages.content) AS text,
        count(*) AS n,
        min({
            'game_id': messages.game_id,
            'message_index': messages.message_index
        }) AS first
    FROM messages
    -- Few players are bots.
    LEFT JOIN (SELECT game_id, seat, is_bot FROM players WHERE is_bot IS NOT FALSE) AS others
        ON others.game_id = messages.game_id
        AND others.seat = messages.seat
    -- A vote, an amount or a choice has few possible texts, whoever gives it.
    WHERE messages.phase IN ('talk', 'whisper', 'clue')
    GROUP BY ALL
),
totals AS (
    SELECT system, model, is_bot, sum(n) AS n
    FROM said
    GROUP BY ALL
),
ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY system, model, is_bot ORDER BY n DESC, first) AS place
    FROM said
),
frequent AS (
    SELECT ranked.*, totals.n AS n_messages
    FROM ranked
    JOIN totals
        ON totals.system = ranked.system
        AND totals.model IS NOT DISTINCT FROM ranked.model
        AND totals.is_bot = ranked.is_bot
    WHERE ranked.place <= 5
)
SELECT
    messages.game_id,
    messages.player,
    messages.seat,
    messages.model,
    messages.role,
    messages.round,
    messages.message_index,
    CASE WHEN frequent.is_bot THEN 'a bot' ELSE 'a language model' END AS logged,
    'in ' || frequent.n || ' of ' || frequent.n_messages || ' messages' AS says,
    frequent.n_messages >= 100
        AND sum(frequent.n) OVER (PARTITION BY frequent.system, frequent.model, frequent.is_bot)
            >= 0.8 * frequent.n_messages AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM frequent
JOIN messages
    ON messages.game_id = frequent.first.game_id
    AND messages.message_index = frequent.first.message_index
WHERE messages.phase IN ('talk', 'whisper', 'clue')
