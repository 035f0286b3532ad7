-- The rows that one metric counts, each with the text of the message behind it.
-- column: seat | the seat that the row is of, null where it stands for several
-- column: round | the round that the row is of, null where it is of the whole game
-- column: message_index | the message that the row was read from, from 0
-- column: parse_status | how surely the row could be read from its text
-- column: is_correct | whether the vote, the analysis or the answer was right
-- column: term | the term of the metric that the row is counted in
-- column: what | what was done, in a word or two
-- column: hit | how much of a hit the row is, from 0 to 1
-- column: is_counted | whether the metric counts the row
-- column: content | the text of the message that the row was read from, null where the log has none
SELECT
    counted.*,
    messages.content
FROM ${rows} AS counted
LEFT JOIN messages
    ON messages.game_id = counted.game_id
    AND messages.message_index = counted.message_index
WHERE counted.is_counted
