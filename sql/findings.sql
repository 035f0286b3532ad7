-- The rows of one kind of finding, each with the text of its message.
SELECT
    '${kind}' AS kind,
    findings.game_id,
    games.game_type,
    ${columns},
    messages.content
FROM audit_${kind} AS findings
JOIN games
    ON games.game_id = findings.game_id
LEFT JOIN messages
    ON messages.game_id = findings.game_id
    AND messages.message_index = findings.message_index
WHERE is_found
    AND ${wanted}
ORDER BY findings.model, games.game_type, games.game_index, findings.game_id, findings.round,
    findings.seat, findings.logged, findings.says
