-- order: 18
-- title: players who say the same few texts again and again
-- metric: win_rate
-- row: one of the five most frequent texts of a model, with the first message that says it
-- needs: messages
-- A row is a finding if the model has at least 100 messages and these five texts are at least 0.8 of them.
WITH text_counts AS (
    SELECT
        messages.system,
        messages.model,
        CASE WHEN others.seat IS NULL THEN FALSE ELSE others.is_bot END AS is_bot,
        -- The hash is used because texts can be long; the text itself is in the message.
        hash(messages.content) AS text,
        count(*) AS n,
        min({
            'game_id': messages.game_id,
            'message_index': messages.message_index
        }) AS first
    FROM messages
    -- Joining only the bots is fast, because few players are bots.
    LEFT JOIN (SELECT game_id, seat, is_bot FROM players WHERE is_bot IS NOT FALSE) AS others
        ON others.game_id = messages.game_id
        AND others.seat = messages.seat
    -- Votes, amounts and choices are left out, because they have few possible texts for any player.
    WHERE messages.phase IN ('talk', 'whisper', 'clue')
    GROUP BY ALL
),
message_counts AS (
    SELECT system, model, is_bot, sum(n) AS n
    FROM text_counts
    GROUP BY ALL
),
ranked_texts AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY system, model, is_bot ORDER BY n DESC, first) AS place
    FROM text_counts
),
frequent_texts AS (
    SELECT ranked_texts.*, message_counts.n AS n_messages
    FROM ranked_texts
    JOIN message_counts
        ON message_counts.system = ranked_texts.system
        AND message_counts.model IS NOT DISTINCT FROM ranked_texts.model
        AND message_counts.is_bot = ranked_texts.is_bot
    WHERE ranked_texts.place <= 5
)
SELECT
    messages.game_id,
    messages.player,
    messages.seat,
    messages.model,
    messages.role,
    messages.round,
    messages.message_index,
    CASE WHEN frequent_texts.is_bot THEN 'a bot' ELSE 'a language model' END AS logged,
    'in ' || frequent_texts.n || ' of ' || frequent_texts.n_messages || ' messages' AS says,
    frequent_texts.n_messages >= 100
        AND sum(frequent_texts.n) OVER (
                PARTITION BY frequent_texts.system, frequent_texts.model, frequent_texts.is_bot
            )
            >= 0.8 * frequent_texts.n_messages AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM frequent_texts
JOIN messages
    ON messages.game_id = frequent_texts.first.game_id
    AND messages.message_index = frequent_texts.first.message_index
WHERE messages.phase IN ('talk', 'whisper', 'clue')
