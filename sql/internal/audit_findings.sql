-- column: seat | the seat that the row is of, null where it stands for several
-- column: round | the round that the row is of, null where it is of the whole game
-- column: message_index | the message that the row was read from, from 0
-- column: logged | what the log asserts
-- column: says | what the log's own content says
-- column: is_found | whether the two are at odds
-- column: hit_logged | the metric's hit by what is logged, null where the metric does not count the row
-- column: hit_read | the metric's hit by what the content says
-- The rows of one kind of audit finding, each with the text of its message.
SELECT
    '${kind}' AS kind,
    findings.game_id,
    games.game_type,
    ${columns},
    games.system,
    messages.content
FROM (${rows}) AS findings
JOIN games
    ON games.game_id = findings.game_id
LEFT JOIN ${messages} AS messages
    ON messages.game_id = findings.game_id
    AND messages.message_index = findings.message_index
WHERE is_found
    AND ${wanted}
ORDER BY findings.model, games.game_type, games.game_index, findings.game_id, findings.round,
    findings.seat, findings.logged, findings.says
