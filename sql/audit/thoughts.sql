-- order: 14
-- title: messages that hold thoughts beside their answer, or in place of one
-- metric: rationality
-- row: one message of a player that is no reflection
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    'a message' AS logged,
    CASE
        WHEN has_thoughts AND regexp_matches(answer, '\S') THEN 'thoughts and an answer'
        WHEN has_thoughts THEN 'thoughts and no answer'
    END AS says,
    has_thoughts AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM shared.answers
WHERE seat IS NOT NULL
    AND phase <> 'reflection'
