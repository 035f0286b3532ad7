-- finds: a game whose messages are not numbered 0, 1, 2 and so on, each once
-- severity: error
-- by: game
SELECT
    game_id,
    n_messages,
    count(message_index) AS n_rows,
    min(message_index) AS first,
    max(message_index) AS last
FROM games
LEFT JOIN messages USING (game_id)
GROUP BY game_id, n_messages
HAVING count(message_index) <> n_messages
    OR count(DISTINCT message_index) <> n_messages
    OR (n_messages > 0 AND (min(message_index) <> 0 OR max(message_index) <> n_messages - 1))
