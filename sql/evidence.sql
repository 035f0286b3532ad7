-- The rows that one metric counts, each with the text of the message behind it.
SELECT
    counted.*,
    messages.content
FROM ${rows} AS counted
LEFT JOIN messages
    ON messages.game_id = counted.game_id
    AND messages.message_index = counted.message_index
WHERE counted.is_counted
